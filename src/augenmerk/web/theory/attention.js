/**
 * Attention as a function, as in theory/attention.py, and self-attention over sums of orthogonal parts (1.6 and 1.7), as
 * in theory/self_attention.py. Vectors are arrays of numbers, matrices are arrays of rows.
 *
 *     alpha_i = exp(q . k_i / sqrt(d)) / sum_j exp(q . k_j / sqrt(d))        (1)
 *     a       = sum_j alpha_j v_j                                            (2)
 *     x_1 = u_d + u_b,  x_2 = u_a,  x_3 = u_c + u_b                          u orthogonal, each of length B
 *
 * In 1.6 and 1.7, inputs and matrices are coefficients over the parts: a matrix M means sum_rs M_rs u_r u_s^T / B^2, so
 * it maps u_s to M_rs u_r. Products of coefficients are then products of vectors divided by B^2.
 */

export function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

/** Returns the weighted sum of rows: weights^T rows. */
function combine(weights, rows) {
  return rows[0].map((_, column) =>
    weights.reduce((sum, weight, row) => sum + weight * rows[row][column], 0)
  );
}

export function distance(x, y) {
  return Math.hypot(...x.map((value, i) => value - y[i]));
}

/** Returns the softmax without overflow. */
export function softmax(logits) {
  const highest = Math.max(...logits);
  const exponentials = logits.map((z) => Math.exp(z - highest));
  const sum = exponentials.reduce((total, each) => total + each, 0);
  return exponentials.map((each) => each / sum);
}

/** Returns the weights and the output for a query (d), keys (m, d) and values (m, dv); `scale` multiplies the logits. */
export function attend(query, keys, values, scale) {
  const weights = softmax(keys.map((key) => dot(query, key) * scale));
  return { weights, output: combine(weights, values) };
}

/**
 * Returns values (m, 2), as in theory/results.py: v_a = (-1, 0), v_b = (1, 0), and the others on an arc above them. The
 * first coordinate of an output says how it leans between v_a and v_b, the second what leaks.
 */
export function planeValues(count) {
  const others = Array.from({ length: Math.max(0, count - 2) }, (_, i) => {
    const angle = Math.PI * (1 - (i + 1) / (count - 1));
    return [1.4 * Math.cos(angle), 0.4 + 1.2 * Math.sin(angle)];
  });
  return [[-1, 0], [1, 0], ...others];
}

export const PARTS = ["a", "b", "c", "d"];
export const INPUTS = [
  [0, 1, 0, 1],
  [1, 0, 0, 0],
  [0, 1, 1, 0],
];
/** The target of the first two outputs in 1.7: u_b - u_c and u_b. */
export const WANTED = [
  [0, 1, -1, 0],
  [0, 1, 0, 0],
];
/**
 * Matrices as the address has them: a letter for each entry, row by row, n for -1 and p for 1. The answer to 1.7 is
 * K = I, Q = (u_d u_a^T + u_c u_d^T)/B^2, V = (u_b u_b^T - u_c u_c^T)/B^2.
 */
export const ZERO = "0000000000000000";
export const IDENTITY = "p0000p0000p0000p";
export const PUBLISHED = { K: IDENTITY, Q: "00000000000pp000", V: "00000p0000n00000" };

/** Returns the rows of a matrix that is written in letters. */
export function readMatrix(text) {
  return PARTS.map((_, r) => PARTS.map((_, c) => "n0p".indexOf(text[4 * r + c]) - 1));
}

export function times(matrix, x) {
  return matrix.map((row) => dot(row, x));
}

/** Returns the weights (m, m), a row for each query, and values and outputs over parts of length B. */
export function selfAttend(inputs, K, Q, V, B) {
  const keys = inputs.map((x) => times(K, x));
  const values = inputs.map((x) => times(V, x));
  const weights = inputs.map((x) => softmax(keys.map((key) => dot(times(Q, x), key) * B * B)));
  return { weights, values, outputs: weights.map((row) => combine(row, values)) };
}

/** Returns a vector over the parts as a sum such as 'u_b - 0.50 u_c', without entries that round to 0. */
export function asSum(coefficients, show) {
  let text = "";
  coefficients.forEach((value, i) => {
    const size = Math.abs(Math.round(value * 100) / 100);
    if (size === 0) return;
    const sign = value < 0 ? (text ? " − " : "−") : text ? " + " : "";
    text += `${sign}${size === 1 ? "" : `${show(size)} `}u_${PARTS[i]}`;
  });
  return text || "0";
}
