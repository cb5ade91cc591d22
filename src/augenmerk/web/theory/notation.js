/** Formulas as the questions write them, `mu_a + sqrt(d)`, set with Greek letters and subscripts. */

import { h } from "../page/view.js";

const GREEK = { alpha: "α", beta: "β", lambda: "λ", mu: "μ", eps: "ε" };
const TAGS = { variable: "var", below: "sub", above: "sup" };

const SYMBOL = new RegExp(
  [
    "`(?<marked>\\w)`",
    "(?<sum>\\bsum)_(?<index>[a-z])",
    "(?<root>\\bsqrt\\(d\\))",
    "(?<product>(?<=[\\p{L}\\d])\\.(?=[kx]_))", // q.k_i
    "(?<![\\p{L}\\w-])(?<name>alpha|beta|lambda|mu|eps|[a-eh-mp-yBIKQV])" +
      "(?:_(?<below>mean|[a-z0-9]))?(?:\\^(?<above>T|-?\\d+|[a-z]))?(?![\\p{L}\\w'’-])",
  ].join("|"),
  "gu"
);
const WORD = /^[aIi]$/; // an English word, unless it has an index or is in a formula
const FORMULA_BEFORE = /(?:[=+(*/~^]\s?|alpha )$/;
const FORMULA_AFTER = /^\s?[=+)*/~^]/;

/**
 * Splits a text into pieces {text, kind}: plain text, a variable, or an index or exponent of the piece
 * before it. Only names that the questions use are variables, so that words stay words; `a` between
 * backquotes is always one.
 */
export function readNotation(text) {
  const pieces = [];
  let end = 0;
  for (const { 0: whole, index: start, groups } of text.matchAll(SYMBOL)) {
    const { marked, sum, index, root, product, name, below, above } = groups;
    const rest = text.slice(start + whole.length);
    const isFormula = start === 0 || FORMULA_BEFORE.test(text.slice(0, start)) || FORMULA_AFTER.test(rest);
    if (name && WORD.test(name) && !below && !above && !isFormula) continue;
    if (start > end) pieces.push({ text: text.slice(end, start), kind: "plain" });
    end = start + whole.length;
    if (root) pieces.push({ text: "√", kind: "plain" }, { text: "d", kind: "variable" });
    else if (product) pieces.push({ text: "·", kind: "plain" });
    else if (sum) pieces.push({ text: "∑", kind: "plain" }, { text: index, kind: "below" });
    else pieces.push({ text: marked ?? GREEK[name] ?? name, kind: "variable" });
    if (below) pieces.push({ text: below, kind: "below" });
    if (above) pieces.push({ text: above, kind: "above" });
  }
  if (end < text.length) pieces.push({ text: text.slice(end), kind: "plain" });
  return pieces;
}

export function showNotation(text) {
  return readNotation(text).map(({ text: piece, kind }) => (kind in TAGS ? h(TAGS[kind], {}, piece) : piece));
}

/** Describes a name such as k_1 for an SVG text. */
export function showNotationInSvg(text) {
  let shift = 0;
  return readNotation(text).map(({ text: piece, kind }) => {
    const lower = kind === "below" ? 4 : kind === "above" ? -5 : 0;
    const attributes = { dy: lower - shift || null, class: kind };
    shift = lower;
    return h("tspan", attributes, piece);
  });
}
