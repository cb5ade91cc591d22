/** Finds elements of the page. */

import { h, render } from "./view.js";

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

/** Fills a select with options; `name(value)` is what is shown of each. */
export function fillSelect(select, values, name, chosen) {
  render(
    select,
    values.map((value) => h("option", { value }, name(value)))
  );
  select.value = chosen ?? "";
}

/** Returns the size of the page's letters, in pixels; that of a projector's colours is larger. */
export function rootFontSize() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize);
}

/** Returns a function that gives a colour of the page by the name of its variable. */
export function readColours(element = document.documentElement) {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}

/** Calls a function when the window gets wider or narrower. Its height changes often: the bars of a phone come and go. */
export function onOtherWidth(act) {
  let width = window.innerWidth;
  addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    act();
  });
}

/** Returns where a pointer is, in pixels of the element that listens. */
export function pointerPlace(event) {
  const box = event.currentTarget.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}
