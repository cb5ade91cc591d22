/** How words, weights and probabilities are written, and which rows and columns a map has. */

export const END = "</s>";
export const END_SIGN = "∎";
const LEVELS = 48;
const MIN_SHOWN_WEIGHT = 0.02;

const numberFormats = new Map(); // by language and decimals, since making one is slow

/** Characters that cannot be seen or that change the direction of what comes after them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** Returns a word as it is shown: without invisible characters, with a sign for the end of a sentence. */
export function showWord(word) {
  if (word === END) return END_SIGN;
  const seen = word.replace(UNSEEN, "");
  return (seen.toWellFormed?.() ?? seen) || "␣";
}

/**
 * Returns a token as it is shown. Among subwords, `▁` is the space before a word; a piece that continues a
 * word has a dot instead.
 */
export function showToken(text, isBpe) {
  if (!isBpe || text === END) return showWord(text);
  if (text.startsWith("▁")) return showWord(text.slice(1)) || "␣";
  return /^[\p{L}\p{M}\p{N}]/u.test(text) ? `·${showWord(text)}` : showWord(text);
}

/** Returns the source tokens; where they are words, as they were typed, for many may be unknown to the model. */
export function sourceTokens(translation, isBpe) {
  return isBpe ? translation.source_subwords : translation.source_words;
}

/** Returns a number with so many decimals, in the manner of the page's language. */
export function showNumber(value, language, decimals = 2) {
  const key = `${language} ${decimals}`;
  if (!numberFormats.has(key)) {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
    numberFormats.set(key, new Intl.NumberFormat(language, digits));
  }
  return numberFormats.get(key).format(value);
}

/** Returns a probability in percent; one that is not quite 0 or 100 does not look as if it were. */
export function showPercent(probability, language) {
  if (probability > 0 && probability < 0.001) return `<${showNumber(0.1, language, 1)} %`;
  const decimals = probability < 0.0995 || (probability > 0.9949 && probability < 1) ? 1 : 0;
  const percent = Math.min(probability * 100, probability < 1 ? 99.9 : 100);
  return `${showNumber(percent, language, decimals)} %`;
}

/** Returns a weight as a cell shows it: `.83`, `1` if it rounds to one, nothing if it is small. */
export function showWeight(weight, language) {
  if (weight < MIN_SHOWN_WEIGHT) return "";
  return weight >= 0.995 ? "1" : showNumber(weight, language).replace(/^0/, "");
}

/** Returns which of the shades from 0 to 1 a weight has; the scale is the same for all maps. */
export function levelOf(weight) {
  return Math.min(LEVELS - 1, Math.max(0, Math.round(weight * (LEVELS - 1))));
}

/**
 * Returns the rows and columns of a translation's map, over words or over subwords. A row knows the first
 * token it stands for, which is the place where next words and changed attention are asked for.
 */
export function makeGrid(translation, unit, isBpe) {
  if (unit === "subwords") {
    const target = translation.target_subwords;
    return {
      columns: translation.source_subwords.map((token) => showToken(token, isBpe)),
      columnEnd: translation.source_subwords.length - 1,
      rows: target.map((token, place) => ({
        text: showToken(token, isBpe),
        end: token === END,
        token: place,
        tokens: 1,
        probability: Math.exp(translation.token_log_probabilities[place] ?? 0),
      })),
      weights: translation.subword_attention,
      rowOf: (token) => token,
    };
  }
  const wordOf = translation.target_word_of;
  const end = translation.target_words.length - 1;
  const rows = translation.target_words.map((word, number) => {
    const first = wordOf.indexOf(number);
    const isEnd = translation.finished && number === end;
    return {
      text: showWord(word),
      end: isEnd,
      token: isEnd || first < 0 ? translation.ids.length : first,
      tokens: isEnd ? 1 : wordOf.filter((each) => each === number).length,
      probability: Math.exp(translation.word_log_probabilities[number] ?? 0),
    };
  });
  return {
    columns: translation.source_words.map(showWord),
    columnEnd: translation.source_words.length - 1,
    rows,
    weights: translation.attention,
    rowOf: (token) =>
      token >= translation.ids.length ? (translation.finished ? end : -1) : (wordOf[token] ?? -1),
  };
}

/** Returns over how many words a row of weights spreads: the exponential of its entropy. */
export function spread(weights) {
  return Math.exp(-weights.reduce((sum, weight) => sum + (weight > 0 ? weight * Math.log(weight) : 0), 0));
}
