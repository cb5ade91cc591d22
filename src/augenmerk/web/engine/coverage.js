/** Finds what a translation leaves out: the JavaScript of `translate/coverage.py`, where the rule is explained. */

const LEAST_WEIGHT = 0.3;
const MOST_MISSING = 2.0;

/**
 * Returns the part of a source sentence that its translation probably leaves out, as Python's `to_dict` has it, or
 * null. `weights` are rows over the source tokens, the end last; `splitter` finds sentences.
 */
export function findUncovered(weights, source, encoded, splitter) {
  const read = weights[0].length - 1;
  const lookedAt = Array.from({ length: read }, (_, place) => weights.reduce((sum, row) => sum + row[place], 0));
  const found = findGap(lookedAt) ?? findSentence(lookedAt, encoded, splitter.spans(source));
  if (found === null) return null;
  const [first, last] = found.map((place) => encoded.spans[encoded.word_of[place]]);
  const text = source.slice(first[0], last[1]);
  const inWords = `Hardly any attention went to “${text}”, so its translation is probably missing.`;
  return { text, in_words: inWords };
}

/** Returns the first and last of the consecutive tokens that lack the most weight, if that is too much. */
function findGap(lookedAt) {
  let best = { missing: MOST_MISSING, found: null };
  let missing = 0;
  let first = 0;
  lookedAt.forEach((weight, place) => {
    if (missing <= 0) {
      missing = 0;
      first = place;
    }
    missing += LEAST_WEIGHT - weight;
    if (missing > best.missing) best = { missing, found: [first, place] };
  });
  return best.found;
}

/** Returns the first and last token of a sentence among several that is hardly looked at. */
function findSentence(lookedAt, encoded, spans) {
  if (spans.length < 2) return null;
  for (const [start, end] of spans) {
    const places = [...lookedAt.keys()].filter((place) => {
      const [wordStart] = encoded.spans[encoded.word_of[place]];
      return start <= wordStart && wordStart < end;
    });
    const sum = places.reduce((total, place) => total + lookedAt[place], 0);
    if (places.length && sum / places.length < LEAST_WEIGHT) return [places[0], places.at(-1)];
  }
  return null;
}
