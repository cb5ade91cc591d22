/** The kinds of patterns as they look, and the measures as they are written. */

import { showNumber } from "../page/shown.js";
import { h } from "../page/view.js";

export const KINDS = ["monotone", "inversion", "spread", "stuck", "shifted"];
const WHOLE = ["longest_run", "best_offset", "words"];
/** The shapes of kinds around (0, 0), about 10 pixels wide: colour is never all that tells them apart. */
export const SHAPES = {
  monotone: "M-4.6 0A4.6 4.6 0 1 1 4.6 0A4.6 4.6 0 1 1 -4.6 0Z",
  inversion: "M0-5.6 5.2 4.2H-5.2Z",
  spread: "M-4.4-4.4H4.4V4.4H-4.4Z",
  stuck: "M0-6.2 6.2 0 0 6.2-6.2 0Z",
  shifted: "M-1.8-6h3.6v4.2H6v3.6H1.8V6h-3.6V1.8H-6v-3.6h4.2Z",
};

/** Returns whether the values of a measure are whole numbers. */
export function isWhole(name) {
  return WHOLE.includes(name);
}

/** Returns a sentence's value of a measure. `measures` are their names, in the order of its numbers. */
export function readValue(sentence, name, measures) {
  return name === "words" ? sentence.words : sentence.measures[measures.indexOf(name)];
}

export function showValue(sentence, name, measures, language) {
  const value = readValue(sentence, name, measures);
  return showNumber(value, language, isWhole(name) ? 0 : 2).replace("-", "−");
}

/** Describes the sign of a kind, as in the plot. */
export function sign(kind, colours) {
  const size = { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" };
  const path = h("path", { d: SHAPES[kind] });
  return h("svg.sign", { ...size, style: { fill: `var(--c${colours[kind]})` } }, path);
}
