/** Heat maps of the same sentence side by side, on one scale; a source word lights up in all of them. */

import { find, findAll } from "../page/dom.js";
import { describeHeatMap, describePointed, describeScale, lightMap } from "../page/heatmap.js";
import { hint } from "../page/parts.js";
import { END, showWord } from "../page/shown.js";
import { makeTexts } from "../page/texts.js";
import { h } from "../page/view.js";

/** Returns the rows and columns of a map over words. */
function makeWordGrid(sourceWords, targetWords, weights) {
  return {
    columns: sourceWords.map(showWord),
    columnEnd: sourceWords.at(-1) === END ? sourceWords.length - 1 : -1,
    rows: targetWords.map((word) => ({ text: showWord(word), end: word === END })),
    weights,
  };
}

/**
 * Describes a tile with a map. `about` is {heading, translation, source_words, target_words, attention}; `more` is below
 * the map. What is pointed at lights up in all tiles beside it, and `describeUnder` has the element that says it.
 */
export function describeTile(about, language, room, more = null) {
  const t = makeTexts(language); // what the exported page says about a map
  const { heading, translation, source_words, target_words, attention } = about;
  const grid = makeWordGrid(source_words, target_words, attention);
  const blank = !attention.some((row) => row.some((weight) => weight > 0));
  const point = (row, column, table) => {
    const { parentElement } = table.closest(".tile");
    for (const map of findAll(".tile .map", parentElement)) lightMap(map, map === table ? row : -1, column);
    find("pointed").textContent = `\u2068${describePointed(grid, row, column, t) || "\u00a0"}\u2069`;
  };
  const on = { point, select: () => {} };
  return h(
    "article.tile",
    h("h3.tile-heading", heading),
    h("p.tile-said", { dir: "auto" }, translation || "–"),
    target_words.length > 0 && describeHeatMap(grid, -1, [], t, on, room),
    target_words.length > 0 && blank && hint(t("noAttention")),
    more
  );
}

/** Describes what is below all maps: what is pointed at, and the scale of colours. */
export function describeUnder(t) {
  const readout = h("p.readout", { id: "pointed" }, t("pointHint"));
  return h("div.under", readout, describeScale(makeTexts(t.language)));
}
