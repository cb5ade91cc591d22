/**
 * Tasks 1.3, 1.4 and 1.5 by simulation, as in theory/noise.py.
 *
 *     k_i = lambda_i mu_i + noise,  lambda_i ~ N(1, beta_i),  noise ~ N(0, alpha I),  mu orthonormal
 *
 * Here queries lie in the plane of mu_a and mu_b. Such a query sees of every key only its projection onto
 * that plane: of the other means nothing, so they are all at the origin. That is exact for any dimension.
 */

/** Returns the means (m, 2) as a query in the plane of the first two sees them. */
export function planeMeans(count) {
  return Array.from({ length: count }, (_, i) => [i === 0 ? 1 : 0, i === 1 ? 1 : 0]);
}

export class KeyNoise {
  /** Takes the variance of each key's length along its mean, and that of all keys in every direction. */
  constructor(betas, alpha = 0) {
    this.betas = betas;
    this.alpha = alpha;
  }

  /** Returns the noise of 1.3 and 1.4. */
  static ofNorms(keys, beta) {
    return new KeyNoise(new Array(keys).fill(beta));
  }

  /** Returns the noise of 1.5. */
  static ofFirst(keys, beta, alpha) {
    return new KeyNoise([beta, ...new Array(keys - 1).fill(0)], alpha);
  }

  /** Draws lambdas (N, m) and keys (N, m, d), one row after another. */
  sample(means, count, rng) {
    const m = means.length;
    const d = means[0].length;
    const lambdas = new Float64Array(count * m);
    const keys = new Float64Array(count * m * d);
    const deviations = this.betas.map(Math.sqrt);
    const deviation = Math.sqrt(this.alpha);
    for (let n = 0; n < count; n++) {
      for (let i = 0; i < m; i++) {
        const lambda = 1 + rng.normal() * deviations[i];
        lambdas[n * m + i] = lambda;
        for (let r = 0; r < d; r++) {
          keys[(n * m + i) * d + r] = lambda * means[i][r] + (deviation ? deviation * rng.normal() : 0);
        }
      }
    }
    return { m, lambdas, keys };
  }
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

/** Returns the mean and the covariance [xx, xy, yy] of the first outputs. */
export function outputStatistics(outputs, count) {
  let x = 0;
  let y = 0;
  for (let n = 0; n < count; n++) {
    x += outputs[2 * n] / count;
    y += outputs[2 * n + 1] / count;
  }
  const covariance = [0, 0, 0];
  for (let n = 0; n < count; n++) {
    const dx = outputs[2 * n] - x;
    const dy = outputs[2 * n + 1] - y;
    covariance[0] += (dx * dx) / count;
    covariance[1] += (dx * dy) / count;
    covariance[2] += (dy * dy) / count;
  }
  return { mean: [x, y], covariance };
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
