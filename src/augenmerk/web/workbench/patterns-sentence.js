/** One sentence with its attention, its kind and all of its measures. */

import { find, findFocused, isolate, make, rootFontSize } from "../page/dom.js";
import { makeScale } from "../page/heatmap.js";
import { makeTexts } from "../page/texts.js";
import { linkToTranslate } from "./links.js";
import { linkTiles, makeTile } from "./maps.js";
import { makeSign, showValue } from "./patterns-kinds.js";

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

/** Draws the opened sentence; `step(by)` is called for the one before (-1) or after it (1) in the list. */
export function drawSentence(view, step) {
  const { t } = view.frame;
  const { opened } = view;
  const place = find("detail");
  if (!opened) {
    place.replaceChildren(make("p", { class: "hint" }, t("choose")));
    return;
  }
  const readout = make("p", { class: "readout" }, t("pointHint"));
  const tiles = [];
  const room = Math.max(220, place.clientWidth - 2.6 * rootFontSize());
  const heading = [
    makeSign(opened.kind),
    t(`kind ${opened.kind}`),
    make("span", { class: "hint" }, ` · ${t("sentence", { index: opened.index })}`),
  ];
  const tile = makeTile({ ...opened, heading }, t.language, room, (...pointed) =>
    linkTiles(tiles, readout)(...pointed)
  );
  tiles.push(tile);
  const numbers = SHOWN_MEASURES.map((name) => {
    const text = showValue(opened, name, view.measures, t.language);
    return make(
      "div",
      { title: t(`about ${name}`) },
      make("dt", {}, t(`measure ${name}`)),
      make("dd", {}, text)
    );
  });
  const others = [
    opened.reference && opened.reference !== opened.translation ? ["reference", opened.reference] : null,
    opened.tags.length ? ["tags", opened.tags.join(", ")] : null,
  ].filter(Boolean);
  const address = linkToTranslate(view.asked.run, opened.source);
  const key = findFocused()?.closest("#detail") ? findFocused().dataset.key : undefined;
  place.replaceChildren(
    make(
      "div",
      { class: "detail-head" },
      make("h2", { class: "detail-source", dir: "auto" }, isolate(opened.source)),
      make(
        "span",
        { class: "together" },
        make(
          "button",
          { type: "button", "aria-label": t("previous"), "data-key": "previous", onclick: () => step(-1) },
          "‹"
        ),
        make(
          "button",
          { type: "button", "aria-label": t("next"), "data-key": "next", onclick: () => step(1) },
          "›"
        )
      )
    ),
    make("p", { class: "verdict", lang: "en" }, isolate(opened.verdict)),
    tile.element,
    make("div", { class: "under" }, readout, makeScale(makeTexts(t.language))),
    ...others.map(([name, text]) =>
      make("p", { class: "other" }, make("span", { class: "hint" }, `${t(name)} `), isolate(text))
    ),
    make("dl", { class: "measures" }, ...numbers),
    make("p", {}, make("a", { href: address }, t("openTranslate"), " →"))
  );
  if (key) place.querySelector(`[data-key="${key}"]`)?.focus();
}
