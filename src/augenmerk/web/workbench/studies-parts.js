/** What all parts of the view of a study are made of. */

import { fillSelect, make } from "../page/dom.js";
import { GERMAN_HEADINGS } from "./studies-texts.js";

/** Returns a card with a heading. */
export function makeCard(id, title, ...children) {
  return make("section", { class: "card", id }, make("h2", {}, title), ...children);
}

/** Returns a choice with its label; `onChoose` is called with the chosen value. */
export function makeSelect(label, values, name, chosen, onChoose) {
  const select = make("select", { onchange: () => onChoose(select.value), "data-key": label });
  fillSelect(select, values, name, chosen);
  return make("label", {}, make("span", {}, label), select);
}

/** Says how many variants and runs a study has. */
export function sayCounts(counts, t) {
  return t(counts.variants === 1 ? "countsOne" : "counts", counts);
}

/** Returns the heading of a measure: in German if there is a translation, otherwise as the server has it. */
export function nameMeasure(measure, study, t) {
  return (t.language === "de" && GERMAN_HEADINGS[measure]) || study.headings[measure] || measure;
}
