/**
 * Tasks 1.6 and 1.7: self-attention over inputs that are sums of orthogonal parts, as in
 * theory/self_attention.py.
 *
 *     x_1 = u_d + u_b,  x_2 = u_a,  x_3 = u_c + u_b        u orthogonal, each of length B
 *
 * Inputs and matrices are coefficients over the parts: a matrix M means sum_rs M_rs u_r u_s^T / B^2, so
 * that it maps u_s to M_rs u_r. Products of coefficients are then products of vectors divided by B^2.
 */

import { combine, dot, softmax } from "./attention.js";

export const PARTS = ["a", "b", "c", "d"];
export const INPUTS = [
  [0, 1, 0, 1],
  [1, 0, 0, 0],
  [0, 1, 1, 0],
];
/** What the first two outputs should be in 1.7: u_b - u_c and u_b. */
export const WANTED = [
  [0, 1, -1, 0],
  [0, 1, 0, 0],
];

export function identity(size) {
  return Array.from({ length: size }, (_, r) => Array.from({ length: size }, (_, c) => (r === c ? 1 : 0)));
}

/** The answer to 1.7: K = I, Q = (u_d u_a^T + u_c u_d^T)/B^2, V = (u_b u_b^T - u_c u_c^T)/B^2. */
export const PUBLISHED = {
  K: identity(4),
  Q: [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
    [0, 0, 0, 1],
    [1, 0, 0, 0],
  ],
  V: [
    [0, 0, 0, 0],
    [0, 1, 0, 0],
    [0, 0, -1, 0],
    [0, 0, 0, 0],
  ],
};

/** Returns M x for each input x. */
function project(inputs, matrix) {
  return inputs.map((x) => matrix.map((row) => dot(row, x)));
}

/** Returns the weights (m, m), a row for each query, and values and outputs over parts of length B. */
export function selfAttend(inputs, K, Q, V, B) {
  const keys = project(inputs, K);
  const values = project(inputs, V);
  const weights = project(inputs, Q).map((query) => softmax(keys.map((key) => dot(query, key) * B * B)));
  return { weights, values, outputs: weights.map((row) => combine(row, values)) };
}

/** Returns a vector over the parts as a sum such as 'u_b - 0.50 u_c', without entries that round to 0. */
export function asSum(coefficients, show, names = PARTS) {
  let text = "";
  coefficients.forEach((value, i) => {
    const rounded = Math.round(value * 100) / 100;
    if (rounded === 0) return;
    const sign = rounded < 0 ? (text ? " − " : "−") : text ? " + " : "";
    text += `${sign}${Math.abs(rounded) === 1 ? "" : `${show(Math.abs(rounded))} `}u_${names[i]}`;
  });
  return text || "0";
}
