/** The layers and heads of a model: one of them as a large map, or all as small ones on one scale. */

import { isolate, make } from "../page/dom.js";
import { makeHeatMap } from "../page/heatmap.js";
import { makeLines } from "../page/lines.js";
import { levelOf, showNumber, showToken, showWord, spread } from "../page/shown.js";

const BEGIN = "<s>";

/** Returns the mean of maps of one size. */
export function meanMap(maps) {
  return maps[0].map((row, i) =>
    row.map((_, j) => maps.reduce((sum, each) => sum + each[i][j], 0) / maps.length)
  );
}

/**
 * Returns the rows and columns of a part, as `makeGrid` does for the attention to the source: in the encoder
 * source words look at source words, in the decoder target words at those before them. `weights` is a map.
 */
export function makePartGrid(part, translation, unit, isBpe, grid, weights) {
  if (part === "cross") return { ...grid, weights };
  const words = unit === "words";
  const show = words ? showWord : (token) => showToken(token, isBpe);
  const source = (words ? translation.source_words : translation.source_subwords).map(show);
  const target = (words ? translation.target_words : translation.target_subwords).map(show);
  if (part === "encoder") {
    const end = source.length - 1;
    const rows = source.map((text, place) => ({ text, end: place === end, token: -1 }));
    return { columns: source, columnEnd: end, rows, weights, rowOf: () => -1 };
  }
  const columns = [BEGIN, ...target.slice(0, -1)].slice(0, weights[0]?.length ?? 0);
  return { ...grid, columns, columnEnd: -1, weights };
}

/** Returns a large map with `light`, of one head or of a mean, and its name; the rest as for `makeHeatMap`. */
export function makeHeadPicture(name, grid, chosen, view, t, on, room) {
  const style = getComputedStyle(document.documentElement);
  const picture =
    view === "map" ? makeHeatMap(grid, chosen, [], t, on, room) : makeLines(grid, chosen, t, on, style, room);
  picture.element.querySelector("caption").textContent = name;
  return {
    ...picture,
    element: make("div", {}, make("p", { class: "head-name" }, name), picture.element),
    grid,
  };
}

/** Paints a map with a pixel for each weight, in the colours of the page's scale. */
function paintMap(weights, style) {
  const canvas = make("canvas", { width: weights[0].length, height: weights.length, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  weights.forEach((row, y) => {
    row.forEach((weight, x) => {
      context.fillStyle = style.getPropertyValue(`--h${levelOf(weight)}`).trim();
      context.fillRect(x, y, 1, 1);
    });
  });
  return canvas;
}

/**
 * Returns all heads as small maps, a row for each layer. `maps` are [layer][head]; `name(layer, head)` is what
 * one is called, and `choose(layer, head)` is called for one that is clicked, both counted from 1.
 */
export function makeSmallMaps(maps, name, choose, describe, hint, t) {
  const style = getComputedStyle(document.documentElement);
  const wide = maps[0][0][0].length / maps[0][0].length;
  const rows = maps.map((heads, layer) =>
    make(
      "div",
      { class: "small-row" },
      ...heads.map((weights, head) => {
        const rowsThere = weights.filter((row) => row.some((weight) => weight > 0));
        const words = rowsThere.reduce((sum, row) => sum + spread(row), 0) / Math.max(1, rowsThere.length);
        const said = describe(showNumber(words, t.language, 1));
        const canvas = paintMap(weights, style);
        canvas.style.aspectRatio = String(wide);
        return make(
          "button",
          {
            type: "button",
            class: "small-map",
            "data-key": `head-${layer + 1}-${head + 1}`,
            title: `${name(layer + 1, head + 1)}: ${said}`,
            onclick: () => choose(layer + 1, head + 1),
          },
          canvas,
          make("span", {}, isolate(name(layer + 1, head + 1))),
          make("span", { class: "unseen" }, said)
        );
      })
    )
  );
  const element = make("div", { class: "small-maps" }, ...rows);
  element.style.setProperty("--heads", maps[0].length);
  return { element, light: () => {}, hint };
}
