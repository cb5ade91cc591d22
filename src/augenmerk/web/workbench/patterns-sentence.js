/** One sentence with its attention, its kind and all of its measures. */

import { find, rootFontSize } from "../page/dom.js";
import { button, hint, isolate } from "../page/parts.js";
import { h } from "../page/view.js";
import { linkToTranslate } from "./links.js";
import { describeTile, describeUnder } from "./maps.js";
import { showValue, sign } from "./patterns-kinds.js";
import { listChosen } from "./patterns-list.js";

const SHOWN_MEASURES = [
  "entropy_normalised",
  "sharpness",
  "coverage",
  "monotonicity",
  "crossing_rate",
  "diagonal",
  "end_mass",
  "punctuation_mass",
  "longest_run",
  "best_offset",
];

export function describeSentence(view, t) {
  const { opened } = view;
  const attributes = { key: "sentence", class: "card sentence-card", id: "detail" };
  const content = opened ? describeOpened(view, t) : hint(t("choose"));
  return h("section", { ...attributes, "aria-live": "polite", translate: "no" }, content);
}

function describeOpened(view, t) {
  const { opened, measures, asked, open, colours } = view;
  const step = (by) => {
    const chosen = listChosen(view);
    const here = chosen.findIndex((each) => each.index === opened.index);
    const next = chosen[Math.min(chosen.length - 1, Math.max(0, here + by))];
    if (next) open(next.index);
  };
  const go = (key, text, by) => button(text, () => step(by), { key, "aria-label": t(key) });
  const numbers = SHOWN_MEASURES.map((name) => {
    const value = showValue(opened, name, measures, t.language);
    const about = { title: t(`about ${name}`) };
    return h("div", about, h("dt", t(`measure ${name}`)), h("dd", value));
  });
  const other = (key, text) => text && h("p.other", h("span.hint", `${t(key)} `), isolate(text));
  const heading = [
    sign(opened.kind, colours),
    t(`kind ${opened.kind}`),
    h("span.hint", ` · ${t("sentence", { index: opened.index })}`),
  ];
  const room = Math.max(220, find("detail").clientWidth - 2.6 * rootFontSize());
  const link = { href: linkToTranslate(asked.run, opened.source) };
  return [
    h(
      "div.detail-head",
      h("h2.detail-source", { dir: "auto" }, isolate(opened.source)),
      h("span.together", go("previous", "‹", -1), go("next", "›", 1))
    ),
    h("p.verdict", isolate(opened.verdicts[t.language])),
    describeTile({ ...opened, heading }, t.language, room),
    describeUnder(t),
    other("reference", opened.reference !== opened.translation && opened.reference),
    other("tags", opened.tags.join(", ")),
    h("dl.measures", numbers),
    h("p", h("a", link, t("openTranslate"), " →")),
  ];
}
