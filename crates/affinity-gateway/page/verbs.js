// What can be asked for, and how it is sent.

import { ask } from "./change.js";
import { el } from "./dom.js";

const path = (group, verb) => `/v1/groups/${encodeURIComponent(group)}/${verb}`;

/** Opens the dialog of a verb of a group. */
export function verb(name, group, overview) {
  if (name === "abort") return abort(group, overview);
  const call = (force) => ({ method: "POST", path: path(group, name), body: force ? { force } : {} });
  const word = name[0].toUpperCase() + name.slice(1);
  return ask({ title: `${word} ${group}`, confirm: `${word} ${group}`, danger: name === "retire", call });
}

function abort(group, overview) {
  const targets = overview.groups.filter(({ name, state }) => name !== group && (state === "active" || state === "draining"));
  const to = select("to", [["", "the default"], ...targets.map(({ name }) => [name, name])]);
  const policy = select("policy", [["", "the default"], ["move", "move at once"], ["stay", "stay for a while"], ["end", "end"]]);
  const within = el("input", { id: "change-within", name: "within", placeholder: "10m", size: 8, autocomplete: "off" });
  const call = (force) => {
    const body = { to: to.value, policy: policy.value, within: within.value.trim() };
    for (const [key, value] of Object.entries(body)) if (value === "") delete body[key];
    if (force) body.force = true;
    return { method: "POST", path: path(group, "abort"), body };
  };
  const fields = [labelled("Sessions go to", to), labelled("They", policy), labelled("Stay for", within)];
  return ask({ title: `Abort ${group}`, confirm: `Abort ${group}`, danger: true, fields, call });
}

/** Opens the dialog of a lock, or of its end. */
export function lock({ locked }) {
  const [name, word] = locked ? ["unlock", "Unlock"] : ["lock", "Lock"];
  const call = () => ({ method: "POST", path: `/v1/rollout/${name}`, body: {} });
  return ask({ title: `${word} the rollout`, confirm: `${word} the rollout`, call });
}

/** Opens the dialog of the weights. */
export function weights(overview) {
  const groups = overview.groups.filter(({ state }) => ["staged", "active", "draining"].includes(state));
  const inputs = groups.map(({ name, weight }) => [name, weight,
    el("input", { id: `change-weight-${name}`, type: "number", min: 0, max: 10000, step: 1, value: weight, inputmode: "numeric" })]);
  const call = () => {
    const body = {};
    for (const [name, before, input] of inputs) {
      // a group that is not named keeps its weight
      if (input.value !== "" && Number(input.value) !== before) body[name] = Number(input.value);
    }
    const [first] = inputs;
    if (Object.keys(body).length === 0 && first) body[first[0]] = first[1];
    return { method: "PUT", path: "/v1/rollout/weights", body };
  };
  const fields = inputs.map(([name, , input]) => labelled(name, input));
  return ask({ title: "Weights", confirm: "Set the weights", fields, call });
}

function select(name, options) {
  return el("select", { id: `change-${name}`, name }, ...options.map(([value, text]) => el("option", { value }, text)));
}

const labelled = (text, field) => el("p", { class: "field" }, el("label", { for: field.id }, text), field);
