/** Line charts in SVG that can be read with a pointer, by keys, and as a table. */

import { rootFontSize } from "../page/dom.js";
import { headings, hint, isolate, scroll, table, tableRow } from "../page/parts.js";
import { showNumber } from "../page/shown.js";
import { h, render } from "../page/view.js";
import {
  addRoom,
  chooseLogTicks,
  chooseTicks,
  countDecimals,
  findRange,
  isWide,
  makeAxis,
  moveApart,
  thinOut,
} from "./axes.js";
import { lookOf, shortenName, swatch } from "./series.js";

const MAX_END_LABELS = 8;
const MAX_END_LABEL = 18; // letters
const MAX_DOTS = 25;

/** @type {WeakMap<Element, LineChart>} */
const charts = new WeakMap(); // what is pointed at in a chart, its width and whether its table is open

/**
 * Describes a chart of lines over numbers or over categories.
 *
 * `about` is {title, note, empty, xLabel, digits, categories, log, yLog, exact, fractions, nearest, clip, unlabelled,
 * series, hidden, lit}. A series is {name, number, points, thin, dashed, live}, where a point is {x, y, low, high} (low
 * and high are the ends of its whisker, null for none), and thin are lines of single runs, lists of [x, y]. With
 * categories, x is the number of one. `exact` has a tick at every x, `fractions` also between whole numbers. Without
 * `nearest`, only lines that have a value at the x that is pointed at say it. `clip` lets outliers of the first epochs
 * leave the chart at its top, so that they do not press the rest together. `unlabelled` has no names at the ends of
 * lines. Without a point, the chart says what is in `empty`. `hidden` are names of series that are not drawn, and `lit`
 * is one that stands out.
 */
export function chart(about, t) {
  const own = (element) => {
    if (!charts.has(element)) charts.set(element, new LineChart(element));
    charts.get(element).show(about, t);
  };
  const isEmpty = about.series.every(({ points }) => !points.length);
  return h("figure", { key: about.title, class: isEmpty ? "chart empty" : "chart", own });
}

class LineChart {
  constructor(element) {
    this.element = element;
    this.at = -1; // which of the values of x is pointed at
    this.isOpen = false; // whether the table can be seen, which has many rows
    this.width = 0;
    new ResizeObserver(() => {
      const { clientWidth } = element;
      if (!clientWidth || clientWidth === this.width) return;
      this.width = clientWidth;
      this.draw();
    }).observe(element);
  }

  /** Shows other numbers, or the same in another language; what is pointed at and an open table stay. */
  show(about, t) {
    this.about = about;
    this.t = t;
    const xs = new Set(about.series.flatMap(({ points }) => points.map(({ x }) => x)));
    this.xs = [...xs].sort((a, b) => a - b);
    this.at = Math.min(this.at, this.xs.length - 1);
    this.draw();
  }

  draw() {
    const { about, t } = this;
    const toggle = ({ target }) => {
      this.isOpen = target.open;
      this.draw();
    };
    render(
      this.element,
      h("figcaption", h("h3", about.title), about.note && hint(about.note)),
      h("div.plot", this.xs.length ? this.width > 0 && this.describe() : hint(about.empty)),
      h("p.readout", { "aria-live": "polite" }, this.describeReadout()),
      h(
        "details.numbers",
        { ontoggle: toggle },
        h("summary", t("asTable")),
        this.isOpen && scroll(this.describeTable())
      )
    );
  }

  nameX(x) {
    const { categories, fractions } = this.about;
    const digits = { maximumFractionDigits: fractions ? 1 : 3 };
    return categories ? categories[x] : x.toLocaleString(this.t.language, digits);
  }

  describeTable() {
    const { series, digits, xLabel } = this.about;
    const values = series.map(({ points }) => new Map(points.map(({ x, y }) => [x, y])));
    const write = (value) => (value === undefined ? "–" : showNumber(value, this.t.language, digits));
    const rows = this.xs.map((x) => {
      const cells = values.map((each) => write(each.get(x)));
      return tableRow(this.nameX(x), cells);
    });
    return table("figures", null, headings([xLabel, ...series.map(({ name }) => name)].map(isolate)), rows);
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  describe() {
    this.layOut();
    const { width, height } = this.laid;
    const attributes = {
      ...{ width, height, viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: 0 },
      "aria-label": `${this.about.title}. ${this.t("chartKeys")}`,
      onpointermove: ({ currentTarget, clientX }) => {
        const box = currentTarget.getBoundingClientRect();
        this.point(this.findNearest(((clientX - box.left) / box.width) * width));
      },
      onpointerleave: () => this.point(-1),
      onblur: () => this.point(-1),
      onkeydown: (event) => this.pressKey(event),
    };
    return h("svg", attributes, this.describeAxes(), this.describeSeries());
  }

  /** Decides where everything is. */
  layOut() {
    const { series, log, yLog, clip, unlabelled } = this.about;
    const rem = rootFontSize();
    const unit = rem / 16;
    const width = Math.max(220, this.width);
    const height = Math.round(Math.min(20 * rem, Math.max(12.5 * rem, width * 0.52)));
    const thin = series.flatMap((each) => each.thin ?? []).flat();
    const points = series.flatMap((each) => each.points);
    const ys = [...points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]), ...thin.map(([, y]) => y)];
    let [low, high] = findRange(ys);
    if (clip && points.length > 8) {
      const usual = ys.sort((a, b) => a - b)[Math.floor(ys.length * 0.9)];
      if (high - low > 3 * (usual - low)) high = low + 2 * (usual - low);
    }
    const onLog = yLog && isWide(ys);
    if (!onLog) [low, high] = addRoom(low, high, 0.05);
    const yTicks = onLog
      ? chooseLogTicks(low, high)
      : chooseTicks(low, high, Math.max(3, Math.round(height / (52 * unit))));
    const decimals = countDecimals(yTicks);
    const yText = (value) => showNumber(value, this.t.language, onLog ? countDecimals([value]) : decimals);
    const letter = 6.6 * unit;
    const left = 12 * unit + letter * Math.max(...yTicks.map((tick) => yText(tick).length));
    const isLabelled =
      !unlabelled && width > 30 * rem && series.length <= MAX_END_LABELS && series.length > 1;
    const longest = Math.max(0, ...series.map(({ name }) => shortenName(name, MAX_END_LABEL).length));
    const right = width - 14 * unit - (isLabelled ? 1.2 * letter * longest : 0);
    const [top, bottom] = [8 * unit, height - 40 * unit];
    const xAxis = makeAxis(this.xs[0], this.xs.at(-1), left + 8 * unit, right - 8 * unit, log);
    const yAxis = makeAxis(low, high, bottom, top, onLog);
    this.laid = {
      ...{ unit, width, height, left, right, top, bottom, letter, yTicks, yText, isLabelled, low },
      // A single value stands in the middle.
      x: (value) => (this.xs.length > 1 ? xAxis(value) : (left + right) / 2),
      y: (value) => yAxis(Math.min(value, high)),
    };
  }

  describeAxes() {
    const { unit, height, left, right, top, bottom, yTicks, yText, x, y } = this.laid;
    const line = (kind, x1, y1, x2, y2) => h("line", { class: kind, x1, x2, y1, y2 });
    const text = (content, attributes) => h("text.tick", { ...attributes }, content);
    const middle = { x: (left + right) / 2, y: height - 6 * unit, "text-anchor": "middle" };
    const at = this.at < 0 ? null : x(this.xs[this.at]);
    return [
      yTicks.map((tick) => [
        line("rule", left, y(tick), right, y(tick)),
        text(yText(tick), { x: left - 6 * unit, y: y(tick) + 4 * unit, "text-anchor": "end" }),
      ]),
      this.chooseXTicks().map((tick) => [
        text(this.nameX(tick), { x: x(tick), y: bottom + 16 * unit, "text-anchor": "middle" }),
        line("mark-tick", x(tick), bottom, x(tick), bottom + 4 * unit),
      ]),
      line("axis", left, bottom, right, bottom),
      text(this.about.xLabel, { class: "tick label-x", ...middle }),
      at !== null && line("cursor", at, top, at, bottom),
    ];
  }

  chooseXTicks() {
    const { categories, log, exact, fractions } = this.about;
    const { x, letter } = this.laid;
    const [low, high] = [this.xs[0], this.xs.at(-1)];
    const round = chooseTicks(low, high, 6).filter((tick) => fractions || Number.isInteger(tick));
    const wanted = categories || log || exact || this.xs.length < 3 || !round.length ? this.xs : round;
    let free = -Infinity;
    return wanted.filter((tick) => {
      const half = (this.nameX(tick).length * letter) / 2;
      if (x(tick) - half <= free) return false;
      free = x(tick) + half + letter;
      return true;
    });
  }

  describeSeries() {
    const { series, hidden = [], lit = null } = this.about;
    const { unit, right, top, bottom, low, y, isLabelled } = this.laid;
    const ends = series.map((each) => y(each.points.at(-1)?.y ?? low));
    const labels = isLabelled ? moveApart(ends, 15 * unit, top + 6 * unit, bottom - 2 * unit) : [];
    return series.map((each, index) => {
      const { name, number, points } = each;
      const aside = (index - (series.length - 1) / 2) * Math.min(3 * unit, (18 * unit) / series.length);
      const place = { class: "tick end-label", x: right + 6 * unit, y: labels[index] + 4 * unit };
      const style = { fill: lookOf(number).colour };
      const label =
        isLabelled && points.length && h("text", { ...place, style }, shortenName(name, MAX_END_LABEL));
      const look = hidden.includes(name) ? " gone" : lit !== null && lit !== name ? " dim" : "";
      return h("g", { class: `series${look}` }, this.describeLines(each, aside), label);
    });
  }

  /** Describes a series: thin lines, whiskers, which stand a little aside, its own line, and its points. */
  describeLines({ number, points, thin = [], dashed, live }, aside) {
    const { unit, x, y } = this.laid;
    const { colour, dash } = lookOf(number);
    const line = (list, attributes) => {
      const steps = thinOut(list).map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`);
      return h("path", { d: `M${steps.join("L")}`, fill: "none", stroke: colour, ...attributes });
    };
    const every = Math.max(1, Math.ceil(this.xs.length / 10));
    const hasWhisker = ({ low, high }, step) =>
      low !== undefined && low !== null && low !== high && (points.length - 1 - step) % every === 0;
    const whiskers = points.filter(hasWhisker).map((point) => {
      const at = x(point.x) + aside;
      const ends = { x1: at, x2: at, y1: y(point.low), y2: y(point.high) };
      return h("line.whisker", { ...ends, stroke: colour });
    });
    const look = { class: dashed ? "mean dashed" : "mean", "stroke-dasharray": dashed ? null : dash };
    const mean = points.map((point) => [point.x, point.y]);
    const dots = dashed ? [] : points.length > MAX_DOTS ? points.slice(-1) : points;
    return [
      thin.filter((list) => list.length).map((list) => line(list, { class: "thin" })),
      whiskers,
      points.length > 0 && line(mean, look),
      dots.map((point) => {
        const kind = live && point === points.at(-1) ? "live" : null;
        return h("circle", { class: kind, cx: x(point.x), cy: y(point.y), r: 2.6 * unit, fill: colour });
      }),
    ];
  }

  // -- reading ---------------------------------------------------------------------------------------------

  findNearest(place) {
    const far = (at) => Math.abs(this.laid.x(this.xs[at]) - place);
    return this.xs.reduce((best, _, at) => (far(at) < far(best) ? at : best), 0);
  }

  pressKey(event) {
    const last = this.xs.length - 1;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = { Home: 0, End: last, Escape: -1 }[event.key] ?? (step ? this.at + step : undefined);
    if (next === undefined) return;
    event.preventDefault();
    this.point(event.key === "Escape" ? -1 : Math.min(last, Math.max(0, next)));
  }

  /** Shows what the lines are worth at one of the values of x; -1 for none. */
  point(at) {
    if (at === this.at) return;
    this.at = at;
    this.draw();
  }

  describeReadout() {
    if (this.at < 0) return "\u00a0";
    const { series, digits, xLabel, nearest, hidden = [] } = this.about;
    const value = this.xs[this.at];
    const far = ({ x }) => Math.abs(x - value);
    const findIn = (points) =>
      nearest
        ? points.reduce((best, each) => (best && far(best) <= far(each) ? best : each), null)
        : points.find(({ x }) => x === value);
    const worths = series
      .filter(({ name, points }) => !hidden.includes(name) && findIn(points))
      .map(({ name, number, points }) => {
        const worth = ` ${showNumber(findIn(points).y, this.t.language, digits)}`;
        return h("span.worth", swatch(number), isolate(shortenName(name)), worth);
      });
    return [h("b", `${xLabel} ${this.nameX(value)}`), worths];
  }
}
