/**
 * Attention as Python recorded it (`mechanisms/record.py`): a program is a list of operations, [name, inputs,
 * constants ...], and the inputs are places of earlier ones in the list.
 *
 * An array is {shape, data}, its numbers row after row. Shapes are those of Python, for one sentence without padding:
 * queries (1, K, Q), keys and values (1, S, size), weights (1, K, S) or (1, N, K, S), parts of a state (1, K, ...).
 */

import { multiplyRows, softmaxRows } from "./arrays.js";

const sizeOf = (shape) => shape.reduce((product, length) => product * length, 1);

/** Returns how many rows an array has before an axis, how long that is, and the size of what is behind it. */
function around(shape, axis) {
  const at = axis < 0 ? axis + shape.length : axis;
  return [sizeOf(shape.slice(0, at)), shape[at], sizeOf(shape.slice(at + 1)), at];
}

/** Returns f of the numbers of up to three arrays, which are repeated along axes where they have one number. */
function combine(f, ...arrays) {
  const rank = Math.max(...arrays.map(({ shape }) => shape.length));
  const shapes = arrays.map(({ shape }) => [...Array(rank - shape.length).fill(1), ...shape]);
  const shape = Array.from({ length: rank }, (_, axis) => {
    const lengths = shapes.map((each) => each[axis]);
    return lengths.find((length) => length !== 1) ?? 1; // 0 is a length, too
  });
  const data = new Float32Array(sizeOf(shape));
  const strides = shapes.map((each) =>
    each.map((length, axis) => (length === 1 ? 0 : sizeOf(each.slice(axis + 1))))
  );
  const [a, b, c] = [0, 1, 2].map((i) => arrays[i]?.data ?? arrays[0].data);
  const inner = shape.at(-1) ?? 1;
  const [da, db, dc] = [0, 1, 2].map((i) => strides[i]?.at(-1) ?? 0);
  for (let start = 0; start < data.length; start += inner) {
    const places = [0, 0, 0];
    for (let axis = rank - 2, row = start / inner; axis >= 0; axis--) {
      const at = row % shape[axis];
      row = (row - at) / shape[axis];
      for (let i = 0; i < strides.length; i++) places[i] += at * strides[i][axis];
    }
    let [pa, pb, pc] = places;
    for (let i = start; i < start + inner; i++, pa += da, pb += db, pc += dc)
      data[i] = f(a[pa], b[pb], c[pc]);
  }
  return { shape, data };
}

/** Returns an array with every row along an axis changed by `change(row, result)`; a row is a Float64Array. */
function changeRows({ shape, data }, axis, length, change) {
  const [outer, before, inner, at] = around(shape, axis);
  const after = length ?? before;
  const y = new Float32Array(outer * after * inner);
  const [row, result] = [new Float64Array(before), new Float64Array(after)];
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      for (let j = 0; j < before; j++) row[j] = data[(o * before + j) * inner + i];
      change(row, result);
      for (let j = 0; j < after; j++) y[(o * after + j) * inner + i] = result[j];
    }
  }
  return { shape: shape.with(at, after), data: y };
}

/** Returns a (..., T, K) times b (..., K, S), which have the same leading axes. */
function matmul(a, b) {
  const [T, K] = a.shape.slice(-2);
  const S = b.shape.at(-1);
  const outer = sizeOf(a.shape.slice(0, -2));
  const y = new Float32Array(outer * T * S);
  for (let o = 0; o < outer; o++) {
    const rows = a.data.subarray(o * T * K, (o + 1) * T * K);
    if (b.rows !== undefined) {
      y.set(multiplyRows(rows, b.rows.subarray(o * S * K, (o + 1) * S * K), K), o * T * S);
      continue;
    }
    for (let t = 0; t < T; t++) {
      for (let k = 0; k < K; k++) {
        const [weight, start, from] = [rows[t * K + k], (o * T + t) * S, (o * K + k) * S];
        for (let s = 0; s < S; s++) y[start + s] += weight * b.data[from + s];
      }
    }
  }
  return { shape: [...a.shape.slice(0, -1), S], data: y };
}

/** Returns an array with its last two axes swapped. Its `rows` are the numbers as they were, for `matmul`. */
function transpose({ shape, data }) {
  const [rows, columns] = shape.slice(-2);
  const swapped = [...shape.slice(0, -2), columns, rows];
  const size = rows * columns;
  return {
    shape: swapped,
    rows: data,
    get data() {
      return data.map((_, i) => data[i - (i % size) + (i % rows) * columns + Math.floor((i % size) / rows)]);
    },
  };
}

/** Returns a part of an array as Python's x[...] does; of each axis [start, stop], a number, or null for a new axis. */
function slice({ shape, data }, parts) {
  const missing = shape.length - parts.filter((part) => part !== null && part !== "...").length;
  const all = Array(missing).fill([null, null]);
  const every = parts.includes("...")
    ? parts.flatMap((part) => (part === "..." ? all : [part]))
    : [...parts, ...all];
  const [found, ranges] = [[], []];
  let [places, axis, whole] = [[0], 0, true];
  for (const part of every) {
    if (part === null) {
      found.push(1);
      continue;
    }
    const [length, stride] = [shape[axis], sizeOf(shape.slice(axis + 1))];
    const place = (at) => Math.min(Math.max(at < 0 ? at + length : at, 0), length);
    const [start, stop] = Array.isArray(part)
      ? [place(part[0] ?? 0), place(part[1] ?? length)]
      : [place(part), place(part) + 1];
    const count = Math.max(stop - start, 0);
    whole &&= count === length;
    ranges.push([start, count, stride]);
    if (Array.isArray(part)) found.push(count);
    axis++;
  }
  if (whole) return { shape: found, data };
  for (const [start, count, stride] of ranges) {
    places = places.flatMap((at) => Array.from({ length: count }, (_, i) => at + (start + i) * stride));
  }
  return { shape: found, data: Float32Array.from(places, (at) => data[at]) };
}

function concat(arrays, axis) {
  const parts = arrays.map(({ shape }) => around(shape, axis));
  const [outer, , inner, at] = parts[0];
  const length = parts.reduce((sum, [, each]) => sum + each, 0);
  const y = new Float32Array(outer * length * inner);
  let start = 0;
  for (let o = 0; o < outer; o++) {
    arrays.forEach(({ data }, i) => {
      const size = parts[i][1] * inner;
      y.set(data.subarray(o * size, (o + 1) * size), start);
      start += size;
    });
  }
  return { shape: arrays[0].shape.with(at, length), data: y };
}

/** Swaps axes 1 and 2 of an array that is seen as (B, a, b, size), and gives it a shape. */
function swapMiddle({ data }, [B, a, b, size], shape) {
  const y = new Float32Array(data.length);
  for (let row = 0; row < B * a * b; row++) {
    const [i, j, k] = [Math.floor(row / (a * b)), Math.floor(row / b) % a, row % b];
    y.set(data.subarray(row * size, (row + 1) * size), ((i * b + k) * a + j) * size);
  }
  return { shape, data: y };
}

const each =
  (f) =>
  (...arrays) =>
    combine(f, ...arrays);

/** Every operation: a function of its inputs and constants. */
const OPERATIONS = {
  constant: (value) => ({ shape: [], data: Float32Array.of(value) }),
  abs: each(Math.abs),
  exp: each(Math.exp),
  log: each(Math.log),
  sqrt: each(Math.sqrt),
  tanh: each(Math.tanh),
  zeros_like: each(() => 0),
  ones_like: each(() => 1),
  add: each((a, b) => a + b),
  subtract: each((a, b) => a - b),
  multiply: each((a, b) => a * b),
  divide: each((a, b) => a / b),
  power: each((a, b) => a ** b),
  maximum: each((a, b) => Math.max(a, b)),
  minimum: each((a, b) => Math.min(a, b)),
  greater: each((a, b) => Number(a > b)),
  greater_equal: each((a, b) => Number(a >= b)),
  where: each((condition, a, b) => (condition ? a : b)),
  matmul,
  transpose,
  slice,
  positions: ({ shape }) => ({
    shape: [shape.at(-1)],
    data: Float32Array.from({ length: shape.at(-1) }, (_, i) => i),
  }),
  sum: (x, axis) =>
    changeRows(x, axis, 1, (row, result) => {
      result[0] = row.reduce((sum, number) => sum + number, 0);
    }),
  max: (x, axis) =>
    changeRows(x, axis, 1, (row, result) => {
      result[0] = Math.max(...row);
    }),
  cumsum: (x, axis) =>
    changeRows(x, axis, null, (row, result) => {
      let sum = 0;
      row.forEach((number, i) => {
        sum += number;
        result[i] = sum;
      });
    }),
  sort_descending: (x) => changeRows(x, -1, null, (row, result) => result.set(row.sort().reverse())),
  softmax: ({ shape, data }) => {
    const y = data.slice();
    softmaxRows(y, shape.at(-1));
    return { shape, data: y };
  },
  split_heads: (x, heads) => {
    const [B, T, K] = x.shape;
    return swapMiddle(x, [B, T, heads, K / heads], [B, heads, T, K / heads]);
  },
  join_heads: (x) => {
    const [B, N, T, size] = x.shape;
    return swapMiddle(x, [B, N, T, size], [B, T, N * size]);
  },
};

/** A mechanism with its weights. */
export class Attention {
  constructor(program, weights) {
    this.program = program;
    this.heads = program.heads;
    this.selective = program.selective;
    this.operations = program.operations.map(([name, inputs, ...constants]) => {
      if (name === "input") return { input: constants[0] === "state" ? constants[1] : constants[0] };
      if (name === "linear") {
        const [part, size, outputs, bias] = constants;
        const linear = weights.linear(part, size, outputs, { bias });
        return {
          inputs,
          compute: ({ shape, data }) => ({ shape: shape.with(-1, outputs), data: linear.apply(data) }),
        };
      }
      if (name === "parameter") {
        const [part, shape] = constants;
        const parameter = { shape, data: weights.take(part, ...shape) };
        return { inputs, compute: () => parameter };
      }
      const compute = OPERATIONS[name];
      if (name === "concat") return { inputs, compute: (...arrays) => concat(arrays, constants[0]) };
      return { inputs, compute: (...arrays) => compute(...arrays, ...constants) };
    });
  }

  /** Computes results of the program, given by their places, from named inputs. */
  run(places, given) {
    const found = new Map();
    const find = (place) => {
      if (!found.has(place)) {
        const { input, inputs, compute } = this.operations[place];
        found.set(place, input !== undefined ? given[input] : compute(...inputs.map(find)));
      }
      return found.get(place);
    };
    return places.map(find);
  }

  /** Returns keys and values of S word representations h (S, V). */
  memory(h, S) {
    const states = { shape: [1, S, h.length / S], data: h };
    const [keys, values] = this.run([this.program.keys, this.program.values], { states });
    return { keys: keys.data, values: values.data, S };
  }

  /** Returns the state of a hypothesis before the first word: a list of arrays. */
  start(memory) {
    return this.run(this.program.start, arraysOf(memory));
  }

  /**
   * Returns for K hypotheses, given their queries (K, Q) and states, the context (K, V), the weights of each head
   * (N, K, S), their mean (K, S), and the new states. `changed`, weights (S), replace those of all.
   */
  advance(queries, states, memory, changed = null) {
    const [K, { S }, { program, heads }] = [states.length, memory, this];
    const before = states[0].map((_, part) =>
      concat(
        states.map((state) => state[part]),
        1
      )
    );
    const asked = { shape: [1, K, queries.length / K], data: queries };
    const given = { ...arraysOf(memory), queries: asked, ...before };
    const [found, ...after] = this.run([program.weights, ...program.state], given);
    const weights = new Float32Array(heads * K * S);
    for (let row = 0; row < heads * K; row++) {
      const from = found.data.length === S ? 0 : row * S; // they may be the same for all queries
      weights.set(changed ?? found.data.subarray(from, from + S), row * S);
    }
    return {
      context: this.mix(weights, K, memory),
      heads: weights,
      weights: averageHeads(weights, heads),
      states: states.map((_, k) =>
        after.map((part) =>
          slice(part, [
            [null, null],
            [k, k + 1],
          ])
        )
      ),
    };
  }

  /** Returns the contexts (T, V) for weights (N, T, S). */
  mix(weights, T, memory) {
    const shape = !this.program.has_heads ? [1, T, memory.S] : [1, this.heads, T, memory.S];
    return this.run([this.program.context], { ...arraysOf(memory), weights: { shape, data: weights } })[0]
      .data;
  }
}

function arraysOf({ keys, values, S }) {
  return {
    keys: { shape: [1, S, keys.length / S], data: keys },
    values: { shape: [1, S, values.length / S], data: values },
  };
}

/** Returns the mean over heads of weights (N, T, S). */
function averageHeads(weights, heads) {
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
