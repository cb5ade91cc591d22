/** What the descriptions of all views are made of. */

import { h } from "./view.js";

/** Describes a text whose writing direction does not disturb the text around it. */
export function isolate(text) {
  return h("bdi", text);
}

export function button(content, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, content);
}

/** Describes a choice with its label; `name(value)` is what is shown of each value. */
export function select(label, values, name, value, onchoose, attributes = {}) {
  const onchange = ({ target }) => onchoose(target.value);
  const options = values.map((each) => h("option", { value: each }, name(each)));
  const chosen = h("select", { value, onchange, ...attributes }, options);
  return h("label", { key: label }, h("span", label), chosen);
}

/** Describes the headings of columns; those from a place on are of numbers. */
export function headings(texts, numbersFrom = Infinity) {
  return texts.map((text, place) =>
    h("th", { scope: "col", class: place >= numbersFrom ? "number" : null }, text)
  );
}

/** Describes a row of a table, whose first cell is its name; both may be cells, or what is in them. */
export function tableRow(name, cells, attributes = {}) {
  const others = cells.map((cell) => (cell?.tag === "td" ? cell : h("td", cell)));
  const heading = name?.tag === "th" ? name : h("th", { scope: "row" }, name);
  return h("tr", attributes, heading, others);
}

/** Describes a table; without a caption for screen readers, its heading says what it is about. */
export function table(look, caption, head, rows) {
  const heads = head[0]?.tag === "tr" ? head : h("tr", head);
  return h(
    "table",
    { class: look },
    caption && h("caption.unseen", caption),
    h("thead", heads),
    h("tbody", rows)
  );
}

/** Describes a part of the page that is wider than a narrow screen, and can be scrolled by keys. */
export function scroll(content, attributes = {}) {
  return h("div.scroll", { tabindex: 0, ...attributes }, content);
}

export function hint(text, attributes = {}) {
  return h("p.hint", { ...attributes }, text);
}
