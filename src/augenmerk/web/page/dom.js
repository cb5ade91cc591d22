/**
 * Makes elements. Whatever a model, a run or a person supplies goes through here as a text node or as an
 * attribute, so that none of it can become markup.
 */

const SVG = "http://www.w3.org/2000/svg";

/** Sets attributes and listeners, and appends children; a string among them becomes a text node. */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) {
      node.addEventListener(name.slice(2), value);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children);
  return node;
}

/** Returns an HTML element. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Returns an SVG element. */
export function makeSvg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Returns a text whose writing direction does not disturb the text around it. */
export function isolate(text) {
  return make("bdi", {}, text);
}

/** Returns the element of the page with this id. */
export function find(id) {
  return document.getElementById(id);
}

/** Replaces what is in a container; the focus stays on what has the same key. */
export function replaceInside(container, ...nodes) {
  const inside = container.contains(document.activeElement);
  const key = inside ? document.activeElement.dataset.key : undefined;
  container.replaceChildren(...nodes);
  if (key) container.querySelector(`[data-key="${key}"]`)?.focus();
}

/** Moves the focus among buttons by arrow keys, so that all of them are one stop of the tab key. */
export function moveFocus(event, buttons, step) {
  const here = buttons.indexOf(document.activeElement);
  const next = buttons[Math.min(buttons.length - 1, Math.max(0, here + step))];
  event.preventDefault();
  if (next) {
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  }
}
