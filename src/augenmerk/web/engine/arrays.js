/**
 * The weights of a model as arrays, and the few functions that are made of them in both architectures: the
 * JavaScript of `inference/model.py`.
 *
 * A matrix is a Float32Array that holds its rows one after another; who has it knows the size of a row. Sums
 * are computed in double precision, the only one that JavaScript computes in, and rounded when they are
 * stored. They are always summed in the same order, so a result never depends on how many rows there are.
 */

import { EngineError } from "./errors.js";

/** Vocabularies are padded to a multiple of this in the weights. */
const VOCABULARY_MULTIPLE = 64;

/** Returns the vocabulary size rounded up to a multiple of `VOCABULARY_MULTIPLE`. */
export function padded(vocabulary) {
  return Math.ceil(vocabulary / VOCABULARY_MULTIPLE) * VOCABULARY_MULTIPLE;
}

/**
 * Decodes half-precision numbers (fp16, little-endian) into single precision, exactly.
 *
 * The exponent and the digits of a half are put where those of a single-precision number are. That makes a
 * number 2^112 times too small, because the exponent of a half counts from -15 and the other from -127.
 */
export function decodeHalves(buffer) {
  const halves = new Uint16Array(buffer);
  const values = new Float32Array(halves.length);
  const bits = new Uint32Array(values.buffer);
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i];
    bits[i] = ((half & 0x8000) << 16) | ((half & 0x7fff) << 13);
    values[i] *= 2 ** 112;
  }
  return values;
}

/** Named arrays, handed out with the shape that is asked for. */
export class Weights {
  /** `arrays` has {shape, values} by name. */
  constructor(arrays, prefix = "") {
    this.arrays = arrays;
    this.prefix = prefix;
  }

  /** Returns the arrays that the `tensors` of a bundle's settings describe, decoded once. */
  static decode(tensors, buffer) {
    const all = decodeHalves(buffer);
    const arrays = new Map();
    for (const { name, shape, offset } of tensors) {
      const size = shape.reduce((product, length) => product * length, 1);
      const start = offset / 2; // two bytes a number; tied arrays have one place, and stay one
      if (start + size > all.length) throw new EngineError("weightsEnd", { name });
      arrays.set(name, { shape, values: all.subarray(start, start + size) });
    }
    return new Weights(arrays);
  }

  /** Returns the weights whose names begin with the prefix, to be taken by the rest of their names. */
  inside(prefix) {
    return new Weights(this.arrays, `${this.prefix}${prefix}.`);
  }

  /** Returns an array; throws an EngineError if there is none of this shape. */
  take(name, ...shape) {
    const full = this.prefix + name;
    const array = this.arrays.get(full);
    if (array === undefined) throw new EngineError("weightsLack", { name: full });
    const [found, needed] = [array.shape.join(" x "), shape.join(" x ")];
    if (found !== needed) throw new EngineError("weightsShape", { name: full, found, needed });
    return array.values;
  }

  linear(name, inputs, outputs, { bias = true } = {}) {
    const part = this.inside(name);
    return new Linear(part.take("weight", outputs, inputs), bias ? part.take("bias", outputs) : null, inputs);
  }

  /** Returns the linear layer to a vocabulary, without the entries that only pad it. */
  outputLayer(name, inputs, vocabulary) {
    const part = this.inside(name);
    const W = part.take("weight", padded(vocabulary), inputs).subarray(0, vocabulary * inputs);
    return new Linear(W, part.take("bias", padded(vocabulary)).subarray(0, vocabulary), inputs);
  }

  layerNorm(name, size) {
    const part = this.inside(name);
    return new LayerNorm(part.take("weight", size), part.take("bias", size));
  }
}

/** W x + b for every row x of a matrix. */
export class Linear {
  /** W is (outputs, inputs); b may be null. */
  constructor(W, b, inputs) {
    this.W = W;
    this.b = b;
    this.inputs = inputs;
    this.outputs = W.length / inputs;
  }

  /** Returns a row of outputs for each row of x. */
  apply(x) {
    const y = multiplyRows(x, this.W, this.inputs);
    if (this.b !== null) addToRows(y, this.b);
    return y;
  }
}

/**
 * Returns x W^T for rows x (rows, size) and W (outputs, size): (rows, outputs).
 *
 * Nearly all time of a translation is spent here. Two rows of x and four rows of W are taken at once, or one
 * row of x and six of W: each number that is fetched is used several times, and the sums do not wait for one
 * another. That is three times as quick as one sum at a time; single-precision sums (`Math.fround`) were
 * slower, and so were more sums at once.
 */
export function multiplyRows(x, W, size) {
  const rows = x.length / size;
  const outputs = W.length / size;
  const y = new Float32Array(rows * outputs);
  const even = rows - (rows % 2);
  for (let row = 0; row < even; row += 2) {
    multiplyTwoRows(x.subarray(row * size), W, size, y.subarray(row * outputs));
  }
  if (even < rows) multiplyOneRow(x.subarray(even * size), W, size, y.subarray(even * outputs));
  return y;
}

function multiplyTwoRows(x, W, size, y) {
  const outputs = W.length / size;
  let o = 0;
  for (; o + 3 < outputs; o += 4) {
    const w0 = o * size;
    const w1 = w0 + size;
    const w2 = w1 + size;
    const w3 = w2 + size;
    let a0 = 0;
    let a1 = 0;
    let a2 = 0;
    let a3 = 0;
    let b0 = 0;
    let b1 = 0;
    let b2 = 0;
    let b3 = 0;
    for (let i = 0; i < size; i++) {
      const a = x[i];
      const b = x[size + i];
      const W0 = W[w0 + i];
      a0 += W0 * a;
      b0 += W0 * b;
      const W1 = W[w1 + i];
      a1 += W1 * a;
      b1 += W1 * b;
      const W2 = W[w2 + i];
      a2 += W2 * a;
      b2 += W2 * b;
      const W3 = W[w3 + i];
      a3 += W3 * a;
      b3 += W3 * b;
    }
    y[o] = a0;
    y[o + 1] = a1;
    y[o + 2] = a2;
    y[o + 3] = a3;
    y[outputs + o] = b0;
    y[outputs + o + 1] = b1;
    y[outputs + o + 2] = b2;
    y[outputs + o + 3] = b3;
  }
  for (; o < outputs; o++) {
    y[o] = dot(x, 0, W, o * size, size);
    y[outputs + o] = dot(x, size, W, o * size, size);
  }
}

function multiplyOneRow(x, W, size, y) {
  const outputs = W.length / size;
  let o = 0;
  for (; o + 5 < outputs; o += 6) {
    const w0 = o * size;
    const w1 = w0 + size;
    const w2 = w1 + size;
    const w3 = w2 + size;
    const w4 = w3 + size;
    const w5 = w4 + size;
    let a0 = 0;
    let a1 = 0;
    let a2 = 0;
    let a3 = 0;
    let a4 = 0;
    let a5 = 0;
    for (let i = 0; i < size; i++) {
      const a = x[i];
      a0 += W[w0 + i] * a;
      a1 += W[w1 + i] * a;
      a2 += W[w2 + i] * a;
      a3 += W[w3 + i] * a;
      a4 += W[w4 + i] * a;
      a5 += W[w5 + i] * a;
    }
    y[o] = a0;
    y[o + 1] = a1;
    y[o + 2] = a2;
    y[o + 3] = a3;
    y[o + 4] = a4;
    y[o + 5] = a5;
  }
  for (; o < outputs; o++) y[o] = dot(x, 0, W, o * size, size);
}

/** Returns the dot product of `size` numbers of a and of b, from the given places on. */
export function dot(a, aStart, b, bStart, size) {
  let sum = 0;
  for (let i = 0; i < size; i++) sum += a[aStart + i] * b[bStart + i];
  return sum;
}

/** Adds b to every row of y, in place. */
export function addToRows(y, b) {
  for (let start = 0; start < y.length; start += b.length) {
    for (let i = 0; i < b.length; i++) y[start + i] += b[i];
  }
}

export function addInPlace(a, b) {
  for (let i = 0; i < a.length; i++) a[i] += b[i];
}

export function concatArrays(arrays) {
  const all = new Float32Array(arrays.reduce((length, array) => length + array.length, 0));
  let start = 0;
  for (const array of arrays) {
    all.set(array, start);
    start += array.length;
  }
  return all;
}

/** Every row shifted and scaled to mean 0 and variance 1, then scaled and shifted as was learnt. */
class LayerNorm {
  constructor(weight, bias) {
    this.weight = weight;
    this.bias = bias;
  }

  apply(x) {
    const size = this.weight.length;
    const y = new Float32Array(x.length);
    for (let start = 0; start < x.length; start += size) {
      let mean = 0;
      for (let i = 0; i < size; i++) mean += x[start + i];
      mean /= size;
      let variance = 0;
      for (let i = 0; i < size; i++) variance += (x[start + i] - mean) ** 2;
      const deviation = Math.sqrt(variance / size + 1e-5);
      for (let i = 0; i < size; i++) {
        y[start + i] = ((x[start + i] - mean) * this.weight[i]) / deviation + this.bias[i];
      }
    }
    return y;
  }
}

/** Returns 1 / (1 + e^-x), by a function that cannot overflow. */
export function sigmoid(x) {
  return 0.5 * Math.tanh(0.5 * x) + 0.5;
}

/** Replaces every row of so many scores by its softmax, in place. */
export function softmaxRows(x, size) {
  for (let start = 0; start < x.length; start += size) {
    const largest = largestOf(x, start, size);
    let sum = 0;
    for (let i = start; i < start + size; i++) {
      x[i] = Math.exp(x[i] - largest);
      sum += x[i];
    }
    for (let i = start; i < start + size; i++) x[i] /= sum;
  }
}

/** Replaces every row of so many logits by the logarithm of its softmax, in place. */
export function logSoftmaxRows(x, size) {
  for (let start = 0; start < x.length; start += size) {
    const largest = largestOf(x, start, size);
    let sum = 0;
    for (let i = start; i < start + size; i++) sum += Math.exp(x[i] - largest);
    const logSum = largest + Math.log(sum);
    for (let i = start; i < start + size; i++) x[i] -= logSum;
  }
}

function largestOf(x, start, size) {
  let largest = -Infinity;
  for (let i = start; i < start + size; i++) {
    if (x[i] > largest) largest = x[i];
  }
  return largest;
}

export function splitRows(x, rows) {
  const size = x.length / rows;
  return Array.from({ length: rows }, (_, row) => x.subarray(row * size, (row + 1) * size));
}
