/** Copies a link, a picture or the data; where a browser does not let a page copy, a file is saved instead. */

import { make } from "./dom.js";

const SCALE = 2; // dots of a PNG for each unit of the picture

/** Saves a file as the browser saves downloads. */
function saveFile(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Returns the text of an SVG picture. */
export function writeSvg(svg) {
  return `${new XMLSerializer().serializeToString(svg)}\n`;
}

/** Returns an SVG picture as a PNG. */
export async function paintPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(writeSvg(svg))}`;
  await image.decode();
  const canvas = make("canvas", { width: image.width * SCALE, height: image.height * SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Copies text, or saves it under a name; returns "copied" or "saved". */
export async function copyText(text, name, type) {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    saveFile(new Blob([text], { type }), name);
    return "saved";
  }
}

/** Copies a picture as a PNG, or saves it; returns "copied" or "saved". */
export async function copyPng(svg, name) {
  const blob = await paintPng(svg);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
    return "copied";
  } catch {
    saveFile(blob, name);
    return "saved";
  }
}
