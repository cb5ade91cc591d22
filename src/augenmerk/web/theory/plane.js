/**
 * A part of the plane on the screen: a canvas for clouds and fields, over it an SVG for shapes, and points
 * that are moved with a mouse, a finger or the arrow keys.
 */

import { make, makeSvg } from "../page/dom.js";
import { showNotationInSvg } from "./notation.js";

const KEY_STEP = 0.05;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const CLOUD_PATHS = 24;
const FIELD_CELL = 5; // pixels on the side of a cell of a field, which is smoothed when it is drawn

export class Plane {
  /** Takes the part of the plane that is seen, and a label for those who do not see it. */
  constructor({ left, right, bottom, top, label }) {
    this.left = left;
    this.right = right;
    this.bottom = bottom;
    this.top = top;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.shapes = makeSvg("g", { "aria-hidden": "true" });
    this.labels = makeSvg("g", { "aria-hidden": "true" });
    this.knobs = makeSvg("g");
    this.svg = makeSvg("svg", { role: "group", "aria-label": label }, this.shapes, this.labels, this.knobs);
    this.field = make("canvas", { class: "field", "aria-hidden": "true" });
    this.element = make("div", { class: "plane" }, this.field, this.canvas, this.svg);
    this.element.style.aspectRatio = `${right - left} / ${top - bottom}`;
    this.handles = [];
    this.drawn = new Map(); // shapes by their key
    this.width = 0;
    this.height = 0;
  }

  /** Takes over the size that the element has on the screen; returns false if it has none. */
  measure() {
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    if (width !== this.width || height !== this.height) {
      [this.width, this.height] = [width, height];
      const dots = window.devicePixelRatio || 1;
      this.canvas.width = Math.round(width * dots);
      this.canvas.height = Math.round(height * dots);
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    }
    return width > 0;
  }

  /** Returns where a point of the plane is in pixels. */
  toPixels(/** @type {number[]} */ [x, y]) {
    return [
      ((x - this.left) / (this.right - this.left)) * this.width,
      ((this.top - y) / (this.top - this.bottom)) * this.height,
    ];
  }

  /** Returns the point of the plane at a place in pixels. */
  toPlane(/** @type {number[]} */ [px, py]) {
    return [
      this.left + (px / this.width) * (this.right - this.left),
      this.top - (py / this.height) * (this.top - this.bottom),
    ];
  }

  /** How many pixels a length of 1 has. */
  get unit() {
    return this.width / (this.right - this.left);
  }

  keepInside([x, y]) {
    const room = 0.02 * (this.right - this.left);
    return [
      Math.min(this.right - room, Math.max(this.left + room, x)),
      Math.min(this.top - room, Math.max(this.bottom + room, y)),
    ];
  }

  // -- points that are moved -------------------------------------------------------------------------------

  /**
   * Adds a point that can be moved. `get` returns where it is, `move` is called with where it was moved to, `done`
   * that it was let go. It jumps to `magnets`, points that are worth hitting exactly.
   */
  addHandle({ name, label, kind, get, move, done, magnets = () => [], say, colour = null }) {
    const hit = makeSvg("circle", { class: "hit", r: 22 });
    const shape = makeSvg("path", { class: "knob", d: KNOBS[kind] });
    const element = makeSvg(
      "g",
      {
        class: `handle ${kind}`,
        tabindex: 0,
        role: "slider",
        "aria-label": label,
        "aria-valuemin": this.left,
        "aria-valuemax": this.right,
        "aria-valuenow": 0,
        "data-handle": name,
      },
      hit,
      makeSvg("circle", { class: "halo", r: 15 }),
      shape,
      makeSvg("text", { class: "name", "aria-hidden": "true" }, ...showNotationInSvg(name))
    );
    if (colour) element.style.setProperty("--own", colour);
    const handle = { name, kind, element, get, move, done, say, magnets };
    let offset = null; // from the pointer to the middle of the point
    const here = (event) => {
      const box = this.svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    handle.grab = (event, jump) => {
      const [px, py] = here(event);
      const [x, y] = this.toPixels(get());
      offset = jump ? [0, 0] : [x - px, y - py];
      element.setPointerCapture(event.pointerId);
      element.classList.add("moving");
      element.focus({ preventScroll: true });
      if (jump) this.moveTo(handle, this.toPlane([px, py]));
      event.preventDefault();
    };
    element.addEventListener("pointerdown", (event) => {
      if (event.button === 0) handle.grab(event, false);
    });
    element.addEventListener("pointermove", (event) => {
      if (offset === null) return;
      const [px, py] = here(event);
      this.moveTo(handle, this.toPlane([px + offset[0], py + offset[1]]));
    });
    for (const ending of ["pointerup", "pointercancel", "lostpointercapture"]) {
      element.addEventListener(ending, () => {
        if (offset === null) return;
        offset = null;
        element.classList.remove("moving");
        done?.();
      });
    }
    element.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key];
      if (!arrow || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const step = KEY_STEP * (event.shiftKey ? 5 : 1);
      const rounded = get().map((value, axis) => Math.round((value + step * arrow[axis]) * 1000) / 1000);
      move(this.keepInside(rounded));
      done?.();
    });
    this.handles.push(handle);
    this.knobs.append(element);
    return handle;
  }

  /** Moves a point, to a magnet if one is near. */
  moveTo(handle, point) {
    const near = 9 / this.unit;
    const magnet = handle.magnets().find(([x, y]) => Math.hypot(x - point[0], y - point[1]) < near);
    handle.move(magnet ?? this.keepInside(point));
  }

  /** Lets a mouse anywhere in the plane fetch a point; a finger there scrolls the page. */
  fetchByClick(handle) {
    this.svg.classList.add("fetches");
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch" || event.button !== 0 || event.target.closest(".handle")) return;
      handle.grab(event, true);
    });
  }

  /** Puts the points to where they are now; `centre` is what their names turn away from. */
  placeHandles(centre) {
    const [cx, cy] = this.toPixels(centre);
    for (const { element, get, say } of this.handles) {
      const point = get();
      const [x, y] = this.toPixels(point);
      element.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
      const away = Math.hypot(x - cx, y - cy) || 1;
      const text = element.lastChild;
      text.setAttribute("x", ((x - cx) / away) * 19);
      text.setAttribute("y", ((y - cy) / away) * 19);
      element.setAttribute("aria-valuenow", point[0].toFixed(2));
      element.setAttribute(
        "aria-valuetext",
        say ? say(point) : point.map((each) => each.toFixed(2)).join("; ")
      );
    }
  }

  // -- shapes ----------------------------------------------------------------------------------------------

  /** Begins a new picture: whatever is not drawn again goes away. */
  begin() {
    this.old = new Set(this.drawn.keys());
  }

  /** Draws a shape, or changes the one with the same key. */
  shape(key, tag, attributes, name) {
    let node = this.drawn.get(key);
    if (!node) {
      node = makeSvg(tag, {}, ...(name === undefined ? [] : showNotationInSvg(name)));
      node.written = name;
      this.drawn.set(key, node);
      (tag === "text" ? this.labels : this.shapes).append(node);
    } else if (node.written !== name) {
      node.replaceChildren(...showNotationInSvg(name));
      node.written = name;
    }
    this.old.delete(key);
    for (const [attribute, value] of Object.entries(attributes)) node.setAttribute(attribute, value);
    return node;
  }

  end() {
    for (const key of this.old) {
      this.drawn.get(key).remove();
      this.drawn.delete(key);
    }
  }

  line(key, from, to, attributes) {
    const [x1, y1] = this.toPixels(from);
    const [x2, y2] = this.toPixels(to);
    return this.shape(key, "line", { x1, y1, x2, y2, ...attributes });
  }

  dot(key, point, radius, attributes) {
    const [cx, cy] = this.toPixels(point);
    return this.shape(key, "circle", { cx, cy, r: radius, ...attributes });
  }

  polygon(key, points, attributes) {
    const written = points
      .map((point) =>
        this.toPixels(point)
          .map((each) => each.toFixed(1))
          .join(",")
      )
      .join(" ");
    return this.shape(key, "polygon", { points: written, ...attributes });
  }

  /** Draws a text beside a point, with pixels between them. */
  text(key, point, [dx, dy], name, attributes = {}) {
    const [x, y] = this.toPixels(point);
    return this.shape(key, "text", { x: x + dx, y: y + dy, ...attributes }, name);
  }

  /** Draws an arrow that ends a little before the point, where its knob is. */
  arrow(key, from, to, attributes, before = 10) {
    const [x1, y1] = this.toPixels(from);
    const [x2, y2] = this.toPixels(to);
    const length = Math.hypot(x2 - x1, y2 - y1);
    const [ux, uy] = length ? [(x2 - x1) / length, (y2 - y1) / length] : [0, 0];
    const end = Math.max(0, length - before);
    const d = `M${x1} ${y1}L${x1 + ux * end} ${y1 + uy * end}`;
    return this.shape(key, "path", { d, ...attributes });
  }

  /** Draws two axes through the origin and a ring at distance 1. */
  drawAxes() {
    this.line("axis-x", [this.left, 0], [this.right, 0], { class: "axis" });
    this.line("axis-y", [0, this.bottom], [0, this.top], { class: "axis" });
    this.dot("unit-circle", [0, 0], this.unit, { class: "axis ring" });
  }

  // -- canvas ----------------------------------------------------------------------------------------------

  /** Returns the canvas, empty, in pixels of the page. */
  clearCanvas() {
    const context = this.canvas.getContext("2d");
    const dots = this.canvas.width / this.width;
    context.setTransform(dots, 0, 0, dots, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    return context;
  }

  /**
   * Colours the plane by what a query at each place would attend to: the colours of the keys, mixed by their
   * weights. `keys` is a list of {key, colour: [r, g, b], count}; `scale` multiplies the logits.
   */
  drawField(keys, scale, opacity) {
    const columns = Math.ceil(this.width / FIELD_CELL) + 1;
    const rows = Math.ceil(this.height / FIELD_CELL) + 1;
    const wanted = JSON.stringify([keys, scale, opacity, columns, rows]);
    if (wanted === this.fieldDrawn) return;
    this.fieldDrawn = wanted;
    if (this.field.width !== columns || this.field.height !== rows) {
      [this.field.width, this.field.height] = [columns, rows];
      // The browser enlarges and smooths it. The middle of a cell is the place that is computed.
      this.field.style.width = `${columns * FIELD_CELL}px`;
      this.field.style.height = `${rows * FIELD_CELL}px`;
      this.field.style.left = this.field.style.top = `${-FIELD_CELL / 2}px`;
    }
    const small = this.field.getContext("2d");
    const picture = small.createImageData(columns, rows);
    const logits = new Float64Array(keys.length);
    let at = 0;
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const [x, y] = this.toPlane([column * FIELD_CELL, row * FIELD_CELL]);
        let highest = -Infinity;
        for (let i = 0; i < keys.length; i++) {
          logits[i] = (x * keys[i].key[0] + y * keys[i].key[1]) * scale;
          if (logits[i] > highest) highest = logits[i];
        }
        let sum = 0;
        let red = 0;
        let green = 0;
        let blue = 0;
        for (let i = 0; i < keys.length; i++) {
          const weight = Math.exp(logits[i] - highest) * keys[i].count;
          sum += weight;
          red += weight * keys[i].colour[0];
          green += weight * keys[i].colour[1];
          blue += weight * keys[i].colour[2];
        }
        picture.data[at] = red / sum;
        picture.data[at + 1] = green / sum;
        picture.data[at + 2] = blue / sum;
        picture.data[at + 3] = opacity * 255;
        at += 4;
      }
    }
    small.putImageData(picture, 0, 0);
  }

  /** Draws the first of a list of points x, y, x, y, ... as dots, which add up where they overlap. */
  drawCloud(context, points, count, colour, opacity, radius = 1.7) {
    context.fillStyle = colour;
    context.globalAlpha = opacity;
    const stepX = this.width / (this.right - this.left);
    const stepY = this.height / (this.top - this.bottom);
    // Dots of one path do not add up, so there are several paths; one for each dot would take too long.
    for (let first = 0; first < CLOUD_PATHS; first++) {
      context.beginPath();
      for (let n = first; n < count; n += CLOUD_PATHS) {
        const x = (points[2 * n] - this.left) * stepX;
        const y = (this.top - points[2 * n + 1]) * stepY;
        context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      }
      context.fill();
    }
    context.globalAlpha = 1;
  }
}

/** The shapes of points: colour is never all that tells them apart. */
const KNOBS = {
  query: "M0-9A9 9 0 1 1 0 9A9 9 0 1 1 0-9Z",
  key: "M0-7A7 7 0 1 1 0 7A7 7 0 1 1 0-7Z",
  value: "M-6.5-6.5H6.5V6.5H-6.5Z",
};
