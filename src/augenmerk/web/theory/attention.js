/**
 * Attention as a function, equations 1 and 2, as in theory/attention.py.
 *
 *     alpha_i = exp(q . k_i / sqrt(d)) / sum_j exp(q . k_j / sqrt(d))        (1)
 *     a       = sum_j alpha_j v_j                                            (2)
 *
 * Vectors are arrays of numbers, matrices are arrays of rows.
 */

export function dot(x, y) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}

/** Returns the weighted sum of rows: weights^T rows. */
export function combine(weights, rows) {
  return rows[0].map((_, column) =>
    weights.reduce((sum, weight, row) => sum + weight * rows[row][column], 0)
  );
}

export function distance(x, y) {
  return Math.hypot(...x.map((value, i) => value - y[i]));
}

/** Returns the given scale, or 1/sqrt(d) if it is null. */
function chooseScale(scale, dimension) {
  return scale === null ? 1 / Math.sqrt(dimension) : scale;
}

/** Returns the softmax without overflow; infinite logits share all the weight. */
export function softmax(logits) {
  const highest = Math.max(...logits);
  const exponentials = logits.map((z) => (z === highest ? 1 : Math.exp(z - highest)));
  const sum = exponentials.reduce((total, each) => total + each, 0);
  return exponentials.map((each) => each / sum);
}

/** Returns the weights of equation 1. `scale` multiplies the logits: 1/sqrt(d) if it is null. */
function attentionWeights(query, keys, scale = null) {
  const factor = chooseScale(scale, query.length);
  return softmax(keys.map((key) => dot(query, key) * factor));
}

/** Returns the weights and the output for a query (d), keys (m, d) and values (m, dv). */
export function attend(query, keys, values, scale = null) {
  const weights = attentionWeights(query, keys, scale);
  return { weights, output: combine(weights, values) };
}

/** Returns the entropy in nats: 0 if one key has all the weight, ln m if it is even. */
export function entropy(weights) {
  return -weights.reduce((sum, w) => sum + (w > 0 ? w * Math.log(w) : 0), 0);
}
