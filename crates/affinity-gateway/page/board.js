// Everything that an overview shows, but for the lanes' insides.

import { byId, el, put, show } from "./dom.js";
import { History } from "./history.js";
import { Lane } from "./lane.js";

const history = new History();
const lanes = new Map();

/** The last overview; `null` before the first. */
export let latest = null;

/** Shows an overview. `act(verb, group)` is called for a verb that somebody wants. */
export function board(overview, act) {
  latest = overview;
  history.push(overview);
  put(byId("service"), overview.service);
  document.title = `${overview.service} – commit affinity`;
  put(byId("replica"), overview.replica);
  put(byId("revision"), `${overview.revision}${overview.locked ? " (locked)" : ""}`);
  put(byId("lock"), overview.locked ? "Unlock…" : "Lock…");
  const ready = byId("ready");
  put(ready, overview.unready.length === 0 ? "taken" : "not taken");
  ready.classList.toggle("danger", overview.unready.length > 0);
  troubles(overview);
  const shown = overview.groups.filter((group) => group.state !== "retired");
  const top = history.top();
  for (const group of shown) lane(group.name, act).update(group, overview, history.of(group.name), top);
  for (const [name, { node }] of lanes) {
    if (!shown.some((group) => group.name === name)) {
      node.remove();
      lanes.delete(name);
    }
  }
  const retired = overview.groups.filter((group) => group.state === "retired").map((group) => group.name);
  show(byId("retired"), retired.length > 0);
  put(byId("retired"), `retired: ${retired.join(", ")}`);
}

function lane(name, act) {
  if (!lanes.has(name)) {
    const made = new Lane(name, act);
    lanes.set(name, made);
    byId("lanes").append(made.node);
  }
  return lanes.get(name);
}

/** What is wrong, in a few lines: nothing is shown where nothing is. */
function troubles({ unready, problems, shared, groups }) {
  const lines = [...new Set([...unready, ...problems])];
  if (shared && !shared.in_reach) {
    lines.push(`the shared state is out of reach for ${shared.age} s: only aborts are accepted`);
  }
  if (shared?.pending > 0) lines.push(`${shared.pending} aborts are known to this gateway only`);
  if (shared?.conflicts > 0) lines.push(`${shared.conflicts} aborts here contradict the shared state: confirm or drop them`);
  for (const { name, state, weight, endpoints, source, lost_login: lost } of groups) {
    const ready = endpoints.some((endpoint) => endpoint.state === "ready" || endpoint.state === "starting");
    if ((weight > 0 || state === "draining") && !ready) lines.push(`${name}: none of its endpoints is ready`);
    if (lost) lines.push(`${name}: sessions that were moved here fail to authenticate`);
    if (source?.stale_seconds > 5) lines.push(`${name}: its endpoints were last heard of ${source.stale_seconds} s ago`);
  }
  const list = byId("troubles");
  show(list, lines.length > 0);
  lines.forEach((line, nth) => put(list.children[nth] ?? list.appendChild(el("li")), line));
  while (list.children.length > lines.length) list.lastChild.remove();
}
