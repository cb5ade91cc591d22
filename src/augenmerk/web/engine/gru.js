/**
 * The GRU translator: equations 3 to 12, in the letters of `inference/gru.py`.
 *
 * K hypotheses of one sentence, S source positions, E embedding, H hidden, D = 2H, L layers, V entries of the
 * target vocabulary.
 */

import { addToRows, concatArrays, Linear, logSoftmaxRows, padded, sigmoid, splitRows } from "./arrays.js";
import { Attention } from "./attention.js";

/** A bidirectional GRU encoder and a GRU decoder with attention. */
export class GRUTranslator {
  constructor(config, weights, sourceVocabulary, targetVocabulary, program) {
    const { embedding: E, hidden: H, layers: L, tie } = config;
    this.config = config;
    this.vocabulary = targetVocabulary;
    const W_z = weights.take("W_z.weight", padded(sourceVocabulary), E);
    const W_b = weights.take("W_b.weight", padded(targetVocabulary), E);
    this.encoder = [];
    this.W_s = [];
    this.decoder = [];
    for (let layer = 0; layer < L; layer++) {
      const encoder = weights.inside("encoder");
      const size = layer === 0 ? E : 2 * H;
      this.encoder.push({
        forwards: new GRU(encoder.inside(`forwards.${layer}`), size, H),
        backwards: new GRU(encoder.inside(`backwards.${layer}`), size, H),
      });
      this.W_s.push(weights.linear(`W_s.${layer}`, 2 * H, H));
      this.decoder.push(new GRU(weights.inside("decoder"), layer === 0 ? E : H, H, layer));
    }
    this.bridge = tie === "none" ? null : weights.linear("bridge", 3 * H, E, { bias: false });
    this.W_o = weights.outputLayer("W_o", tie === "none" ? 3 * H : E, targetVocabulary);
    this.attention = new Attention(program, weights.inside("attention"));
    this.forwardGates = new WordGates(W_z, this.encoder[0].forwards.W_i);
    this.backwardGates = new WordGates(W_z, this.encoder[0].backwards.W_i);
    this.decoderGates = new WordGates(W_b, this.decoder[0].W_i);
  }

  get selective() {
    return this.attention.selective;
  }

  /**
   * Computes equations 3 to 8 for a source (S), its end included: the memory, and the state of a hypothesis
   * before the first word: g_0 of each layer (L, H), and that of the attention.
   */
  encode(src) {
    const S = src.length;
    const H = this.config.hidden;
    const start = [];
    let h;
    this.encoder.forEach(({ forwards, backwards }, layer) => {
      const first = layer === 0;
      const gatesForwards = first ? this.forwardGates.rows(src) : splitRows(forwards.W_i.apply(h), S);
      const gatesBackwards = first ? this.backwardGates.rows(src) : splitRows(backwards.W_i.apply(h), S);
      h = new Float32Array(S * 2 * H); // (S, D)
      let hf = new Float32Array(H);
      let hb = new Float32Array(H);
      for (let t = 0; t < S; t++) {
        hf = forwards.cell([gatesForwards[t]], hf);
        hb = backwards.cell([gatesBackwards[S - 1 - t]], hb);
        h.set(hf, t * 2 * H);
        h.set(hb, (S - 1 - t) * 2 * H + H);
      }
      start.push(this.W_s[layer].apply(concatArrays([hf, hb])).map((x) => Math.max(x, 0))); // [hf_S, hb_1]
    });
    const memory = this.attention.memory(h, S);
    return { memory, start: { g: concatArrays(start), seen: this.attention.start(memory) } };
  }

  /**
   * Computes equations 9 to 12 for one more word of K hypotheses: log-probabilities (K, V), weights (K, S)
   * and the new state of each. `changed`, weights (S), replace the model's own.
   */
  step(tokens, states, memory, changed = null) {
    const { features, weights, states: newStates } = this.advance(tokens, states, memory, changed);
    const logProbs = this.output(features);
    logSoftmaxRows(logProbs, this.vocabulary);
    return { logProbs, weights, states: newStates };
  }

  /** Does what `step` does but for equation 12: its features [a_i, g_i] (K, D + H) are returned instead. */
  advance(tokens, states, memory, changed = null) {
    const g = this.nextStates(tokens, states);
    const query = g[g.length - 1];
    const seen = states.map((state) => state.seen);
    const { context, states: nextSeen, ...found } = this.attention.advance(query, seen, memory, changed);
    const rows = (x) => splitRows(x, tokens.length);
    const [a, queries, layers] = [rows(context), rows(query), g.map(rows)];
    return {
      features: concatArrays(tokens.flatMap((_, k) => [a[k], queries[k]])),
      ...found,
      states: nextSeen.map((seen, k) => ({ g: concatArrays(layers.map((layer) => layer[k])), seen })),
    };
  }

  /**
   * Returns the weights of each head, [1][head][row], for a source and the tokens that the decoder reads; `changed` has
   * by place those that replace the model's own.
   */
  watch(_part, src, tokens, changed) {
    const { memory, start } = this.encode(src);
    const { heads } = this.attention;
    let states = [start];
    const rows = tokens.map((token, place) => {
      const found = this.advance([token], states, memory, changed.get(place) ?? null);
      states = found.states;
      return splitRows(found.heads, heads);
    });
    return [Array.from({ length: heads }, (_, n) => rows.map((row) => row[n]))];
  }

  /** Computes equations 9 and 10 for one more word (K): g_i from g_{i-1}, for each layer (K, H). */
  nextStates(tokens, states) {
    const H = this.config.hidden;
    const next = [];
    this.decoder.forEach((gru, layer) => {
      const before = concatArrays(states.map(({ g }) => g.subarray(layer * H, (layer + 1) * H)));
      const gates =
        layer === 0
          ? this.decoderGates.rows(tokens)
          : splitRows(gru.W_i.apply(next[layer - 1]), tokens.length);
      next.push(gru.cell(gates, before));
    });
    return next;
  }

  /** Computes equation 12 before the softmax: (rows, D + H) to (rows, V). */
  output(features) {
    return this.W_o.apply(this.bridge === null ? features : this.bridge.apply(features));
  }

  /**
   * Splits the logits of the next word (equations 11 and 12) into what comes from the state and what from the
   * source: logits(alpha) = base + sum_t alpha_t contributions_t, with base (V) and contributions (S, V).
   */
  splitLogits(query, memory) {
    const [H, S] = [this.config.hidden, memory.S];
    const D = 2 * H;
    const eachAlone = new Float32Array(this.attention.heads * S * S);
    for (let i = 0; i < eachAlone.length / S; i++) {
      eachAlone[i * S + (i % S)] = 1; // the identity matrix for each head
    }
    const v = splitRows(this.attention.mix(eachAlone, S, memory), S); // (S, D)
    const base = this.output(concatArrays([new Float32Array(D), query]));
    const contributions = this.output(concatArrays(v.flatMap((row) => [row, new Float32Array(H)])));
    addToRows(
      contributions,
      this.W_o.b.map((x) => -x)
    );
    return { base, contributions };
  }
}

/** One layer of a GRU in one direction, as torch defines it. */
export class GRU {
  constructor(weights, size, hidden, layer = 0) {
    const linear = (kind, inputs) =>
      new Linear(
        weights.take(`weight_${kind}_l${layer}`, 3 * hidden, inputs),
        weights.take(`bias_${kind}_l${layer}`, 3 * hidden),
        inputs
      );
    this.W_i = linear("ih", size); // from the input to the three gates
    this.W_h = linear("hh", hidden); // from the state before to the three gates
  }

  /**
   * Computes one step for all rows of h (K, H), given W_i x + b_i for the three gates of each:
   * r, z = sigmoid(gates + hidden),  n = tanh(gates + r * hidden),  h' = (1 - z) * n + z * h
   */
  cell(gates, h) {
    const H = this.W_h.inputs;
    const hidden = this.W_h.apply(h); // W_h h + b_h, (K, 3H)
    const next = new Float32Array(h.length);
    gates.forEach((row, k) => {
      const start = k * 3 * H;
      for (let i = 0; i < H; i++) {
        const r = sigmoid(row[i] + hidden[start + i]);
        const z = sigmoid(row[H + i] + hidden[start + H + i]);
        const n = Math.tanh(row[2 * H + i] + r * hidden[start + 2 * H + i]);
        next[k * H + i] = (1 - z) * n + z * h[k * H + i];
      }
    });
    return next;
  }
}

/** The bytes that a table of gates may take; with a larger vocabulary, words that were used are forgotten. */
const MAX_TABLE_BYTES = 32 << 20;

/**
 * What a word contributes to the gates of a GRU, W_i z + b_i. It depends on the word alone, and words
 * repeat; so it is computed when a word is first used, and kept.
 */
class WordGates {
  constructor(embeddings, W_i) {
    this.embeddings = embeddings;
    this.W_i = W_i;
    this.table = new Map();
    this.most = Math.floor(MAX_TABLE_BYTES / (4 * W_i.outputs));
  }

  /** Returns the gates of each word, 3H numbers each. */
  rows(words) {
    const unknown = [...new Set(words)].filter((word) => !this.table.has(word));
    if (unknown.length > 0) {
      if (this.table.size + unknown.length > this.most) {
        this.table.clear();
        return this.compute(words);
      }
      this.compute(unknown).forEach((row, i) => this.table.set(unknown[i], row));
    }
    return words.map((word) => this.table.get(word));
  }

  compute(words) {
    const size = this.W_i.inputs;
    const z = words.map((word) => this.embeddings.subarray(word * size, (word + 1) * size));
    return splitRows(this.W_i.apply(concatArrays(z)), words.length);
  }
}
