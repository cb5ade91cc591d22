/** The kinds of patterns as they look, and the measures as they are written. */

import { makeSvg } from "../page/dom.js";
import { showNumber } from "../page/shown.js";

export const KINDS = ["monotone", "inversion", "spread", "stuck", "shifted"];
export const KIND_COLOURS = { monotone: 6, inversion: 0, spread: 1, stuck: 3, shifted: 2 };
const WHOLE = ["longest_run", "best_offset", "words"];

/** Returns whether the values of a measure are whole numbers. */
export function isWhole(name) {
  return WHOLE.includes(name);
}

/** Returns a sentence's value of a measure. `measures` are their names, in the order of its numbers. */
export function readValue(sentence, name, measures) {
  return name === "words" ? sentence.words : sentence.measures[measures.indexOf(name)];
}

/** Returns a value of a measure as it is written. */
export function showValue(sentence, name, measures, language) {
  const value = readValue(sentence, name, measures);
  return showNumber(value, language, isWhole(name) ? 0 : 2).replace("-", "−");
}

/** Returns the sign of a kind, as in the plot. */
export function makeSign(kind) {
  const shapes = [
    makeSvg("circle", { cx: 7, cy: 7, r: 4.6 }),
    makeSvg("path", { d: "M7 1.4 12.2 11.2H1.8Z" }),
    makeSvg("rect", { x: 2.6, y: 2.6, width: 8.8, height: 8.8 }),
    makeSvg("path", { d: "M7 .8 13.2 7 7 13.2 .8 7Z" }),
    makeSvg("path", { d: "M5.2 1h3.6v4.2H13v3.6H8.8V13H5.2V8.8H1V5.2h4.2Z" }),
  ];
  const sign = makeSvg(
    "svg",
    { class: "sign", width: 14, height: 14, "aria-hidden": "true" },
    shapes[KINDS.indexOf(kind)]
  );
  sign.style.fill = `var(--c${KIND_COLOURS[kind]})`;
  return sign;
}
