import assert from "node:assert/strict";
import { test } from "node:test";
import {
  choice,
  decimal,
  list,
  name,
  readState,
  text,
  whole,
  writeState,
} from "../../src/augenmerk/web/page/address.js";

const SPECIFICATION = {
  view: choice(["map", "lines"], "map"),
  beam: whole(1, 20, 5),
  head: whole(0, 7, null),
  length: decimal(-1, 1, 0.5),
  text: text(10),
  runs: list(name, 3),
};
const START = readState("", SPECIFICATION);

test("an empty address is the state at the start, and is written as nothing", () => {
  assert.deepEqual(START, { view: "map", beam: 5, head: null, length: 0.5, text: "", runs: [] });
  assert.equal(writeState(START, SPECIFICATION), "");
});

test("what is written is read back, from a fragment and from a query", () => {
  const state = {
    view: "lines",
    beam: 1,
    head: 0,
    length: -0.25,
    text: "a&b=%#é",
    runs: ["x/1", "a,b", "50%"],
  };
  const written = writeState(state, SPECIFICATION);
  assert.deepEqual(readState(`#${written}`, SPECIFICATION), state);
  assert.deepEqual(readState(`?${written}`, SPECIFICATION), state);
  assert.match(written, /x\/1/);
});

for (const [address, what] of [
  ["#view=circle", "another word"],
  ["#beam=0", "too small"],
  ["#beam=21", "too large"],
  ["#beam=1.5", "not whole"],
  ["#beam=1e1", "another notation"],
  ["#beam=", "nothing"],
  ["#head=Infinity", "no number"],
  ["#length=NaN", "no number"],
  ["#runs=%25E0", "a damaged name"],
  ["#constructor=1&__proto__=2", "names that are not in the specification"],
]) {
  test(`${what} is left out: ${address}`, () => {
    assert.deepEqual(readState(address, SPECIFICATION), START);
  });
}

test("texts and lists have limits, and a name counts once", () => {
  const state = readState("#text=12345678901&runs=a,a,b,,c,d", SPECIFICATION);
  assert.equal(state.text, "1234567890");
  assert.deepEqual(state.runs, ["a", "b", "c"]);
});

test("the state at the start is not shared", () => {
  readState("", SPECIFICATION).runs.push("x");
  assert.deepEqual(readState("", SPECIFICATION), START);
});
