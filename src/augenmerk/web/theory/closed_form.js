/**
 * Tasks 1.3, 1.4 and 1.5 without simulation, as in theory/closed_form.py: integrals over a normal density,
 * as trapezoid sums.
 */

const MAX_DEVIATIONS = 9;
const MAX_EXPONENT = 600;
const MAX_NODES = 2001; // Python takes more; the page's sliders never ask for so many

/** Returns points of a standard normal variable and their weights. */
function normalNodes(steepness) {
  const count = Math.min(MAX_NODES, 2 * Math.ceil(MAX_DEVIATIONS * Math.max(8, 0.8 * steepness)) + 1);
  const x = Float64Array.from(
    { length: count },
    (_, i) => -MAX_DEVIATIONS + (2 * MAX_DEVIATIONS * i) / (count - 1)
  );
  const density = x.map((each) => Math.exp((-each * each) / 2));
  const sum = density.reduce((total, each) => total + each, 0);
  return { x, weights: density.map((each) => each / sum) };
}

/**
 * Returns the mean [x, y] and the covariance [xx, xy, yy] of the mean output of heads whose queries lie in
 * the plane of mu_a and mu_b. A head is [s_a, s_b]: its logits are s_a lambda_a and s_b lambda_b, or with
 * the squares of the lambdas where queries are made of the keys, and 0 for the others.
 */
export function outputMoments(values, heads, betas, origin = "means") {
  const others = values.length - 2;
  const beside = [0, 1].map((r) => values.slice(2).reduce((sum, value) => sum + value[r], 0));
  const [a, b] = betas.map((beta, axis) => {
    if (beta === 0) return { x: [1], weights: [1] };
    const deviation = Math.sqrt(beta);
    const strength = Math.max(...heads.map((head) => Math.abs(head[axis])));
    const slope = origin === "keys" ? 2 * (1 + 5 * deviation) : 1;
    const { x, weights } = normalNodes(Math.max(1, strength * slope * deviation));
    const lambdas = x.map((each) => 1 + each * deviation);
    return { x: origin === "keys" ? lambdas.map((each) => each * each) : lambdas, weights };
  });
  // The exponentials of a do not depend on b, so there are few of them, unless they are too large for numbers.
  const exponentials = heads.map(([s_a, s_b]) => {
    const z_a = Array.from(a.x, (lambda) => s_a * lambda);
    const z_b = Array.from(b.x, (lambda) => s_b * lambda);
    const isLarge = Math.max(...z_a, ...z_b) > MAX_EXPONENT;
    return {
      z_a,
      z_b,
      isLarge,
      e_a: Float64Array.from(z_a, Math.exp),
      e_b: Float64Array.from(z_b, Math.exp),
    };
  });
  const mean = [0, 0];
  const square = [0, 0, 0];
  for (let i = 0; i < a.x.length; i++) {
    for (let j = 0; j < b.x.length; j++) {
      let x = 0;
      let y = 0;
      for (const { z_a, z_b, isLarge, e_a: all_a, e_b: all_b } of exponentials) {
        let e_a = all_a[i];
        let e_b = all_b[j];
        let e_0 = 1;
        if (isLarge) {
          const highest = Math.max(z_a[i], z_b[j], 0);
          e_a = Math.exp(z_a[i] - highest);
          e_b = Math.exp(z_b[j] - highest);
          e_0 = Math.exp(-highest);
        }
        const sum = (e_a + e_b + others * e_0) * heads.length;
        x += (e_a * values[0][0] + e_b * values[1][0] + e_0 * beside[0]) / sum;
        y += (e_a * values[0][1] + e_b * values[1][1] + e_0 * beside[1]) / sum;
      }
      const weight = a.weights[i] * b.weights[j];
      mean[0] += weight * x;
      mean[1] += weight * y;
      square[0] += weight * x * x;
      square[1] += weight * x * y;
      square[2] += weight * y * y;
    }
  }
  const [x, y] = mean;
  return { mean, covariance: [square[0] - x * x, square[1] - x * y, square[2] - y * y] };
}

/** Returns the chance that a standard normal variable is below x. */
export function ndtr(x) {
  if (x > 0) return 1 - ndtr(-x);
  if (x < -38) return 0;
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  if (x > -3) {
    // The series of Marsaglia (2004): x + x^3/3 + x^5/(3 5) + ...
    let term = x;
    let sum = x;
    for (let n = 3; Math.abs(term) > 1e-18; n += 2) {
      term *= (x * x) / n;
      sum += term;
    }
    return 0.5 + density * sum;
  }
  // The continued fraction of Laplace, which is quick where the series is not.
  let fraction = -x;
  for (let n = 60; n > 0; n--) fraction = -x + n / fraction;
  return density / fraction;
}

/** Returns P(a head c mu_a leaves more than eps elsewhere) = P(lambda < ln((m-1)(1-eps)/eps) / s). */
export function headBreaks(keys, strength, beta, eps) {
  const least = (Math.log(keys - 1) + Math.log((1 - eps) / eps)) / strength;
  return beta === 0 ? Number(least > 1) : ndtr((least - 1) / Math.sqrt(beta));
}
