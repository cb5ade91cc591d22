/**
 * Tasks 1.1 and 1.2 in the plane: which value a query can copy, and how large it has to be, as in theory/copying.py,
 * which also says why it is so. There are a few keys here, so all pairs and triples of them are tried.
 */

const TOLERANCE = 1e-7; // margins below this part of the extent of the keys count as 0

/** Returns twice the area of the triangle of the origin and two points. */
function cross([ax, ay], [bx, by]) {
  return ax * by - ay * bx;
}

/** Returns the corners of the convex hull of points in the plane, counterclockwise. */
export function convexHull(points) {
  const order = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turn = (a, b, c) => cross([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
  const chain = (sequence) => {
    const corners = [];
    for (const point of sequence) {
      while (corners.length > 1 && turn(corners.at(-2), corners.at(-1), point) <= 0) corners.pop();
      corners.push(point);
    }
    return corners.slice(0, -1);
  };
  return points.length < 2 ? order : [...chain(order), ...chain(order.toReversed())];
}

/** Returns the weights with which points, by their indices, come nearest to the origin on the lines between two. */
function nearestOnLines(points, indices) {
  let best = { distance: Infinity, shares: [] };
  for (const i of indices) {
    for (const j of indices) {
      const [dx, dy] = [points[j][0] - points[i][0], points[j][1] - points[i][1]];
      const along = -(points[i][0] * dx + points[i][1] * dy) / (dx * dx + dy * dy || 1);
      const share = Math.min(1, Math.max(0, along));
      const distance = Math.hypot(points[i][0] + share * dx, points[i][1] + share * dy);
      if (distance < best.distance) {
        best = {
          distance,
          shares: [
            [i, 1 - share],
            [j, share],
          ],
        };
      }
    }
  }
  return best;
}

/** Returns the weights of the triangle around the origin whose largest weight is smallest; null if there is none. */
function findTriangle(points, indices) {
  let best = null;
  let least = Infinity;
  for (const i of indices) {
    for (const j of indices.filter((each) => each > i)) {
      for (const k of indices.filter((each) => each > j)) {
        const areas = [cross(points[j], points[k]), cross(points[k], points[i]), cross(points[i], points[j])];
        const whole = areas[0] + areas[1] + areas[2];
        const shares = areas.map((area) => area / whole);
        const largest = Math.max(...shares);
        if (!shares.every((share) => share >= 0) || largest >= least) continue;
        [best, least] = [[i, j, k].map((at, n) => [at, shares[n]]), largest];
      }
    }
  }
  return best;
}

/**
 * Returns whether a query exists that copies the value of a key: `query`, the unit vector with the largest margin, or
 * null; `margin`; `hullWeights` of the nearest point of the hull of the others; and `ceiling`, above which no query gives
 * the key weight (1 if it can be copied).
 */
export function reach(keys, place) {
  const others = keys.map((_, i) => i).filter((i) => i !== place);
  const points = keys.map((key) => key.map((value, r) => value - keys[place][r]));
  const size = Math.max(...points.map((point) => Math.hypot(...point)));
  const nearest = nearestOnLines(points, others);
  const shares = nearest.distance > TOLERANCE * size ? findTriangle(points, others) : nearest.shares;
  const hullWeights = keys.map(() => 0);
  for (const [i, share] of shares ?? nearest.shares) hullWeights[i] += share;
  if (shares) {
    const largest = Math.max(...hullWeights);
    return { query: null, margin: 0, hullWeights, ceiling: largest / (1 + largest) };
  }
  const query = [0, 1].map(
    (r) => -points.reduce((sum, p, i) => sum + hullWeights[i] * p[r], 0) / nearest.distance
  );
  return { query, margin: nearest.distance, hullWeights, ceiling: 1 };
}

/** Returns a bound of the weight outside the subset, where `strength` is size of the query times margin. */
export function leakBound(keys, subset, strength) {
  const beside = (keys - subset) * Math.exp(-strength);
  return beside / (subset + beside);
}

/** Returns the least size of the query times margin for this leak: ln((m - n)(1 - eps) / (n eps)). */
export function strengthNeeded(keys, subset, leak) {
  return Math.max(0, Math.log(((keys - subset) * (1 - leak)) / (subset * leak)));
}

/** Returns the weight of each of n orthonormal keys, e^s / (n e^s + m - n), for q = c times their sum. */
export function tiedWeight(keys, subset, strength) {
  return 1 / (subset + (keys - subset) * Math.exp(-strength));
}
