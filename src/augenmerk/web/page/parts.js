/** What the descriptions of all views are made of. */

import { h } from "./view.js";

/** Describes a text whose writing direction does not disturb the text around it. */
export function isolate(text) {
  return h("bdi", {}, text);
}

export function button(content, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, content);
}

/** Describes a choice with its label; `name(value)` is what is shown of each value. */
export function select(label, values, name, value, onchoose, attributes = {}) {
  const onchange = ({ target }) => onchoose(target.value);
  const options = values.map((each) => h("option", { value: each }, name(each)));
  const chosen = h("select", { value, onchange, ...attributes }, options);
  return h("label", { key: label }, h("span", {}, label), chosen);
}

/** Describes the headings of columns; those from a place on are of numbers. */
export function headings(texts, numbersFrom = Infinity) {
  return texts.map((text, place) =>
    h("th", { scope: "col", class: place >= numbersFrom ? "number" : null }, text)
  );
}

/** Describes a table; without a caption for screen readers, its heading says what it is about. */
export function table(look, caption, head, rows) {
  return h(
    "table",
    { class: look },
    caption && h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows)
  );
}

/** Describes a part of the page that is wider than a narrow screen, and can be scrolled by keys. */
export function scroll(content, attributes = {}) {
  return h("div", { class: "scroll", tabindex: 0, ...attributes }, content);
}

export function hint(text, attributes = {}) {
  return h("p", { class: "hint", ...attributes }, text);
}
