import assert from "node:assert/strict";
import { test } from "node:test";
import { addEpochs, isMixed } from "../../src/augenmerk/web/workbench/runs-epochs.js";

test("no epoch is known twice, however many there are", () => {
  const known = new Map();
  const epochs = Array.from({ length: 25_000 }, (_, place) => ({ epoch: place + 1 }));
  addEpochs(known, { one: { from: 0, epochs: epochs.slice(0, 24_000) } }, ["one"]);
  addEpochs(known, { one: { from: 24_000, epochs: epochs.slice(24_000) } }, ["one"]);
  addEpochs(known, { one: { from: 25_000, epochs: [] } }, ["one"]);
  assert.deepEqual(known.get("one"), epochs);
  addEpochs(known, { one: { from: 0, epochs: epochs.slice(0, 2) } }, ["one"]); // it was begun again
  assert.equal(known.get("one").length, 2);
  addEpochs(known, {}, []);
  assert.equal(known.size, 0);
});

test("losses per token are compared only between runs with the same tokens", () => {
  const words = { "text.unit": "word", "text.vocabulary_size": 0 };
  const subwords = { "text.unit": "bpe", "text.vocabulary_size": 4000 };
  assert.equal(isMixed([words, undefined, { ...words }]), false);
  assert.equal(isMixed([words, subwords]), true);
  assert.equal(isMixed([subwords, { ...subwords, "text.vocabulary_size": 8000 }]), true);
});
