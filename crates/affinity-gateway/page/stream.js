// The stream of events. `EventSource` cannot send a token, so it is read by `fetch`.

import { authorization, onToken } from "./token.js";

/** The longest wait between two tries, in milliseconds. */
const LONGEST = 15_000;
/** More than one event can be; whoever sends that is no gateway. */
const LONGEST_EVENT = 8 * 1024 * 1024;

/**
 * Follows the stream for ever. `on` has `event(name, data)` for what comes and
 * `link(state, text)` for what becomes of the connection.
 */
export function follow(path, on) {
  let seen = null;
  let failures = 0;
  let wake = () => {};
  onToken(() => wake());

  const once = async () => {
    const headers = { accept: "text/event-stream", ...authorization() };
    if (seen !== null) headers["last-event-id"] = seen;
    const response = await fetch(path, { headers, cache: "no-store" });
    if (response.status === 401) return "needs the token";
    if (!response.ok) {
      const problem = await response.json().catch(() => ({}));
      return problem.title ?? `answered ${response.status}`;
    }
    on.link("live", "live");
    await events(response.body, (name, data, id) => {
      failures = 0;
      if (id !== null) seen = id;
      on.event(name, JSON.parse(data));
    });
    return "the stream has ended";
  };

  (async () => {
    for (;;) {
      const why = await once().catch(() => "the gateway does not answer");
      failures += 1;
      const most = Math.min(LONGEST, 500 * 2 ** failures);
      const wait = most * (0.5 + Math.random() / 2);
      const needed = why === "needs the token";
      on.link(needed ? "token" : "lost", needed ? why : `lost: ${why}; trying again`);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, wait);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  })();
}

/** Reads events from a body until it ends. */
async function events(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    if (text.length > LONGEST_EVENT) throw new Error("an event is too long");
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) one(part, take);
  }
}

function one(part, take) {
  let [name, data, id] = ["message", [], null];
  for (const line of part.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
    else if (field === "id") id = value;
  }
  if (data.length > 0) take(name, data.join("\n"), id);
}
