import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeHalves,
  Linear,
  logSoftmaxRows,
  softmaxRows,
  Weights,
} from "../../src/augenmerk/web/engine/arrays.js";

test("half precision is decoded exactly, with its smallest numbers and both zeros", () => {
  const halves = Uint16Array.from([0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x0000, 0x8000]);
  const expected = [1, -2, 65504, 2 ** -24, 2 ** -14, 0, -0];
  assert.deepStrictEqual([...decodeHalves(halves.buffer)], expected);
});

test("every row of a softmax sums to 1, whatever its scores", () => {
  const rows = Float32Array.from([1e4, 0, -1e4, 0, 0, 0]);
  const logs = rows.slice();
  softmaxRows(rows, 3);
  assert.deepEqual([...rows.subarray(0, 3)], [1, 0, 0]);
  assert.ok(rows.subarray(3).every((share) => Math.abs(share - 1 / 3) < 1e-6));
  logSoftmaxRows(logs, 3);
  assert.deepEqual([...logs.subarray(0, 3)], [0, -1e4, -2e4]);
});

test("a layer gives the same numbers for a row alone and among others", () => {
  const numbers = (count) => Float32Array.from({ length: count }, (_, i) => Math.sin(i));
  const layer = new Linear(numbers(7 * 5), numbers(7), 5);
  const x = numbers(3 * 5);
  const together = [...layer.apply(x)];
  const alone = [0, 1, 2].flatMap((row) => [...layer.apply(x.subarray(row * 5, (row + 1) * 5))]);
  assert.deepEqual(alone, together);
});

test("weights of another shape are refused", () => {
  const weights = new Weights(new Map([["a.W", { shape: [2, 3], values: new Float32Array(6) }]])).inside("a");
  assert.equal(weights.take("W", 2, 3).length, 6);
  const refused = { code: "weightsShape", values: { name: "a.W", found: "2 x 3", needed: "3 x 2" } };
  assert.throws(() => weights.take("W", 3, 2), refused);
  assert.throws(() => weights.take("b", 1), { code: "weightsLack", values: { name: "a.b" } });
});
