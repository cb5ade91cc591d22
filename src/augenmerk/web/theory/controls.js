/** Sliders, buttons, lists and tables beside a picture. */

import { h } from "../page/view.js";
import { showNotation } from "./notation.js";

/**
 * Describes a slider for a number of the state, with its value beside it. With `log`, equal ways multiply by equal
 * factors. `show` writes the value.
 */
export function slider(view, name, label, { least, most, step = 0, log = false, show }) {
  const value = view.state[name];
  const toShare = (x) => (log ? Math.log(x / least) / Math.log(most / least) : (x - least) / (most - least));
  const fromShare = (share) => {
    const x = log ? least * (most / least) ** share : least + share * (most - least);
    return Math.min(most, Math.max(least, step ? Math.round(x / step) * step : x));
  };
  const attributes = {
    type: "range",
    min: 0,
    max: 1,
    step: step && !log ? step / (most - least) : 0.001,
    value: toShare(value),
    "data-control": name,
    "aria-valuetext": show(value),
    oninput: ({ target }) => view.set({ [name]: fromShare(Number(target.value)) }),
    onchange: () => view.settled(),
  };
  return h(
    "label",
    { class: "slider" },
    h("span", {}, showNotation(label)),
    h("input", attributes),
    h("output", {}, show(value))
  );
}

/** Describes a group of buttons of which one is pressed. */
export function chooser({ name, label, choices, value, onchoose }) {
  return h(
    "div",
    { class: "choice", role: "group", "aria-label": label, "data-control": name },
    h("span", {}, label),
    h(
      "span",
      { class: "choices" },
      choices.map(([key, text]) =>
        button(text, () => onchoose(key), { "data-choice": key, "aria-pressed": String(key === value) })
      )
    )
  );
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, showNotation(text));
}

export function div(look, ...children) {
  return h("div", { class: look }, children);
}

export function hint(text) {
  return h("p", { class: "hint" }, showNotation(text));
}

/** Describes a part of the page that is wider than a narrow screen. */
export function scroll(look, ...children) {
  return h("div", { class: `scroll ${look}`, tabindex: 0 }, children);
}

/** Describes bars for weights, one for each name. */
export function weightBars(view, caption, names, weights, colours) {
  const rows = names.map((name, i) =>
    h(
      "li",
      { style: { "--own": colours[i] } },
      h("span", { class: "token" }, showNotation(name)),
      h("div", { class: "bar", style: { "--share": weights[i].toFixed(5) } }),
      h("span", { class: "percent" }, view.number(weights[i], 3))
    )
  );
  return h("ul", { class: "bars weights-now", "aria-label": caption }, rows);
}

/** Describes a table with these rows of headings, [text, attributes], and rows whose first cell is their name. */
export function table(look, caption, head, rows) {
  const heading = ([text, attributes = {}]) => h("th", { scope: "col", ...attributes }, showNotation(text));
  return h(
    "table",
    { class: look },
    h("caption", { class: "unseen" }, caption),
    h(
      "thead",
      {},
      head.map((row) => h("tr", {}, h("td"), row.map(heading)))
    ),
    h(
      "tbody",
      {},
      rows.map(([name, ...cells]) => h("tr", {}, h("th", { scope: "row" }, showNotation(name)), cells))
    )
  );
}
