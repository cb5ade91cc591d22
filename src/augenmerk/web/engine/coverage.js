/** Finds what a translation leaves out: the JavaScript of `translate/coverage.py`, where the rule is explained. */

const LEAST_WEIGHT = 0.3;
const MOST_MISSING = 2.0;
const FEWEST_TOKENS = 3;

/**
 * Returns the part of a source sentence that its translation probably leaves out, as Python's `to_dict` has it, or
 * null. `weights` are rows over the source tokens, the end last.
 */
export function findUncovered(weights, source, encoded) {
  const read = weights[0].length - 1;
  const lookedAt = Array.from({ length: read }, (_, place) =>
    weights.reduce((sum, row) => sum + row[place], 0)
  );
  const text = findPart(lookedAt, source, encoded) ?? findGap(lookedAt, source, encoded);
  if (text === null) return null;
  const inWords = `Hardly any attention went to “${text}”, so its translation is probably missing.`;
  return { text, in_words: inWords };
}

/** Returns the consecutive tokens that lack the most weight, if that is too much. */
function findGap(lookedAt, source, encoded) {
  let best = { missing: MOST_MISSING, text: null };
  let missing = 0;
  let first = 0;
  lookedAt.forEach((weight, place) => {
    if (missing <= 0) {
      missing = 0;
      first = place;
    }
    missing += LEAST_WEIGHT - weight;
    if (missing > best.missing) best = { missing, text: sliceTokens(source, encoded, first, place) };
  });
  return best.text;
}

function sliceTokens(source, { spans, word_of: wordOf }, first, last) {
  return source.slice(spans[wordOf[first]][0], spans[wordOf[last]][1]);
}

/** Returns a part between full stops and their kin that is hardly looked at. */
function findPart(lookedAt, source, { spans: words, word_of: wordOf }) {
  const spans = Array.from(source.matchAll(/[^.!?…]+[.!?…]*/gu), (part) => [
    part.index,
    part.index + part[0].length,
  ]);
  if (spans.length < 2) return null;
  const hardly = spans.find(([start, end]) => {
    const weights = lookedAt.filter(
      (_, place) => start <= words[wordOf[place]][0] && words[wordOf[place]][0] < end
    );
    const sum = weights.reduce((total, weight) => total + weight, 0);
    return weights.length >= FEWEST_TOKENS && sum / weights.length < LEAST_WEIGHT;
  });
  return hardly ? source.slice(...hardly).trim() : null;
}
