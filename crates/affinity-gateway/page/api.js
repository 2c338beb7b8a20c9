// Calls of the admin API.

import { askToken, authorization, needToken } from "./token.js";

/** Reads; answers the body, or `null` if there is none such. */
export async function read(path) {
  const response = await fetch(path, { headers: authorization(), cache: "no-store" });
  return response.ok ? response.json() : null;
}

/**
 * Changes, or previews a change. Answers `{ ok, body }`, `{ ok: false, problem }` with what the
 * gateway says against it, or `null` if no token was given.
 */
export async function change({ method, path, body }, { preview = false, revision } = {}) {
  if (!(await needToken())) return null;
  const headers = { "content-type": "application/json" };
  if (revision != null) headers["if-match"] = `"${revision}"`;
  for (;;) {
    let response;
    try {
      response = await fetch(preview ? `${path}?preview=true` : path, {
        method,
        headers: { ...headers, ...authorization() },
        body: JSON.stringify(body),
      });
    } catch {
      const detail = "Whether the change was made is not known: look at the revision.";
      return { ok: false, problem: { title: "The gateway does not answer", detail: preview ? "" : detail } };
    }
    if (response.status === 401) {
      if (!(await askToken("That token is wrong"))) return null;
      continue;
    }
    const answer = await response.json().catch(() => ({}));
    return response.ok ? { ok: true, body: answer } : { ok: false, problem: answer };
  }
}
