/**
 * Everything that the user has chosen is in the fragment of the address, so that a link shows what they see.
 * What a fragment says is not trusted: anything that cannot be is left out.
 */

import { LANGUAGES, THEMES } from "./switches.js";

const MAX_TEXT = 5000;
const MAX_CHANGED = 500;
export const VIEWS = ["map", "lines"];
export const UNITS = ["words", "subwords"];
export const PANELS = ["change", "beam"];

/** Returns the state of a page that nobody has touched. */
export function makeState(beam) {
  return {
    text: "",
    sentence: 0, // the sentence of the text that is looked at, from 0
    beam,
    view: "map",
    unit: "words",
    selectedModel: 0, // the model whose word is selected, from 0
    at: -1, // the place of the selected word in target tokens, from 0; -1 for where the model hesitated most
    tried: null, // weights that the editor of this place shows in place of the model's own, or "own"
    open: [], // which panels are open
    step: -1, // the step of the beam that is shown; -1 for the last
    theme: "auto",
    language: "", // that of the browser
    changedModel: 0, // the model to which the next two belong, from 0
    begin: [], // the ids with which the translation has to begin
    changed: [], // {position, weights}: attention in place of the model's own, in the order of positions
  };
}

/** Returns changes to a state by which the model does again what it does alone. */
export function forgetChoices() {
  return { begin: [], changed: [], changedModel: 0, at: -1, tried: null, step: -1 };
}

/** Returns the changed attention of a model at places before one, which still counts if that one changes. */
export function changedBefore({ changed, changedModel }, model, place) {
  return changedModel === model ? changed.filter(({ position }) => position < place) : [];
}

/** Returns a whole number from text if it lies within limits. */
function wholeNumber(text, least, most, otherwise) {
  return /^-?\d{1,9}$/.test(text ?? "") && Number(text) >= least && Number(text) <= most
    ? Number(text)
    : otherwise;
}

function oneOf(text, names, otherwise) {
  return names.includes(text) ? text : otherwise;
}

/**
 * Returns weights that sum to 1 as an address has them: in thousandths that sum to 1, where the largest
 * remainders are rounded up. The page computes with them, so that a link gives the same numbers.
 */
export function roundToThousandths(weights) {
  const thousandths = weights.map((weight) => Math.floor(weight * 1000));
  const missing = 1000 - thousandths.reduce((sum, each) => sum + each, 0);
  const remainder = (place) => weights[place] * 1000 - thousandths[place];
  const order = [...weights.keys()].sort((a, b) => remainder(b) - remainder(a));
  for (const place of order.slice(0, Math.max(0, missing))) thousandths[place] += 1;
  return thousandths.map((each) => each / 1000);
}

/** Reads `0.25,0.75`, weights that are brought to a sum of 1; null if they are none. */
function readWeights(text) {
  if (!/^[\d.,]{1,20000}$/.test(text ?? "")) return null;
  const weights = text.split(",").map(Number);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (!weights.every((weight) => weight >= 0 && weight <= 1) || !(sum > 0)) return null;
  return roundToThousandths(weights.map((weight) => weight / sum));
}

/** Reads `0:1,0;3:0.25,0.75`: places and their weights. */
function readChanged(text) {
  const rows = new Map();
  for (const row of (text ?? "").split(";").slice(0, MAX_CHANGED)) {
    const [, position, given] = /^(\d{1,4}):(.*)$/.exec(row) ?? [];
    const weights = readWeights(given);
    if (weights) rows.set(Number(position), weights);
  }
  return [...rows]
    .map(([position, weights]) => ({ position, weights }))
    .sort((a, b) => a.position - b.position);
}

/**
 * Reads the fragment of an address, on top of the state of an untouched page. `page` is the page's data; its
 * `choices`, if it has any, are further parts of the state, each with a function that reads it from text.
 */
export function readState(fragment, untouched, page) {
  const models = page.models.length;
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const begin = given.get("begin") ?? "";
  return {
    text: (given.get("text") ?? untouched.text).slice(0, MAX_TEXT),
    sentence: wholeNumber(given.get("sentence"), 0, 9999, 0),
    beam: wholeNumber(given.get("beam"), 1, page.max_beam, untouched.beam),
    view: oneOf(given.get("view"), VIEWS, untouched.view),
    unit: oneOf(given.get("unit"), UNITS, untouched.unit),
    selectedModel: wholeNumber(given.get("selectedModel"), 0, models - 1, 0),
    at: wholeNumber(given.get("at"), 0, 9999, -1),
    tried: given.get("tried") === "own" ? "own" : readWeights(given.get("tried")),
    open: PANELS.filter((name) => (given.get("open") ?? "").split(",").includes(name)),
    step: wholeNumber(given.get("step"), 1, 9999, -1),
    theme: oneOf(given.get("theme"), THEMES, untouched.theme),
    language: oneOf(given.get("language"), LANGUAGES, untouched.language),
    changedModel: wholeNumber(given.get("changedModel"), 0, models - 1, 0),
    begin: /^\d{1,7}(\.\d{1,7}){0,999}$/.test(begin) ? begin.split(".").map(Number) : [],
    changed: readChanged(given.get("changed")),
    ...Object.fromEntries(
      Object.entries(page.choices ?? {}).map(([name, read]) => [
        name,
        given.has(name) ? read(given.get(name)) : untouched[name],
      ])
    ),
  };
}

/** Returns the fragment for a state; what is as in an untouched page is left out. */
export function writeState(state, untouched) {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name === "changed") {
      const rows = value.map(({ position, weights }) => `${position}:${weights.join(",")}`);
      if (rows.length) written.set(name, rows.join(";"));
    } else if (Array.isArray(value)) {
      if (value.length) written.set(name, value.join(name === "begin" ? "." : ","));
    } else if (value !== untouched[name]) {
      written.set(name, String(value));
    }
  }
  // These are allowed in a fragment, and make it shorter.
  return `#${written}`
    .replaceAll("%2C", ",")
    .replaceAll("%3A", ":")
    .replaceAll("%3B", ";")
    .replaceAll("%2F", "/");
}
