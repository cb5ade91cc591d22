/** What a study compared: differences between its variants, for a measure and a split that are chosen. */

import { make, replaceInside } from "../page/dom.js";
import { makeForest } from "./forest.js";
import { makeCard, makeSelect, nameMeasure } from "./studies-parts.js";

/** Returns the card; `state` says what is chosen, and `change` is called with another choice. */
export function makeDifferences(study, state, change, t) {
  if (study.variants.length < 2) return null;
  const measures = [...new Set(study.comparisons.map((each) => each.measure))];
  const splits = [...new Set(study.comparisons.map((each) => each.split))];
  if (!measures.length)
    return makeCard("differences", t("differences"), make("p", { class: "hint" }, t("noDifferences")));
  const content = make("div");
  const draw = () => {
    const measure = measures.includes(state.measure) ? state.measure : measures[0];
    const split = splits.includes(state.split) ? state.split : splits[0];
    const chosen = study.comparisons.filter((each) => each.measure === measure && each.split === split);
    const name = (each) => nameMeasure(each, study, t);
    const choose = [makeSelect(t("measure"), measures, name, measure, (value) => redraw({ measure: value }))];
    if (splits.length > 1)
      choose.push(makeSelect(t("split"), splits, String, split, (value) => redraw({ split: value })));
    replaceInside(
      content,
      make("div", { class: "controls" }, ...choose),
      make("div", { class: "forest-place" }, makeForest(chosen, study.digits[measure], name(measure), t))
    );
  };
  const redraw = (changes) => {
    change(changes);
    draw();
  };
  draw();
  return makeCard("differences", t("differences"), content, make("p", { class: "hint" }, t("forestNote")));
}
