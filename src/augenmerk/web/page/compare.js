/** Two models on one sentence, by the same numbers. */

import { isolate, make } from "./dom.js";
import { showNumber, showPercent, spread } from "./shown.js";

/** Returns the mean probability of a translation's words (the geometric mean). */
function meanProbability(translation) {
  const logs = translation.word_log_probabilities;
  return logs.length ? Math.exp(logs.reduce((sum, value) => sum + value, 0) / logs.length) : 0;
}

/** Returns over how many source words the attention of a translation spreads, on average. */
function meanSpread(translation) {
  const rows = translation.attention;
  return rows.length ? rows.reduce((sum, row) => sum + spread(row), 0) / rows.length : 0;
}

/** Returns the translation of all sentences of a text. */
export function wholeText({ whole, translation }) {
  return whole ?? translation;
}

/** Returns a table with a row for each model. */
export function makeComparison(answers, t) {
  const rows = answers.map(({ model, translation }) => {
    const hasAttention = translation?.attention.some((row) => row.some((weight) => weight > 0));
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, isolate(model.data.name)),
      make("td", {}, isolate(model.data.attention)),
      make(
        "td",
        { class: "number" },
        translation ? showPercent(meanProbability(translation), t.language) : "–"
      ),
      make("td", { class: "number" }, hasAttention ? showNumber(meanSpread(translation), t.language, 1) : "–")
    );
  });
  const headings = ["model", "mechanism", "perWord", "spread"].map((key, place) =>
    make("th", { scope: "col", class: place > 1 ? "number" : null }, t(key))
  );
  const known = answers.map(({ translation }) => translation).filter(Boolean);
  const same = known.length > 1 && known.every((each) => wholeText(each) === wholeText(known[0]));
  return make(
    "div",
    { class: "scroll", tabindex: 0 },
    make(
      "table",
      { class: "comparison" },
      make("caption", {}, t(same ? "same" : "different")),
      make("thead", {}, make("tr", {}, ...headings)),
      make("tbody", {}, ...rows)
    )
  );
}
