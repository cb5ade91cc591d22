/**
 * Tasks 1.1 and 1.2: which values a query can copy or average, and how large it has to be, as in
 * theory/copying.py, which also says why it is so.
 *
 * Python asks a linear programme whether there is a query, since there may be hundreds of keys. Here there
 * are a few, and the distance from the hull decides.
 */

import { combine, dot } from "./attention.js";

const HULL_TOLERANCE = 1e-7; // margins below this part of the extent of the keys count as 0

/** Returns the positions of the corners of the convex hull of points in the plane, counterclockwise. */
export function convexHull(points) {
  const order = points
    .map((_, i) => i)
    .sort((i, j) => points[i][0] - points[j][0] || points[i][1] - points[j][1]);
  const turn = (i, j, k) =>
    (points[j][0] - points[i][0]) * (points[k][1] - points[i][1]) -
    (points[j][1] - points[i][1]) * (points[k][0] - points[i][0]);
  const chain = (sequence) => {
    const corners = [];
    for (const i of sequence) {
      while (corners.length > 1 && turn(corners.at(-2), corners.at(-1), i) <= 0) corners.pop();
      corners.push(i);
    }
    return corners.slice(0, -1);
  };
  if (points.length < 2) return order;
  return [...chain(order), ...chain(order.toReversed())];
}

/** Solves |columns x - wanted| = min for independent columns, by Gram-Schmidt. */
function leastSquares(columns, wanted) {
  const basis = columns.map((column) => [...column]);
  const R = columns.map(() => columns.map(() => 0));
  const left = [...wanted];
  const x = columns.map(() => 0);
  basis.forEach((b, j) => {
    for (let repeated = 0; repeated < 2; repeated++) {
      for (let i = 0; i < j; i++) {
        const along = dot(basis[i], b);
        R[i][j] += along;
        for (let r = 0; r < b.length; r++) b[r] -= along * basis[i][r];
      }
    }
    R[j][j] = Math.hypot(...b);
    for (let r = 0; r < b.length; r++) b[r] /= R[j][j];
    x[j] = dot(b, left);
    for (let r = 0; r < b.length; r++) left[r] -= x[j] * b[r];
  });
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = i + 1; j < x.length; j++) x[i] -= R[i][j] * x[j];
    x[i] /= R[i][i];
  }
  return x;
}

/** Solves the least-squares problem with x >= 0 (Lawson and Hanson, 1974, chapter 23). */
function nnls(columns, wanted) {
  const x = columns.map(() => 0);
  const passive = [];
  for (let round = 0; round < 10 * columns.length; round++) {
    const fitted = wanted.map((value, row) => value - columns.reduce((sum, c, j) => sum + c[row] * x[j], 0));
    let best = -1;
    let steepest = 1e-12;
    columns.forEach((column, j) => {
      const gradient = dot(column, fitted);
      if (!passive.includes(j) && gradient > steepest) [best, steepest] = [j, gradient];
    });
    if (best < 0) break;
    passive.push(best);
    for (;;) {
      const z = leastSquares(
        passive.map((j) => columns[j]),
        wanted
      );
      if (!z.every(Number.isFinite)) {
        passive.pop(); // the new column adds nothing
        return x;
      }
      if (z.every((value) => value > 0)) {
        passive.forEach((j, i) => (x[j] = z[i]));
        break;
      }
      // Goes as far towards z as all stay positive, and takes out what became 0.
      const steps = passive.map((j, i) => (z[i] <= 0 ? x[j] / (x[j] - z[i]) : Infinity));
      const step = Math.min(...steps);
      passive.forEach((j, i) => (x[j] += step * (z[i] - x[j])));
      for (let i = passive.length - 1; i >= 0; i--) {
        if (steps[i] === step || x[passive[i]] <= 1e-15) {
          x[passive[i]] = 0;
          passive.splice(i, 1);
        }
      }
      if (!passive.length) break;
    }
  }
  return x;
}

/** Returns the weights of the point of the convex hull that is nearest to the origin. */
function nearestInHull(points) {
  const weights = nnls(
    points.map((point) => [...point, 1]),
    [...points[0].map(() => 0), 1]
  );
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/**
 * Says whether a query exists that averages the keys at one or two positions: `query`, the unit vector with
 * the largest margin, or null; `margin`; `hullWeights` of the nearest point of the hull of the others; and
 * `ceiling`, the largest weight that any query can give a single key (1 if it can be copied).
 */
export function reach(keys, subset) {
  const others = keys.map((_, i) => i).filter((i) => !subset.includes(i));
  const [first, second] = subset;
  const apart = others.map((i) => keys[first].map((value, r) => value - keys[i][r]));
  const tie = second === undefined ? null : keys[second].map((value, r) => value - keys[first][r]);
  const size = Math.max(...apart.map((each) => Math.hypot(...each)), tie ? Math.hypot(...tie) : 0);
  const hullWeights = keys.map(() => 0);
  const none = { query: null, margin: 0, hullWeights };
  if (!size) return { ...none, ceiling: 1 / 2 };
  // A query that ties two keys is orthogonal to their difference, so components along it do not count.
  const length = tie ? dot(tie, tie) : 0;
  const free = apart.map((each) => {
    const along = length > 1e-24 * size * size ? dot(each, tie) / length : 0;
    return each.map((value, r) => (value - along * (tie?.[r] ?? 0)) / size);
  });
  const nearest = nearestInHull(free);
  others.forEach((i, n) => (hullWeights[i] = nearest[n]));
  const direction = combine(nearest, free);
  const reached = Math.hypot(...direction);
  const largest = Math.max(...nearest);
  if (reached <= HULL_TOLERANCE) return { ...none, ceiling: largest / (1 + largest) };
  const query = direction.map((value) => value / reached);
  return { query, margin: Math.min(...apart.map((each) => dot(each, query))), hullWeights, ceiling: 1 };
}

/** Returns a bound of the weight outside the subset, where `strength` is size of the query times margin. */
export function leakBound(keys, subset, strength) {
  const beside = (keys - subset) * Math.exp(-strength);
  return beside / (subset + beside);
}

/** Returns the least size of the query times margin for this leak: ln((m - n)(1 - eps) / (n eps)). */
export function strengthNeeded(keys, subset, leak) {
  return keys === subset ? 0 : Math.max(0, Math.log(((keys - subset) * (1 - leak)) / (subset * leak)));
}

/** Returns the weight of each of n orthonormal keys, e^s / (n e^s + m - n), for q = c times their sum. */
export function tiedWeight(keys, subset, strength) {
  return 1 / (subset + (keys - subset) * Math.exp(-strength));
}
