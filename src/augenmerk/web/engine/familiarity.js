/**
 * Tells text that is unlike anything a model learnt from, which it translates all the same, but badly: the
 * JavaScript of `Familiarity` in `batching.py`, where the rule is explained.
 */

import { UNK } from "./tokenizer.js";

/** Added to every count, for tokens that training did not have. */
const SMOOTHING = 0.5;
const BLANK_BYTE = 0x20;

/** What makes a sentence unfamiliar, in the words of Python. */
const REASONS = {
  characters: "characters that the model never learnt",
  "unknown words": "mostly words that the model does not know",
  "rare words": "words, or pieces of words, that the model hardly ever saw",
};

/** Judges sentences by what a source tokenizer knows and by what was counted in training, if it was. */
export class Familiarity {
  /** `learnt` has the `counts` of all tokens and the thresholds `per_token` and `per_word`, or is null. */
  constructor(tokenizer, learnt) {
    this.bytes = tokenizer.isBpe ? tokenizer.bytes : null;
    this.learnt = learnt;
    if (learnt !== null) {
      const smoothed = learnt.counts.map((count, id) => (id === UNK ? 0 : count) + SMOOTHING);
      const sum = smoothed.reduce((total, count) => total + count, 0);
      this.logProbabilities = smoothed.map((count) => Math.log(count / sum));
    }
  }

  /** Returns why a sentence, given as ids, is unfamiliar; null if it is not, or is empty. */
  judge(ids) {
    if (ids.length === 0) return null;
    const count = (marked) => ids.filter(marked).length;
    const isStrange = count((id) => this.isByte(id)) / ids.length > 0.5;
    const isUnknown = count((id) => id === UNK) / ids.length > 0.5;
    let isUnfamiliar = isStrange || isUnknown;
    if (this.learnt !== null) {
      const sum = ids.reduce((total, id) => total + this.logProbabilities[id], 0);
      const words = Math.max(
        1,
        count((id) => this.startsWord(id))
      );
      isUnfamiliar = sum / ids.length < this.learnt.per_token || sum / words < this.learnt.per_word;
    }
    if (!isUnfamiliar) return null;
    const reason = isStrange ? "characters" : isUnknown ? "unknown words" : "rare words";
    return { reason, in_words: `The sentence has ${REASONS[reason]}.` };
  }

  /** Whether an id is a single byte of a character, which stands where the vocabulary has nothing larger. */
  isByte(id) {
    return this.bytes !== null && this.bytes[id].length === 1 && this.bytes[id][0] >= 0x80;
  }

  startsWord(id) {
    return this.bytes === null || this.bytes[id][0] === BLANK_BYTE;
  }
}
