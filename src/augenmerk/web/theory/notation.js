/** Formulas as the questions write them, `mu_a + sqrt(d)`, set with Greek letters and subscripts. */

import { make, makeSvg } from "../page/dom.js";

const GREEK = { alpha: "α", beta: "β", lambda: "λ", mu: "μ", eps: "ε" };

/**
 * Splits a text into pieces {text, kind}: plain text, a variable, or what stands below or above the piece
 * before it. Only names that the questions use are variables, so that words stay words.
 */
export function readNotation(text) {
  const pieces = [];
  const symbol =
    /(?<![\p{L}\w/-])(alpha|beta|lambda|mu|eps|[a-eh-mp-xBIKQV])(?:_(mean|[a-z0-9]))?(?:\^(T|-?\d+|[a-z]))?(?![\p{L}\w'’-])|\bsqrt\(d\)|(?<=[\p{L}\d])\.(?=[kx]_)/gu;
  const alone = /^[aIi]$/; // an English word, unless it has an index or stands in a formula
  let end = 0;
  for (const match of text.matchAll(symbol)) {
    const [whole, name, below, above] = match;
    const formula = /[=+()*/~,;^]\s?$|^$/.test(text.slice(0, match.index)) || /^\s?[=+()*/~^]/.test(text.slice(match.index + whole.length));
    if (name !== undefined && alone.test(name) && !below && !above && !formula) continue;
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), kind: "plain" });
    end = match.index + whole.length;
    if (whole === "sqrt(d)") {
      pieces.push({ text: "√", kind: "plain" }, { text: "d", kind: "variable" });
    } else if (whole === ".") {
      pieces.push({ text: "·", kind: "plain" });
    } else {
      pieces.push({ text: GREEK[name] ?? name, kind: "variable" });
      if (below) pieces.push({ text: below, kind: "below" });
      if (above) pieces.push({ text: above, kind: "above" });
    }
  }
  if (end < text.length) pieces.push({ text: text.slice(end), kind: "plain" });
  return pieces;
}

/** Returns a text with its formulas as nodes of HTML. */
export function showNotation(text) {
  const tags = { variable: "var", below: "sub", above: "sup" };
  return readNotation(text).map(({ text: piece, kind }) => (kind === "plain" ? piece : make(tags[kind], {}, piece)));
}

/** Returns a name such as k_1 as nodes for an SVG text. */
export function showNotationInSvg(text) {
  let shift = 0;
  return readNotation(text).map(({ text: piece, kind }) => {
    const lower = kind === "below" ? 4 : kind === "above" ? -5 : 0;
    const attributes = { dy: lower - shift || null, class: kind };
    shift = lower;
    return makeSvg("tspan", attributes, piece);
  });
}
