/** The attention of a translation as lines between two columns of words, which fits on a narrow screen. */

import { make, makeSvg, rootFontSize } from "./dom.js";
import { showNumber } from "./shown.js";

const PITCH = 30;
const MIN_SHOWN = 0.02;

/** Returns how wide a column of words has to be, in pixels. */
function columnWidth(words, letter) {
  return Math.min(220, Math.max(40, ...words.map((word) => [...word].length * letter + 12)));
}

/** Returns the colour, width and opacity of the line of a weight, as `figures.py` draws it. */
function lineLook(weight, accent) {
  return {
    stroke: accent,
    "stroke-width": 0.6 + 5.4 * weight,
    "stroke-opacity": 0.12 + 0.88 * weight,
    fill: "none",
  };
}

/**
 * Draws the lines as an SVG picture in the colours of the page. Words and lines have data-row and
 * data-column, by which `makeLines` finds them.
 */
export function drawLines(grid, title, style, room) {
  const colour = (name) => style.getPropertyValue(name).trim();
  const columns = grid.columns.length;
  const rows = grid.rows.length;
  const letter = 8.2;
  const left = columnWidth(grid.columns, letter);
  const right = columnWidth(
    grid.rows.map((row) => row.text),
    letter
  );
  const gap = Math.max(90, Math.min(360, room - left - right));
  const top = title ? 44 : 8;
  const width = Math.max(left + gap + right, [...title].length * 8.8 + 16);
  const height = top + PITCH * Math.max(columns, rows) + 8;
  const middle = (count, place) => top + PITCH * (place + 0.5 + (Math.max(columns, rows) - count) / 2);
  const lines = [];
  grid.rows.forEach((_, row) => {
    grid.weights[row].forEach((weight, column) => {
      if (weight < MIN_SHOWN) return;
      const y0 = middle(columns, column);
      const y1 = middle(rows, row);
      const bend = left + gap / 2;
      const d = `M${left + 4} ${y0}C${bend} ${y0} ${bend} ${y1} ${left + gap - 4} ${y1}`;
      lines.push([
        weight,
        makeSvg("path", {
          d,
          class: "line",
          "data-row": row,
          "data-column": column,
          ...lineLook(weight, colour("--accent")),
        }),
      ]);
    });
  });
  lines.sort(([a], [b]) => a - b); // strong lines over weak ones
  const word = (text, isEnd, attributes) =>
    makeSvg(
      "text",
      {
        fill: colour(isEnd ? "--muted" : "--ink"),
        "font-size": 15,
        "dominant-baseline": "central",
        ...attributes,
      },
      text
    );
  const sources = grid.columns.map((text, column) =>
    word(text, column === grid.columnEnd, {
      x: left - 4,
      y: middle(columns, column),
      "text-anchor": "end",
      class: "word",
      "data-column": column,
    })
  );
  const targets = grid.rows.map((row, number) =>
    word(row.text, row.end, { x: left + gap + 4, y: middle(rows, number), class: "word", "data-row": number })
  );
  const parts = [...lines.map(([, line]) => line), ...sources, ...targets];
  if (title) {
    parts.unshift(
      makeSvg("rect", { width, height, fill: colour("--card") }),
      makeSvg("text", { x: 8, y: 24, fill: colour("--ink"), "font-size": 14, "font-weight": 600 }, title)
    );
  }
  const look = { "font-family": "system-ui, DejaVu Sans, sans-serif", viewBox: `0 0 ${width} ${height}` };
  return makeSvg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, ...look }, ...parts);
}

/** Returns the table of weights for screen readers, which a picture tells nothing. */
function makeTable(grid, t) {
  const head = make("tr", {}, make("td"), ...grid.columns.map((word) => make("th", { scope: "col" }, word)));
  const body = grid.rows.map((row, number) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, row.text),
      ...grid.weights[number].map((weight) => make("td", {}, showNumber(weight, t.language)))
    )
  );
  return make(
    "table",
    { class: "unseen" },
    make("caption", {}, t("mapCaption")),
    make("thead", {}, head),
    make("tbody", {}, ...body)
  );
}

/** Returns the lines as an element with `light(row, column)`; arguments as for `makeHeatMap`. */
export function makeLines(grid, chosen, t, on, style, room) {
  const scale = rootFontSize() / 16; // the picture is made for letters of the usual size
  const svg = drawLines(grid, "", style, room / scale);
  for (const side of ["width", "height"]) svg.setAttribute(side, svg.getAttribute(side) * scale);
  svg.setAttribute("class", "lines");
  svg.setAttribute("aria-hidden", "true");
  const place = (node) => [Number(node.dataset.row ?? -1), Number(node.dataset.column ?? -1)];
  svg.addEventListener("pointerover", (event) => {
    const node = event.target.closest("[data-row], [data-column]");
    on.point(...(node ? place(node) : [-1, -1]));
  });
  svg.addEventListener("pointerleave", () => on.point(-1, -1));
  svg.addEventListener("click", (event) => {
    const node = event.target.closest("[data-row]");
    if (node) on.select(Number(node.dataset.row));
  });
  svg.querySelector(`text[data-row="${chosen}"]`)?.classList.add("chosen");
  const light = (row, column) => {
    svg.classList.toggle("pointed", row >= 0 || column >= 0);
    for (const node of svg.querySelectorAll(".word, .line")) {
      const [r, c] = place(node);
      const isLine = node.classList.contains("line");
      const lit = isLine
        ? (row < 0 || r === row) && (column < 0 || c === column)
        : (r >= 0 && r === row) || (c >= 0 && c === column);
      node.classList.toggle("lit", lit && (row >= 0 || column >= 0));
    }
  };
  return { element: make("div", { class: "scroll" }, svg, makeTable(grid, t)), light };
}
