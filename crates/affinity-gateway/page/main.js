// The page: it shows what the gateway sends, and asks for changes.

import { board, latest } from "./board.js";
import { wireChange } from "./change.js";
import { byId, put } from "./dom.js";
import { logged } from "./log.js";
import { follow } from "./stream.js";
import { wireToken } from "./token.js";
import { lock, verb, weights } from "./verbs.js";
import { followVerdicts } from "./verdict.js";

wireToken();
wireChange();
byId("weights").addEventListener("click", () => latest && weights(latest));
byId("lock").addEventListener("click", () => latest && lock(latest));

const act = (name, group) => latest && verb(name, group, latest);
const handlers = { overview: (data) => board(data, act), happened: logged };

follow("/v1/events", {
  event: (name, data) => handlers[name]?.(data),
  link: (state, text) => {
    const link = byId("link");
    link.dataset.state = state;
    put(link, text);
    // what is not fresh must not look as if it were
    document.body.classList.toggle("stale", state !== "live");
  },
});
followVerdicts();
