/**
 * Translates text with one model: text in; words, weights, scores, alternatives and the beam tree out.
 *
 * The JavaScript of `translate/translator.py` for one sentence. What it returns is ready for JSON and has the
 * keys that Python's `Translation.to_dict` has.
 */

import { logSoftmaxRows, splitRows, Weights } from "./arrays.js";
import { findUncovered } from "./coverage.js";
import { EngineError } from "./errors.js";
import { Familiarity } from "./familiarity.js";
import { GRUTranslator } from "./gru.js";
import { BeamTrace, lengthLimit, likeliestTokens, search } from "./search.js";
import { SentenceSplitter } from "./sentences.js";
import { BOS, EOS, PAD, SPECIAL_TOKENS, Tokenizer, UNK } from "./tokenizer.js";
import { TransformerTranslator } from "./transformer.js";
import { maximiseWanted } from "./wanted.js";
import { Characters, detokenise } from "./words.js";

const BUNDLE_FORMAT = 2;
/** How many sentences of a text are kept, so that they are not translated again when another changes. */
const KEPT_SENTENCES = 500;

/** Builds the model that the settings of a bundle describe, with its weights (fp16 in an ArrayBuffer). */
export function buildModel(settings, buffer) {
  const config = settings.config.model;
  const Model = config.architecture === "transformer" ? TransformerTranslator : GRUTranslator;
  const weights = Weights.decode(settings.tensors, buffer);
  return new Model(
    config,
    weights,
    settings.source_vocabulary,
    settings.target_vocabulary,
    settings.attention
  );
}

/** Lets a search step a model over a sentence that it has read: a decoder as `search` needs it. */
class ModelDecoder {
  /** `changed` has weights (S) by target position, which replace the model's own there. */
  constructor(model, source, changed = new Map()) {
    this.model = model;
    this.source = source;
    this.changed = changed;
    this.vocabulary = model.vocabulary;
  }

  start() {
    return this.source.start;
  }

  step(tokens, states, place) {
    return this.model.step(tokens, states, this.source.memory, this.changed.get(place) ?? null);
  }
}

/** Translates text with a trained model. */
export class Translator {
  /** Makes a translator of a bundle: its settings and its weights, an ArrayBuffer that is decoded once. */
  static load(settings, buffer) {
    if (settings.format !== BUNDLE_FORMAT) {
      throw new EngineError("otherFormat", { format: settings.format, expected: BUNDLE_FORMAT });
    }
    return new Translator(settings, buildModel(settings, buffer));
  }

  constructor(settings, model) {
    const { source, target } = settings.tokenizers;
    this.settings = settings;
    this.model = model;
    this.characters = new Characters(settings.characters);
    this.source = new Tokenizer(source, this.characters);
    this.target = target === null ? this.source : new Tokenizer(target, this.characters);
    this.familiarity = new Familiarity(this.source, settings.familiarity);
    this.splitter = new SentenceSplitter(settings.sentences, this.characters);
    this.lastRead = { key: null, source: null };
    this.kept = new Map(); // sentences of texts that were translated, by beam and source
  }

  /** Returns ids, words, their spans in the text and for each id the number of its word. */
  encode(text) {
    return this.source.encode(text);
  }

  /**
   * Translates a text of any number of sentences. A generator like `translate`, with the same options: what it
   * returns is the translation of one of them, which `sentence` counts from 0. If there are several, it also has
   * the number of this one (`sentence`), and the source, translation and faults of each; the whole translation
   * if the text is more than a sentence.
   */
  *translateText(text, /** @type {any} */ { sentence = 0, ...options } = {}) {
    const spans = this.splitter.spans(text);
    if (this.splitter.isOneSentence(text, spans)) return yield* this.translate(text, options);
    const sources = spans.map(([start, end]) => text.slice(start, end));
    const place = Math.min(sentence, sources.length - 1);
    const chosen = yield* this.translate(sources[place], options);
    const sentences = [];
    for (const [number, source] of sources.entries()) {
      sentences.push(
        number === place ? describeSentence(chosen) : yield* this.translateOther(source, options)
      );
    }
    const translations = sentences.map(({ translation }) => translation);
    const whole = this.splitter.replace(text, spans, translations);
    return { ...chosen, ...(sentences.length > 1 ? { sentence: place, sentences } : {}), whole };
  }

  /** Translates a sentence of a text that is not looked at, unless that was done. */
  *translateOther(source, { beam, length_penalty }) {
    const key = JSON.stringify([source, beam, length_penalty]);
    if (!this.kept.has(key)) {
      const options = { beam, length_penalty, n_best: 1, next: 0 };
      this.kept.set(key, describeSentence(yield* this.translate(source, options)));
      if (this.kept.size > KEPT_SENTENCES) this.kept.delete(this.kept.keys().next().value);
    }
    return this.kept.get(key);
  }

  /**
   * Translates a sentence. A generator: it yields after every step of the decoder, and returns the
   * translation.
   *
   * Options are beam, n_best and length_penalty, those of the run if they are absent; `next`, how many likely
   * tokens to return at each place; `tree`, whether to return the whole beam as a tree; `prefix`, ids that
   * the translation begins with; `changed`, [{position, weights}]: weights over the source tokens that
   * replace the model's own at a target position, counted in tokens from 0; and `heads`, a part of which to return
   * the attention of each head.
   */
  *translate(text, options = {}) {
    const settings = this.searchSettings(options);
    const encoded = this.encode(text);
    if (encoded.ids.length === 0) {
      return { ...emptyTranslation(text), ...(options.tree ? { tree: null } : {}) };
    }
    const trace = options.tree ? new BeamTrace(settings.beam, settings.length_penalty) : null;
    const hypotheses = yield* this.translateIds(encoded.ids, {
      ...options,
      next: options.next ?? 5,
      onStep: trace === null ? null : (step) => trace.record(step),
    });
    const [best, ...others] = hypotheses.map((one) => this.describe(text, encoded, one, settings));
    return {
      ...best,
      ...(options.heads
        ? { heads: this.describeHeads(options.heads, encoded.ids, best, options.changed) }
        : {}),
      unfamiliar: this.familiarity.judge(encoded.ids),
      alternatives: others.map(({ next: _, ...other }) => other),
      ...(trace === null ? {} : { tree: this.describeTree(text, trace.finish(hypotheses)) }),
    };
  }

  /**
   * Finds the best hypotheses for a source, ids without EOS, of which only the first `max_source_length` are
   * read. A generator like `translate`, with the same options.
   */
  *translateIds(ids, { prefix = [], changed = [], next = 0, onStep = null, ...changes }) {
    const settings = this.searchSettings(changes);
    this.checkIds(prefix);
    const { source, length } = this.read(ids);
    yield;
    const places = new Map(
      changed.map(({ position, weights }) => [position, this.checkWeights(weights, length)])
    );
    return yield* search(new ModelDecoder(this.model, source, places), {
      beam: settings.beam,
      nBest: settings.n_best,
      lengthPenalty: settings.length_penalty,
      maxLength: lengthLimit(settings, length),
      allowUnknown: settings.allow_unknown,
      prefix,
      next,
      onStep,
    });
  }

  /**
   * Predicts the word after a prefix (ids) of a translation, under the model's own attention (`weights` is
   * null) or under given weights over the source tokens, the end included. Returns these weights, the `count`
   * likeliest tokens, best first, and the entropy of all in nats.
   */
  predict(text, prefix = [], weights = null, count = 5) {
    const { features, weights: attended } = this.goTo(text, prefix, weights);
    const logProbs = this.model.output(features);
    logSoftmaxRows(logProbs, this.model.vocabulary);
    return {
      weights: [...attended],
      tokens: this.describeTokens(likeliestTokens(logProbs, this.searchSettings().allow_unknown, count)),
      entropy: logProbs.reduce((sum, logProb) => sum - Math.exp(logProb) * logProb, 0),
    };
  }

  /**
   * Finds the attention under which a token is likeliest after a prefix of a translation: these weights, and
   * its probability; `best` is the likeliest other token there, `own_probability` what the wanted one has
   * under the model's own attention. `wins` says whether it is the likeliest of all under some attention,
   * namely `winning_weights`; it is null if that is undecided. Exact for a GRU; other models are refused.
   */
  wanted(text, prefix, token) {
    this.checkChangeable();
    this.checkIds(token === EOS ? [] : [token]);
    const { features, memory } = this.goTo(text, prefix, null);
    const logProbs = this.model.output(features);
    logSoftmaxRows(logProbs, this.model.vocabulary);
    const query = features.subarray(features.length - this.model.config.hidden); // g_i, after a_i
    const { base, contributions } = this.model.splitLogits(query, memory);
    const never = this.searchSettings().allow_unknown ? [PAD, BOS] : [PAD, BOS, UNK];
    const found = maximiseWanted(base, splitRows(contributions, memory.S), token, never);
    const [best] = this.describeTokens([{ token: found.best, logProb: found.best_log_probability }]);
    return {
      weights: found.weights,
      probability: Math.exp(found.log_probability),
      wins: found.wins,
      winning_weights: found.winning_weights,
      best,
      own_probability: Math.exp(logProbs[token]),
    };
  }

  /** Reads a prefix of a translation of a text, and returns what the output layer reads after it. */
  goTo(text, prefix, weights) {
    this.checkIds(prefix);
    const { source, length } = this.read(this.encode(text).ids);
    const changed = weights === null ? null : this.checkWeights(weights, length);
    const tokens = [BOS, ...prefix];
    const last = tokens.pop();
    let states = [source.start];
    for (const token of tokens) states = this.model.advance([token], states, source.memory).states;
    return { ...this.model.advance([last], states, source.memory, changed), memory: source.memory };
  }

  /** Returns a source as a model reads it, of ids without EOS. */
  sourceOf(ids) {
    return [...ids.slice(0, this.settings.max_source_length), EOS];
  }

  /** Encodes a source, ids without EOS; the last one is kept, since it is asked about again and again. */
  read(ids) {
    const src = this.sourceOf(ids);
    const key = src.join(" ");
    if (this.lastRead.key !== key) this.lastRead = { key, source: this.model.encode(src) };
    return { source: this.lastRead.source, length: src.length };
  }

  /** Returns the run's search settings with some changed; what was not asked for fits what was. */
  searchSettings(changes = {}) {
    const settings = { ...this.settings.config.search };
    for (const name of ["beam", "n_best", "length_penalty"]) settings[name] = changes[name] ?? settings[name];
    if (changes.beam === undefined) {
      settings.beam = Math.max(settings.beam, settings.n_best);
    } else if (changes.n_best === undefined) {
      settings.n_best = Math.min(settings.beam, settings.n_best);
    }
    return settings;
  }

  checkIds(ids) {
    for (const id of ids) {
      if (!Number.isInteger(id) || id < UNK || id >= this.model.vocabulary) {
        throw new EngineError("badId", { id, least: UNK, most: this.model.vocabulary - 1 });
      }
    }
  }

  /** Returns weights over `length` source tokens, made to sum to 1; throws if they cannot be used. */
  checkWeights(weights, length) {
    this.checkChangeable();
    const sum = weights.reduce((total, weight) => total + weight, 0);
    const areWeights = weights.every((weight) => weight >= 0) && sum > 0 && sum < Infinity;
    if (weights.length !== length || !areWeights) throw new EngineError("badWeights", { length });
    return Float32Array.from(weights, (weight) => weight / sum);
  }

  checkChangeable() {
    const { architecture, attention } = this.settings.config.model;
    if (architecture !== "gru") throw new EngineError("notChangeable", { architecture });
    if (attention === "none") throw new EngineError("nothingToChange");
  }

  describeTokens(tokens) {
    return tokens.map(({ token, logProb }) => ({
      id: token,
      text: this.target.token(token),
      probability: Math.exp(logProb),
    }));
  }

  /** Turns a hypothesis into a translation. */
  describe(text, encoded, hypothesis, settings) {
    const { ids, finished, weights, tokenLogProbabilities } = hypothesis;
    const end = SPECIAL_TOKENS[EOS];
    const read = Math.min(encoded.ids.length, this.settings.max_source_length);
    const sourceWordOf = encoded.word_of.slice(0, read);
    const sourceWords = encoded.words.slice(0, sourceWordOf[read - 1] + 1);
    const { words, word_of: wordOf } = this.target.wordsOfIds(ids);
    let translation = this.target.decode(ids);
    if (settings.replace_unknown && this.model.selective && !this.target.isBpe && ids.includes(UNK)) {
      ids.forEach((id, place) => {
        if (id === UNK) {
          words[place] = encoded.words[sourceWordOf[placeOfLargest(weights[place].subarray(0, read))]];
        }
      });
      translation = detokenise(words, this.characters);
    }
    // The end counts as a word on both sides, where it was read or produced.
    const rowWords = finished ? [...wordOf, words.length] : wordOf;
    const columnWords = [...sourceWordOf, sourceWords.length];
    const targetWords = finished ? [...words, end] : words;
    const wordLogProbabilities = targetWords.map(() => 0);
    rowWords.forEach((word, place) => {
      if (word !== null) wordLogProbabilities[word] += tokenLogProbabilities[place];
    });
    return {
      source: text,
      translation,
      score: hypothesis.score,
      log_probability: hypothesis.logProbability,
      finished,
      truncated: encoded.ids.length > this.settings.max_source_length,
      uncovered: this.model.selective ? findUncovered(weights, text, encoded) : null,
      source_words: [...sourceWords, end],
      target_words: targetWords,
      word_log_probabilities: wordLogProbabilities,
      attention: overWords(weights, rowWords, columnWords).map(roundWeights),
      source_subwords: [...encoded.ids.slice(0, read).map((id) => this.source.token(id)), end],
      target_subwords: [...ids.map((id) => this.target.token(id)), ...(finished ? [end] : [])],
      subword_attention: weights.map((row) => roundWeights([...row])),
      ids,
      token_log_probabilities: tokenLogProbabilities,
      source_word_of: [...sourceWordOf, null],
      target_word_of: finished ? [...wordOf, null] : wordOf,
      next: hypothesis.next.map((tokens) => this.describeTokens(tokens)),
    };
  }

  /**
   * Returns the attention of each head of a part along a translation, [layer][head] over words and over subwords, as
   * Python's `describe_heads` does.
   */
  describeHeads(part, sourceIds, translation, changed = []) {
    const src = this.sourceOf(sourceIds);
    const read = [BOS, ...translation.ids].slice(0, translation.target_subwords.length);
    const given = new Map(
      changed.map(({ position, weights }) => [position, this.checkWeights(weights, src.length)])
    );
    const layers = this.model.watch(part, src, read, given);
    // The end counts as a word.
    const withEnd = (wordOf, end, words) => wordOf.map((word, i) => (i === end ? words.length - 1 : word));
    const target = withEnd(translation.target_word_of, translation.ids.length, translation.target_words);
    const source = withEnd(translation.source_word_of, src.length - 1, translation.source_words);
    const before = [0]; // the word of each token that the decoder has read; the first is <s>
    for (const word of target.slice(0, -1)) before.push(word === null ? before.at(-1) : word + 1);
    const sides = { cross: [target, source], encoder: [source, source], decoder: [target, before] };
    const ofWords = (weights) => overWords(weights, ...sides[part]).map(roundWeights);
    return {
      part,
      words: layers.map((heads) => heads.map(ofWords)),
      subwords: layers.map((heads) => heads.map((weights) => weights.map((row) => roundWeights([...row])))),
    };
  }

  /** Adds readable tokens and translations to the tree of a beam search. */
  describeTree(text, tree) {
    return {
      source: text,
      ...tree,
      nodes: tree.nodes.map((node) => ({ ...node, text: this.target.token(node.token) })),
      hypotheses: tree.hypotheses.map((one) => ({ ...one, translation: this.target.decode(one.ids) })),
    };
  }
}

/** Returns what a page shows of a sentence of a text that is not looked at. */
function describeSentence({ source, translation, unfamiliar, uncovered }) {
  return { source, translation, unfamiliar, uncovered };
}

/** An empty line has no tokens, and stays an empty line. */
function emptyTranslation(text) {
  const nothing = [
    ...["source_words", "target_words", "word_log_probabilities", "attention"],
    ...["source_subwords", "target_subwords", "subword_attention", "ids", "token_log_probabilities"],
    ...["source_word_of", "target_word_of", "next", "alternatives"],
  ];
  return {
    source: text,
    translation: "",
    score: 0,
    log_probability: 0,
    finished: true,
    truncated: false,
    unfamiliar: null,
    uncovered: null,
    ...Object.fromEntries(nothing.map((key) => [key, []])),
  };
}

/**
 * Returns attention over tokens, a list of rows, as attention over words: summed over the tokens of a source
 * word, averaged over those of a target word. A row whose token belongs to no word (null) is left out.
 */
function overWords(weights, rowWords, columnWords) {
  const columns = Math.max(...columnWords) + 1;
  const found = [];
  weights.forEach((row, place) => {
    const word = rowWords[place];
    if (word !== null) {
      found[word] ??= { sums: new Array(columns).fill(0), tokens: 0 };
      found[word].tokens += 1;
      row.forEach((weight, column) => {
        found[word].sums[columnWords[column]] += weight;
      });
    }
  });
  return found.map(({ sums, tokens }) => sums.map((sum) => sum / tokens));
}

/** Returns weights rounded to six digits, as Python does. */
function roundWeights(weights) {
  return weights.map((weight) => Math.round(weight * 1e6) / 1e6);
}

function placeOfLargest(numbers) {
  return numbers.indexOf(Math.max(...numbers));
}
