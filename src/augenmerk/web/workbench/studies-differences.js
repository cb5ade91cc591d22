/** What a study compared: differences between its variants, for a measure and a split that are chosen. */

import { hint, select } from "../page/parts.js";
import { h } from "../page/view.js";
import { describeForest } from "./forest.js";
import { card, nameMeasure } from "./studies-parts.js";

export function describeDifferences({ study, state, change }, t) {
  if (study.variants.length < 2) return null;
  const title = t("differences");
  const measures = [...new Set(study.comparisons.map((each) => each.measure))];
  const splits = [...new Set(study.comparisons.map((each) => each.split))];
  if (!measures.length) return card("differences", title, hint(t("noDifferences")));
  const measure = measures.includes(state.measure) ? state.measure : measures[0];
  const split = splits.includes(state.split) ? state.split : splits[0];
  const chosen = study.comparisons.filter((each) => each.measure === measure && each.split === split);
  const name = (each) => nameMeasure(each, study, t);
  return card(
    "differences",
    title,
    h(
      "div.controls",
      select(t("measure"), measures, name, measure, (value) => change({ measure: value })),
      splits.length > 1 && select(t("split"), splits, String, split, (value) => change({ split: value }))
    ),
    h("div.forest-place", describeForest(chosen, study.digits[measure], name(measure), t)),
    hint(t("forestNote"))
  );
}
