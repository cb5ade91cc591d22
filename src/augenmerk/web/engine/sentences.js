/**
 * Splits running text into sentences: a mirror of `augenmerk/text/words.py`, where it is written where a sentence
 * ends. Python's tables come with the model. Texts are code points here, as in `words.js`.
 */

import { codePoints, toUnits } from "./words.js";

const LONGEST_WORD = 40;
const LONGEST_NUMBER = 12;
const FULL_STOP_MARK = ".".codePointAt(0);
const SEMICOLON = ";".codePointAt(0);
const STREET = "str";
const DOTS = new Set(codePoints(".…‥"));
const ROMAN_CAPITALS = new Set(codePoints("IVX"));
const ROMAN = new Set(codePoints("IVXivx"));

function isGreek(point) {
  return (point >= 0x370 && point <= 0x3ff) || (point >= 0x1f00 && point <= 0x1fff);
}

/** Splits text by the tables of Python's `describe_rules`. */
export class SentenceSplitter {
  constructor(rules, characters) {
    const points = (name) => new Set(codePoints(rules[name]));
    this.characters = characters;
    this.endsAlways = points("ends_always");
    this.terminators = new Set([...points("terminators"), ...this.endsAlways]);
    this.closers = points("closers");
    this.closersApart = points("closers_apart");
    this.beforeSentence = points("before_sentence");
    this.lineBreaks = points("line_breaks");
    this.listMarks = points("list_marks");
    this.titles = new Set(rules.titles);
    this.capitalTitles = new Set(rules.capital_titles);
    this.beforeNumbers = new Set(rules.before_numbers);
    this.abbreviations = new Set(rules.abbreviations);
    this.starters = new Set(rules.starters);
    this.ordinals = rules.ordinals;
  }

  split(text) {
    return this.spans(text).map(([start, end]) => text.slice(start, end));
  }

  /** Returns the [start, end] of each sentence in the text, in 16-bit units, as `slice` counts. */
  spans(text) {
    const points = codePoints(text);
    let spans = this.allSpans(points).filter(([start, end]) => this.hasWord(points, start, end));
    if (!spans.length) {
      const [start, end] = this.strip(points, 0, points.length);
      spans = start < end ? [[start, end]] : [];
    }
    return toUnits(spans, points);
  }

  /** Returns whether nothing but spaces surrounds the only span, if there is one. */
  isOneSentence(text, spans) {
    if (!spans.length) return true;
    const [[start, end]] = spans;
    const isSpace = (point) => this.characters.isSpace(point) && !this.lineBreaks.has(point);
    return spans.length === 1 && codePoints(text.slice(0, start) + text.slice(end)).every(isSpace);
  }

  /**
   * Returns the text with other sentences at the spans; all between them is kept. Where nothing is between
   * two, as in Chinese, a space is added, unless the first ends in such a script.
   */
  replace(text, spans, sentences) {
    let replaced = "";
    let end = 0;
    sentences.forEach((sentence, number) => {
      const [start, nextEnd] = spans[number];
      replaced += text.slice(end, start);
      const before = codePoints(sentences[number - 1] ?? "");
      if (end === start && before.length && !this.endsAlways.has(before.at(-1))) replaced += " ";
      replaced += sentence;
      end = nextEnd;
    });
    return replaced + text.slice(end);
  }

  allSpans(points) {
    const spans = [];
    const allSmall = !points.some((point) => this.characters.lower.has(point));
    let lineEnd = 0;
    for (let begin = 0; begin < points.length; begin = lineEnd + 1) {
      lineEnd = begin;
      while (lineEnd < points.length && !this.lineBreaks.has(points[lineEnd])) lineEnd += 1;
      let start = this.skipListMarks(points, begin, lineEnd);
      let place = start;
      while (place < lineEnd) {
        const run = this.readRun(points, place, lineEnd);
        if (run !== null && this.isEnd(points, start, lineEnd, run, allSmall)) {
          spans.push(this.strip(points, start, run.end));
          start = run.end;
        }
        place = run?.end ?? place + 1;
      }
      const [first, last] = this.strip(points, start, lineEnd);
      if (first < last) spans.push([first, last]);
    }
    return spans;
  }

  /** Returns where a line begins behind the marks of a list, if it has any before a space. */
  skipListMarks(points, start, lineEnd) {
    const skip = (from, isSkipped) => {
      let place = from;
      while (place < lineEnd && isSkipped(points[place])) place += 1;
      return place;
    };
    const marks = skip(start, (point) => this.characters.isSpace(point));
    const spaces = skip(marks, (point) => this.listMarks.has(point));
    const first = skip(spaces, (point) => this.characters.isSpace(point));
    return marks < spaces && spaces < first && first < lineEnd ? first : start;
  }

  strip(points, start, end) {
    let [first, last] = [start, end];
    while (first < last && this.characters.isSpace(points[first])) first += 1;
    while (first < last && this.characters.isSpace(points[last - 1])) last -= 1;
    return [first, last];
  }

  hasWord(points, start, end) {
    for (let place = start; place < end; place++) if (this.isInWord(points[place])) return true;
    return false;
  }

  isInWord(point) {
    return this.characters.isWord(point) || this.characters.isCombining(point);
  }

  isClosing(point) {
    return this.terminators.has(point) || this.closers.has(point) || this.characters.isInvisible(point);
  }

  /** Returns the marks that may end a sentence at a place: {start, end, apart}; null if there are none. */
  readRun(points, start, lineEnd) {
    const isQuestion = points[start] === SEMICOLON && start > 0 && isGreek(points[start - 1]);
    if (!this.terminators.has(points[start]) && !isQuestion) return null;
    let end = start + 1;
    while (end < lineEnd && this.isClosing(points[end])) end += 1;
    let apart = end;
    while (apart < lineEnd && this.characters.isSpace(points[apart])) apart += 1;
    if (apart > end && apart < lineEnd && this.closersApart.has(points[apart])) {
      apart += 1;
      while (apart < lineEnd && this.isClosing(points[apart])) apart += 1;
      if (apart === lineEnd || this.characters.isSpace(points[apart]))
        return { start, end: apart, apart: true };
    }
    return { start, end, apart: false };
  }

  /** Returns whether the sentence that began at `start` ends with this run of marks, before the line does. */
  isEnd(points, start, lineEnd, run, allSmall) {
    if (run.end === lineEnd) return false;
    const last = points[run.end - 1];
    if (!run.apart && !this.characters.isSpace(points[run.end]) && !this.endsAlways.has(last)) {
      return this.lacksSpace(points, start, lineEnd, run);
    }
    let first = run.end;
    while (first < lineEnd && this.isNotFirst(points[first])) first += 1;
    if (first === lineEnd || this.terminators.has(points[first]) || this.closers.has(points[first]))
      return false;
    const isCamelCase = this.characters.lower.has(points[first + 1]); // as in iPhone
    if (this.characters.isSmall(points[first]) && !allSmall && !isCamelCase) return false;
    const isMark = (point) => this.terminators.has(point) || point === SEMICOLON;
    let marksEnd = run.end;
    while (!isMark(points[marksEnd - 1])) marksEnd -= 1;
    let marks = marksEnd;
    while (marks > run.start && isMark(points[marks - 1])) marks -= 1;
    const ending = points.slice(marks, marksEnd);
    if (ending.some((point) => !DOTS.has(point))) return true;
    if (ending.length > 1 || ending[0] !== FULL_STOP_MARK) {
      // Something is left out, unless the dots follow a word or a sentence begins.
      const followsWord = marks > start && !this.characters.isSpace(points[marks - 1]);
      return followsWord || (!allSmall && this.starts(points, first, lineEnd));
    }
    return this.isFullStop(points, start, marks, first, lineEnd, allSmall);
  }

  isNotFirst(point) {
    const { characters } = this;
    return characters.isSpace(point) || this.beforeSentence.has(point) || characters.isInvisible(point);
  }

  /** Returns whether the full stop at `stop` ends the sentence, rather than a number or an abbreviation. */
  isFullStop(points, start, stop, first, lineEnd, allSmall) {
    if (
      stop - start <= LONGEST_NUMBER &&
      this.words(points, start, stop).every((word) => this.isItem(word))
    ) {
      return false;
    }
    let lastStart = stop;
    const least = Math.max(start, stop - LONGEST_WORD);
    while (lastStart > least && this.isInWord(points[lastStart - 1])) lastStart -= 1;
    if (lastStart === stop) return true;
    const last = points.slice(lastStart, stop);
    const lowered = this.lower(last);
    if (this.titles.has(lowered)) return false;
    if (!allSmall && this.starts(points, first, lineEnd)) return true;
    if (this.capitalTitles.has(lowered) && !this.characters.isSmall(last[0])) return false;
    if (
      this.characters.isDigit(points[first]) &&
      (this.beforeNumbers.has(lowered) || lowered.endsWith(STREET))
    ) {
      return false;
    }
    const isOrdinal =
      (last.length <= 2 && last.every((point) => this.characters.isDigit(point))) ||
      last.every((point) => ROMAN_CAPITALS.has(point));
    return !(this.abbreviations.has(lowered) || this.isLetter(last) || (this.ordinals && isOrdinal));
  }

  /** Returns whether a sentence begins without a space: after two small letters, with one capital. */
  lacksSpace(points, start, lineEnd, { start: before, end: after }) {
    const { characters } = this;
    return (
      before - 2 >= start &&
      characters.isSmall(points[before - 1]) &&
      characters.isSmall(points[before - 2]) &&
      characters.lower.has(points[after]) &&
      after + 1 < lineEnd &&
      (characters.isSmall(points[after + 1]) || characters.isSpace(points[after + 1]))
    );
  }

  /** Returns whether the rest of a line begins with a word that often begins sentences. */
  starts(points, first, lineEnd) {
    const most = Math.min(lineEnd, first + LONGEST_WORD);
    let end = first;
    while (end < most && this.isInWord(points[end])) end += 1;
    if (end === first || points[end] === FULL_STOP_MARK) return false; // it may be an initial
    return this.starters.has(this.lower(points.slice(first, end)));
  }

  words(points, start, end) {
    const words = [];
    let word = [];
    for (let place = start; place <= end; place++) {
      if (place < end && this.isInWord(points[place])) {
        word.push(points[place]);
      } else if (word.length) {
        words.push(word);
        word = [];
      }
    }
    return words;
  }

  /** Returns whether a word may be the number of an item. */
  isItem(word) {
    return (
      this.isLetter(word) ||
      word.every((point) => this.characters.isDigit(point)) ||
      word.every((point) => ROMAN.has(point))
    );
  }

  /** Returns whether a word is one letter of an alphabet with capitals. */
  isLetter(word) {
    const { characters } = this;
    return word.length === 1 && (characters.lower.has(word[0]) || characters.isSmall(word[0]));
  }

  lower(word) {
    return String.fromCodePoint(...word.flatMap((point) => this.characters.lower.get(point) ?? [point]));
  }
}
