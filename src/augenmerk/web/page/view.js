/**
 * The one way to draw: a view describes with `h` what there should be, and `render` changes the page into that. Elements
 * stay the same ones as long as their descriptions match, and with them focus, selection and scroll positions.
 *
 * Everything that a model, a run or a user supplies goes through here as a text node or an attribute, so that none of
 * it can become markup.
 */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = ["value", "checked", "open"]; // what the user changes too

/**
 * What an element should be.
 * @typedef {object} Description
 * @property {string} tag
 * @property {Record<string, any>} attributes
 * @property {(Description | Node | string)[]} children
 */

/** @type {WeakMap<Node, Description>} */
const described = new WeakMap();

/**
 * Describes an element, such as `p` or `p.hint` with a class. Attributes, which may be left out: `on...` functions are
 * listeners, `key` tells it from its siblings, `style` is an object of CSS properties, `true` is an empty attribute and
 * `false`, null and undefined are none. With `own`, its children are somebody else's: `own(element)` is called after each
 * rendering. A child is a description, a node of the page, a text, a number, a list of these, or nothing (null, undefined,
 * false).
 * @param {string} element
 * @param {...any} given attributes and children
 * @returns {Description}
 */
export function h(element, ...given) {
  const [tag, ...classes] = element.split(".");
  const [first] = given;
  const hasAttributes = first?.constructor === Object && !("tag" in first);
  const attributes = hasAttributes ? { ...first } : {};
  if (classes.length) attributes.class = [...classes, attributes.class].filter(Boolean).join(" ");
  const children = given
    .slice(hasAttributes ? 1 : 0)
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false && child !== "")
    .map((child) => (typeof child === "number" ? String(child) : child));
  return { tag, attributes, children };
}

export function create(description, inSvg = false) {
  const isSvg = inSvg || description.tag === "svg";
  const node = isSvg
    ? document.createElementNS(SVG, description.tag)
    : document.createElement(description.tag);
  update(node, description);
  return node;
}

/** Makes the children of a container what is described, and keeps the focus inside or near it. */
export function render(container, ...children) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const isInside = focused !== container && container.contains(focused);
  const index = isInside ? findFocusable(container).indexOf(focused) : -1;
  renderChildren(container, h("", ...children).children);
  if (isInside && (document.activeElement !== focused || isDisabled(focused))) {
    restoreFocus(container, focused, index);
  }
}

function isDisabled(node) {
  return /** @type {HTMLButtonElement} */ (node).disabled === true;
}

/** Returns what the tab key or an arrow key can reach in a container. */
function findFocusable(container) {
  const found = container.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [role=button], [tabindex]"
  );
  return [...found].filter((node) => !isDisabled(node) && !node.closest("[hidden]"));
}

/**
 * Gives the focus back to what had it if it was only moved. If that is disabled or gone, it goes to what is beside it,
 * or else around it: to what is chosen there, or to what comes first.
 */
function restoreFocus(container, focused, index) {
  let next = focused.isConnected && !isDisabled(focused) ? focused : null;
  if (!next && focused.isConnected) next = findFocusable(focused.parentElement)[0];
  const inside = findFocusable(container);
  next ??= inside[index] ?? inside.at(-1);
  for (let around = container; !next && around !== document.body; around = around.parentElement) {
    const found = findFocusable(around.parentElement);
    next = found.find((node) => node.getAttribute("aria-pressed") === "true") ?? found[0];
  }
  next?.focus();
}

function update(node, description) {
  if (described.get(node) === description) return;
  const before = described.get(node)?.attributes ?? {};
  described.set(node, description);
  const { attributes, children } = description;
  for (const name of Object.keys(before)) {
    if (!(name in attributes)) setAttribute(node, name, undefined, before[name]);
  }
  const late = Object.keys(attributes).filter((name) => PROPERTIES.includes(name));
  for (const [name, value] of Object.entries(attributes)) {
    if (!late.includes(name)) setAttribute(node, name, value, before[name]);
  }
  if (attributes.own) attributes.own(node);
  else renderChildren(node, children);
  // A select has its value only once it has its options.
  for (const name of late) setAttribute(node, name, attributes[name], before[name]);
}

function setAttribute(node, name, value, before) {
  if (name === "key" || name === "own") return;
  if (name === "style") {
    for (const property of Object.keys(before ?? {})) {
      if (!(property in (value ?? {}))) node.style.removeProperty(property);
    }
    for (const [property, one] of Object.entries(value ?? {})) node.style.setProperty(property, one);
  } else if (name.startsWith("on")) {
    if (value === before) return;
    if (before) node.removeEventListener(name.slice(2), before);
    if (value) node.addEventListener(name.slice(2), value);
  } else if (PROPERTIES.includes(name)) {
    // A select takes its value again, because its options may have changed. Elsewhere what the user has typed
    // stays until the description says something else.
    if (value !== before || node.localName === "select") node[name] = value ?? "";
  } else if (value === true || value === false || value === null || value === undefined) {
    node.toggleAttribute(name, value === true);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

/** Returns whether an old child can become what is described. */
function matches(node, child) {
  if (child instanceof Node) return node === child;
  if (typeof child === "string") return node.nodeType === Node.TEXT_NODE;
  const old = described.get(node);
  return old?.tag === child.tag && old.attributes.key === child.attributes.key;
}

function renderChildren(container, children) {
  const inSvg = container.namespaceURI === SVG && container.localName !== "foreignObject";
  const placed = new Set(children.filter((child) => child instanceof Node));
  const old = [...container.childNodes].filter((node) => !placed.has(node));
  const keyed = new Map();
  for (const node of old) {
    const key = described.get(node)?.attributes.key;
    if (key !== undefined) keyed.set(key, node);
  }
  const plain = old.filter((node) => !keyed.has(described.get(node)?.attributes.key));
  const kept = new Set(placed);
  const nodes = children.map((child) => {
    if (child instanceof Node) return child;
    const key = child.attributes?.key;
    let found = key === undefined ? undefined : keyed.get(key);
    if (key === undefined) {
      const at = plain.findIndex((node) => matches(node, child));
      // What stands before it has no match: it goes, so that order is kept and nothing needs to move.
      found = at < 0 ? undefined : plain.splice(0, at + 1)[at];
    }
    if (found && !matches(found, child)) found = undefined;
    if (!found) return typeof child === "string" ? document.createTextNode(child) : create(child, inSvg);
    kept.add(found);
    if (typeof child !== "string") update(found, child);
    else if (found.data !== child) found.data = child;
    return found;
  });
  for (const node of old) if (!kept.has(node)) node.remove();
  let next = container.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else container.insertBefore(node, next);
  }
}
