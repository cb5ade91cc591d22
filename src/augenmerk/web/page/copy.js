/** Copies a link, a picture or the data; where a browser does not permit that, a file is saved instead. */

import { find, readColours } from "./dom.js";
import { drawHeatMap } from "./heatmap.js";
import { drawLines } from "./lines.js";
import { create, h } from "./view.js";

const STATUS_TIME = 4000; // milliseconds for which it says what was copied
const SCALE = 2; // dots of a PNG for each unit of the picture
let statusTimer;

/** Copies data as the browser permits, or saves it under a name; returns "copied" or "saved". */
async function copyOrSave(copy, blob, name) {
  try {
    await copy();
    return "copied";
  } catch {
    const address = URL.createObjectURL(blob);
    create(h("a", { href: address, download: name })).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    return "saved";
  }
}

function copyText(text, name, type) {
  return copyOrSave(() => navigator.clipboard.writeText(text), new Blob([text], { type }), name);
}

/** Returns a picture in the text of an SVG file as a PNG. */
async function paintPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: image.width * SCALE, height: image.height * SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Returns the beginning of a sentence, without characters that an SVG picture must not hold. */
function shortTitle(sentence) {
  const visible = sentence.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]+/gu, " ");
  return [...visible].slice(0, 80).join("");
}

/** Copies what is shown of the chosen model as a link, svg, png or json; returns "copied" or "saved". */
async function copyAs({ state, answers, t, writeAddress }, form) {
  const { translation, waiting, grid } = answers[state.selectedModel];
  if (form === "link") {
    writeAddress(); // a slider may have moved just now
    return copyText(location.href, "link.txt", "text/plain");
  }
  if (waiting) throw new Error(t("computing")); // what is still shown belongs to the sentence before
  if (grid === null) throw new Error(t("noWords"));
  if (form === "json") {
    return copyText(`${JSON.stringify(translation, null, 2)}\n`, "attention.json", "application/json");
  }
  const colour = readColours();
  const title = shortTitle(translation.source);
  const picture =
    state.view === "map" ? drawHeatMap(grid, title, colour) : drawLines(grid, title, colour, 600);
  const svg = `${new XMLSerializer().serializeToString(create(picture))}\n`;
  if (form === "svg") return copyText(svg, "attention.svg", "image/svg+xml");
  const png = await paintPng(svg);
  const copy = () => navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
  return copyOrSave(copy, png, "attention.png");
}

/** Copies something, and says what came of it. */
export async function copyAnswer(app, form) {
  const outcome = copyAs(app, form).then(app.t, (error) => app.t("copyFailed", { reason: error.message }));
  const status = find("copy-status");
  status.textContent = await outcome;
  clearTimeout(statusTimer); // that of an earlier copy would take this message away
  statusTimer = setTimeout(() => (status.textContent = ""), STATUS_TIME);
}
