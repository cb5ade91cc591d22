/** A scatter plot of many points on a canvas: pointed at, brushed, and walked through by keys. */

import { pointerPlace, readColours, rootFontSize } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { create, h, render } from "../page/view.js";
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
    this.canvas = create(h("canvas.points", { "aria-hidden": "true" }));
    this.place = create(h("div.scatter", { id: "plot" }));
    this.frame = 0;
    new ResizeObserver(() => this.redraw()).observe(this.place);
    this.listeners = {
      onpointerdown: (event) => this.press(event),
      onpointermove: (event) => this.move(event),
      onpointerup: (event) => this.release(event),
      onpointercancel: () => (this.drag = null),
      onpointerleave: () => this.drag || this.point(-1),
      onblur: () => this.point(-1),
      onkeydown: (event) => this.pressKey(event),
    };
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
    this.label = label;
    this.redraw();
  }

  /** Draws everything, at most once in a frame. */
  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.layOut();
      this.drawPoints();
      this.draw();
    });
  }

  layOut() {
    const rem = rootFontSize();
    this.unit = rem / 16;
    this.width = Math.max(200, this.place.clientWidth);
    this.height = Math.round(Math.min(34 * rem, Math.max(18 * rem, this.width * 0.66)));
    this.place.style.height = `${this.height}px`;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
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
    const colour = readColours(this.place);
    const u = this.unit;
    context.clearRect(0, 0, this.width, this.height);
    const many = this.points.length > 1500;
    const size = new DOMMatrix().scale(((many ? 2.7 : 3.5) * u) / 4.6);
    const shapes = {};
    for (const [kind, path] of Object.entries(SHAPES)) {
      shapes[kind] = new Path2D();
      shapes[kind].addPath(new Path2D(path), size);
    }
    context.lineWidth = 0.8;
    const card = colour("--card");
    const names = new Set(this.points.map((point) => point.colour));
    const colours = new Map([...names].map((name) => [name, colour(name)]));
    for (const pass of [false, true]) {
      for (const point of this.points) {
        if (!point.shown) continue;
        const inside = !this.box || this.isInside(point);
        if (inside !== pass) continue;
        context.globalAlpha = inside ? (many ? 0.62 : 0.78) : 0.14;
        context.fillStyle = colours.get(point.colour);
        context.strokeStyle = card;
        context.translate(point.px, point.py);
        context.fill(shapes[point.kind]);
        context.stroke(shapes[point.kind]);
        context.translate(-point.px, -point.py);
      }
    }
    context.globalAlpha = 1;
  }

  /** Draws the axes behind the points, and over them the box and what is pointed at and opened. */
  draw() {
    const { width, height, box, unit, x, y } = this;
    const area = box && {
      ...{ x: x(box.x0), width: x(box.x1) - x(box.x0) },
      ...{ y: y(box.y1), height: y(box.y0) - y(box.y1) },
    };
    const ring = (index, kind) => {
      const point = this.points.find((each) => each.index === index && each.shown);
      return point && h("circle", { class: kind, cx: point.px, cy: point.py, r: 7.5 * unit });
    };
    const marks = [area && h("rect.box", area), ring(this.opened, "opened"), ring(this.pointed, "pointed")];
    const size = { width, height, viewBox: `0 0 ${width} ${height}` };
    const read = { tabindex: 0, role: "application", "aria-label": this.label };
    render(
      this.place,
      h("svg", { key: "axes", ...size, "aria-hidden": "true" }, this.describeAxes()),
      this.canvas,
      h("svg.over", { key: "over", ...size, ...read, ...this.listeners }, marks),
      this.describeTip()
    );
  }

  describeAxes() {
    const { unit: u, width, height, x, y, axes } = this;
    const { left, right, top, bottom } = this.bounds;
    const text = (content, attributes) => h("text.tick", { "text-anchor": "middle", ...attributes }, content);
    const ticks = (range, count, whole, describe) => {
      const chosen = chooseTicks(...range, count).filter((tick) => !whole || Number.isInteger(tick));
      const write = (tick) => showNumber(tick, this.language, countDecimals(chosen)).replace("-", "−");
      return chosen.map((tick) => describe(tick, write(tick)));
    };
    const label = { class: "label-x", transform: `translate(${12 * u} ${(top + bottom) / 2}) rotate(-90)` };
    return [
      ticks(this.xRange, width / (90 * u), axes.x.whole, (tick, written) => [
        h("line.rule", { x1: x(tick), x2: x(tick), y1: top, y2: bottom }),
        text(written, { x: x(tick), y: bottom + 16 * u }),
      ]),
      ticks(this.yRange, height / (60 * u), axes.y.whole, (tick, written) => [
        h("line.rule", { x1: left, x2: right, y1: y(tick), y2: y(tick) }),
        text(written, { x: left - 7 * u, y: y(tick) + 4 * u, "text-anchor": "end" }),
      ]),
      text(axes.x.name, { class: "label-x", x: (left + right) / 2, y: height - 6 * u }),
      text(axes.y.name, label),
    ];
  }

  /** Describes what is said of the point that is pointed at, above or below it. */
  describeTip() {
    const point = this.points.find((each) => each.index === this.pointed);
    if (!point) return h("div.tip", { key: "tip", "aria-live": "polite", hidden: true });
    const half = Math.min(150 * this.unit, this.width / 2);
    const left = Math.min(this.width - half, Math.max(half, point.px));
    const isLow = point.py > this.height / 2;
    const away = (isLow ? this.height - point.py : point.py) + 14 * this.unit;
    const style = { left: `${left}px`, [isLow ? "bottom" : "top"]: `${away}px` };
    return h("div.tip", { key: "tip", "aria-live": "polite", style }, this.on.describe(point.index));
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

  point(index) {
    if (index === this.pointed) return;
    this.pointed = index;
    this.draw();
  }

  select(box) {
    this.box = box;
    this.drawPoints();
    this.draw();
    this.on.select();
  }

  focus() {
    /** @type {SVGElement} */ (this.place.querySelector(".over")).focus();
  }

  press(event) {
    if (event.button !== 0) return;
    this.drag = { from: pointerPlace(event), moved: false };
    if (event.pointerType === "mouse") event.currentTarget.setPointerCapture(event.pointerId);
  }

  move(event) {
    const [px, py] = pointerPlace(event);
    if (!this.drag || event.pointerType !== "mouse") {
      this.point(this.nearest(px, py)?.index ?? -1);
      return;
    }
    const [fx, fy] = this.drag.from;
    this.drag.moved ||= Math.hypot(px - fx, py - fy) > DRAG;
    if (!this.drag.moved) return;
    this.box = this.makeBox(fx, fy, px, py);
    this.point(-1);
    this.redraw();
  }

  release(event) {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const found = this.nearest(...pointerPlace(event));
    if (drag.moved) this.select(this.box);
    else if (found) this.on.open(found.index);
    else if (this.box) this.select(null);
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
      this.point(next.index);
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
