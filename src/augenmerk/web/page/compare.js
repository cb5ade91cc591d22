/** Two models on one sentence, by the same numbers. */

import { headings, isolate, scroll, tableRow } from "./parts.js";
import { showNumber, showPercent, spread } from "./shown.js";
import { h } from "./view.js";

function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0;
}

/** Returns the translation of all sentences of a text. */
export function wholeText({ whole, translation }) {
  return whole ?? translation;
}

/** Describes a table with a row for each model. */
export function describeComparison(answers, t) {
  const number = (text) => h("td.number", text ?? "–");
  const rows = answers.map(({ model, translation }) => {
    const hasAttention = translation?.attention.some((row) => row.some((weight) => weight > 0));
    return tableRow(isolate(model.data.name), [
      isolate(model.data.attention),
      // The geometric mean of the probabilities.
      number(translation && showPercent(Math.exp(mean(translation.word_log_probabilities)), t.language)),
      number(hasAttention ? showNumber(mean(translation.attention.map(spread)), t.language, 1) : null),
    ]);
  });
  const texts = ["model", "mechanism", "perWord", "spread"].map((key) => t(key));
  const known = answers.map(({ translation }) => translation).filter(Boolean);
  const same = known.length > 1 && known.every((each) => wholeText(each) === wholeText(known[0]));
  const head = h("thead", h("tr", headings(texts, 2)));
  return scroll(h("table.comparison", h("caption", t(same ? "same" : "different")), head, h("tbody", rows)));
}
