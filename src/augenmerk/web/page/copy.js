/** Copies a link, a picture or the data; where a browser does not permit that, a file is saved instead. */

import { find, make } from "./dom.js";
import { drawHeatMap } from "./heatmap.js";
import { drawLines } from "./lines.js";

const STATUS_TIME = 4000; // milliseconds for which it says what was copied
const SCALE = 2; // dots of a PNG for each unit of the picture
let statusTimer;

/** Saves a file as the browser saves downloads. */
function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Returns the text of an SVG picture. */
function writeSvg(svg) {
  return `${new XMLSerializer().serializeToString(svg)}\n`;
}

/** Returns an SVG picture as a PNG. */
async function paintPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(writeSvg(svg))}`;
  await image.decode();
  const canvas = make("canvas", { width: image.width * SCALE, height: image.height * SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Copies text, or saves it under a name; returns "copied" or "saved". */
async function copyText(text, name, type) {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    saveFile(new Blob([text], { type }), name);
    return "saved";
  }
}

/** Copies a picture as a PNG, or saves it; returns "copied" or "saved". */
async function copyPng(svg, name) {
  const blob = await paintPng(svg);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
    return "copied";
  } catch {
    saveFile(blob, name);
    return "saved";
  }
}

/** Returns the beginning of a sentence, without characters that an SVG picture must not hold. */
function shortTitle(sentence) {
  const visible = sentence.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]+/gu, " ");
  return [...visible].slice(0, 80).join("");
}

/** Copies what is shown of the chosen model as a link, svg, png or json, and says what came of it. */
export async function copyAnswer({ state, answers, t, writeAddress }, form) {
  const { translation, waiting, view } = answers[state.selectedModel];
  const grid = view?.grid ?? answers[state.selectedModel].grid; // that of the picture
  const status = find("copy-status");
  try {
    let outcome;
    if (form === "link") {
      writeAddress(); // a slider may have moved just now
      outcome = await copyText(location.href, "link.txt", "text/plain");
    } else if (waiting) {
      throw new Error(t("computing")); // what is still shown belongs to the sentence before
    } else if (grid === null) {
      throw new Error(t("noWords"));
    } else if (form === "json") {
      const text = `${JSON.stringify(translation, null, 2)}\n`;
      outcome = await copyText(text, "attention.json", "application/json");
    } else {
      const style = getComputedStyle(document.documentElement);
      const title = shortTitle(translation.source);
      const svg = state.view === "map" ? drawHeatMap(grid, title, style) : drawLines(grid, title, style, 600);
      outcome =
        form === "svg"
          ? await copyText(writeSvg(svg), "attention.svg", "image/svg+xml")
          : await copyPng(svg, "attention.png");
    }
    status.textContent = t(outcome);
  } catch (error) {
    status.textContent = t("copyFailed", { reason: error.message });
  }
  clearTimeout(statusTimer); // that of an earlier copy would take this message away
  statusTimer = setTimeout(() => (status.textContent = ""), STATUS_TIME);
}
