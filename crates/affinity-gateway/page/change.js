// One change: what is wanted, what would happen, and only then the change itself.

import { change } from "./api.js";
import { byId, el, put, show } from "./dom.js";
import { previewed } from "./preview.js";
import { needToken } from "./token.js";

/** What the dialog is about; `null` while it is closed. */
let wish = null;
/** The preview that stands in the dialog, with the call that it is of. */
let seen = null;

/**
 * Opens the dialog for a change. `call()` is what is sent, by what the fields say now; `forced` of
 * it says whether it can take `force`.
 */
export async function ask({ title, confirm, danger = false, fields = [], call }) {
  if (!(await needToken())) return;
  wish = { call, confirm };
  put(byId("change-title"), title);
  byId("change-fields").replaceChildren(...fields);
  put(byId("change-confirm"), confirm);
  byId("change-confirm").classList.toggle("danger", danger);
  show(byId("change-look"), fields.length > 0);
  clear();
  byId("change").showModal();
  await look(false);
}

export function wireChange() {
  const dialog = byId("change");
  byId("change-cancel").addEventListener("click", () => dialog.close());
  byId("change-look").addEventListener("click", () => look(false));
  byId("change-force").addEventListener("click", () => look(true));
  byId("change-fields").addEventListener("input", clear);
  byId("change-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (seen !== null) confirmed();
    else look(false);
  });
  dialog.addEventListener("close", () => (wish = seen = null));
}

/** What was previewed is not what is wanted any more. */
function clear() {
  seen = null;
  byId("change-preview").replaceChildren();
  byId("change-problem").replaceChildren();
  byId("change-confirm").disabled = true;
  show(byId("change-force"), false);
}

async function look(force) {
  clear();
  const asked = wish;
  const call = asked.call(force);
  const answer = await change(call, { preview: true });
  if (wish !== asked || answer === null) return;
  if (!answer.ok) return refused(answer.problem, !force);
  seen = { call, revision: answer.body.revision };
  byId("change-preview").replaceChildren(...previewed(answer.body));
  byId("change-confirm").disabled = false;
}

async function confirmed() {
  const [asked, { call, revision }] = [wish, seen];
  byId("change-confirm").disabled = true;
  const answer = await change(call, { revision });
  if (answer === null) return void (byId("change-confirm").disabled = wish !== asked);
  if (!answer.ok) {
    clear();
    return refused(answer.problem, false);
  }
  const { revision: now, held, why, changed } = answer.body;
  const here = held === "replica" ? ` on this gateway only (${why ?? ""})` : "";
  put(byId("done"), changed ? `Done: ${asked.confirm}, revision ${now}${here}.` : "Nothing has changed.");
  byId("change").close();
}

/** Shows why the gateway says no, in its words. */
function refused({ title, detail, can_be_forced: forcible }, offer) {
  const parts = [el("strong", {}, `Refused: ${title ?? "no reason was given"}`)];
  if (detail && detail !== title) parts.push(el("p", {}, detail));
  byId("change-problem").replaceChildren(...parts);
  show(byId("change-force"), Boolean(forcible) && offer);
}
