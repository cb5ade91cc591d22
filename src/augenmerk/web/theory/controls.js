/** Sliders, choices and bars beside a picture. */

import { button } from "../page/parts.js";
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
  return h("label.slider", h("span", showNotation(label)), h("input", attributes), h("output", show(value)));
}

/** Describes a group of buttons of which one is pressed. */
export function chooser({ name, label, choices, value, onchoose }) {
  const buttons = choices.map(([key, text]) => {
    const attributes = { "data-choice": key, "aria-pressed": String(key === value) };
    return button(showNotation(text), () => onchoose(key), attributes);
  });
  const about = { role: "group", "aria-label": label, "data-control": name };
  return h("div.choice", about, h("span", label), h("span.choices", buttons));
}

/** Describes bars for weights, one for each name; `colourOf(i)` is that of a bar. */
export function weightBars(view, names, weights, colourOf) {
  const rows = names.map((name, i) =>
    h(
      "li",
      { style: { "--own": colourOf(i) } },
      h("span.token", showNotation(name)),
      h("div.bar", { style: { "--share": weights[i].toFixed(5) } }),
      h("span.percent", view.number(weights[i], 3))
    )
  );
  return h("ul.bars.weights-now", { "aria-label": view.t("weights") }, rows);
}
