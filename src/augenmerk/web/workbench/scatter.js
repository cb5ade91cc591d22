/** A scatter plot of many points on a canvas: pointed at, brushed, and walked through by keys. */

import { rootFontSize } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { create, h } from "../page/view.js";
import { chooseTicks, countDecimals, findRange, makeAxis } from "./axes.js";
import { SHAPES } from "./patterns-kinds.js";

const NEAR = 14; // pixels within which a point is pointed at
const DRAG = 5; // pixels from which on a press is a drag

/** Returns a number between -0.5 and 0.5 that belongs to an index, so that equal points can be told apart. */
function jitter(index, salt) {
  const value = Math.sin((index + 1) * 12.9898 + salt * 78.233) * 43758.5453;
  return value - Math.floor(value) - 0.5;
}

/**
 * The plot, in its own element, `place`. `on.open(index)`, `on.select()` and `on.describe(index)` are called when the
 * user acts. Points are {index, kind, colour, x, y, shown}; `box` is what is selected, {x0, x1, y0, y1} in values.
 */
export class Scatter {
  constructor(on) {
    this.on = on;
    this.points = [];
    this.axes = { x: { name: "", whole: false }, y: { name: "", whole: false } };
    this.clear();
    this.drag = null;
    this.canvas = create(h("canvas", { class: "points", "aria-hidden": "true" }));
    this.over = create(h("canvas", { class: "over", tabindex: 0, role: "application" }));
    this.tip = create(h("div", { class: "tip", "aria-live": "polite", hidden: true }));
    this.place = create(h("div", { id: "plot", class: "scatter" }, this.canvas, this.over, this.tip));
    this.frame = 0;
    new ResizeObserver(() => this.redraw()).observe(this.place);
    this.listen();
  }

  /** Selects and opens nothing. */
  clear() {
    this.box = null;
    this.opened = -1;
    this.pointed = -1;
    this.anchor = -1; // where a box that is selected by keys begins
  }

  /** Shows other points, or the same along other axes. */
  show(points, axes, language, label) {
    this.points = points;
    this.axes = axes;
    this.language = language;
    this.over.setAttribute("aria-label", label);
    this.redraw();
  }

  /** Draws everything, at most once in a frame. */
  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.layOut();
      this.drawPoints();
      this.drawOver();
    });
  }

  layOut() {
    const rem = rootFontSize();
    this.unit = rem / 16;
    this.width = Math.max(200, this.place.clientWidth);
    this.height = Math.round(Math.min(34 * rem, Math.max(18 * rem, this.width * 0.66)));
    this.place.style.height = `${this.height}px`;
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.over]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    const u = this.unit;
    this.bounds = { left: 50 * u, right: this.width - 10 * u, top: 10 * u, bottom: this.height - 42 * u };
    const range = (name) => {
      if (!this.points.length) return [0, 1];
      const { whole, low, high } = this.axes[name];
      const ends = [low, high].filter((end) => end !== undefined);
      const [least, most] = findRange([...ends, ...this.points.map((point) => point[name])]);
      const room = whole ? 0.6 : (most - least || 1) * 0.03;
      return [least - room, most + room];
    };
    const { left, right, top, bottom } = this.bounds;
    this.xRange = range("x");
    this.yRange = range("y");
    this.x = makeAxis(...this.xRange, left, right);
    this.y = makeAxis(...this.yRange, bottom, top);
    const spread = (axis, whole, at) => (whole ? Math.abs(axis(1) - axis(0)) * 0.62 * at : 0);
    for (const point of this.points) {
      point.px = this.x(point.x) + spread(this.x, this.axes.x.whole, jitter(point.index, 1));
      point.py = this.y(point.y) + spread(this.y, this.axes.y.whole, jitter(point.index, 2));
    }
  }

  drawPoints() {
    const context = this.canvas.getContext("2d");
    const style = getComputedStyle(this.place);
    const colour = (name) => style.getPropertyValue(name).trim();
    const { left, right, top, bottom } = this.bounds;
    const u = this.unit;
    context.clearRect(0, 0, this.width, this.height);
    context.font = `${12 * u}px ${style.fontFamily}`;
    context.lineWidth = 1;
    context.strokeStyle = colour("--grid");
    context.fillStyle = colour("--muted");
    const drawTicks = (range, count, whole, drawTick) => {
      const ticks = chooseTicks(...range, count).filter((tick) => !whole || Number.isInteger(tick));
      const decimals = countDecimals(ticks);
      for (const tick of ticks) {
        const text = showNumber(tick, this.language, decimals).replace("-", "−");
        context.beginPath();
        drawTick(tick, text);
        context.stroke();
      }
    };
    context.textAlign = "center";
    drawTicks(this.xRange, this.width / (90 * u), this.axes.x.whole, (tick, text) => {
      const x = Math.round(this.x(tick)) + 0.5;
      context.moveTo(x, top);
      context.lineTo(x, bottom);
      context.fillText(text, x, bottom + 16 * u);
    });
    context.textAlign = "right";
    drawTicks(this.yRange, this.height / (60 * u), this.axes.y.whole, (tick, text) => {
      const y = Math.round(this.y(tick)) + 0.5;
      context.moveTo(left, y);
      context.lineTo(right, y);
      context.fillText(text, left - 7 * u, y + 4 * u);
    });
    context.textAlign = "center";
    context.font = `${13 * u}px ${style.fontFamily}`;
    context.fillText(this.axes.x.name, (left + right) / 2, this.height - 6 * u);
    context.save();
    context.translate(12 * u, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(this.axes.y.name, 0, 0);
    context.restore();
    const many = this.points.length > 1500;
    const size = new DOMMatrix().scale(((many ? 2.7 : 3.5) * u) / 4.6);
    const shapes = {};
    for (const [kind, path] of Object.entries(SHAPES)) {
      shapes[kind] = new Path2D();
      shapes[kind].addPath(new Path2D(path), size);
    }
    context.lineWidth = 0.8;
    const card = colour("--card");
    const colours = new Map();
    const colourOf = (name) => {
      if (!colours.has(name)) colours.set(name, colour(name));
      return colours.get(name);
    };
    for (const pass of [false, true]) {
      for (const point of this.points) {
        if (!point.shown) continue;
        const inside = !this.box || this.isInside(point);
        if (inside !== pass) continue;
        context.globalAlpha = inside ? (many ? 0.62 : 0.78) : 0.14;
        context.fillStyle = colourOf(point.colour);
        context.strokeStyle = card;
        context.translate(point.px, point.py);
        context.fill(shapes[point.kind]);
        context.stroke(shapes[point.kind]);
        context.translate(-point.px, -point.py);
      }
    }
    context.globalAlpha = 1;
  }

  drawOver() {
    const context = this.over.getContext("2d");
    const style = getComputedStyle(this.place);
    const colour = (name) => style.getPropertyValue(name).trim();
    context.clearRect(0, 0, this.width, this.height);
    if (this.box) {
      const [x0, x1] = [this.x(this.box.x0), this.x(this.box.x1)];
      const [y0, y1] = [this.y(this.box.y1), this.y(this.box.y0)];
      context.globalAlpha = 0.09;
      context.fillStyle = colour("--accent");
      context.fillRect(x0, y0, x1 - x0, y1 - y0);
      context.globalAlpha = 1;
      context.strokeStyle = colour("--accent");
      context.lineWidth = 1.2;
      context.strokeRect(x0, y0, x1 - x0, y1 - y0);
    }
    const ring = (index, width) => {
      const point = this.points.find((each) => each.index === index);
      if (!point?.shown) return;
      context.strokeStyle = colour("--ink");
      context.lineWidth = width;
      context.beginPath();
      context.arc(point.px, point.py, 7.5 * this.unit, 0, 2 * Math.PI);
      context.stroke();
    };
    ring(this.opened, 2.4);
    if (this.pointed !== this.opened) ring(this.pointed, 1.3);
  }

  /** Returns the indices of the points in the box; null without a box. */
  listInside() {
    return this.box && new Set(this.points.filter((point) => this.isInside(point)).map(({ index }) => index));
  }

  isInside(point) {
    const [x, y] = [this.valueX(point.px), this.valueY(point.py)];
    return x >= this.box.x0 && x <= this.box.x1 && y >= this.box.y0 && y <= this.box.y1;
  }

  valueX(px) {
    const { left, right } = this.bounds;
    return this.xRange[0] + ((px - left) / (right - left)) * (this.xRange[1] - this.xRange[0]);
  }

  valueY(py) {
    const { top, bottom } = this.bounds;
    return this.yRange[0] + ((bottom - py) / (bottom - top)) * (this.yRange[1] - this.yRange[0]);
  }

  /** Returns the point nearest to a place, or null if none is near. */
  nearest(px, py) {
    let [best, least] = [null, NEAR * this.unit];
    for (const point of this.points) {
      if (!point.shown) continue;
      const distance = Math.hypot(point.px - px, point.py - py);
      if (distance < least) [best, least] = [point, distance];
    }
    return best;
  }

  point(index, text = "") {
    if (index === this.pointed && !text) return;
    this.pointed = index;
    const point = this.points.find((each) => each.index === index);
    this.tip.hidden = !point;
    if (point) {
      this.tip.textContent = this.on.describe(index);
      const half = Math.min(150 * this.unit, this.width / 2);
      this.tip.style.left = `${Math.min(this.width - half, Math.max(half, point.px))}px`;
      const above = point.py > this.height / 2;
      this.tip.style.top = above ? "" : `${point.py + 14 * this.unit}px`;
      this.tip.style.bottom = above ? `${this.height - point.py + 14 * this.unit}px` : "";
    }
    this.drawOver();
  }

  select(box) {
    this.box = box;
    this.drawPoints();
    this.drawOver();
    this.on.select();
  }

  listen() {
    const over = this.over;
    const where = (event) => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.drag = { from: where(event), moved: false };
      if (event.pointerType === "mouse") over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => {
      const [px, py] = where(event);
      if (this.drag && event.pointerType === "mouse") {
        const [fx, fy] = this.drag.from;
        if (this.drag.moved || Math.hypot(px - fx, py - fy) > DRAG) {
          this.drag.moved = true;
          this.box = this.makeBox(fx, fy, px, py);
          this.point(-1);
          this.redraw();
        }
        return;
      }
      this.point(this.nearest(px, py)?.index ?? -1);
    });
    over.addEventListener("pointerup", (event) => {
      const drag = this.drag;
      this.drag = null;
      if (!drag) return;
      if (drag.moved) {
        this.select(this.box);
        return;
      }
      const found = this.nearest(...where(event));
      if (found) this.on.open(found.index);
      else if (this.box) this.select(null);
    });
    over.addEventListener("pointercancel", () => (this.drag = null));
    over.addEventListener("pointerleave", () => this.drag || this.point(-1));
    over.addEventListener("blur", () => this.point(-1));
    over.addEventListener("keydown", (event) => this.pressKey(event));
  }

  makeBox(ax, ay, bx, by) {
    const [x0, x1] = [ax, bx].sort((a, b) => a - b).map((px) => this.valueX(px));
    const [y1, y0] = [ay, by].sort((a, b) => a - b).map((py) => this.valueY(py));
    return { x0, x1, y0, y1 };
  }

  pressKey(event) {
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const direction = directions[event.key];
    if (direction) {
      event.preventDefault();
      const from =
        this.points.find((point) => point.index === this.pointed && point.shown) ?? this.startPoint();
      if (!from) return;
      if (event.shiftKey && this.anchor < 0) this.anchor = from.index;
      if (!event.shiftKey) this.anchor = -1;
      const next = this.pointed < 0 ? from : this.nextPoint(from, direction);
      this.point(next.index, "by key");
      const anchor = this.points.find((point) => point.index === this.anchor);
      if (event.shiftKey && anchor) {
        const r = 6 * this.unit;
        const [x0, x1] = [Math.min(anchor.px, next.px) - r, Math.max(anchor.px, next.px) + r];
        const [y0, y1] = [Math.min(anchor.py, next.py) - r, Math.max(anchor.py, next.py) + r];
        this.select(this.makeBox(x0, y0, x1, y1));
      }
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.pointed >= 0) this.on.open(this.pointed);
    } else if (event.key === "Escape") {
      this.anchor = -1;
      this.select(null);
    }
  }

  /** Returns where the keys begin: at the opened point, or at the one that is farthest to the left. */
  startPoint() {
    const shown = this.points.filter((point) => point.shown);
    return (
      shown.find((point) => point.index === this.opened) ??
      shown.reduce((best, point) => (best && best.px <= point.px ? best : point), null)
    );
  }

  /** Returns the next point in a direction: near, and rather ahead than aside. */
  nextPoint(from, [dx, dy]) {
    let [best, least] = [from, Infinity];
    for (const point of this.points) {
      if (!point.shown || point === from) continue;
      const ahead = (point.px - from.px) * dx + (point.py - from.py) * dy;
      const aside = Math.abs((point.px - from.px) * dy) + Math.abs((point.py - from.py) * dx);
      if (ahead <= 0.5) continue;
      const cost = ahead + 2.2 * aside;
      if (cost < least) [best, least] = [point, cost];
    }
    return best;
  }
}
