import assert from "node:assert/strict";
import { test } from "node:test";
import { showPercent, showToken, showWeight, showWord, spread } from "../../src/augenmerk/web/page/shown.js";

test("words lose what cannot be seen or turns the text around", () => {
  const shown = { "</s>": "∎", "a\u202eb": "ab", "\u200b": "␣", "x\ud83d": "x�", Haus: "Haus" };
  for (const [word, expected] of Object.entries(shown)) assert.equal(showWord(word), expected);
});

test("a subword that continues a word has a dot", () => {
  assert.deepEqual(
    ["▁Haus", "er", ".", "▁", "</s>"].map((token) => showToken(token, true)),
    ["Haus", "·er", ".", "␣", "∎"]
  );
  assert.equal(showToken("▁Haus", false), "▁Haus");
});

test("a probability looks like 0 or 1 only if it is", () => {
  const shown = [0, 0.0004, 0.05, 0.5, 0.9949, 0.99999, 1].map((share) => showPercent(share, "en"));
  assert.deepEqual(shown, ["0.0 %", "<0.1 %", "5.0 %", "50 %", "99 %", "99.9 %", "100 %"]);
  assert.equal(showPercent(0.0123, "de"), "1,2 %");
  assert.deepEqual(
    [0.01, 0.5, 0.996].map((weight) => showWeight(weight, "de")),
    ["", ",50", "1"]
  );
});

test("attention to four words alike spreads over four", () => {
  assert.ok(Math.abs(spread([0.25, 0.25, 0.25, 0.25, 0]) - 4) < 1e-12);
  assert.equal(spread([0, 1]), 1);
});
