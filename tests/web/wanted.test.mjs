import assert from "node:assert/strict";
import { test } from "node:test";
import { maximiseWanted } from "../../src/augenmerk/web/engine/wanted.js";

test("logits that are no numbers are refused", () => {
  const base = Float32Array.from([0, Number.NaN]);
  const refused = { message: "logits must be finite numbers" };
  assert.throws(() => maximiseWanted(base, [new Float32Array(2)], 0), refused);
});
