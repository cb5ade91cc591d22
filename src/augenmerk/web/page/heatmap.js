/** The attention of a translation as a table: rows are the words produced, columns those of the source. */

import { isolate, make, makeSvg, moveFocus, rootFontSize } from "./dom.js";
import { levelOf, showNumber, showWeight } from "./shown.js";

/**
 * Returns a heat map as an element with `light(row, column)`, which shows what is pointed at.
 *
 * It is made for `room` pixels. `on.point(row, column)` is called for what the pointer or the focus is on (-1
 * for none) and `on.select(row)` for a word that is chosen. All words together are one stop of the tab key,
 * and the arrow keys lead from word to word, up and down among rows, left and right among columns.
 */
export function makeHeatMap(grid, chosen, changedRows, t, on, room) {
  const columnButtons = grid.columns.map((word, column) =>
    make(
      "button",
      {
        type: "button",
        "data-key": `column-${column}`,
        class: column === grid.columnEnd ? "word end" : "word",
        tabindex: -1,
        title: column === grid.columnEnd ? t("end") : null,
        onfocus: () => on.point(-1, column),
        onblur: () => on.point(-1, -1),
      },
      isolate(word)
    )
  );
  const rowButtons = grid.rows.map((row, number) =>
    make(
      "button",
      {
        type: "button",
        "data-key": `row-${number}`,
        class: row.end ? "word end" : "word",
        tabindex: number === Math.max(0, chosen) ? 0 : -1,
        title: row.end ? t("end") : null,
        "aria-pressed": String(number === chosen),
        onfocus: () => on.point(number, -1),
        onblur: () => on.point(-1, -1),
        onclick: () => on.select(number),
      },
      isolate(row.text)
    )
  );
  const head = make(
    "tr",
    {},
    make("td"),
    ...columnButtons.map((button) => make("th", { scope: "col" }, make("div", {}, button)))
  );
  const bodyRows = grid.rows.map((_, number) => {
    const cells = grid.weights[number].map((weight, column) =>
      make(
        "td",
        { class: `h${levelOf(weight)}`, "data-row": number, "data-column": column },
        showWeight(weight, t.language)
      )
    );
    const mark = changedRows.includes(number)
      ? [make("span", { class: "mark", title: t("changedHere") }, "✎")]
      : [];
    const classes = number === chosen ? "chosen" : null;
    return make(
      "tr",
      { class: classes },
      make("th", { scope: "row" }, ...mark, rowButtons[number]),
      ...cells
    );
  });
  const table = make(
    "table",
    { class: "map" },
    make("caption", { class: "unseen" }, t("mapCaption")),
    make("thead", {}, head),
    make("tbody", {}, ...bodyRows)
  );
  fitCells(table, grid, room);
  table.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td[data-row]");
    const row = event.target.closest("tbody tr");
    const heading = event.target.closest("thead th");
    if (cell) on.point(Number(cell.dataset.row), Number(cell.dataset.column));
    else if (row) on.point(bodyRows.indexOf(row), -1);
    else if (heading) on.point(-1, heading.cellIndex - 1);
  });
  table.addEventListener("pointerleave", () => on.point(-1, -1));
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("td[data-row]");
    if (cell) on.select(Number(cell.dataset.row));
  });
  table.addEventListener("keydown", (event) => {
    const inRows = rowButtons.includes(document.activeElement);
    const steps = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };
    if (!(event.key in steps)) return;
    const buttons = event.key === "ArrowDown" || event.key === "ArrowUp" ? rowButtons : columnButtons;
    if ((buttons === rowButtons) === inRows) {
      moveFocus(event, buttons, steps[event.key]);
    } else {
      event.preventDefault();
      (buttons.find((button) => button.tabIndex === 0) ?? buttons[0]).focus();
    }
  });
  return {
    element: make("div", { class: "scroll" }, table),
    light: (row, column) => lightTable(table, row, column),
  };
}

/** Makes the cells as large as the room for the map permits; small ones have no numbers. */
function fitCells(table, grid, room) {
  const rem = rootFontSize();
  const longest = Math.max(...grid.rows.map((row) => [...row.text].length));
  const words = Math.min(longest * 0.55 + 1, room < 30 * rem ? 6.5 : 11) * rem;
  const width = Math.min(2.15 * rem, Math.max(0.72 * rem, (room - words) / grid.columns.length - 1.2));
  const height = Math.min(1.85 * rem, Math.max(0.85 * rem, width));
  table.style.setProperty("--width", `${width}px`);
  table.style.setProperty("--height", `${height}px`);
  table.style.setProperty("--words", `${Math.max(0.68, Math.min(0.9, height / rem / 1.35))}rem`);
  table.style.setProperty("--numbers", `${width < 1.2 * rem ? 0 : Math.min(0.72, (width / rem) * 0.42)}rem`);
}

/** Marks the cells and words of a row and a column; -1 marks none. */
function lightTable(table, row, column) {
  for (const lit of table.querySelectorAll(".lit")) lit.classList.remove("lit");
  table.classList.toggle("pointed", row >= 0 || column >= 0);
  const rows = table.tBodies[0].rows;
  if (row >= 0 && rows[row]) {
    for (const cell of rows[row].cells) cell.classList.add("lit");
  }
  if (column >= 0) {
    table.tHead.rows[0].cells[column + 1]?.classList.add("lit");
    for (const each of rows) each.cells[column + 1]?.classList.add("lit");
  }
  if (row >= 0 && column >= 0 && rows[row]) rows[row].cells[column + 1].classList.add("lit");
}

/** Says in a line what is pointed at, with its numbers. */
export function describePointed(grid, row, column, t) {
  const number = (weight) => showNumber(weight, t.language);
  const isolated = (word) => `\u2068${word}\u2069`;
  if (row >= 0 && column >= 0) {
    return t("cell", {
      target: isolated(grid.rows[row].text),
      source: isolated(grid.columns[column]),
      weight: number(grid.weights[row][column]),
    });
  }
  const strongest = (weights, words) =>
    weights
      .map((weight, place) => [weight, words[place]])
      .filter(([weight]) => weight >= 0.05)
      .sort(([a], [b]) => b - a)
      .slice(0, 4)
      .map(([weight, word]) => `${isolated(word)} ${number(weight)}`)
      .join(", ");
  if (row >= 0) {
    const found = strongest(grid.weights[row], grid.columns);
    return t(found ? "row" : "rowNothing", { target: isolated(grid.rows[row].text), words: found });
  }
  if (column >= 0) {
    const found = strongest(
      grid.weights.map((weights) => weights[column]),
      grid.rows.map((each) => each.text)
    );
    return t(found ? "column" : "columnNothing", { source: isolated(grid.columns[column]), words: found });
  }
  return "";
}

/** Returns the scale of the colours, which is the same for every map. */
export function makeScale(t) {
  const shades = Array.from({ length: 24 }, (_, place) => make("i", { class: `h${levelOf(place / 23)}` }));
  return make(
    "p",
    { class: "scale", "aria-hidden": "true" },
    t("attention"),
    " 0 ",
    make("span", {}, ...shades),
    " 1"
  );
}

/** Draws a map as an SVG picture that stands by itself, in the colours of the page. */
export function drawHeatMap(grid, title, style) {
  const cell = 34;
  const colour = (name) => style.getPropertyValue(name).trim();
  const widest = (words) => Math.max(0, ...words.map((word) => [...word].length)) * 8 + 14;
  const left = widest(grid.rows.map((row) => row.text));
  const top = 36 + widest(grid.columns);
  const width = Math.max(left + cell * grid.columns.length + 24, [...title].length * 8.8 + 24);
  const height = top + cell * grid.rows.length + 20;
  const parts = [makeSvg("rect", { width, height, fill: colour("--card") })];
  const text = (content, attributes) =>
    makeSvg("text", { fill: colour("--ink"), "font-size": 14, ...attributes }, content);
  parts.push(text(title, { x: 12, y: 24, "font-weight": 600 }));
  grid.columns.forEach((word, column) => {
    const x = left + (column + 0.5) * cell;
    parts.push(text(word, { transform: `translate(${x + 5} ${top - 8}) rotate(-90)` }));
  });
  grid.rows.forEach((row, number) => {
    const y = top + number * cell;
    parts.push(text(row.text, { x: left - 8, y: y + cell / 2 + 5, "text-anchor": "end" }));
    grid.weights[number].forEach((weight, column) => {
      const x = left + column * cell;
      const level = levelOf(weight);
      parts.push(
        makeSvg("rect", {
          x,
          y,
          width: cell,
          height: cell,
          fill: colour(`--h${level}`),
          stroke: colour("--grid"),
        })
      );
      const shown = showWeight(weight, "en");
      if (shown) {
        const place = { x: x + cell / 2, y: y + cell / 2 + 4, "text-anchor": "middle", "font-size": 11 };
        parts.push(text(shown, { ...place, fill: colour(`--i${level}`) }));
      }
    });
  });
  return makeSvg(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      "font-family": "system-ui, DejaVu Sans, sans-serif",
    },
    ...parts
  );
}
