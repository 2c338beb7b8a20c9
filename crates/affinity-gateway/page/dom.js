// Elements. Whatever the gateway sends goes into the page as text, never as markup.

/** The element of the page with that id. */
export const byId = (id) => document.getElementById(id);

/** A new element; `props` are attributes, but `class` and `on*` handlers as usual. */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child != null).map(part));
  return node;
}

const part = (child) => (child instanceof Node ? child : document.createTextNode(String(child)));

/** A new element of a drawing. */
export function svg(tag, props, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** Shows `text` in `node`; one that shows it already is left alone, for screen readers. */
export function put(node, text) {
  const next = String(text);
  if (node.textContent !== next) node.textContent = next;
}

/** Shows or hides. */
export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}
