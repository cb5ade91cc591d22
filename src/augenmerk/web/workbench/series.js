/** How series look, in charts and in what names them: by colour, and beyond the number of colours by dashes. */

import { h } from "../page/view.js";

export const COLOURS = 7; // of the variables --c0, --c1, … in page.css
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];
const MAX_NAME = 26;

/** Returns the look of a series: its colour and, beyond the number of colours, its dashes. */
export function lookOf(number) {
  return {
    colour: `var(--c${number % COLOURS})`,
    dash: DASHES[Math.floor(number / COLOURS) % DASHES.length],
  };
}

/** Describes a short line that looks as a series does. */
export function swatch(number) {
  const { colour, dash } = lookOf(number);
  const line = { x1: 1, x2: 21, y1: 5, y2: 5, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash };
  return h("svg.swatch", { width: 22, height: 10, "aria-hidden": "true" }, h("line", line));
}

/** Returns a name that is not too long for a label; what is left out is in the middle, because ends tell more. */
export function shortenName(name, most = MAX_NAME) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const begin = Math.ceil((most - 1) / 3);
  return `${letters.slice(0, begin).join("")}…${letters.slice(begin + 1 - most).join("")}`;
}
