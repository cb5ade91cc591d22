/** Heat maps of the same sentence side by side, on one scale; a source word lights up in all of them. */

import { isolate, make } from "../page/dom.js";
import { describePointed, makeHeatMap } from "../page/heatmap.js";
import { END, showWord } from "../page/shown.js";
import { makeTexts } from "../page/texts.js";

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
 * Returns a tile with a map: {element, light}. `about` is {heading, translation, source_words, target_words,
 * attention}; `onPoint(tile, row, column)` is called with what is pointed at.
 */
export function makeTile(about, language, room, onPoint) {
  const t = makeTexts(language); // what the exported page says about a map
  const grid = makeWordGrid(about.source_words, about.target_words, about.attention);
  const said = make("p", { class: "tile-said", dir: "auto" }, about.translation || "–");
  const blank = !about.attention.some((row) => row.some((weight) => weight > 0));
  const heading = make("h3", { class: "tile-heading" }, ...about.heading);
  if (!about.target_words.length) {
    return {
      element: make("article", { class: "tile" }, heading, said),
      light: () => {},
      describe: () => "",
    };
  }
  const tile = {};
  const map = makeHeatMap(
    grid,
    -1,
    [],
    t,
    { point: (row, column) => onPoint(tile, row, column), select: () => {} },
    room
  );
  tile.light = map.light;
  tile.describe = (row, column) => describePointed(grid, row, column, t);
  tile.element = make(
    "article",
    { class: "tile" },
    heading,
    said,
    map.element,
    blank ? make("p", { class: "hint" }, t("noAttention")) : ""
  );
  return tile;
}

/** Tiles in which pointing at a source word lights it up everywhere; `readout` says what is pointed at. */
export function linkTiles(tiles, readout) {
  return (pointed, row, column) => {
    for (const tile of tiles) tile.light(tile === pointed ? row : -1, column);
    readout.replaceChildren(isolate(pointed.describe(row, column) || "\u00a0"));
  };
}
