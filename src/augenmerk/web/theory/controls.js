/** Sliders, buttons and lists that move along with a picture. */

import { make } from "../page/dom.js";
import { showNotation } from "./notation.js";

/**
 * Returns a slider with its value beside it: {element, set(value)}. With `log`, equal ways multiply by equal
 * factors. `show` writes the value.
 */
export function makeSlider({
  name,
  label,
  least,
  most,
  step = 0,
  log = false,
  value,
  show,
  oninput,
  onchange,
}) {
  const there = (x) => (log ? Math.log(x / least) / Math.log(most / least) : (x - least) / (most - least));
  const back = (share) => {
    const x = log ? least * (most / least) ** share : least + share * (most - least);
    return step ? Math.round(x / step) * step : x;
  };
  const fine = step && !log ? step / (most - least) : 0.001;
  const input = make("input", {
    type: "range",
    min: 0,
    max: 1,
    step: fine,
    "data-control": name,
    oninput: () => {
      const x = Math.min(most, Math.max(least, back(Number(input.value))));
      write(x);
      oninput(x);
    },
    onchange,
  });
  const output = make("output", {});
  const write = (x) => {
    const text = show(x);
    if (output.textContent !== text) output.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  const set = (x) => {
    if (document.activeElement !== input || Math.abs(back(Number(input.value)) - x) > fine * 2) {
      input.value = String(there(x));
    }
    write(x);
  };
  set(value);
  const element = make("label", { class: "slider" }, make("span", {}, ...showNotation(label)), input, output);
  return { element, set };
}

/** Returns a group of buttons of which one is pressed. */
export function makeChoice({ name, label, choices, value, onchoose }) {
  const buttons = choices.map(([key, text]) =>
    make("button", { type: "button", "data-choice": key, onclick: () => choose(key) }, ...showNotation(text))
  );
  const mark = (chosen) => {
    for (const button of buttons)
      button.setAttribute("aria-pressed", String(button.dataset.choice === String(chosen)));
  };
  const choose = (key) => {
    mark(key);
    onchoose(key);
  };
  mark(value);
  const group = make("span", { class: "choices" }, ...buttons);
  return {
    element: make(
      "div",
      { class: "choice", role: "group", "aria-label": label, "data-control": name },
      make("span", {}, label),
      group
    ),
    set: mark,
  };
}

export function makeCheckbox({ name, label, value, onchange }) {
  const input = make("input", {
    type: "checkbox",
    "data-control": name,
    onchange: () => onchange(input.checked),
  });
  input.checked = value;
  return {
    element: make("label", { class: "check" }, input, make("span", {}, ...showNotation(label))),
    set: (on) => (input.checked = on),
  };
}

export function makeButton(text, onclick, attributes = {}) {
  return make("button", { type: "button", onclick, ...attributes }, ...showNotation(text));
}

/** Returns bars for weights, one for each name: {element, set(weights, colours)}. */
export function makeWeightBars(names, caption) {
  const rows = names.map((name) => {
    const bar = make("div", { class: "bar" });
    const number = make("span", { class: "percent" });
    return {
      bar,
      number,
      element: make("li", {}, make("span", { class: "token" }, ...showNotation(name)), bar, number),
    };
  });
  return {
    element: make(
      "ul",
      { class: "bars weights-now", "aria-label": caption },
      ...rows.map((row) => row.element)
    ),
    set(weights, show, colours) {
      rows.forEach(({ bar, number, element }, i) => {
        bar.style.setProperty("--share", weights[i].toFixed(5));
        element.style.setProperty("--own", colours[i]);
        const text = show(weights[i]);
        if (number.textContent !== text) number.textContent = text;
      });
    },
  };
}

/**
 * Returns a table of numbers: {element, set(rows), name(group, text)}. `groups` has for each group of columns
 * its name and the names of its columns; a row has its own name first, and there are always as many rows.
 */
export function makeTable(groups, caption) {
  const body = make("tbody");
  const cells = [];
  const column = (text, attributes) => make("th", { scope: "col", ...attributes }, ...showNotation(text));
  const names = groups.map(([text, columns]) => column(text, { scope: "colgroup", colspan: columns.length }));
  const columns = groups.flatMap(([, inside]) => inside.map((text) => column(text, {})));
  return {
    element: make(
      "table",
      { class: "numbers" },
      make("caption", { class: "unseen" }, caption),
      make("thead", {}, make("tr", {}, make("td"), ...names), make("tr", {}, make("td"), ...columns)),
      body
    ),
    name(group, text) {
      names[group].replaceChildren(...showNotation(text));
    },
    set(rows) {
      rows.forEach((row, r) => {
        if (!cells[r]) {
          cells[r] = row.map((_, c) => make(c ? "td" : "th", c ? {} : { scope: "row" }));
          body.append(make("tr", {}, ...cells[r]));
        }
        row.forEach((text, c) => {
          if (cells[r][c].written === text) return;
          cells[r][c].replaceChildren(...showNotation(text));
          cells[r][c].written = text;
        });
      });
    },
  };
}
