/** Values in the plane, as in theory/results.py. */

/**
 * Returns values (m, 2): v_a = (-1, 0), v_b = (1, 0), and the others on an arc above them. The first
 * coordinate of an output says how it leans between v_a and v_b, the second what leaks.
 */
export function planeValues(count) {
  const values = [
    [-1, 0],
    [1, 0],
  ];
  for (let i = 1; i < count - 1; i++) {
    const angle = Math.PI * (1 - i / (count - 1));
    values.push([1.4 * Math.cos(angle), 0.4 + 1.2 * Math.sin(angle)]);
  }
  return values.slice(0, Math.max(2, count));
}
