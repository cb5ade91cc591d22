/**
 * Tasks 1.3, 1.4 and 1.5: by simulation, as in theory/noise.py, and without it, as in theory/closed_form.py.
 *
 *     k_i = lambda_i mu_i + noise,  lambda_i ~ N(1, beta_i),  noise ~ N(0, alpha I),  mu orthonormal
 *
 * Here queries lie in the plane of mu_a and mu_b. Such a query sees of every key only its projection onto
 * that plane: of the other means nothing, so they are all at the origin. That is exact for any dimension.
 */

const MAX_DEVIATIONS = 9;
const MAX_EXPONENT = 600;
const MAX_NODES = 2001; // Python takes more; the page's sliders never ask for so many

/** Random numbers from a seed, so that a link shows the same samples again. They are not those of numpy. */
export class Random {
  constructor(seed) {
    this.state = [seed >>> 0, 0x9e3779b9, 0x243f6a88, 0xb7e15162];
    this.spare = null;
    for (let i = 0; i < 16; i++) this.next();
  }

  /** Returns 32 random bits (the generator sfc32 of Doty-Humphrey). */
  next() {
    const [a, b, c, counter] = this.state;
    const sum = (a + b + counter) | 0;
    this.state = [b ^ (b >>> 9), (c + (c << 3)) | 0, (((c << 21) | (c >>> 11)) + sum) | 0, (counter + 1) | 0];
    return sum >>> 0;
  }

  /** Returns a number above 0 and below 1. */
  uniform() {
    return (this.next() + 0.5) / 4294967296;
  }

  /** Returns a standard normal number (Box and Muller, who make two at a time). */
  normal() {
    if (this.spare !== null) {
      const spare = this.spare;
      this.spare = null;
      return spare;
    }
    const radius = Math.sqrt(-2 * Math.log(this.uniform()));
    const angle = 2 * Math.PI * this.uniform();
    this.spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}

/** Returns the means (m, 2) as a query in the plane of the first two sees them. */
export function planeMeans(count) {
  return Array.from({ length: count }, (_, i) => [i === 0 ? 1 : 0, i === 1 ? 1 : 0]);
}

/**
 * Draws lambdas (N, m) and keys (N, m, 2), one row after another. `betas` has the variance of each key's length along
 * its mean, `alpha` is that of all keys in every direction.
 */
export function drawKeys(betas, alpha, count, rng) {
  const m = betas.length;
  const means = planeMeans(m);
  const lambdas = new Float64Array(count * m);
  const keys = new Float64Array(count * m * 2);
  const deviations = betas.map(Math.sqrt);
  const deviation = Math.sqrt(alpha);
  for (let at = 0; at < lambdas.length; at++) {
    const lambda = 1 + rng.normal() * deviations[at % m];
    lambdas[at] = lambda;
    for (const r of [0, 1]) {
      keys[2 * at + r] = lambda * means[at % m][r] + (deviation ? deviation * rng.normal() : 0);
    }
  }
  return { m, lambdas, keys };
}

/**
 * Attends to drawn keys in the plane with a query for each head, and returns the outputs (N, 2), which are
 * means over the heads. A head is [x, y]; its query is, by origin:
 *
 *     "means"     x mu_a + y mu_b
 *     "keys"      x k_a + y k_b
 *     "lengths"   x mu_a / lambda_a + y mu_b / lambda_b
 */
export function attendToSamples({ m, lambdas, keys }, heads, values, scale, origin = "means") {
  const count = lambdas.length / m;
  const outputs = new Float64Array(count * 2);
  const logits = new Float64Array(m);
  for (let n = 0; n < count; n++) {
    const at = n * m * 2;
    for (const [x, y] of heads) {
      let qx = x;
      let qy = y;
      if (origin === "keys") {
        qx = x * keys[at] + y * keys[at + 2];
        qy = x * keys[at + 1] + y * keys[at + 3];
      } else if (origin === "lengths") {
        qx = x / lambdas[n * m];
        qy = y / lambdas[n * m + 1];
      }
      let highest = -Infinity;
      for (let i = 0; i < m; i++) {
        logits[i] = (qx * keys[at + 2 * i] + qy * keys[at + 2 * i + 1]) * scale;
        if (logits[i] > highest) highest = logits[i];
      }
      let sum = 0;
      let a = 0;
      let b = 0;
      for (let i = 0; i < m; i++) {
        const exponential = Math.exp(logits[i] - highest);
        sum += exponential;
        a += exponential * values[i][0];
        b += exponential * values[i][1];
      }
      outputs[2 * n] += a / sum / heads.length;
      outputs[2 * n + 1] += b / sum / heads.length;
    }
  }
  return outputs;
}

/** Returns mean, covariance [xx, xy, yy] and mean distance from the origin of the first outputs. */
export function outputStatistics(outputs, count) {
  let x = 0;
  let y = 0;
  let distance = 0;
  for (let n = 0; n < count; n++) {
    x += outputs[2 * n] / count;
    y += outputs[2 * n + 1] / count;
    distance += Math.hypot(outputs[2 * n], outputs[2 * n + 1]) / count;
  }
  const covariance = [0, 0, 0];
  for (let n = 0; n < count; n++) {
    const dx = outputs[2 * n] - x;
    const dy = outputs[2 * n + 1] - y;
    covariance[0] += (dx * dx) / count;
    covariance[1] += (dx * dy) / count;
    covariance[2] += (dy * dy) / count;
  }
  return { mean: [x, y], covariance, distance };
}

/** Returns the half axes and the angle of the ellipse one standard deviation around a mean. */
export function covarianceEllipse([xx, xy, yy]) {
  const middle = (xx + yy) / 2;
  const apart = Math.hypot((xx - yy) / 2, xy);
  return {
    long: Math.sqrt(Math.max(0, middle + apart)),
    short: Math.sqrt(Math.max(0, middle - apart)),
    angle: Math.atan2(2 * xy, xx - yy) / 2,
  };
}

/** Returns how fast logits change at most with a standard normal variable, of which one of the lambdas is made. */
export function steepnessOf(heads, axis, beta, origin) {
  const deviation = Math.sqrt(beta);
  const slope = origin === "keys" ? 2 * (1 + 5 * deviation) : 1;
  return Math.max(...heads.map((head) => Math.abs(head[axis]))) * slope * deviation;
}

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
    const { x, weights } = normalNodes(Math.max(1, steepnessOf(heads, axis, beta, origin)));
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
