/** Axes of all charts: ranges, round ticks, and from values to places. */

const MAX_POINTS = 400; // of a line: more than there are pixels cannot be seen

/** Returns the least and the largest of values, which may be too many to be arguments of Math.min. */
export function findRange(values) {
  return values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity]
  );
}

/** Returns a range with some room around it, which does not go below zero where no value does. */
export function addRoom(low, high, share) {
  const room = (high - low || Math.abs(high) || 1) * share;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/** Returns round numbers from `low` to `high`, about `count` of them. */
export function chooseTicks(low, high, count) {
  const raw = (high - low || Math.abs(high) || 1) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((each) => each * power >= raw * 0.999) ?? 10);
  const ticks = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++) {
    ticks.push(Number((place * step).toPrecision(12)));
  }
  return ticks;
}

/** Returns powers of ten and their doubles and fives between two numbers. */
export function chooseLogTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of [1, 2, 5]) {
      const tick = Number((digit * 10 ** power).toPrecision(6));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length > 1 ? ticks : chooseTicks(low, high, 4);
}

/** Returns how many decimals ticks need to be told apart. */
export function countDecimals(ticks) {
  const decimals = (tick) => (String(tick).split(".")[1] ?? "").length;
  return Math.min(6, Math.max(0, ...ticks.map(decimals)));
}

/** Returns a function from values to places; `log` makes equal factors equally long. */
export function makeAxis(low, high, from, to, log = false) {
  const turn = log ? Math.log : (value) => value;
  const [a, b] = [turn(low), turn(high)];
  const width = b - a || 1;
  return (value) => from + ((turn(value) - a) / width) * (to - from);
}

/** Returns whether an axis of these values is better logarithmic: the largest is many times the smallest. */
export function isWide(values) {
  const [low, high] = findRange(values);
  return low > 0 && high >= 10 * low;
}

/** Returns at most so many points of a line, its first and its last among them. */
export function thinOut(points, most = MAX_POINTS) {
  if (points.length <= most) return points;
  const stride = (points.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, place) => points[Math.round(place * stride)]);
}

/** Moves places apart that are closer than `gap`, and keeps their order; returns the new places. */
export function moveApart(places, gap, top, bottom) {
  const order = places.map((_, index) => index).sort((a, b) => places[a] - places[b]);
  const moved = [...places];
  for (let round = 0; round < 40; round++) {
    for (let next = 1; next < order.length; next++) {
      const [above, below] = [order[next - 1], order[next]];
      const missing = gap - (moved[below] - moved[above]);
      if (missing > 0.01) {
        moved[above] -= missing / 2;
        moved[below] += missing / 2;
      }
    }
    for (const index of order) moved[index] = Math.min(bottom, Math.max(top, moved[index]));
  }
  return moved;
}
