/**
 * The state of the page: what the user has chosen. All of it is in the fragment of the address (`address.js`), so that a
 * link shows what they see.
 */

import { choice, list, text, whole } from "./address.js";
import { HEAD_CHOICES } from "./heads.js";
import { THEMES } from "./switches.js";
import { LANGUAGES } from "./texts.js";

const MAX_TEXT = 5000;
const MAX_CHANGED = 500;
export const VIEWS = ["map", "lines"];
export const UNITS = ["words", "subwords"];
export const PANELS = ["change", "beam"];
const NOTHING_CHOSEN = { begin: [], changed: [], changedModel: 0, at: -1, tried: null, step: -1 };

const IDS = {
  read: (given) => (/^\d{1,7}(\.\d{1,7}){0,999}$/.test(given) ? given.split(".").map(Number) : null),
  write: (ids) => ids.join("."),
  otherwise: [],
};
const CHANGED = {
  read: readChanged,
  write: (rows) => rows.map(({ position, weights }) => `${position}:${weights}`).join(";"),
  otherwise: [],
};

/**
 * Returns what the address may say about a page. `page` is the page's data: its models, its examples, its beam and
 * max_beam, and `more` parts of the state that only some pages have.
 */
export function specifyState(page) {
  const model = whole(0, page.models.length - 1, 0);
  return {
    text: text(MAX_TEXT, page.examples[0]?.source ?? ""),
    sentence: whole(0, 9999, 0), // the sentence of the text that is looked at
    beam: whole(1, page.max_beam, page.beam),
    view: choice(VIEWS, "map"),
    unit: choice(UNITS, "words"),
    ...HEAD_CHOICES,
    selectedModel: model, // the model whose word is selected
    at: whole(0, 9999, -1), // the selected word in target tokens; -1 for where the model hesitated most
    // Weights that the editor of this place shows in place of the model's own, or "own".
    tried: {
      read: (given) => (given === "own" ? given : readWeights(given)),
      write: String,
      otherwise: null,
    },
    open: list(choice(PANELS, null), PANELS.length), // which panels are open
    step: whole(1, 9999, -1), // the step of the beam that is shown; -1 for the last
    theme: choice(THEMES, "auto"),
    language: choice(LANGUAGES, ""), // that of the browser
    changedModel: model, // the model to which the next two belong
    begin: IDS, // the ids with which the translation has to begin
    changed: CHANGED, // {position, weights}: attention in place of the model's own, in the order of positions
    ...page.more,
  };
}

/** Returns changes to a state by which the model does again what it does alone. */
export function forgetChoices() {
  return structuredClone(NOTHING_CHOSEN);
}

/** Returns the changed attention of a model at places before one, which still counts if that one changes. */
export function changedBefore({ changed, changedModel }, model, place) {
  return changedModel === model ? changed.filter(({ position }) => position < place) : [];
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
function readWeights(given) {
  if (!/^[\d.,]{1,20000}$/.test(given)) return null;
  const weights = given.split(",").map(Number);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (!weights.every((weight) => weight >= 0 && weight <= 1) || !(sum > 0)) return null;
  return roundToThousandths(weights.map((weight) => weight / sum));
}

/** Reads `0:1,0;3:0.25,0.75`: places and their weights. */
function readChanged(given) {
  const rows = new Map();
  for (const row of given.split(";").slice(0, MAX_CHANGED)) {
    const [, position, written = ""] = /^(\d{1,4}):(.*)$/.exec(row) ?? [];
    const weights = readWeights(written);
    if (weights) rows.set(Number(position), weights);
  }
  return [...rows]
    .map(([position, weights]) => ({ position, weights }))
    .sort((a, b) => a.position - b.position);
}
