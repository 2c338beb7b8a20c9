// What the comparison of each canary with the stable group says, with its interval.

import { read } from "./api.js";
import { byId, el, show, svg } from "./dom.js";
import { clock, count, percent } from "./format.js";

/** How often it is asked for, in milliseconds: a verdict takes far longer to change. */
const AGAIN = 5_000;
const WORDS = {
  better: "better",
  no_worse: "no worse",
  worse: "worse",
  not_enough_yet: "not enough sessions yet",
};
const MEASURES = { failures: "failed", completions: "completed", slow: "slow" };

export function followVerdicts() {
  let shown = "";
  const once = async () => {
    const analysis = await read("/v1/analysis").catch(() => null);
    setTimeout(once, AGAIN);
    // what cannot be read now is not known to be gone; that it is old the board says
    if (analysis === null) return;
    const canaries = analysis.canaries;
    show(byId("verdicts-section"), canaries.length > 0);
    const text = JSON.stringify({ ...analysis, now: 0 });
    // what is the same is left alone, so that a screen reader is not sent back to the beginning
    if (text !== shown) byId("verdicts").replaceChildren(...canaries.map((canary) => verdict(canary, analysis)));
    shown = text;
  };
  once();
}

function verdict(canary, { stable, since, min_effect: effect, measures, abort_on_worse: aborts }) {
  const word = WORDS[canary.verdict] ?? canary.verdict;
  const [ours, theirs] = [canary, stable].map(({ group, counts }) => `${count(counts.sessions)} sessions of ${group}`);
  const counted = `${ours} and ${theirs} since ${since ? clock(since) : "the step"}`;
  const needed = canary.needed > 0 ? `; about ${count(canary.needed)} more in the smaller group are needed` : "";
  const head = ["sessions", canary.group, stable.group, "difference"].map((text) => el("th", { scope: "col" }, text));
  head.push(el("th", { scope: "colgroup", colspan: 2 }, "with its interval"), el("th", { scope: "col" }, "verdict"));
  const rows = Object.keys(MEASURES).map((measure) => row(measure, canary[measure], measures.includes(measure), effect));
  const title = el("h3", {}, `${canary.group} beside ${stable.group}: `);
  title.append(el("span", { class: canary.verdict === "worse" ? "danger" : null }, word));
  const naive = canary.naive.difference == null ? null
    : el("p", { class: "quiet" }, `By all requests, which is biased, the difference would be ${points(canary.naive.difference)}.`);
  return el("article", { class: "lane", "data-verdict": canary.group }, title,
    el("p", { class: "quiet" }, `${counted}${needed}${aborts ? "; one that is worse is aborted" : ""}`),
    el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `Measures of ${canary.group}` },
      el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows))), naive);
}

function row(measure, { canary, stable, difference, lower, upper, verdict: says }, counts, effect) {
  const rate = (part) => (part == null ? "–" : percent(part, 1));
  return el("tr", {}, el("th", { scope: "row" }, `${MEASURES[measure]}${counts ? "" : " (not judged)"}`),
    el("td", {}, rate(canary)), el("td", {}, rate(stable)), el("td", {}, points(difference)),
    el("td", {}, interval(lower, upper, effect)), el("td", {}, `${points(lower)} to ${points(upper)}`),
    el("td", {}, WORDS[says] ?? says));
}

/** A difference of rates in percentage points. */
function points(difference) {
  if (difference == null) return "–";
  const number = (100 * difference).toFixed(1);
  return `${difference > 0 ? "+" : ""}${number} pp`;
}

/** The interval as a bar around zero; the text beside it says the same. */
function interval(lower, upper, effect) {
  const most = Math.max(Math.abs(lower), Math.abs(upper), 4 * effect);
  const at = (part) => 40 + (40 * part) / most;
  return svg("svg", { width: 80, height: 12, "aria-hidden": "true", class: "interval" },
    svg("line", { x1: 40, x2: 40, y1: 0, y2: 12, class: "zero" }),
    svg("line", { x1: at(lower), x2: at(upper), y1: 6, y2: 6, class: "span" }));
}
