/**
 * Makes elements. Everything that a model, a run or a user supplies goes through here as a text node or as an
 * attribute, so that none of it can become markup.
 */

const SVG_NAMES = "http://www.w3.org/2000/svg";

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
  return fill(document.createElementNS(SVG_NAMES, tag), attributes, children);
}

/** Returns a text whose writing direction does not disturb the text around it. */
export function isolate(text) {
  return make("bdi", {}, text);
}

/**
 * Returns the element of the page with this id.
 * @param {string} id
 * @returns {any} one whose kind the caller knows
 */
export function find(id) {
  return document.getElementById(id);
}

/**
 * Returns the elements that match a selector.
 * @param {string} selector
 * @param {ParentNode} inside
 * @returns {HTMLElement[]}
 */
export function findAll(selector, inside = document) {
  return [...inside.querySelectorAll(/** @type {"div"} */ (selector))];
}

/**
 * Returns what has the focus.
 * @returns {HTMLElement | null}
 */
export function findFocused() {
  return /** @type {HTMLElement | null} */ (document.activeElement);
}

/** Fills a select with options, one of which is chosen; `name(value)` is what is shown of each. */
export function fillSelect(select, values, name, chosen) {
  const option = (value) => make("option", { value, selected: value === chosen }, name(value));
  select.replaceChildren(...values.map(option));
}

/** Returns the size of the page's letters, in pixels; that of a projector's colours is larger. */
export function rootFontSize() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize);
}

/** Returns what the tab key or an arrow key can reach in a container. */
function findReachable(container) {
  return [...container.querySelectorAll("button, input, select, textarea, summary, [role=button]")].filter(
    (node) => !node.disabled
  );
}

/**
 * Replaces what is in a container. The focus, if it was inside, stays on what has the same key or else the
 * same place; if that is disabled now, it goes to a button beside it. If nothing inside can have it, it goes
 * to what is around: to the word that is chosen, or else to what comes first.
 */
export function replaceInside(container, ...nodes) {
  const focused = findFocused();
  if (!container.contains(focused)) {
    container.replaceChildren(...nodes);
    return;
  }
  const { key } = focused.dataset;
  const place = findReachable(container).indexOf(focused);
  container.replaceChildren(...nodes);
  const same = key && container.querySelector(`[data-key="${key}"]`);
  const beside = same ? findReachable(same.parentElement) : [];
  const inside = findReachable(container);
  let next = beside.includes(same) ? same : (beside[0] ?? inside[place] ?? inside.at(-1));
  for (let around = container; !next && around !== document.body; around = around.parentElement) {
    const found = findReachable(around.parentElement);
    next = found.find((node) => node.getAttribute("aria-pressed") === "true") ?? found[0];
  }
  next?.focus();
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
