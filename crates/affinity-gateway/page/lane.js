// One group: its state, what its requests do, who is left on it, and what can be done with it.

import { Chart } from "./chart.js";
import { el, put, show } from "./dom.js";
import { at, count, latency, percent, rate } from "./format.js";

/** Which verbs a state takes; the gateway has the last word. */
const VERBS = {
  staged: ["promote", "abort"],
  active: ["promote", "drain", "abort"],
  draining: ["promote", "abort", "retire"],
  aborted: ["abort", "restore", "retire"],
  retired: ["restore"],
};
const NAMES = {
  promote: "Promote…",
  drain: "Drain…",
  abort: "Abort…",
  restore: "Restore…",
  retire: "Retire…",
};
const COHORTS = ["current", "established", "moved", "none"];

export class Lane {
  #chart;
  #parts;
  #buttons;

  /** `act(verb, group)` is called for a verb that somebody wants. */
  constructor(name, act) {
    const heading = `group-${name}`;
    const parts = {
      state: el("span", { class: "state" }),
      stable: el("span", { class: "stable", hidden: true }, "stable"),
      share: el("span", { class: "share" }),
      left: el("p", { class: "left", hidden: true }),
      now: el("p", { class: "now" }),
      chart: el("div", { class: "chart", role: "img" }),
      numbers: el("dl", { class: "numbers" }),
      failures: el("tbody"),
      summary: el("summary"),
      endpoints: el("ul", { class: "endpoints" }),
    };
    this.#parts = parts;
    const head = ["cohort", "requests", "failed", "share"].map((text) => el("th", { scope: "col" }, text));
    this.#buttons = Object.entries(NAMES).map(([verb, text]) => [
      verb,
      el("button", { type: "button", "data-verb": verb, onclick: () => act(verb, name),
        class: verb === "abort" ? "danger" : null, "aria-label": `${text} ${name}` }, text),
    ]);
    this.node = el("article", { class: "lane", "aria-labelledby": heading, "data-group": name },
      el("header", {}, el("h3", { id: heading }, name), parts.state, parts.stable, parts.share,
        el("div", { class: "controls" }, ...this.#buttons.map(([, button]) => button))),
      parts.left,
      el("div", { class: "body" },
        el("div", { class: "traffic" }, parts.now, parts.chart),
        el("div", { class: "side" }, parts.numbers,
          el("table", {}, el("caption", {}, "failures of the last seconds"), el("thead", {}, el("tr", {}, ...head)),
            parts.failures),
          el("details", {}, parts.summary, parts.endpoints))));
    this.#chart = new Chart(parts.chart);
  }

  update(group, overview, columns, top) {
    const parts = this.#parts;
    const now = overview.at / 1000;
    put(parts.state, group.state);
    parts.state.dataset.state = group.state;
    show(parts.stable, group.stable);
    put(parts.share, `weight ${count(group.weight)}, ${percent(group.share, 1)} of new sessions`);
    for (const [verb, button] of this.#buttons) {
      const fits = (VERBS[group.state] ?? []).includes(verb);
      show(button, fits && !(group.stable && (verb === "promote" || verb === "drain")));
    }
    const left = whoIsLeft(group, now);
    show(parts.left, left !== null);
    put(parts.left, left ?? "");
    const rates = group.per_second;
    const words = `${rate(rates?.new)} new, ${rate(rates?.pinned)} pinned, ${rate(rates?.moved)} moved a second`;
    put(parts.now, words);
    parts.chart.setAttribute("aria-label", `Requests of the last five minutes; now ${words}`);
    this.#chart.show(columns, top);
    this.#numbers(group, now);
    failures(parts.failures, group.window?.cohorts ?? {});
    endpoints(parts, group);
  }

  #numbers(group, now) {
    const rows = [
      ["live sessions", count(group.live_sessions)],
      ["in flight", count(group.in_flight)],
      ["median", latency(group.window?.p50_seconds)],
      ["95 %", latency(group.window?.p95_seconds)],
    ];
    if (group.last_expiry > now) rows.push(["last pin ends", at(group.last_expiry, now)]);
    const list = this.#parts.numbers;
    while (list.children.length > rows.length) list.lastChild.remove();
    rows.forEach(([name, value], nth) => {
      const row = list.children[nth] ?? list.appendChild(el("div", { class: nth > 3 ? "wide" : null }, el("dt"), el("dd")));
      put(row.firstChild, name);
      put(row.lastChild, value);
    });
  }
}

/** Who is still on a group that is to go, and until when; `null` for one that stays. */
function whoIsLeft(group, now) {
  if (group.state === "aborted") {
    const { target, policy, until } = group.abort ?? {};
    const how = {
      move: `its sessions move to ${target} with their next request`,
      stay: `its sessions stay until ${until && at(until, now)}, then move to ${target}`,
      end: "its sessions end with their next request",
    };
    return `${count(group.live_sessions)} live sessions, ${count(group.in_flight)} in flight; ${how[policy] ?? ""}`;
  }
  if (group.state !== "draining") return null;
  if (group.drained) return "drained: no session is left, it can be retired";
  const by = group.drained_by ? `, drained by ${at(group.drained_by, now)} at the latest` : "";
  const waits = group.waits_for ? `; no word from ${group.waits_for.join(", ")}` : "";
  return `${count(group.live_sessions)} live sessions left, ${count(group.in_flight)} in flight${by}${waits}`;
}

function failures(body, cohorts) {
  const rows = COHORTS.filter((name) => cohorts[name]).map((name) => {
    const { requests, failed } = cohorts[name];
    return el("tr", { class: failed > 0 ? "failing" : null }, el("th", { scope: "row" }, name),
      el("td", {}, count(requests)), el("td", {}, count(failed)), el("td", {}, percent(failed, requests)));
  });
  if (rows.length === 0) rows.push(el("tr", {}, el("td", { colspan: 4 }, "no requests")));
  body.replaceChildren(...rows);
}

function endpoints(parts, group) {
  const all = group.endpoints;
  const used = all.filter(({ state }) => state === "ready" || state === "starting").length;
  put(parts.summary, `${used} of ${all.length} endpoints in use`);
  parts.summary.classList.toggle("danger", used === 0 && all.length > 0 && group.state !== "retired");
  if (!parts.endpoints.parentNode.open) return parts.endpoints.replaceChildren();
  parts.endpoints.replaceChildren(...all.map((endpoint) =>
    el("li", {}, el("code", {}, endpoint.address), ` ${endpoint.state}`,
      endpoint.drain ? " (drained by an operator)" : "", `, ${count(endpoint.in_flight)} in flight`)));
}
