/**
 * What would make the model say another word: the attention under which a wanted word is likeliest. The same
 * method as in `augenmerk/analysis/wanted.py`, which explains it, in the same order and letters.
 *
 * S source positions, V entries of the vocabulary. At a target position of a GRU translator the logits are
 *
 *     logits(alpha) = base + sum_t alpha_t contributions_t
 *
 * for any attention alpha. The log-probability of a word is a concave function f of alpha, and no attention gives
 * more than f(alpha) + gap, where gap = max_t f'_t - sum_t alpha_t f'_t. Whether the word can be the likeliest is a
 * linear programme: M_ty is by how much its logit leads that of word y if all attention rests on t, any alpha
 * gives a lower bound of the greatest lead, min_y sum_t alpha_t M_ty, and any mixture q of the other words an
 * upper one, max_t sum_y M_ty q_y.
 */

/** In nats: by how much another attention could at most raise the log-probability that is returned. */
const GAP_TOLERANCE = 1e-9;
/** In nats: bounds of the greatest lead that are no further apart are not made closer, since logits, which are
 * computed in single precision, are not more precise. If 0 lies between them, it is undecided who wins. */
const LEAD_TOLERANCE = 1e-6;
const MAX_NEWTON_STEPS = 200;
/** What each step aims at: this fraction of the present gap. */
const GAP_SHRINK = 0.1;
/** How far a step may go towards the nearest edge, where a weight is 0. */
const STAY_INSIDE = 0.99;
const SHORTEST_STEP = 1e-12;
/** Added to the diagonal of a curvature, relative to its largest entry, so that it can always be inverted. */
const RIDGE = 1e-13;

/**
 * Finds the attention that makes the entry `wanted` of the vocabulary likeliest. Entries in `never` have their
 * probability, but the wanted one need not beat them, since no search chooses them: padding, or unknown words.
 *
 * @param {Float32Array} base logits (V) under attention to nothing
 * @param {Float32Array[]} contributions what attention to each of S source positions adds to them (V)
 * @param {number} wanted
 * @param {number[]} never
 * @returns {{weights: number[], log_probability: number, gap: number, best: number, best_log_probability: number,
 *   wins: ?boolean, lead: number[], winning_weights: ?number[]}} `wins` is null if that is undecided; `best` is
 *   the likeliest other word under `weights`; `lead` are bounds of the greatest lead; under `winning_weights`,
 *   which need not be `weights`, the wanted word is the likeliest.
 */
export function maximiseWanted(base, contributions, wanted, never = []) {
  const V = base.length;
  const M = contributions.map((row) => {
    const margins = new Float64Array(V);
    const logit = row[wanted] + base[wanted];
    for (let y = 0; y < V; y++) margins[y] = logit - (row[y] + base[y]);
    return margins;
  });
  if (!M.every((row) => Number.isFinite(sumOf(row)))) throw new Error("logits must be finite numbers");
  const leftOut = new Set([wanted, ...never]);
  const rivals = [];
  for (let y = 0; y < V; y++) if (!leftOut.has(y)) rivals.push(y);
  const rivalM = takeColumns(M, rivals);
  const { alpha, gap } = climbToWanted(M);
  const log_probability = softMinimum(mixRows(alpha, M)).value;
  const leads = mixRows(alpha, rivalM);
  const best = leads.indexOf(minimumOf(leads));
  let low = leads[best];
  let high = maximumOf(dotRows(rivalM, softMinimum(leads).shares));
  let winning = alpha;
  if (low <= 0 && high >= 0) ({ best: winning, low, high } = findLead(dropDominated(rivalM)));
  const wins = low > 0 ? true : high < 0 ? false : null;
  return {
    weights: Array.from(alpha),
    log_probability,
    gap,
    best: rivals[best],
    best_log_probability: log_probability - leads[best],
    wins,
    lead: [low, high],
    winning_weights: wins ? Array.from(winning) : null,
  };
}

/**
 * Finds the weights that maximise f(alpha) = -log sum_y exp(-sum_t alpha_t M_ty), which is the log-probability of
 * the wanted word. At the maximum there are a number lambda and slacks s >= 0 so that f'_t + s_t = lambda and
 * alpha_t s_t = 0. Each step goes towards alpha_t s_t = mu instead, for ever smaller mu. On f + mu sum_t log alpha_t,
 * of which that is the maximum, it is a step upwards, and it is halved until it arrives higher.
 */
function climbToWanted(M) {
  const S = M.length;
  let alpha = new Float64Array(S).fill(1 / S);
  let s = new Float64Array(S);
  let mu = Infinity;
  let gap = Infinity;
  for (let number = 0; number < MAX_NEWTON_STEPS; number++) {
    const margins = mixRows(alpha, M);
    const { value: f, shares } = softMinimum(margins);
    const gradient = dotRows(M, shares);
    gap = Math.max(0, maximumOf(gradient) - dotOf(alpha, gradient));
    if (gap <= GAP_TOLERANCE) break;
    mu = Math.min(mu, (GAP_SHRINK * gap) / S);
    s = s.map((each, t) => Math.min(Math.max(each, (0.01 * mu) / alpha[t]), (100 * mu) / alpha[t]));
    const uphill = gradient.map((each, t) => each + mu / alpha[t]);
    const barrier = s.map((each, t) => each / alpha[t]);
    const { step } = solveNewton(covarianceOfRows(M, shares), barrier, uphill);
    const sStep = s.map((each, t) => mu / alpha[t] - each - (each / alpha[t]) * step[t]);
    const change = mixRows(step, M);
    const slope = dotOf(uphill, step);
    const height = f + mu * sumOfLogs(alpha);
    let size = largestStep([alpha, step]);
    const heightAfter = () =>
      softMinimum(moveBy(margins, size, change)).value + mu * sumOfLogs(moveBy(alpha, size, step));
    // The last term: near the top, rounding hides what a step gains.
    const enough = () => height + 1e-4 * size * slope - RIDGE * (1 + Math.abs(height));
    while (size > SHORTEST_STEP && heightAfter() < enough()) size /= 2;
    alpha = normaliseShares(moveBy(alpha, size, step));
    s = moveBy(s, largestStep([s, sStep]), sStep);
  }
  return { alpha, gap };
}

/**
 * Finds weights with the greatest min_y sum_t alpha_t M_ty, and a lower and an upper bound of it. It stops as soon
 * as the upper bound is below 0. The programme is to find the greatest v with
 * w_y = sum_t alpha_t M_ty - v >= 0, its dual the least lambda with s_t = lambda - sum_y M_ty q_y >= 0; q are
 * shares of the words that sum to 1. Each step goes towards alpha_t s_t = q_y w_y = mu.
 */
function findLead(M) {
  const S = M.length;
  const V = M[0].length;
  let alpha = new Float64Array(S).fill(1 / S);
  let q = new Float64Array(V).fill(1 / V);
  let lambda = maximumOf(dotRows(M, q)) + 1;
  const start = mixRows(alpha, M);
  const least = minimumOf(start);
  let w = start.map((each) => each - least + 1); // v alone is not needed
  let s = dotRows(M, q).map((each) => lambda - each);
  let best = alpha;
  let low = -Infinity;
  let high = Infinity;
  for (let number = 0; number < MAX_NEWTON_STEPS; number++) {
    const leads = mixRows(alpha, M);
    const costs = dotRows(M, q);
    if (minimumOf(leads) > low) {
      best = alpha;
      low = minimumOf(leads);
    }
    high = Math.min(high, maximumOf(costs));
    if (high < 0 || high - low <= LEAD_TOLERANCE) break;
    const mu = (GAP_SHRINK * (dotOf(alpha, s) + dotOf(q, w))) / (S + V);
    const D = q.map((each, y) => each / w[y]);
    const total = sumOf(D);
    const centre = dotRows(M, D).map((each) => each / total);
    const pull = w.map((each) => mu / each);
    const pulls = sumOf(pull);
    const uphill = dotRows(M, pull).map(
      (each, t) => each - centre[t] * pulls + (centre[t] - lambda) + mu / alpha[t]
    );
    const covariance = covarianceOfRows(
      M,
      D.map((each) => each / total)
    );
    const curvature = covariance.map((row) => row.map((each) => each * total));
    const barrier = s.map((each, t) => each / alpha[t]);
    const { step: alphaStep, lambda: lambdaStep } = solveNewton(curvature, barrier, uphill);
    const vStep = dotOf(centre, alphaStep) + (1 - pulls) / total;
    const wStep = mixRows(alphaStep, M).map((each) => each - vStep);
    const qStep = q.map((each, y) => pull[y] - each - D[y] * wStep[y]);
    const sStep = dotRows(M, qStep).map((each) => lambdaStep - each);
    let size = largestStep([alpha, alphaStep], [w, wStep]);
    alpha = normaliseShares(moveBy(alpha, size, alphaStep));
    w = moveBy(w, size, wStep);
    size = largestStep([q, qStep], [s, sStep]);
    q = normaliseShares(moveBy(q, size, qStep));
    s = moveBy(s, size, sStep);
    lambda += size * lambdaStep;
  }
  return { best, low, high };
}

/**
 * Returns M without the words that one other word beats under any attention, and so under every
 * attention. Only the likeliest word for each position is tried as the other.
 */
function dropDominated(M) {
  const winners = [...new Set(M.map((row) => row.indexOf(minimumOf(row))))];
  const isDominated = (y) => winners.some((best) => best !== y && M.every((row) => row[best] <= row[y]));
  const kept = [];
  for (let y = 0; y < M[0].length; y++) if (!isDominated(y)) kept.push(y);
  return takeColumns(M, kept);
}

/** Returns -log sum_y exp(-margins_y), and the share of each y in this sum. */
function softMinimum(margins) {
  const low = minimumOf(margins);
  const exponentials = margins.map((each) => Math.exp(low - each));
  return { value: low - Math.log(sumOf(exponentials)), shares: normaliseShares(exponentials) };
}

/** Returns the covariance (S, S) of the rows of M under a distribution over its columns. */
function covarianceOfRows(M, shares) {
  const centred = M.map((row) => row.slice());
  const H = M.map(() => new Float64Array(M.length));
  const weighted = new Float64Array(shares.length);
  for (let t = 0; t < M.length; t++) {
    const mean = dotOf(M[t], shares);
    for (let y = 0; y < shares.length; y++) {
      centred[t][y] -= mean;
      weighted[y] = centred[t][y] * shares[y];
    }
    for (let u = 0; u <= t; u++) H[t][u] = H[u][t] = dotOf(weighted, centred[u]);
  }
  return H;
}

/** Returns the step d, and lambda, with (curvature + diag(barrier)) d = uphill - lambda and sum_t d_t = 0. */
function solveNewton(curvature, barrier, uphill) {
  const S = uphill.length;
  const ridge = RIDGE * maximumOf(curvature.map((row, t) => row[t]));
  const middle = sumOf(uphill) / S; // solving for what differs loses fewer digits
  const equations = curvature.map((row, t) => [...row, 1, uphill[t] - middle]);
  equations.push([...new Array(S).fill(1), 0, 0]);
  for (let t = 0; t < S; t++) equations[t][t] += barrier[t] + ridge;
  const solution = eliminate(equations);
  return { step: solution.slice(0, S), lambda: solution[S] + middle };
}

/** Solves linear equations by Gaussian elimination; each row has its right side last. */
function eliminate(rows) {
  const n = rows.length;
  for (let t = 0; t < n; t++) {
    let pivot = t;
    for (let u = t + 1; u < n; u++) if (Math.abs(rows[u][t]) > Math.abs(rows[pivot][t])) pivot = u;
    [rows[t], rows[pivot]] = [rows[pivot], rows[t]];
    for (let u = 0; u < n; u++) {
      const factor = u === t ? 0 : rows[u][t] / rows[t][t];
      for (let k = t; k <= n; k++) rows[u][k] -= factor * rows[t][k];
    }
  }
  return Float64Array.from(rows, (row, t) => row[n] / row[t]);
}

/** Returns the largest step of at most 1 by which all of these values stay above 0. */
function largestStep(...pairs) {
  let falls = 0;
  for (const [values, step] of pairs) {
    for (let k = 0; k < values.length; k++) falls = Math.max(falls, -step[k] / values[k]);
  }
  return falls > 0 ? Math.min(1, STAY_INSIDE / falls) : 1;
}

/** Returns sum_t weights_t rows_t. */
function mixRows(weights, rows) {
  const mixed = new Float64Array(rows[0].length);
  rows.forEach((row, t) => {
    const weight = weights[t];
    for (let y = 0; y < row.length; y++) mixed[y] += weight * row[y];
  });
  return mixed;
}

/** Returns sum_y rows_ty shares_y for each t. */
function dotRows(rows, shares) {
  return Float64Array.from(rows, (row) => dotOf(row, shares));
}

/** Returns sum_k a_k b_k, by four sums at once: an addition need not wait for the one before it. */
function dotOf(a, b) {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  let k = 0;
  for (; k + 3 < a.length; k += 4) {
    s0 += a[k] * b[k];
    s1 += a[k + 1] * b[k + 1];
    s2 += a[k + 2] * b[k + 2];
    s3 += a[k + 3] * b[k + 3];
  }
  for (; k < a.length; k++) s0 += a[k] * b[k];
  return s0 + s1 + (s2 + s3);
}

function moveBy(values, size, step) {
  return values.map((each, k) => each + size * step[k]);
}

function normaliseShares(values) {
  const total = sumOf(values);
  return values.map((each) => each / total);
}

function takeColumns(rows, columns) {
  return rows.map((row) => Float64Array.from(columns, (y) => row[y]));
}

function sumOf(values) {
  return values.reduce((sum, each) => sum + each, 0);
}

function sumOfLogs(values) {
  return sumOf(values.map(Math.log));
}

function minimumOf(values) {
  return values.reduce((least, each) => Math.min(least, each), Infinity);
}

function maximumOf(values) {
  return values.reduce((most, each) => Math.max(most, each), -Infinity);
}
