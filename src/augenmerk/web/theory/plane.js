/**
 * A part of the plane on the screen: canvases for fields and clouds, over them an SVG for shapes, and points that are
 * moved with a mouse, a finger or the arrow keys.
 */

import { decimal } from "../page/address.js";
import { pointerPlace } from "../page/dom.js";
import { create, h } from "../page/view.js";
import { showNotation, showNotationInSvg } from "./notation.js";

const KEY_STEP = 0.05;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const CLOUD_PATHS = 24;
const FIELD_CELL = 5; // pixels on the side of a cell of a field, which is smoothed when it is drawn
const MAGNET_REACH = 9; // pixels
/** The shapes of points: colour is never all that tells them apart. */
const KNOBS = {
  query: "M0-9A9 9 0 1 1 0 9A9 9 0 1 1 0-9Z",
  key: "M0-7A7 7 0 1 1 0 7A7 7 0 1 1 0-7Z",
  value: "M-6.5-6.5H6.5V6.5H-6.5Z",
};

/** A point in an address, `1,-0.5`. */
export function point(otherwise) {
  const { read, write } = decimal(-10, 10, 0);
  return {
    read: (text) => {
      const found = text.split(",").map(read);
      return found.length === 2 && !found.includes(null) ? found : null;
    },
    write: (one) => one.map(write).join(","),
    otherwise,
  };
}

/** Several points in an address, between semicolons. */
export function points(least, most, otherwise) {
  const { read, write } = point(null);
  return {
    read: (text) => {
      const found = text.split(";", most + 1).map(read);
      return found.length >= least && found.length <= most && !found.includes(null) ? found : null;
    },
    write: (all) => all.map(write).join(";"),
    otherwise,
  };
}

export class Plane {
  /** Takes the part of the plane that is seen; `fetched` is the name of a point that a click anywhere moves. */
  constructor(view, [left, right, bottom, top], fetched = "") {
    this.view = view;
    this.left = left;
    this.right = right;
    this.bottom = bottom;
    this.top = top;
    this.fetched = fetched;
    this.width = this.height = 0;
    this.field = create(h("canvas.field", { "aria-hidden": "true" }));
    this.canvas = create(h("canvas", { "aria-hidden": "true" }));
    new ResizeObserver(() => this.measure()).observe(this.canvas);
    this.fieldDrawn = "";
    this.held = null; // which point is dragged, and how far the pointer is from its middle
    this.handles = [];
    this.listeners = {
      onpointerdown: (event) => this.grab(event),
      onpointermove: (event) => this.drag(event),
      onpointerup: () => this.letGo(),
      onpointercancel: () => this.letGo(),
      onlostpointercapture: () => this.letGo(),
      onkeydown: (event) => this.step(event),
    };
  }

  /** Takes over the size that the plane has on the screen. */
  measure() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === this.width && height === this.height) return;
    Object.assign(this, { width, height });
    const dots = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.round(width * dots), height: Math.round(height * dots) });
    this.view.draw();
  }

  /**
   * Describes the plane below its caption. `paint()` draws shapes and returns the points that can be moved, as {name,
   * kind, label, said, at, move, colour, weight, magnets}. Their names turn away from `centre`.
   */
  describe(caption, label, paint, centre = [0, 0]) {
    this.shapes = [];
    this.labels = [];
    if (this.width) this.handles = paint();
    const ratio = `${this.right - this.left} / ${this.top - this.bottom}`;
    const attributes = {
      role: "group",
      "aria-label": label,
      class: this.fetched ? "fetches" : null,
      viewBox: `0 0 ${this.width} ${this.height}`,
      ...this.listeners,
    };
    const shapes = h("g", { "aria-hidden": "true" }, this.shapes);
    const labels = h("g", { "aria-hidden": "true" }, this.labels);
    const handles = this.handles.map((handle) => this.describeHandle(handle, centre));
    const svg = h("svg", attributes, shapes, labels, h("g", handles));
    return h(
      "figure",
      h("figcaption", showNotation(caption)),
      h("div.plane", { style: { "aspect-ratio": ratio } }, this.field, this.canvas, svg)
    );
  }

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

  // -- points that are moved -------------------------------------------------------------------------------

  describeHandle({ name, kind, label, said, at, colour, weight }, centre) {
    const [x, y] = this.toPixels(at);
    const [cx, cy] = this.toPixels(centre);
    const away = Math.hypot(x - cx, y - cy) || 1;
    const place = { x: ((x - cx) / away) * 19, y: ((y - cy) / away) * 19 };
    return h(
      "g",
      {
        key: name,
        class: `handle ${kind}${this.held?.name === name ? " moving" : ""}`,
        tabindex: 0,
        role: "slider",
        "aria-label": label,
        "aria-valuemin": this.left,
        "aria-valuemax": this.right,
        "aria-valuenow": at[0].toFixed(2),
        "aria-valuetext": said,
        "data-handle": name,
        transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`,
        style: {
          ...(colour && { "--own": colour }),
          ...(weight !== undefined && { "--weight": weight.toFixed(4) }),
        },
      },
      h("circle.hit", { r: 22 }),
      h("circle.halo", { r: 15 }),
      h("path.knob", { d: KNOBS[kind] }),
      h("text.name", { "aria-hidden": "true", ...place }, showNotationInSvg(name))
    );
  }

  find(name) {
    return this.handles.find((handle) => handle.name === name);
  }

  /** Begins to drag a point, or to fetch one with a mouse; a finger beside the points scrolls the page. */
  grab(event) {
    const element = event.target.closest("[data-handle]");
    const name = element?.dataset.handle ?? (event.pointerType === "touch" ? "" : this.fetched);
    if (event.button !== 0 || !name) return;
    const taken = element ?? event.currentTarget.querySelector(`[data-handle="${name}"]`);
    const [px, py] = pointerPlace(event);
    const [x, y] = this.toPixels(this.find(name).at);
    this.held = { name, offset: element ? [x - px, y - py] : [0, 0] };
    taken.setPointerCapture(event.pointerId);
    taken.focus({ preventScroll: true });
    event.preventDefault();
    if (element) this.view.draw();
    else this.drag(event);
  }

  /** Moves the point that is held, to a magnet if one is near. */
  drag(event) {
    if (!this.held) return;
    const { name, offset } = this.held;
    const [px, py] = pointerPlace(event);
    const [x, y] = this.toPlane([px + offset[0], py + offset[1]]);
    const { move, magnets = [] } = this.find(name);
    const near = MAGNET_REACH / this.unit;
    move(
      magnets.find((magnet) => Math.hypot(magnet[0] - x, magnet[1] - y) < near) ?? this.keepInside([x, y])
    );
  }

  letGo() {
    if (!this.held) return;
    this.held = null;
    this.view.draw();
    this.view.settled();
  }

  /** Moves a point by an arrow key. */
  step(event) {
    const arrow = ARROWS[event.key];
    const handle = this.find(event.target.dataset.handle);
    if (!arrow || !handle || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const step = KEY_STEP * (event.shiftKey ? 5 : 1);
    const moved = handle.at.map((value, axis) => Math.round((value + step * arrow[axis]) * 1000) / 1000);
    handle.at = this.keepInside(moved); // another key may be pressed before it is drawn
    handle.move(handle.at);
    this.view.settled();
  }

  keepInside([x, y]) {
    const room = 0.02 * (this.right - this.left);
    return [
      Math.min(this.right - room, Math.max(this.left + room, x)),
      Math.min(this.top - room, Math.max(this.bottom + room, y)),
    ];
  }

  // -- shapes ----------------------------------------------------------------------------------------------

  draw(tag, attributes) {
    this.shapes.push(h(tag, attributes));
  }

  line(from, to, attributes) {
    const [x1, y1] = this.toPixels(from);
    const [x2, y2] = this.toPixels(to);
    this.draw("line", { x1, y1, x2, y2, ...attributes });
  }

  /** Draws a line from an output to a value, as strong as the weight. */
  spring(from, to, weight, colour) {
    this.line(from, to, {
      class: "spring",
      "stroke-width": 0.6 + 5.4 * weight,
      "stroke-opacity": 0.12 + 0.88 * weight,
      style: { "--own": colour },
    });
  }

  dot(at, radius, attributes) {
    const [cx, cy] = this.toPixels(at);
    this.draw("circle", { cx, cy, r: radius, ...attributes });
  }

  square(at, radius, colour) {
    const [x, y] = this.toPixels(at);
    const size = { x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius };
    this.draw("rect", { ...size, class: "value-mark", style: { "--own": colour } });
  }

  polygon(corners, attributes) {
    const written = corners.map((corner) => this.toPixels(corner).map((each) => each.toFixed(1)));
    this.draw("polygon", { points: written.join(" "), ...attributes });
  }

  /** Draws a path around a point, in pixels. */
  mark(at, d, attributes) {
    const [x, y] = this.toPixels(at);
    this.draw("path", { d, transform: `translate(${x} ${y})`, ...attributes });
  }

  /** Draws an output: a diamond, unlike keys and values. */
  output(at, name, look = "output") {
    this.mark(at, "M0-10L10 0L0 10L-10 0Z", { class: look });
    this.text(at, [0, -16], name, { class: "output-name" });
  }

  /** Draws a text beside a point, with pixels between them. */
  text(at, [dx, dy], name, attributes = {}) {
    const [x, y] = this.toPixels(at);
    this.labels.push(h("text", { x: x + dx, y: y + dy, ...attributes }, showNotationInSvg(name)));
  }

  /** Draws a query from the origin, which ends a little before its point. */
  arrow(to, colour) {
    const [x1, y1] = this.toPixels([0, 0]);
    const [x2, y2] = this.toPixels(to);
    const share = Math.max(0, 1 - 10 / (Math.hypot(x2 - x1, y2 - y1) || 1));
    const d = `M${x1} ${y1}L${x1 + share * (x2 - x1)} ${y1 + share * (y2 - y1)}`;
    this.draw("path", { d, class: "query-arrow", ...(colour && { style: { "--own": colour } }) });
  }

  axes() {
    this.line([this.left, 0], [this.right, 0], { class: "axis" });
    this.line([0, this.bottom], [0, this.top], { class: "axis" });
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
      Object.assign(this.field, { width: columns, height: rows });
      // The browser enlarges and smooths it. The middle of a cell is the place that is computed.
      this.field.style.width = `${columns * FIELD_CELL}px`;
      this.field.style.height = `${rows * FIELD_CELL}px`;
      this.field.style.left = this.field.style.top = `${-FIELD_CELL / 2}px`;
    }
    const small = this.field.getContext("2d");
    const picture = small.createImageData(columns, rows);
    const logits = new Float64Array(keys.length);
    for (let at = 0; at < columns * rows; at++) {
      const [x, y] = this.toPlane([(at % columns) * FIELD_CELL, Math.floor(at / columns) * FIELD_CELL]);
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
      picture.data.set([red / sum, green / sum, blue / sum, opacity * 255], 4 * at);
    }
    small.putImageData(picture, 0, 0);
  }

  /** Draws the first of a list of points x, y, x, y, ... as dots, which add up where they overlap. */
  drawCloud(context, list, count, colour, opacity, radius = 1.7) {
    context.fillStyle = colour;
    context.globalAlpha = opacity;
    const stepX = this.width / (this.right - this.left);
    const stepY = this.height / (this.top - this.bottom);
    // Dots of one path do not add up, so there are several paths; one for each dot would take too long.
    for (let first = 0; first < CLOUD_PATHS; first++) {
      context.beginPath();
      for (let n = first; n < count; n += CLOUD_PATHS) {
        const x = (list[2 * n] - this.left) * stepX;
        const y = (this.top - list[2 * n + 1]) * stepY;
        context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      }
      context.fill();
    }
    context.globalAlpha = 1;
  }
}
