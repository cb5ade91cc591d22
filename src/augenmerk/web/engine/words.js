/**
 * Splits text into words, the unit in which attention is shown: a mirror of `augenmerk/text/words.py`, where it is
 * written what a word is.
 *
 * Python finds words with one regular expression. JavaScript cannot use it, as it has no possessive
 * quantifiers and its `\w`, `\s` and `\d` are others; so each part of that pattern is a function here. They
 * read code points, not the 16-bit units of a string, and Python's own tables say of what kind each is.
 */

// The bits of the properties of a character, in the order of `bundle.py`.
const WORD = 1;
const SPACE = 2;
const DIGIT = 4;
const COMBINING = 8;
const INVISIBLE = 16;
const UNASSIGNED = 32;
const CASED = 64;
const CASE_IGNORABLE = 128;

const FULL_STOP = 0x2e;
const UNDERSCORE = 0x5f;
const ZERO_WIDTH_SPACE = 0x200b;
const ZERO_WIDTH_JOINER = 0x200d;
const HYPHENS = new Set(codePoints("-‐‑"));
const JOINERS = new Set(codePoints("-'’‐‑"));
const JOINERS_OF_DIGITS = new Set(codePoints(".,:"));
const AFTER_HALF_A_COMPOUND = new Set(codePoints(",;.:!?)"));

/**
 * What Python knows about each character, from the tables of `describe_characters`.
 *
 * The methods also accept `undefined`, which stands beyond both ends of a text and has no property.
 */
export class Characters {
  constructor(tables) {
    this.bits = new Uint8Array(0x110000);
    let start = 0;
    for (let i = 0; i < tables.runs.length; i += 2) {
      const [length, bits] = tables.runs.slice(i, i + 2);
      this.bits.fill(bits, start, start + length);
      start += length;
    }
    /** The code points that a capital letter becomes in lower case. */
    this.lower = new Map();
    for (const [capital, difference] of listRuns(tables.lower))
      this.lower.set(capital, [capital + difference]);
    for (const [capital, letters] of Object.entries(tables.lower_special)) {
      this.lower.set(capital.codePointAt(0), codePoints(letters));
    }
    /** The letters that begin no sentence. */
    this.small = new Set(listRuns(tables.small).map(([letter]) => letter));
  }

  /** Python's `\w`. */
  isWord(point) {
    return (this.bits[point] & WORD) !== 0;
  }

  /** Python's `\s`, which is also what `str.split` splits at. */
  isSpace(point) {
    return (this.bits[point] & SPACE) !== 0;
  }

  /** Python's `\d`. */
  isDigit(point) {
    return (this.bits[point] & DIGIT) !== 0;
  }

  /** Python's `[^\W\d_]`. */
  isLetter(point) {
    return this.isWord(point) && !this.isDigit(point) && point !== UNDERSCORE;
  }

  /** Whether the character belongs to the one before. */
  isCombining(point) {
    return (this.bits[point] & COMBINING) !== 0;
  }

  /** Whether the character cannot be seen and does not belong to the text. */
  isInvisible(point) {
    return (this.bits[point] & INVISIBLE) !== 0;
  }

  /** Whether Python's version of Unicode does not have the character. */
  isUnassigned(point) {
    return (this.bits[point] & UNASSIGNED) !== 0;
  }

  /** Python's `is_small` of `augenmerk/text/words.py`. */
  isSmall(point) {
    return this.small.has(point);
  }

  isCased(point) {
    return (this.bits[point] & CASED) !== 0;
  }

  isCaseIgnorable(point) {
    return (this.bits[point] & CASE_IGNORABLE) !== 0;
  }

  /** Whether the character stands between words only. */
  isSeparator(point) {
    return this.isSpace(point) || point === ZERO_WIDTH_SPACE;
  }

  /** Whether the character alone is a word: Python's `[^\w\s\u200b]`. */
  isSymbol(point) {
    return point !== undefined && !this.isWord(point) && !this.isSeparator(point);
  }
}

/** Returns [code point, difference] for all that a table of runs stands for: each (first, length, step, difference). */
function listRuns(table) {
  const all = [];
  for (let i = 0; i < table.length; i += 4) {
    const [first, length, step, difference] = table.slice(i, i + 4);
    for (let place = 0; place < length; place++) all.push([first + place * step, difference]);
  }
  return all;
}

/** Returns the code points of a text; half a surrogate pair counts as one, as in Python. */
export function codePoints(text) {
  return Array.from(text, (character) => character.codePointAt(0));
}

/** Returns the words of a text, punctuation split off: `"Der Hund schläft."` has four. */
export function splitWords(text, characters) {
  return wordSpans(text, characters).map(([start, end]) => text.slice(start, end));
}

/** Returns the [start, end] of each word in the text, in 16-bit units, as `slice` counts. */
export function wordSpans(text, characters) {
  const points = codePoints(text);
  return toUnits(wordSpansOfPoints(points, characters), points);
}

/** Returns [start, end] pairs of code points in 16-bit units. */
export function toUnits(spans, points) {
  const places = [0];
  for (const point of points) places.push(places.at(-1) + (point > 0xffff ? 2 : 1));
  return spans.map(([start, end]) => [places[start], places[end]]);
}

/** Returns the [start, end] of each word in a text that is given as code points. */
export function wordSpansOfPoints(points, characters) {
  const visible = [...points.keys()].filter((place) => !characters.isInvisible(points[place]));
  const text = visible.map((place) => points[place]);
  const spans = [];
  let start = 0;
  while (start < text.length) {
    const end = endOfWord(text, start, characters);
    if (end !== null) spans.push([visible[start], visible[end - 1] + 1]);
    start = end ?? start + 1;
  }
  return spans;
}

/** Returns where the word at `start` ends, null if none starts there. No character may be invisible. */
export function endOfWord(points, start, characters) {
  return (
    endOfAbbreviation(points, start, characters) ??
    endOfWordOfLetters(points, start, characters) ??
    endOfSymbol(points, start, characters)
  );
}

/** Two to nine letters, each with a full stop, and then nothing that belongs to a word: `z.B.` */
function endOfAbbreviation(points, start, characters) {
  let end = start;
  let letters = 0;
  while (letters < 9 && characters.isLetter(points[end])) {
    const afterLetter = skipCombining(points, end + 1, characters);
    if (points[afterLetter] !== FULL_STOP) break;
    end = afterLetter + 1;
    letters += 1;
  }
  return letters >= 2 && !characters.isWord(points[end]) ? end : null;
}

/** Letters, digits and marks with what is joined to them: `T-Shirt`, `girl's`, `3.5`, `Obst-`. */
function endOfWordOfLetters(points, start, characters) {
  let end = skipLetters(points, start, characters);
  if (end === start) return null;
  const isJoined = (before, joiner, after) =>
    (JOINERS.has(joiner) && characters.isWord(after)) ||
    (JOINERS_OF_DIGITS.has(joiner) && characters.isDigit(before) && characters.isDigit(after));
  while (isJoined(points[end - 1], points[end], points[end + 1])) {
    end = skipLetters(points, end + 1, characters);
  }
  const after = points[end + 1];
  const closes = after === undefined || characters.isSeparator(after) || AFTER_HALF_A_COMPOUND.has(after);
  return HYPHENS.has(points[end]) && closes ? end + 1 : end;
}

/** Any other character, or the two of a flag, with what belongs to it; emoji that are joined are one. */
function endOfSymbol(points, start, characters) {
  if (!characters.isSymbol(points[start])) return null;
  const isFlag = isRegional(points[start]) && isRegional(points[start + 1]);
  let end = skipCombining(points, start + (isFlag ? 2 : 1), characters);
  while (points[end - 1] === ZERO_WIDTH_JOINER && characters.isSymbol(points[end])) {
    end = skipCombining(points, end + 1, characters);
  }
  return end;
}

/** Whether the character is one of the 26 of which two make a flag. */
function isRegional(point) {
  return point >= 0x1f1e6 && point <= 0x1f1ff;
}

function skipLetters(points, start, characters) {
  let end = start;
  while (characters.isWord(points[end]) || characters.isCombining(points[end])) end += 1;
  return end;
}

function skipCombining(points, start, characters) {
  let end = start;
  while (characters.isCombining(points[end])) end += 1;
  return end;
}

const ATTACHED_LEFT = new Set(".,;:!?)]}%…”’");
const ATTACHED_RIGHT = new Set("([{„‚¿¡#$£@");
const ATTACHED_BOTH = new Set("/");
/** For each closing mark, the marks that open its quotation. If none is open, the mark itself opens one. */
const CLOSES = new Map([
  ['"', '"'],
  ["'", "'"],
  ["“", "„"],
  ["‘", "‚"],
  ["«", "«»"],
  ["»", "«»"],
  ["‹", "‹›"],
  ["›", "‹›"],
]);

/**
 * Returns the text of the words, with spaces as in ordinary writing.
 *
 * `splitWords` gives the words back: two words are never joined in a way that it would not undo.
 */
export function detokenise(words, characters) {
  const attachments = findAttachments(words);
  let text = "";
  let before = "";
  let attached = false;
  for (const [position, word] of words.entries()) {
    const { left, right } = attachments[position];
    if (before && !((attached || left) && remainTwoWords(before, word, characters))) text += " ";
    text += word;
    before = word;
    attached = right;
  }
  return text;
}

function remainTwoWords(before, word, characters) {
  const together = splitWords(before + word, characters);
  const apart = [...splitWords(before, characters), ...splitWords(word, characters)];
  return together.length === apart.length && together.every((part, i) => part === apart[i]);
}

/** Returns for each word whether it is written without a space before it (left) and after it (right). */
function findAttachments(words) {
  const lastApostrophe = words.lastIndexOf("'");
  const opened = new Set();
  let closed = false; // whether the word before closed a quotation
  return words.map((word, position) => {
    const both = ATTACHED_BOTH.has(word) || (word === "-" && closed); // the „Stop“-Schild
    let left = both || ATTACHED_LEFT.has(word);
    let right = both || ATTACHED_RIGHT.has(word);
    closed = "”’".includes(word);
    if ("„‚".includes(word)) {
      opened.add(word);
    } else if (CLOSES.has(word)) {
      const openers = [...CLOSES.get(word)];
      closed = openers.some((opener) => opened.has(opener));
      // An apostrophe without a partner belongs to the word before it: the boys' room.
      left = closed || (position > 0 && position === lastApostrophe);
      right = !left;
      if (closed) {
        openers.forEach((opener) => opened.delete(opener));
      } else if (right) {
        opened.add(word);
      }
    }
    return { left, right };
  });
}
