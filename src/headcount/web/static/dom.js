// Elements from values. Text only ever becomes a text node: whatever an agent wrote, it stays text.

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined).map(visible));
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null && child !== undefined).map(visible));
  return node;
}

export function setText(node, text) {
  const shown = visible(text ?? "");
  if (node.textContent !== shown) node.textContent = shown;
}

export function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

// Without what would turn the direction of the text beside it, or show nothing at all.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

function visible(child) {
  return child instanceof Node ? child : String(child).replace(HIDDEN, "\ufffd");
}

export const find = (id) => document.getElementById(id);

export function say(message) {
  setText(find("news"), message);
}
