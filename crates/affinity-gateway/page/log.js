// The events, the latest first.

import { byId, el } from "./dom.js";

/** As many as the gateway keeps. */
const MOST = 256;

export function logged({ at, kind, group, text }) {
  const list = byId("log");
  const when = new Date(at);
  const time = when.toLocaleTimeString("en-GB", { hour12: false });
  list.prepend(el("li", {}, el("time", { datetime: when.toISOString() }, time),
    el("span", { class: "kind" }, kind), group ? el("code", {}, group) : null, el("span", { class: "text" }, text)));
  while (list.children.length > MOST) list.lastChild.remove();
}
