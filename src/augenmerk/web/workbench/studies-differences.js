/** The differences between the variants of a study, for a measure and a split that are chosen. */

import { make, replaceInside } from "../page/dom.js";
import { makeForest } from "./forest.js";
import { makeCard, makeSelect } from "./studies-parts.js";

const MAX_PAIRS = 10; // comparisons that are all shown at first

/** Returns the card; `state` says what is chosen, and `change` is told of another choice. */
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
    const all = study.comparisons.filter((each) => each.measure === measure && each.split === split);
    const against = chooseAgainst(study, state.against, all);
    const chosen = against ? turnAgainst(all, against) : all;
    const nameMeasure = (each) => t(`heading ${each}`);
    const choose = [
      makeSelect(t("measure"), measures, nameMeasure, measure, (value) => redraw({ measure: value })),
    ];
    if (splits.length > 1)
      choose.push(makeSelect(t("split"), splits, String, split, (value) => redraw({ split: value })));
    if (study.variants.length > 2) {
      const values = ["", ...study.variants.map((variant) => variant.name)];
      choose.push(
        makeSelect(t("against"), values, (name) => name || t("allPairs"), against, (value) => redraw({ against: value || "*" }))
      );
    }
    replaceInside(
      content,
      make("div", { class: "controls" }, ...choose),
      make(
        "div",
        { class: "forest-place" },
        makeForest(chosen, study.digits[measure], t(`heading ${measure}`), against, t)
      )
    );
  };
  const redraw = (changes) => {
    change(changes);
    draw();
  };
  draw();
  return makeCard("differences", t("differences"), content, make("p", { class: "hint" }, t("forestNote")));
}

/** Returns the variant that the others are compared with; "" for all pairs, if these are not too many. */
function chooseAgainst(study, wanted, comparisons) {
  if (study.variants.some((variant) => variant.name === wanted)) return wanted;
  if (wanted === "*" || comparisons.length <= MAX_PAIRS) return "";
  const { measure, split } = comparisons[0];
  const means = study.variants.flatMap(({ name, summaries }) =>
    summaries
      .filter((each) => each.measure === measure && each.split === split)
      .slice(0, 1)
      .map(({ mean }) => [name, measure === "bleu" ? mean : -mean])
  );
  return means.sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
}

/** Returns the comparisons with one variant, turned so that it is the one that is subtracted. */
function turnAgainst(comparisons, against) {
  const turn = (each) => ({
    ...each,
    variant: each.against,
    against: each.variant,
    difference: -each.difference,
    interval: [-each.interval[1], -each.interval[0]],
    seeds: each.seeds.map((seed) => ({ ...seed, difference: -seed.difference })),
  });
  return comparisons
    .filter((each) => [each.variant, each.against].includes(against))
    .map((each) => (each.against === against ? each : turn(each)));
}
