/**
 * Sentences to ids and back, whole words or subwords by byte-pair encoding: a mirror of `augenmerk/text/tokenizer.py`.
 *
 * Vocabulary, merges and what there is to know about characters come from Python (`bundle.py`), so
 * that every text has the same ids here and there.
 */

import { codePoints, detokenise, endOfWord, splitWords, wordSpans, wordSpansOfPoints } from "./words.js";

export const SPECIAL_TOKENS = ["<pad>", "<s>", "</s>", "<unk>"];
export const PAD = 0;
export const BOS = 1;
export const EOS = 2;
export const UNK = 3;
/** How an unknown word is written. */
const UNKNOWN = "⁇";

const UNPRINTED = new Set([PAD, BOS, EOS]);
const BLANK = 0x20;
const REPLACEMENT = 0xfffd;
const CAPITAL_SIGMA = 0x3a3;
const SMALL_SIGMA = 0x3c3;
const FINAL_SIGMA = 0x3c2;
/** A byte b that is not UTF-8 is kept as code point ESCAPED + b, half a surrogate pair, as by Python. */
const ESCAPED = 0xdc00;
const PIECE_CACHE_SIZE = 20000;

/**
 * Returns the text as a model reads it; with BPE, decoding an encoded text gives exactly this.
 *
 * Invisible characters are removed, half a surrogate pair becomes U+FFFD, white space becomes single spaces,
 * none at the ends, and accents are composed (NFC).
 */
export function normalise(text, characters, lowercase = false) {
  const points = [];
  let pending = false; // whether there was white space since the last character that is kept
  for (const point of codePoints(text)) {
    if (characters.isInvisible(point)) continue;
    if (characters.isSeparator(point)) {
      pending = points.length > 0;
      continue;
    }
    if (pending) {
      points.push(BLANK);
      pending = false;
    }
    points.push(isSurrogate(point) ? REPLACEMENT : point);
  }
  return composeAccents(lowercase ? lowerCase(points, characters) : points, characters);
}

function isSurrogate(point) {
  return point >= 0xd800 && point <= 0xdfff;
}

/** Python's `str.lower`. */
function lowerCase(points, characters) {
  return points.flatMap((point, place) => {
    if (point === CAPITAL_SIGMA) return isFinalSigma(points, place, characters) ? FINAL_SIGMA : SMALL_SIGMA;
    return characters.lower.get(point) ?? point;
  });
}

/** Whether the Σ at a place ends a word: it stands after a cased letter and before none. */
function isFinalSigma(points, place, characters) {
  let before = place - 1;
  while (characters.isCaseIgnorable(points[before])) before -= 1;
  let after = place + 1;
  while (characters.isCaseIgnorable(points[after])) after += 1;
  return characters.isCased(points[before]) && !characters.isCased(points[after]);
}

/**
 * Returns the code points as a text in normal form C of Python's version of Unicode.
 *
 * A browser may know newer characters than Python, and compose or reorder them. To Python they are
 * unassigned: nothing composes with them or moves past them, so that the text between two of them is
 * normalised separately. The normal form of all others stays the same in every later version, as Unicode
 * promises. (A browser older than Python's Unicode, 14.0 of 2021 for Python 3.11, may miss its newest ones.)
 */
function composeAccents(points, characters) {
  let composed = "";
  let assigned = "";
  for (const point of points) {
    const character = String.fromCodePoint(point);
    if (characters.isUnassigned(point)) {
      composed += assigned.normalize("NFC") + character;
      assigned = "";
    } else {
      assigned += character;
    }
  }
  return composed + assigned.normalize("NFC");
}

/** A vocabulary that turns texts into ids and back, from the tables of `describe_tokenizer`. */
export class Tokenizer {
  constructor(tables, characters) {
    this.characters = characters;
    this.isBpe = tables.unit === "bpe";
    this.lowercase = tables.lowercase;
    this.size = tables.tokens.length;
    if (this.isBpe) {
      this.bytes = tables.tokens.map((token) => Uint8Array.from(token, (byte) => byte.charCodeAt(0)));
      this.idOfByte = new Map();
      this.bytes.forEach((bytes, id) => {
        if (bytes.length === 1) this.idOfByte.set(bytes[0], id);
      });
      this.rankOf = new Map(); // of the merge of two ids, by `pairKey`
      this.merged = []; // for each rank the id that the two become
      for (let i = 0; i < tables.merges.length; i += 3) {
        const [left, right, merged] = tables.merges.slice(i, i + 3);
        this.rankOf.set(this.pairKey(left, right), this.merged.length);
        this.merged.push(merged);
      }
    } else {
      this.tokens = tables.tokens;
      this.idOfWord = new Map(tables.tokens.map((token, id) => [token, id]));
    }
    this.cache = new Map(); // the ids of pieces, since words repeat
  }

  /** Returns a readable vocabulary entry: `▁` is the space before a word, `\xc3` a byte of a letter. */
  token(id) {
    if (id < SPECIAL_TOKENS.length) return SPECIAL_TOKENS[id];
    if (!this.isBpe) return this.tokens[id];
    const readable = (point) =>
      isSurrogate(point) ? `\\x${(point - ESCAPED).toString(16)}` : String.fromCodePoint(point);
    return decodeUtf8(this.bytes[id]).map(readable).join("").replaceAll(" ", "▁");
  }

  /** Returns the words of the normalised text, for BPE with the space before each. */
  pieces(text) {
    const normal = normalise(text, this.characters, this.lowercase);
    if (!this.isBpe) return splitWords(normal, this.characters);
    // With a space in front, a word has the same subwords at the beginning of a sentence as elsewhere.
    const points = codePoints(` ${normal}`);
    const pieces = [];
    let start = 0;
    while (start < points.length) {
      const end = endOfWord(points, points[start] === BLANK ? start + 1 : start, this.characters);
      if (end !== null) pieces.push(toText(points.slice(start, end)));
      start = end ?? start + 1;
    }
    return pieces;
  }

  /**
   * Encodes one sentence, and finds its words in the original text.
   *
   * Returns its `ids`, the `words` of the original text and their `spans` in it, in 16-bit units, and
   * `word_of`, for each id the number of its word.
   */
  encode(text) {
    const idsByWord = this.pieces(text).map((piece) => this.encodePiece(piece));
    const spans = wordSpans(text, this.characters);
    return {
      ids: idsByWord.flat(),
      words: spans.map(([start, end]) => text.slice(start, end)),
      spans,
      word_of: idsByWord.flatMap((ids, word) => ids.map(() => word)),
    };
  }

  encodePiece(piece) {
    if (!this.isBpe) return [this.idOfWord.get(piece) ?? UNK];
    let ids = this.cache.get(piece);
    if (ids === undefined) {
      ids = this.merge(Array.from(new TextEncoder().encode(piece), (byte) => this.idOfByte.get(byte)));
      if (this.cache.size >= PIECE_CACHE_SIZE) this.cache.clear();
      this.cache.set(piece, ids);
    }
    return ids;
  }

  /** Applies the merge that was learnt first, leftmost first, until none remains, and returns the ids. */
  merge(ids) {
    const rankAt = (place) => this.rankOf.get(this.pairKey(ids[place], ids[place + 1])) ?? Infinity;
    const ranks = ids.map((_, place) => rankAt(place)); // of each id with the next
    for (;;) {
      let best = 0;
      for (let place = 1; place < ranks.length; place += 1) {
        if (ranks[place] < ranks[best]) best = place;
      }
      if (ids.length < 2 || ranks[best] === Infinity) return ids;
      ids.splice(best, 2, this.merged[ranks[best]]);
      ranks.splice(best + 1, 1);
      ranks[best] = rankAt(best);
      if (best > 0) ranks[best - 1] = rankAt(best - 1);
    }
  }

  pairKey(left, right) {
    return left * this.size + right;
  }

  /** Returns the text of ids. PAD, BOS and EOS are left out; UNK becomes `⁇`. */
  decode(ids) {
    if (this.isBpe) return normalise(toText(decodeUtf8(this.bytesOf(ids))), this.characters);
    return detokenise(this.wordsOfIds(ids).words, this.characters);
  }

  /**
   * Returns the `words` of `decode(ids)`, and in `word_of` for each id its word; null for PAD, BOS and EOS.
   *
   * The words are those of `splitWords(decode(ids))`, except that words which share an id are returned as
   * one: a model may combine subwords in ways that no text does.
   */
  wordsOfIds(ids) {
    if (!this.isBpe) {
      const printed = ids.filter((id) => !UNPRINTED.has(id));
      let number = 0;
      return {
        words: printed.map((id) => (id === UNK ? UNKNOWN : this.tokens[id])),
        word_of: ids.map((id) => (UNPRINTED.has(id) ? null : number++)),
      };
    }

    const bytes = this.bytesOf(ids);
    const points = decodeUtf8(bytes);
    const spans = wordSpansOfPoints(points, this.characters);
    if (spans.length === 0) return { words: [], word_of: ids.map(() => null) };
    // The ends of ids and of words are counted in bytes. Bytes between two words belong to the second, like
    // the space before it; bytes after the last word belong to the last.
    const idEnds = runningSums(ids.map((id) => this.bytes[id].length));
    const pointEnds = runningSums(points.map(lengthInUtf8));
    const possible = new Set(idEnds);
    const wordEnds = spans
      .slice(0, -1)
      .map(([, end]) => pointEnds[end - 1])
      .filter((end) => possible.has(end));
    wordEnds.push(bytes.length);
    const words = wordEnds.map((end, word) => {
      const start = word > 0 ? wordEnds[word - 1] : 0;
      return normalise(toText(decodeUtf8(bytes.subarray(start, end))), this.characters);
    });
    let word = 0;
    const wordOf = ids.map((id, i) => {
      while (wordEnds[word] < idEnds[i]) word += 1;
      return this.bytes[id].length > 0 ? word : null;
    });
    return { words, word_of: wordOf };
  }

  bytesOf(ids) {
    return Uint8Array.from(ids.flatMap((id) => [...this.bytes[id]]));
  }
}

function runningSums(numbers) {
  let sum = 0;
  return numbers.map((number) => (sum += number));
}

function toText(points) {
  return points.map((point) => String.fromCodePoint(point)).join("");
}

/**
 * Returns the code points of bytes in UTF-8.
 *
 * A model may produce bytes that are not UTF-8; each becomes half a surrogate pair, so that none is lost.
 */
function decodeUtf8(bytes) {
  const points = [];
  let place = 0;
  while (place < bytes.length) {
    const point = decodeOne(bytes, place);
    points.push(point ?? ESCAPED + bytes[place]);
    place += point === null ? 1 : lengthInUtf8(point);
  }
  return points;
}

/** Returns the code point whose bytes begin at a place, or null if they are not UTF-8. */
function decodeOne(bytes, place) {
  const first = bytes[place];
  if (first < 0x80) return first;
  const length = first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
  let point = first & (0x7f >> length);
  for (let i = 1; i < length; i += 1) {
    if ((bytes[place + i] & 0xc0) !== 0x80) return null;
    point = (point << 6) | (bytes[place + i] & 0x3f);
  }
  // Longer than necessary, half a surrogate pair, or beyond the last code point.
  const isValid = length === lengthInUtf8(point) && !isSurrogate(point) && point <= 0x10ffff;
  return isValid ? point : null;
}

/** Returns how many bytes a code point takes: one if it represents a byte that is not UTF-8. */
function lengthInUtf8(point) {
  if (point < 0x80 || isSurrogate(point)) return 1;
  return point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}
