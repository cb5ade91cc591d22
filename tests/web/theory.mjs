/** What tests/process/test_theory_javascript.py asks of the theory pages' modules. */

import * as attention from "../../src/augenmerk/web/theory/attention.js";
import * as copying from "../../src/augenmerk/web/theory/copying.js";
import * as noise from "../../src/augenmerk/web/theory/noise.js";
import { readNotation } from "../../src/augenmerk/web/theory/notation.js";
import { THEORY_TEXTS } from "../../src/augenmerk/web/theory/texts.js";

export { readNotation };

const modules = { ...attention, ...copying, ...noise };

/** Returns a constant, or what a function returns, by its name. */
export function get([name, ...given]) {
  const found = modules[name];
  return typeof found === "function" ? found(...given) : found;
}

/** Calls a function with one list of arguments after another. */
export function call({ name, cases }) {
  return cases.map((given) => modules[name](...given));
}

export function texts() {
  return THEORY_TEXTS;
}

export function sum(numbers) {
  return attention.asSum(numbers, (number) => number.toFixed(2));
}

export function normal(seed) {
  const rng = new noise.Random(seed);
  return Array.from({ length: 20_000 }, () => rng.normal());
}

export function attendToKeys([lambdas, keys, m, ...rest]) {
  const samples = { lambdas: Float64Array.from(lambdas), keys: Float64Array.from(keys), m };
  return [...noise.attendToSamples(samples, ...rest)];
}

/** Returns statistics of outputs for lengths of variance 0.4. */
export function cloud([values, heads, count]) {
  const samples = noise.drawKeys(Array(8).fill(0.4), 0, count, new noise.Random(3));
  return noise.outputStatistics(noise.attendToSamples(samples, heads, values, 1), count);
}
