/**
 * Every attention mechanism, in the order and the letters of `inference/model.py`.
 *
 * T queries, S source positions, Q the size of a decoder state, V that of a word representation, K that of a
 * key, N heads. There is one sentence and no padding, so there is no mask.
 */

import { dot, softmaxRows } from "./arrays.js";

/** Returns the size of a decoder state that asks, g_i. */
function querySize(config) {
  return config.architecture === "gru" ? config.hidden : config.embedding;
}

/** Returns the size of a word representation that is attended to, h_t. */
function valueSize(config) {
  return config.architecture === "gru" ? 2 * config.hidden : config.embedding;
}

/** The base class of all mechanisms: keys computed once, scores, softmax over the words, weighted sum. */
export class Attention {
  selective = true; // whether the largest weight tells which word was attended to

  /** Takes the mechanism's weights; one without parameters takes none. */
  constructor(config) {
    this.heads = 1;
    this.size = valueSize(config);
  }

  /** Returns keys and values of S word representations h (S, V). */
  memory(h) {
    return { keys: this.keys(h), values: h, S: h.length / this.size };
  }

  /**
   * Returns the context for each query, (T, V), and the weights (T, S), their mean over heads. `changed`,
   * weights (S), replace those of all heads and queries.
   */
  attend(queries, T, memory, changed = null) {
    const weights = // (N, T, S)
      changed === null ? this.weights(queries, T, memory) : repeatWeights(changed, this.heads * T);
    return { context: this.mix(weights, T, memory), weights: averageHeads(weights, this.heads) };
  }

  /** Returns the weights of each head, (N, T, S). */
  weights(queries, T, memory) {
    const scores = this.scores(queries, T, memory);
    softmaxRows(scores, memory.S);
    return scores;
  }

  /**
   * Returns the scores of the keys for each query, (N, T, S).
   * @abstract
   * @returns {Float32Array}
   */
  scores(_queries, _T, _memory) {
    throw new Error("abstract");
  }

  /** Returns the context for each query, (T, V): a_i = sum_t alpha_it v_t. */
  mix(weights, T, memory) {
    return mixValues(weights, T, memory.values, memory.S, this.size, 1);
  }

  keys(h) {
    return h;
  }
}

/** Returns the mean over heads of weights (N, T, S). */
export function averageHeads(weights, heads) {
  if (heads === 1) return weights;
  const size = weights.length / heads;
  const mean = new Float32Array(size);
  for (let i = 0; i < size; i++) {
    let sum = 0;
    for (let n = 0; n < heads; n++) sum += weights[n * size + i];
    mean[i] = sum / heads;
  }
  return mean;
}

function repeatWeights(weights, times) {
  const all = new Float32Array(times * weights.length);
  for (let i = 0; i < times; i++) all.set(weights, i * weights.length);
  return all;
}

/** Returns sums of S values (S, size) with weights (N, T, S), where each head has its part of a row: (T, size). */
function mixValues(weights, T, values, S, size, heads) {
  const context = new Float32Array(T * size);
  const part = size / heads;
  for (let n = 0, i = 0; n < heads; n++) {
    for (let t = 0; t < T; t++) {
      for (let s = 0; s < S; s++, i++) {
        for (let j = n * part; j < (n + 1) * part; j++)
          context[t * size + j] += weights[i] * values[s * size + j];
      }
    }
  }
  return context;
}

/**
 * Returns the dot products of queries (T, size) with keys (S, size), times a scale, where each head has its part of a row:
 * (N, T, S).
 */
function dotScores(queries, T, keys, S, scale, heads = 1) {
  const size = queries.length / T;
  const part = size / heads;
  const scores = new Float32Array(heads * T * S);
  for (let n = 0, i = 0; n < heads; n++) {
    for (let t = 0; t < T; t++) {
      for (let s = 0; s < S; s++, i++) {
        scores[i] = dot(queries, t * size + n * part, keys, s * size + n * part, part) * scale;
      }
    }
  }
  return scores;
}

/** MeanPool, attends equally to every word: alpha_it = 1 / S. */
class MeanAttention extends Attention {
  selective = false;

  scores(_queries, T, memory) {
    return new Float32Array(T * memory.S);
  }
}

/** Dummy, attends to nothing: a_i = 0, alpha = 0. */
class NoAttention extends MeanAttention {
  weights(queries, T, memory) {
    return this.scores(queries, T, memory);
  }
}

/**
 * Scaled dot product, equations 1, 2 and 13 to 15:
 * q = W_q g_i,  k_t = W_k h_t,  v_t = h_t,  alpha_it = softmax_t(q . k_t / sqrt(K))
 */
class ScaledDotAttention extends Attention {
  constructor(config, weights) {
    super(config);
    this.W_q = weights.linear("W_q", querySize(config), config.key, { bias: false });
    this.W_k = weights.linear("W_k", valueSize(config), config.key, { bias: false });
    this.scale = 1 / Math.sqrt(config.key);
  }

  keys(h) {
    return this.W_k.apply(h);
  }

  scores(queries, T, memory) {
    return dotScores(this.W_q.apply(queries), T, memory.keys, memory.S, this.scale);
  }
}

/**
 * The dot product without parameters (Luong's "dot"):
 * alpha_it = softmax_t(g_i . (hf_t + hb_t)), or softmax_t(g_i . h_t) in a Transformer
 */
class DotAttention extends Attention {
  constructor(config) {
    super(config);
    this.addHalves = valueSize(config) === 2 * querySize(config);
  }

  keys(h) {
    if (!this.addHalves) return h;
    const half = this.size / 2;
    return new Float32Array(h.length / 2).map((_, i) => {
      const start = Math.floor(i / half) * this.size + (i % half);
      return h[start] + h[start + half];
    });
  }

  scores(queries, T, memory) {
    return dotScores(queries, T, memory.keys, memory.S, 1);
  }
}

/** A matrix between the two (Luong's "general"): alpha_it = softmax_t(g_i^T W h_t) */
class BilinearAttention extends Attention {
  constructor(config, weights) {
    super(config);
    this.W = weights.linear("W", valueSize(config), querySize(config), { bias: false });
  }

  keys(h) {
    return this.W.apply(h); // on the source side, where it is done once for all target positions
  }

  scores(queries, T, memory) {
    return dotScores(queries, T, memory.keys, memory.S, 1);
  }
}

/** A small network instead of a product (Bahdanau): alpha_it = softmax_t(w . tanh(W_q g_i + W_k h_t + b)) */
class AdditiveAttention extends Attention {
  constructor(config, weights) {
    super(config);
    this.W_q = weights.linear("W_q", querySize(config), config.key, { bias: false });
    this.W_k = weights.linear("W_k", valueSize(config), config.key);
    this.w = weights.linear("w", config.key, 1, { bias: false });
  }

  keys(h) {
    return this.W_k.apply(h);
  }

  scores(queries, T, memory) {
    const q = this.W_q.apply(queries);
    const K = q.length / T;
    const scores = new Float32Array(T * memory.S);
    for (let t = 0; t < T; t++) {
      for (let s = 0; s < memory.S; s++) {
        let score = 0;
        for (let i = 0; i < K; i++) score += this.w.W[i] * Math.tanh(q[t * K + i] + memory.keys[s * K + i]);
        scores[t * memory.S + s] = score;
      }
    }
    return scores;
  }
}

/**
 * Several scaled dot products side by side, each with its own keys, queries and values:
 * q^n = W_q^n g_i,  k_t^n = W_k^n h_t,  v_t^n = W_v^n h_t,  a_i = W_a [a_i^1, ..., a_i^N]
 */
export class MultiHeadAttention extends Attention {
  constructor(config, weights) {
    super(config);
    const [Q, V, K] = [querySize(config), valueSize(config), config.key];
    this.heads = config.heads;
    this.W_q = weights.linear("W_q", Q, K, { bias: false });
    this.W_k = weights.linear("W_k", V, K, { bias: false });
    this.W_v = weights.linear("W_v", V, K, { bias: false });
    this.W_a = weights.linear("W_a", K, V, { bias: false });
    this.scale = 1 / Math.sqrt(K / config.heads);
  }

  memory(h) {
    return { keys: this.W_k.apply(h), values: this.W_v.apply(h), S: h.length / this.size };
  }

  scores(queries, T, memory) {
    return dotScores(this.queries(queries, T, memory), T, memory.keys, memory.S, this.scale, this.heads);
  }

  /** Returns the queries of all heads, (T, K): the first K / N numbers of a row are those of head 1. */
  queries(queries, _T, _memory) {
    return this.W_q.apply(queries);
  }

  mix(weights, T, memory) {
    return this.W_a.apply(mixValues(weights, T, memory.values, memory.S, this.W_v.outputs, this.heads));
  }
}

/** Every mechanism by its name in the settings. */
export const MECHANISMS = {
  none: NoAttention,
  mean: MeanAttention,
  "scaled-dot": ScaledDotAttention,
  dot: DotAttention,
  bilinear: BilinearAttention,
  additive: AdditiveAttention,
  "multi-head": MultiHeadAttention,
};
