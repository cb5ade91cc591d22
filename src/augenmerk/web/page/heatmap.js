/** The attention of a translation as a table: rows are the words produced, columns those of the source. */

import { rootFontSize } from "./dom.js";
import { isolate } from "./parts.js";
import { levelOf, showNumber, showWeight } from "./shown.js";
import { h } from "./view.js";

const CELL = 34; // pixels of a cell in a picture that stands by itself
const ARROW_STEPS = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };

/**
 * Describes a heat map for `room` pixels. `on.point(row, column, table)` is called for what the pointer or the focus
 * is on (-1 for none), and `on.select(row)` for a word that is chosen. All words together are one stop of the tab key, and the
 * arrow keys lead from word to word, up and down among rows, left and right among columns.
 */
export function describeHeatMap(grid, chosen, changedRows, t, on, room, caption = t("mapCaption")) {
  const word = (text, isEnd, row, column, more) => {
    const point = ({ currentTarget }, ...place) => on.point(...place, currentTarget.closest("table"));
    const attributes = {
      ...{ type: "button", class: isEnd && "end", title: isEnd ? t("end") : null },
      onfocus: (event) => point(event, row, column),
      onblur: (event) => point(event, -1, -1),
    };
    return h("button.word", { ...attributes, ...more }, isolate(text));
  };
  const columns = grid.columns.map((text, column) =>
    h("th", { scope: "col" }, h("div", word(text, column === grid.columnEnd, -1, column, { tabindex: -1 })))
  );
  const rows = grid.rows.map(({ text, end }, row) => {
    const attributes = {
      tabindex: row === Math.max(0, chosen) ? 0 : -1,
      "aria-pressed": String(row === chosen),
      onclick: () => on.select(row),
    };
    const mark = changedRows.includes(row) && h("span.mark", { title: t("changedHere") }, "✎");
    const cells = grid.weights[row].map((weight, column) => {
      const place = { class: `h${levelOf(weight)}`, "data-row": row, "data-column": column };
      return h("td", place, showWeight(weight, t.language));
    });
    const heading = h("th", { scope: "row" }, mark, word(text, end, row, -1, attributes));
    return h("tr", { class: row === chosen ? "chosen" : null }, heading, cells);
  });
  const pointer = {
    onpointerover: ({ target, currentTarget }) => on.point(...placeOf(target), currentTarget),
    onpointerleave: ({ currentTarget }) => on.point(-1, -1, currentTarget),
    onclick: ({ target }) => {
      const cell = target.closest("td[data-row]");
      if (cell) on.select(Number(cell.dataset.row));
    },
    onkeydown: moveAmongWords,
  };
  const table = h(
    "table.map",
    { style: fitCells(grid, room), ...pointer },
    h("caption.unseen", caption),
    h("thead", h("tr", h("td"), columns)),
    h("tbody", rows)
  );
  return h("div.scroll", table);
}

/** Returns the row and the column of an element of a map, -1 for none. */
function placeOf(element) {
  const row = element.closest("tbody tr");
  const column = element.closest("td[data-row], thead th");
  return [row ? row.rowIndex - 1 : -1, column ? column.cellIndex - 1 : -1];
}

/** Moves the focus by an arrow key: among words of rows or of columns, or from one of these to the other. */
function moveAmongWords(event) {
  const step = ARROW_STEPS[event.key];
  if (!step) return;
  event.preventDefault();
  const isVertical = event.key === "ArrowDown" || event.key === "ArrowUp";
  const words = [...event.currentTarget.querySelectorAll(`${isVertical ? "tbody" : "thead"} .word`)];
  const here = words.indexOf(document.activeElement);
  const wanted = here < 0 ? words.findIndex((each) => each.tabIndex === 0) : here + step;
  const next = words[Math.min(words.length - 1, Math.max(0, wanted))];
  if (here >= 0) for (const each of words) each.tabIndex = each === next ? 0 : -1;
  next?.focus();
}

/** Returns the sizes of cells in a room; small ones have no numbers. */
function fitCells(grid, room) {
  const rem = rootFontSize();
  const longest = Math.max(...grid.rows.map((row) => [...row.text].length));
  const words = Math.min(longest * 0.55 + 1, room < 30 * rem ? 6.5 : 11) * rem;
  const width = Math.min(2.15 * rem, Math.max(0.72 * rem, (room - words) / grid.columns.length - 1.2));
  const height = Math.min(1.85 * rem, Math.max(0.85 * rem, width));
  return {
    "--width": `${width}px`,
    "--height": `${height}px`,
    "--words": `${Math.max(0.68, Math.min(0.9, height / rem / 1.35))}rem`,
    "--numbers": `${width < 1.2 * rem ? 0 : Math.min(0.72, (width / rem) * 0.42)}rem`,
  };
}

/** Lights up a row and a column of a map in the page; -1 is none. */
export function lightMap(table, row, column) {
  for (const lit of table.querySelectorAll(".lit")) lit.classList.remove("lit");
  table.classList.toggle("pointed", row >= 0 || column >= 0);
  for (const each of table.rows) {
    const cells = each.rowIndex - 1 === row && row >= 0 ? [...each.cells] : [];
    if (column >= 0) cells.push(each.cells[column + 1]);
    for (const cell of cells) cell?.classList.add("lit");
  }
}

/** Says in a line what is pointed at, with its numbers. */
export function describePointed(grid, row, column, t) {
  const number = (weight) => showNumber(weight, t.language);
  const quoted = (word) => `\u2068${word}\u2069`;
  const target = row >= 0 ? quoted(grid.rows[row].text) : "";
  const source = column >= 0 ? quoted(grid.columns[column]) : "";
  if (target && source) return t("cell", { target, source, weight: number(grid.weights[row][column]) });
  const [kind, weights, words] = target
    ? ["row", grid.weights[row], grid.columns]
    : ["column", grid.weights.map((each) => each[column]), grid.rows.map(({ text }) => text)];
  if (!target && !source) return "";
  const strongest = weights
    .map((weight, place) => [weight, words[place]])
    .filter(([weight]) => weight >= 0.05)
    .sort(([a], [b]) => b - a)
    .slice(0, 4)
    .map(([weight, word]) => `${quoted(word)} ${number(weight)}`)
    .join(", ");
  return t(strongest ? kind : `nothing ${kind}`, { target, source, words: strongest });
}

/** Describes the scale of the colours, which is the same for every map. */
export function describeScale(t) {
  const shades = Array.from({ length: 24 }, (_, place) => h("i", { class: `h${levelOf(place / 23)}` }));
  return h("p.scale", { "aria-hidden": "true" }, t("attention"), " 0 ", h("span", shades), " 1");
}

/** Describes a map as an SVG picture that stands by itself; `colour(name)` is one of the page's. */
export function drawHeatMap(grid, title, colour) {
  const widest = (words) => Math.max(0, ...words.map((word) => [...word].length)) * 8 + 14;
  const left = widest(grid.rows.map((row) => row.text));
  const top = 36 + widest(grid.columns);
  const width = Math.max(left + CELL * grid.columns.length + 24, [...title].length * 8.8 + 24);
  const height = top + CELL * grid.rows.length + 20;
  const text = (content, attributes) =>
    h("text", { fill: colour("--ink"), "font-size": 14, ...attributes }, content);
  const columns = grid.columns.map((word, column) => {
    const x = left + (column + 0.5) * CELL + 5;
    return text(word, { transform: `translate(${x} ${top - 8}) rotate(-90)` });
  });
  const rows = grid.rows.map((row, number) => {
    const y = top + number * CELL;
    const cells = grid.weights[number].map((weight, column) => {
      const [x, level] = [left + column * CELL, levelOf(weight)];
      const size = { x, y, width: CELL, height: CELL };
      const place = { x: x + CELL / 2, y: y + CELL / 2 + 4, "text-anchor": "middle", "font-size": 11 };
      const shown = showWeight(weight, "en");
      return [
        h("rect", { ...size, fill: colour(`--h${level}`), stroke: colour("--grid") }),
        shown && text(shown, { ...place, fill: colour(`--i${level}`) }),
      ];
    });
    return [text(row.text, { x: left - 8, y: y + CELL / 2 + 5, "text-anchor": "end" }), cells];
  });
  return describePicture(
    width,
    height,
    h("rect", { width, height, fill: colour("--card") }),
    text(title, { x: 12, y: 24, "font-weight": 600 }),
    columns,
    rows
  );
}

/** Describes an SVG picture that can be saved as a file. */
export function describePicture(width, height, ...children) {
  const letters = { "font-family": "system-ui, DejaVu Sans, sans-serif" };
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  return h("svg", { ...size, ...letters }, children);
}
