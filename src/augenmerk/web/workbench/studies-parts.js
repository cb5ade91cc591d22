/** What all parts of the view of a study are made of. */

import { h } from "../page/view.js";
import { GERMAN_HEADINGS } from "./studies-texts.js";

export function card(id, title, ...children) {
  return h("section", { key: id, class: "card", id }, h("h2", title), children);
}

/** Says how many variants and runs a study has. */
export function sayCounts(counts, t) {
  return t(counts.variants === 1 ? "countsOne" : "counts", counts);
}

/** Returns the heading of a measure: in German if there is a translation, otherwise as the server has it. */
export function nameMeasure(measure, study, t) {
  return (t.language === "de" && GERMAN_HEADINGS[measure]) || study.headings[measure] || measure;
}

/** Returns the variants of a study that are shown, each with its number, which gives it its colour. */
export function listShown({ study, state }) {
  const numbered = study.variants.map((variant, number) => ({ ...variant, number }));
  return numbered.filter(({ name }) => !state.hidden.includes(name));
}
