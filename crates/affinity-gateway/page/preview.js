// What a change would do, as the gateway's preview tells it.

import { el } from "./dom.js";
import { at, count, percent } from "./format.js";

/** The preview as elements. */
export function previewed(preview) {
  const { verb, groups, redrawn, changed, at: now } = preview;
  if (!changed && groups.every((group) => group.leaving === null)) {
    return [el("p", {}, "Nothing would change.")];
  }
  if (verb === "lock") return [el("p", {}, "Every change but an abort is refused until it is unlocked.")];
  if (verb === "unlock") return [el("p", {}, "Changes are possible again.")];
  const differ = groups.filter((group) => JSON.stringify(group.before) !== JSON.stringify(group.after));
  const head = ["group", "now", "then"].map((text) => el("th", { scope: "col" }, text));
  const rows = differ.map((group) =>
    el("tr", {}, el("th", { scope: "row" }, group.name), el("td", {}, side(group.before)), el("td", {}, side(group.after))));
  const parts = [el("table", {}, el("caption", {}, "what would happen"), el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...rows))];
  const leaving = groups.filter((group) => group.leaving !== null).map((group) => el("li", {}, gone(group, groups, now)));
  const draining = differ.filter((group) => group.after?.state === "draining" && group.before?.state !== "draining");
  for (const group of draining) leaving.push(el("li", {}, drains(group, now)));
  if (redrawn.length > 0) leaving.push(el("li", {}, `sessions of ${redrawn.join(", ")} are drawn anew, each with its next request`));
  parts.push(leaving.length > 0 ? el("ul", {}, ...leaving) : el("p", {}, "No session moves."));
  return parts;
}

function side(of) {
  if (of === null) return "–";
  return `${of.state}${of.stable ? ", stable" : ""}, weight ${count(of.weight)} (${percent(of.share, 1)})`;
}

function gone(group, groups, now) {
  const { how, to, until, by, cut_by: cut, strict } = group.leaving;
  const sessions = `${count(group.live_sessions)} live sessions of ${group.name}`;
  const words = {
    move: `${sessions} move to ${to}`,
    stay: `${sessions} stay until ${until && at(until, now)}, then move to ${to}`,
    end: `${sessions} end`,
    draw: `${sessions} move by weight to ${to.join(", ")}`,
  };
  const room = groups.find(({ name }) => name === to[0]);
  const free = to.length === 1 && room ? `; ${to[0]} has room for ${room.free === null ? "an unknown number" : count(room.free)} more requests` : "";
  const streams = cut ? `; open streams are cut by ${at(cut, now)}` : "";
  const ends = strict?.length > 0 ? `; those of ${strict.join(", ")} end` : "";
  return `${words[how] ?? sessions}, all by ${at(by, now)}${free}${streams}${ends}`;
}

function drains(group, now) {
  const by = group.drained_by ? `, drained by ${at(group.drained_by, now)} at the latest` : "";
  return `${group.name} takes no new sessions; its ${count(group.live_sessions)} stay${by}`;
}
