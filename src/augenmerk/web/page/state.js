/**
 * All that a person has chosen stands in the fragment of the address, so that a link shows what they see.
 * What a fragment says is not trusted: anything that cannot be is left out.
 */

const MAX_TEXT = 5000;
export const VIEWS = ["map", "lines"];
export const UNITS = ["words", "subwords"];
export const PANELS = ["change", "beam"];
export const THEMES = ["auto", "light", "dark", "projector"];
export const LANGUAGES = ["en", "de"];

/** Returns the state of a page that nobody has touched. */
export function makeState(beam) {
  return {
    text: "",
    beam,
    view: "map",
    unit: "words",
    model: 0, // the model whose word is selected
    at: -1, // the place of the selected word in target tokens
    open: [], // which panels are open
    step: -1, // the step of the beam that is shown; -1 for the last
    theme: "auto",
    language: "", // that of the browser
    of: 0, // the model to which the next two belong
    begin: [], // the ids with which the translation has to begin
    changed: null, // {position, weights}: attention in place of the model's own
  };
}

/** Returns changes to a state by which the model does again what it does by itself. */
export function forgetChoices() {
  return { begin: [], changed: null, of: 0, at: -1, step: -1 };
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

/** Reads `3:0.25,0.75`: the place, and weights that are brought to a sum of 1. */
function readChanged(text) {
  const match = /^(\d{1,4}):([\d.,e-]{1,20000})$/.exec(text ?? "");
  if (match === null) return null;
  const weights = match[2].split(",").map(Number);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (!weights.every((weight) => weight >= 0 && weight <= 1) || !(sum > 0)) return null;
  return { position: Number(match[1]), weights: weights.map((weight) => weight / sum) };
}

/** Reads the fragment of an address, on top of the state of an untouched page. `page` is the page's data. */
export function readState(fragment, untouched, page) {
  const models = page.models.length;
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const begin = given.get("begin") ?? "";
  return {
    text: (given.get("text") ?? untouched.text).slice(0, MAX_TEXT),
    beam: wholeNumber(given.get("beam"), 1, page.max_beam, untouched.beam),
    view: oneOf(given.get("view"), VIEWS, untouched.view),
    unit: oneOf(given.get("unit"), UNITS, untouched.unit),
    model: wholeNumber(given.get("model"), 0, models - 1, 0),
    at: wholeNumber(given.get("at"), 0, 9999, -1),
    open: PANELS.filter((name) => (given.get("open") ?? "").split(",").includes(name)),
    step: wholeNumber(given.get("step"), 1, 9999, -1),
    theme: oneOf(given.get("theme"), THEMES, untouched.theme),
    language: oneOf(given.get("language"), LANGUAGES, untouched.language),
    of: wholeNumber(given.get("of"), 0, models - 1, 0),
    begin: /^\d{1,7}(\.\d{1,7}){0,999}$/.test(begin) ? begin.split(".").map(Number) : [],
    changed: readChanged(given.get("changed")),
  };
}

/** Returns the fragment for a state; what is as in an untouched page is left out. */
export function writeState(state, untouched) {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name === "changed") {
      if (value === null) continue;
      const weights = value.weights.map((weight) => String(Number(weight.toFixed(6))));
      written.set(name, `${value.position}:${weights.join(",")}`);
    } else if (Array.isArray(value)) {
      if (value.length) written.set(name, value.join(name === "begin" ? "." : ","));
    } else if (value !== untouched[name]) {
      written.set(name, String(value));
    }
  }
  return `#${written}`;
}
