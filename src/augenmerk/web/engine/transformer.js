/**
 * The Transformer, in the letters of `inference/transformer.py`; `model/transformer.py` has the equations.
 *
 * K hypotheses of one sentence, S source positions, T words, L layers, N heads, D the size of every layer, V
 * entries of the target vocabulary.
 */

import { addInPlace, concatArrays, dot, logSoftmaxRows, padded, softmaxRows, splitRows } from "./arrays.js";
import { Attention } from "./attention.js";

/** The number of places that are learnt, if they are learnt; words further on share the last one. */
const LEARNT_POSITIONS = 512;

/** An encoder and a decoder of L layers each. */
export class TransformerTranslator {
  constructor(config, weights, sourceVocabulary, targetVocabulary, program) {
    const { embedding: D, layers: L } = config;
    this.config = config;
    this.vocabulary = targetVocabulary;
    this.W_z = weights.take("W_z.weight", padded(sourceVocabulary), D);
    this.W_b = weights.take("W_b.weight", padded(targetVocabulary), D);
    if (config.transformer.positions === "learnt") {
      this.learnt = weights.take("learnt.weight", LEARNT_POSITIONS, D);
    }
    const layers = [...Array(L).keys()];
    this.encoder = layers.map((layer) => new EncoderLayer(config, weights.inside(`encoder.${layer}`)));
    this.encoderNorm = weights.layerNorm("encoder_norm", D);
    this.decoder = layers.map((layer) => new DecoderLayer(config, weights.inside(`decoder.${layer}`)));
    this.decoderNorm = weights.layerNorm("decoder_norm", D);
    this.W_o = weights.outputLayer("W_o", D, targetVocabulary);
    this.attentions = layers.map((layer) => new Attention(program, weights.inside(`attentions.${layer}`)));
  }

  get selective() {
    return this.attentions.every((attention) => attention.selective);
  }

  /**
   * Computes the word representations h of a source (S), its end included: each decoder layer's keys and
   * values, and the state of a hypothesis before the first word, its keys and values of no words and the start of its attention.
   */
  encode(src) {
    let x = this.embed(this.W_z, src, 0);
    for (const layer of this.encoder) x = layer.apply(x, src.length);
    const h = this.encoderNorm.apply(x);
    const nothing = { keys: new Float32Array(0), values: new Float32Array(0), S: 0 };
    const memory = this.attentions.map((attention) => attention.memory(h, src.length));
    const seen = memory.map((each, layer) => this.attentions[layer].start(each));
    return { memory, start: seen.map((each) => ({ ...nothing, seen: each })) };
  }

  /**
   * Computes one more word of K hypotheses: log-probabilities (K, V), weights (K, S), and the new state of
   * each, which holds the keys and the values of each layer for the words so far, and its attention's state.
   */
  step(tokens, states, memory) {
    const { features, weights, states: newStates } = this.advance(tokens, states, memory);
    const logProbs = this.output(features);
    logSoftmaxRows(logProbs, this.vocabulary);
    return { logProbs, weights, states: newStates };
  }

  /**
   * Does what `step` does but for the output layer: what that reads (K, D) is returned instead. `watch(part, layer,
   * weights)` is called with the weights of each layer's heads.
   */
  advance(tokens, states, memory, watch = null) {
    const [K, D] = [tokens.length, this.config.embedding];
    const start = states[0][0].S;
    const newStates = tokens.map(() => []);
    const y = concatArrays(tokens.map((token) => this.embed(this.W_b, [token], start))); // (K, D)
    const sum = new Float32Array(K * memory[0].S);
    this.decoder.forEach((layer, number) => {
      const normal = layer.ownNorm.apply(y);
      const found = tokens.map((_, k) => {
        const row = normal.subarray(k * D, (k + 1) * D);
        const own = joinMemories(states[k][number], layer.own.memoryFrom(row, 1, start));
        newStates[k].push(own);
        const weights = layer.own.weights(row, 1, own);
        watch?.("decoder", number, weights);
        return layer.own.mix(weights, 1, own);
      });
      addInPlace(y, concatArrays(found));
      const seen = states.map((state) => state[number].seen);
      const at = this.attentions[number].advance(layer.crossNorm.apply(y), seen, memory[number]);
      watch?.("cross", number, at.heads);
      addInPlace(y, at.context);
      addInPlace(y, layer.feedForward.apply(y));
      addInPlace(sum, at.weights);
      for (const [k, each] of at.states.entries()) newStates[k][number].seen = each;
    });
    return {
      features: this.decoderNorm.apply(y),
      weights: sum.map((x) => x / this.decoder.length),
      states: newStates,
    };
  }

  /**
   * Returns the weights of each head of a part, [layer][head][row], for a source and the tokens that the decoder reads.
   * A row of the decoder has a weight for each of these tokens, 0 for those that come later.
   */
  watch(part, src, tokens) {
    const found = this.decoder.map(() => []); // of each layer and token
    if (part === "encoder") {
      let x = this.embed(this.W_z, src, 0);
      this.encoder.forEach((layer, number) => {
        x = layer.apply(x, src.length, (weights) => found[number].push(weights));
      });
      const rowsOf = (weights, { own: { heads } }) => {
        const rows = splitRows(weights, heads * src.length);
        return Array.from({ length: heads }, (_, n) => rows.slice(n * src.length, (n + 1) * src.length));
      };
      return this.encoder.map((layer, number) => rowsOf(found[number][0], layer));
    }
    const { memory, start } = this.encode(src);
    let states = [start];
    for (const token of tokens) {
      const watch = (of, layer, weights) => of === part && found[layer].push(weights);
      states = this.advance([token], states, memory, watch).states;
    }
    const heads = part === "cross" ? this.attentions[0].heads : this.decoder[0].own.heads;
    const pad = (row) => (part === "cross" ? row : Object.assign(new Float32Array(tokens.length), row));
    return found.map((steps) => {
      const rows = steps.map((weights) => splitRows(weights, heads).map(pad));
      return Array.from({ length: heads }, (_, n) => rows.map((row) => row[n]));
    });
  }

  /** Returns the logits (rows, V). */
  output(features) {
    return this.W_o.apply(features);
  }

  /** Returns the embeddings of tokens at the places from `start` on, (T, D). */
  embed(words, tokens, start) {
    const { embedding: D, transformer } = this.config;
    const scale = Math.sqrt(D);
    const x = new Float32Array(tokens.length * D);
    tokens.forEach((token, t) => {
      const place = start + t;
      for (let i = 0; i < D; i++) {
        x[t * D + i] = words[token * D + i] * scale;
        if (transformer.positions === "sinusoidal") {
          // Number 2c is a sine, number 2c + 1 a cosine.
          const angle = positionAngle(place, i - (i % 2), D);
          x[t * D + i] += i % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
        } else if (transformer.positions === "learnt") {
          x[t * D + i] += scale * this.learnt[Math.min(place, LEARNT_POSITIONS - 1) * D + i];
        }
      }
    });
    return x;
  }
}

/** Self-attention over the whole source, then the feed-forward part. */
class EncoderLayer {
  constructor(config, weights) {
    this.ownNorm = weights.layerNorm("own_norm", config.embedding);
    this.own = new SelfAttention(config, weights.inside("own"));
    this.feedForward = new FeedForward(config, weights.inside("feed_forward"));
  }

  /** Changes x (S, D) to the next one, and returns it. */
  apply(x, S, watch = null) {
    const normal = this.ownNorm.apply(x);
    const memory = this.own.memoryFrom(normal, S, 0);
    const weights = this.own.weights(normal, S, memory);
    watch?.(weights);
    addInPlace(x, this.own.mix(weights, S, memory));
    addInPlace(x, this.feedForward.apply(x));
    return x;
  }
}

/** Self-attention over the words so far, attention to the source, then the feed-forward part. */
class DecoderLayer {
  constructor(config, weights) {
    this.ownNorm = weights.layerNorm("own_norm", config.embedding);
    this.own = new SelfAttention(config, weights.inside("own"));
    this.crossNorm = weights.layerNorm("cross_norm", config.embedding);
    this.feedForward = new FeedForward(config, weights.inside("feed_forward"));
  }
}

/** FF(LN(x)) = W_2 ReLU(W_1 LN(x) + b_1) + b_2, for every word alone. */
class FeedForward {
  constructor(config, weights) {
    const [D, F] = [config.embedding, config.transformer.feed_forward];
    this.norm = weights.layerNorm("norm", D);
    this.W_1 = weights.linear("W_1", D, F);
    this.W_2 = weights.linear("W_2", F, D);
  }

  apply(x) {
    return this.W_2.apply(this.W_1.apply(this.norm.apply(x)).map((inner) => Math.max(inner, 0)));
  }
}

/**
 * Multi-head self-attention; with rotary positions, queries and keys are turned by their places. Keys are
 * turned when they are computed, because their places never change.
 */
class SelfAttention {
  constructor(config, weights) {
    const [D, K] = [config.embedding, config.key];
    this.heads = config.heads;
    this.W_q = weights.linear("W_q", D, K, { bias: false });
    this.W_k = weights.linear("W_k", D, K, { bias: false });
    this.W_v = weights.linear("W_v", D, K, { bias: false });
    this.W_a = weights.linear("W_a", K, D, { bias: false });
    this.size = K / config.heads; // of a head
    this.rotary = config.transformer.positions === "rotary";
  }

  /** Returns keys and values of T words at the places from `start` on. */
  memoryFrom(states, T, start) {
    const keys = this.W_k.apply(states);
    if (this.rotary) rotateRows(keys, T, this.heads, start);
    return { keys, values: this.W_v.apply(states), S: T };
  }

  /** Returns the weights of each head, (N, T, S), for T words, the last of those in the memory. */
  weights(words, T, { keys, S }) {
    const [q, size, K] = [this.W_q.apply(words), this.size, this.W_q.outputs];
    if (this.rotary) rotateRows(q, T, this.heads, S - T);
    const weights = new Float32Array(this.heads * T * S);
    for (let n = 0, i = 0; n < this.heads; n++) {
      for (let t = 0; t < T; t++) {
        for (let s = 0; s < S; s++, i++) {
          weights[i] = dot(q, t * K + n * size, keys, s * K + n * size, size) / Math.sqrt(size);
        }
      }
    }
    softmaxRows(weights, S);
    return weights;
  }

  /** Returns what each word takes from the others, (T, D). */
  mix(weights, T, { values, S }) {
    const [size, K] = [this.size, this.W_v.outputs];
    const heads = new Float32Array(T * K);
    for (let n = 0, i = 0; n < this.heads; n++) {
      for (let t = 0; t < T; t++) {
        for (let s = 0; s < S; s++, i++) {
          for (let j = n * size; j < (n + 1) * size; j++) heads[t * K + j] += weights[i] * values[s * K + j];
        }
      }
    }
    return this.W_a.apply(heads);
  }
}

/** Returns keys and values of words followed by those of later ones. */
function joinMemories(before, after) {
  return {
    keys: concatArrays([before.keys, after.keys]),
    values: concatArrays([before.values, after.values]),
    S: before.S + after.S,
  };
}

/** Returns the angle t / 10000^(2c / size) of place t for the numbers 2c and 2c + 1 of a vector. */
function positionAngle(place, twice, size) {
  return place * 10000 ** (-twice / size);
}

/** Turns each pair of numbers of x (T, N, size) by the angle of its place, in place. */
function rotateRows(x, T, heads, start) {
  const size = x.length / (T * heads);
  for (let i = 0; i < x.length; i += 2) {
    const place = start + Math.floor(i / (heads * size));
    const angle = positionAngle(place, i % size, size);
    const [sin, cos, even, odd] = [Math.sin(angle), Math.cos(angle), x[i], x[i + 1]];
    x[i] = even * cos - odd * sin;
    x[i + 1] = even * sin + odd * cos;
  }
}
