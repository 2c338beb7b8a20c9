// The admin token: in this module's memory only, never in an address or a store.

import { byId, put } from "./dom.js";

let token = null;
let waiting = [];
const listeners = [];

export const authorization = () => (token ? { authorization: `Bearer ${token}` } : {});
export const hasToken = () => token !== null;

/** Calls `listener` whenever another token is there. */
export const onToken = (listener) => listeners.push(listener);

/** Whether there is a token, asked for if there is none. */
export const needToken = () => (token ? Promise.resolve(true) : askToken());

/** Asks for a token, with a reason if another one was wrong; answers whether one was given. */
export function askToken(why) {
  const dialog = byId("token");
  put(byId("token-title"), why ?? "Admin token");
  if (!dialog.open) {
    byId("token-field").value = "";
    dialog.showModal();
  }
  return new Promise((resolve) => waiting.push(resolve));
}

export function wireToken() {
  const dialog = byId("token");
  byId("token-open").addEventListener("click", () => askToken());
  byId("token-cancel").addEventListener("click", () => dialog.close());
  byId("token-forget").addEventListener("click", () => {
    take(null);
    dialog.close();
  });
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    take(byId("token-field").value.trim() || null);
    dialog.close("used");
  });
  dialog.addEventListener("close", () => {
    byId("token-field").value = "";
    const resolved = waiting;
    waiting = [];
    for (const resolve of resolved) resolve(dialog.returnValue === "used" && token !== null);
    dialog.returnValue = "";
  });
}

function take(next) {
  token = next;
  put(byId("token-open"), token ? "Token ✓" : "Token…");
  for (const listener of listeners) listener();
}
