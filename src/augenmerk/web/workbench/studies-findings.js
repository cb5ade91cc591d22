/** What a study found, in words: the server's in English, in German those that follow from its comparisons. */

import { isolate } from "../page/parts.js";
import { showNumber } from "../page/shown.js";
import { h } from "../page/view.js";
import { nameMeasure } from "./studies-parts.js";

/** Describes the answer to each question, with the comparisons that it rests on. */
export function describeFindings(study, t) {
  return study.verdicts.map(({ question, answer, details }) => {
    const heading = question !== study.question && h("h2", isolate(question));
    const german = t.language === "de" ? wordComparisons(study, question, t) : [];
    const sentences = german.length ? german : details;
    const attributes = { class: "verdict", lang: german.length ? null : "en" };
    return h(
      "div",
      attributes,
      heading,
      !german.length && answer && h("p", isolate(answer)),
      h(
        "ul",
        sentences.map((each) => h("li", isolate(each)))
      )
    );
  });
}

function wordComparisons(study, question, t) {
  const own = study.comparisons.filter((each) => each.question === question);
  return own.map((each) => {
    const digits = study.digits[each.measure];
    const number = (value) => showNumber(value, t.language, digits).replace("-", "−");
    const direction =
      each.difference > 0 ? "findingHigher" : each.difference < 0 ? "findingLower" : "findingSame";
    const [low, high] = each.interval.map(number);
    const p =
      each.p_corrected < 0.001
        ? `< ${showNumber(0.001, t.language, 3)}`
        : `= ${showNumber(each.p_corrected, t.language, 3)}`;
    return t(direction, {
      variant: each.variant,
      against: each.against,
      difference: number(Math.abs(each.difference)),
      measure: nameMeasure(each.measure, study, t),
      split: each.split,
      ...{ low, high, p },
      doubt: each.doubt ? t("findingDoubt") : "",
    });
  });
}
