/** The attention of a translation as lines between two columns of words, which fits on a narrow screen. */

import { rootFontSize } from "./dom.js";
import { describePicture } from "./heatmap.js";
import { headings, scroll, table, tableRow } from "./parts.js";
import { showNumber } from "./shown.js";
import { h } from "./view.js";

const PITCH = 30;
const LETTER = 8.2;
const MIN_SHOWN = 0.02;

function columnWidth(words) {
  return Math.min(220, Math.max(40, ...words.map((word) => [...word].length * LETTER + 12)));
}

/**
 * Describes the lines as an SVG picture; `colour(name)` is one of the page's. Words and lines have data-row and
 * data-column, by which `lightLines` finds them.
 */
export function drawLines(grid, title, colour, room, chosen = -1) {
  const [columns, rows] = [grid.columns.length, grid.rows.length];
  const left = columnWidth(grid.columns);
  const right = columnWidth(grid.rows.map((row) => row.text));
  const gap = Math.max(90, Math.min(360, room - left - right));
  const top = title ? 44 : 8;
  const width = Math.max(left + gap + right, [...title].length * 8.8 + 16);
  const height = top + PITCH * Math.max(columns, rows) + 8;
  const middle = (count, place) => top + PITCH * (place + 0.5 + (Math.max(columns, rows) - count) / 2);
  const bend = left + gap / 2;
  const links = grid.weights.flatMap((weights, row) =>
    weights.map((weight, column) => ({ weight, row, column }))
  );
  const lines = links
    .filter(({ weight }) => weight >= MIN_SHOWN)
    .sort((a, b) => a.weight - b.weight) // strong lines over weak ones
    .map(({ weight, row, column }) => {
      const [y0, y1] = [middle(columns, column), middle(rows, row)];
      const d = `M${left + 4} ${y0}C${bend} ${y0} ${bend} ${y1} ${left + gap - 4} ${y1}`;
      // As `figures.py` draws it.
      const look = { "stroke-width": 0.6 + 5.4 * weight, "stroke-opacity": 0.12 + 0.88 * weight };
      const place = { class: "line", "data-row": row, "data-column": column };
      return h("path", { d, ...place, fill: "none", stroke: colour("--accent"), ...look });
    });
  const word = (text, isEnd, attributes) => {
    const look = {
      fill: colour(isEnd ? "--muted" : "--ink"),
      "font-size": 15,
      "dominant-baseline": "central",
    };
    return h("text.word", { ...look, ...attributes }, text);
  };
  const sources = grid.columns.map((text, column) => {
    const place = { x: left - 4, y: middle(columns, column), "text-anchor": "end", "data-column": column };
    return word(text, column === grid.columnEnd, place);
  });
  const targets = grid.rows.map(({ text, end }, row) => {
    const place = { x: left + gap + 4, y: middle(rows, row), "data-row": row };
    return word(text, end, row === chosen ? { ...place, class: "word chosen" } : place);
  });
  const heading = title && [
    h("rect", { width, height, fill: colour("--card") }),
    h("text", { x: 8, y: 24, fill: colour("--ink"), "font-size": 14, "font-weight": 600 }, title),
  ];
  return describePicture(width, height, heading, lines, sources, targets);
}

/** Describes the lines in the page, with a table for screen readers; arguments as for `describeHeatMap`. */
export function describeLines(grid, chosen, t, on, room, caption = t("mapCaption")) {
  const scale = rootFontSize() / 16; // the picture is made for letters of the usual size
  const svg = drawLines(grid, "", (name) => `var(${name})`, room / scale, chosen);
  Object.assign(svg.attributes, {
    width: svg.attributes.width * scale,
    height: svg.attributes.height * scale,
    class: "lines",
    "aria-hidden": "true",
    onpointerover: ({ target }) => on.point(...placeOfLine(target.closest("[data-row], [data-column]"))),
    onpointerleave: () => on.point(-1, -1),
    onclick: ({ target }) => {
      const [row] = placeOfLine(target.closest("[data-row]"));
      if (row >= 0) on.select(row);
    },
  });
  const rows = grid.rows.map(({ text }, row) =>
    tableRow(
      text,
      grid.weights[row].map((weight) => showNumber(weight, t.language))
    )
  );
  const head = [h("td"), headings(grid.columns)];
  const numbers = table("unseen", caption, head, rows);
  return scroll([svg, numbers]);
}

function placeOfLine(node) {
  return [Number(node?.dataset.row ?? -1), Number(node?.dataset.column ?? -1)];
}

/** Lights up the words and lines of a row and a column in the page; -1 is none. */
export function lightLines(svg, row, column) {
  const isPointed = row >= 0 || column >= 0;
  svg.classList.toggle("pointed", isPointed);
  for (const node of svg.querySelectorAll(".word, .line")) {
    const [r, c] = placeOfLine(node);
    const lit = node.classList.contains("line")
      ? (row < 0 || r === row) && (column < 0 || c === column)
      : (r >= 0 && r === row) || (c >= 0 && c === column);
    node.classList.toggle("lit", lit && isPointed);
  }
}
