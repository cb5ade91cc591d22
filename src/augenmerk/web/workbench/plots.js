/** Line charts in SVG that can be read with a pointer, by keys, and as a table. */

import { isolate, make, makeSvg, rootFontSize } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
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
import { lookOf, makeSwatch, shortenName } from "./series.js";

const MAX_END_LABELS = 8;
const MAX_END_LABEL = 18; // letters
const MAX_DOTS = 25;

/**
 * A chart of lines over numbers or over categories.
 *
 * `about` is {title, note, empty, xLabel, digits, categories, log, yLog, exact, fractions, nearest, clip,
 * unlabelled, series}. A series is {name, number, points, thin, dashed, live}, where a point is {x, y, low,
 * high} (low and high are the ends of its whisker, null for none), and thin are lines of single runs, lists of
 * [x, y]. With categories, x is the number of one. `exact` has a tick at every x, `fractions` also between
 * whole numbers. Without `nearest`, only lines that have a value at the x that is pointed at say it. `clip`
 * lets outliers of the first epochs leave the chart at its top, so that they do not press the rest together.
 * `unlabelled` has no names at the ends of lines. Without a point, the chart says what is in `empty`.
 */
export class LineChart {
  constructor(about, t) {
    this.at = -1; // which of the values of x is pointed at
    this.hidden = new Set();
    this.width = 0;
    this.caption = make("figcaption");
    this.readout = make("p", { class: "readout", "aria-live": "polite" });
    this.place = make("div", { class: "plot" });
    this.numbers = make("details", { class: "numbers", ontoggle: () => this.fillTable() });
    const parts = [this.caption, this.place, this.readout, this.numbers];
    this.element = make("figure", { class: "chart" }, ...parts);
    this.observer = new ResizeObserver(() => {
      if (this.place.clientWidth && this.place.clientWidth !== this.width) this.draw();
    });
    this.observer.observe(this.place);
    this.change(about, t);
  }

  /** Shows other numbers, or the same in another language; what is pointed at and an open table stay. */
  change(about, t) {
    this.about = about;
    this.t = t;
    const xs = new Set(about.series.flatMap(({ points }) => points.map(({ x }) => x)));
    this.xs = [...xs].sort((a, b) => a - b);
    const note = about.note ? [make("p", { class: "hint" }, about.note)] : [];
    this.caption.replaceChildren(make("h3", {}, about.title), ...note);
    this.element.classList.toggle("empty", !this.xs.length);
    this.makeTable();
    if (this.width) this.draw();
  }

  /** Hides the series in a set of names; emphasises one, or none if it is null. */
  show(hidden, lit) {
    this.hidden = hidden;
    for (const group of this.place.querySelectorAll("[data-series]")) {
      const { name } = this.about.series[Number(group.dataset.series)];
      group.classList.toggle("gone", hidden.has(name));
      group.classList.toggle("dim", lit !== null && lit !== name);
    }
  }

  nameX(x) {
    const { categories, fractions } = this.about;
    const digits = { maximumFractionDigits: fractions ? 1 : 3 };
    return categories ? categories[x] : x.toLocaleString(this.t.language, digits);
  }

  // -- table -----------------------------------------------------------------------------------------------

  makeTable() {
    const { series, xLabel } = this.about;
    const head = [xLabel, ...series.map(({ name }) => name)].map((name) =>
      make("th", { scope: "col" }, isolate(name))
    );
    this.rows = make("tbody");
    const table = make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...head)), this.rows);
    const place = make("div", { class: "scroll", tabindex: 0 }, table);
    const summary = this.numbers.querySelector("summary") ?? make("summary"); // it may have the focus
    summary.textContent = this.t("asTable");
    if (summary.isConnected) summary.nextElementSibling.replaceWith(place);
    else this.numbers.replaceChildren(summary, place);
    this.fillTable();
  }

  /** Writes the rows, of which there can be many, when somebody looks at them. */
  fillTable() {
    if (!this.numbers.open || this.rows.rows.length) return;
    const { series, digits } = this.about;
    const values = series.map(({ points }) => new Map(points.map(({ x, y }) => [x, y])));
    const write = (value) => (value === undefined ? "–" : showNumber(value, this.t.language, digits));
    const rows = this.xs.map((x) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, this.nameX(x)),
        ...values.map((each) => make("td", {}, write(each.get(x))))
      )
    );
    this.rows.append(...rows);
  }

  // -- drawing ---------------------------------------------------------------------------------------------

  draw() {
    const hadFocus = this.place.contains(document.activeElement);
    const { at } = this;
    this.width = this.place.clientWidth;
    if (!this.xs.length) {
      this.place.replaceChildren(make("p", { class: "hint" }, this.about.empty ?? ""));
      return;
    }
    this.layOut();
    const { width, height } = this.laid;
    const svg = makeSvg(
      "svg",
      {
        width,
        height,
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        tabindex: 0,
        "aria-label": `${this.about.title}. ${this.t("chartKeys")}`,
        onpointermove: (event) => {
          const box = svg.getBoundingClientRect();
          this.point(this.findNearest(((event.clientX - box.left) / box.width) * width));
        },
        onpointerleave: () => this.point(-1),
        onblur: () => this.point(-1),
        onkeydown: (event) => this.pressKey(event),
      },
      ...this.drawAxes(),
      ...this.drawSeries()
    );
    this.place.replaceChildren(svg);
    if (hadFocus) svg.focus();
    this.point(Math.min(at, this.xs.length - 1));
    this.show(this.hidden, null);
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

  drawText(content, attributes) {
    return makeSvg("text", { class: "tick", ...attributes }, content);
  }

  drawAxes() {
    const { unit, height, left, right, top, bottom, yTicks, yText, x, y } = this.laid;
    const line = (kind, [x1, y1], [x2, y2]) => makeSvg("line", { class: kind, x1, x2, y1, y2 });
    const parts = yTicks.flatMap((tick) => [
      line("rule", [left, y(tick)], [right, y(tick)]),
      this.drawText(yText(tick), { x: left - 6 * unit, y: y(tick) + 4 * unit, "text-anchor": "end" }),
    ]);
    for (const tick of this.chooseXTicks()) {
      const place = { x: x(tick), y: bottom + 16 * unit, "text-anchor": "middle" };
      parts.push(this.drawText(this.nameX(tick), place));
      parts.push(line("mark-tick", [x(tick), bottom], [x(tick), bottom + 4 * unit]));
    }
    const middle = { x: (left + right) / 2, y: height - 6 * unit, "text-anchor": "middle" };
    this.cursor = line("cursor", [0, top], [0, bottom]);
    return [
      ...parts,
      line("axis", [left, bottom], [right, bottom]),
      this.drawText(this.about.xLabel, { class: "tick label-x", ...middle }),
      this.cursor,
    ];
  }

  chooseXTicks() {
    const { categories, log, exact, fractions } = this.about;
    const { x, letter } = this.laid;
    const [low, high] = [this.xs[0], this.xs.at(-1)];
    const round = chooseTicks(low, high, 6).filter((tick) => fractions || Number.isInteger(tick));
    const wanted = categories || log || exact || this.xs.length < 3 || !round.length ? this.xs : round;
    const shown = [];
    let free = -Infinity;
    for (const tick of wanted) {
      const half = (this.nameX(tick).length * letter) / 2;
      if (x(tick) - half > free) {
        shown.push(tick);
        free = x(tick) + half + letter;
      }
    }
    return shown;
  }

  drawSeries() {
    const { series } = this.about;
    const { unit, right, top, bottom, low, y, isLabelled } = this.laid;
    const ends = series.map((each) => y(each.points.at(-1)?.y ?? low));
    const labels = isLabelled ? moveApart(ends, 15 * unit, top + 6 * unit, bottom - 2 * unit) : [];
    return series.map((each, index) => {
      const aside = (index - (series.length - 1) / 2) * Math.min(3 * unit, (18 * unit) / series.length);
      const group = makeSvg("g", { "data-series": index, class: "series" }, ...this.drawLines(each, aside));
      if (isLabelled && each.points.length) {
        const place = { class: "tick end-label", x: right + 6 * unit, y: labels[index] + 4 * unit };
        const label = this.drawText(shortenName(each.name, MAX_END_LABEL), place);
        label.style.fill = lookOf(each.number).colour;
        group.append(label);
      }
      return group;
    });
  }

  /** Draws a series: thin lines, whiskers, which stand a little aside, its own line, and its points. */
  drawLines({ number, points, thin = [], dashed, live }, aside) {
    const { unit, x, y } = this.laid;
    const { colour, dash } = lookOf(number);
    const line = (list, attributes) => {
      const steps = thinOut(list).map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`);
      return makeSvg("path", { d: `M${steps.join("L")}`, fill: "none", stroke: colour, ...attributes });
    };
    const every = Math.max(1, Math.ceil(this.xs.length / 10));
    const hasWhisker = ({ low, high }, step) =>
      low !== undefined && low !== null && low !== high && (points.length - 1 - step) % every === 0;
    const whiskers = points.filter(hasWhisker).map((point) => {
      const at = x(point.x) + aside;
      const ends = { x1: at, x2: at, y1: y(point.low), y2: y(point.high) };
      return makeSvg("line", { class: "whisker", ...ends, stroke: colour });
    });
    const dots = dashed ? [] : points.length > MAX_DOTS ? points.slice(-1) : points;
    return [
      ...thin.filter((list) => list.length).map((list) => line(list, { class: "thin" })),
      ...whiskers,
      ...(points.length
        ? [
            line(
              points.map((point) => [point.x, point.y]),
              { class: dashed ? "mean dashed" : "mean", "stroke-dasharray": dashed ? null : dash }
            ),
          ]
        : []),
      ...dots.map((point) => {
        const kind = live && point === points.at(-1) ? "live" : null;
        return makeSvg("circle", {
          class: kind,
          cx: x(point.x),
          cy: y(point.y),
          r: 2.6 * unit,
          fill: colour,
        });
      }),
    ];
  }

  // -- reading ---------------------------------------------------------------------------------------------

  /** Returns which of the values of x is nearest to a place. */
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

  /** Says what the lines are worth at one of the values of x; -1 for none. */
  point(at) {
    this.at = at;
    const { series, digits, xLabel, nearest } = this.about;
    this.cursor.setAttribute("visibility", at < 0 ? "hidden" : "visible");
    if (at < 0) {
      this.readout.replaceChildren("\u00a0");
      return;
    }
    const value = this.xs[at];
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, this.laid.x(value));
    const far = ({ x }) => Math.abs(x - value);
    const find = (points) =>
      nearest
        ? points.reduce((best, each) => (best && far(best) <= far(each) ? best : each), null)
        : points.find(({ x }) => x === value);
    const found = series
      .filter(({ name }) => !this.hidden.has(name))
      .flatMap(({ name, number, points }) => {
        const point = find(points);
        if (!point) return [];
        const worth = ` ${showNumber(point.y, this.t.language, digits)}`;
        const shown = isolate(shortenName(name));
        return [make("span", { class: "worth" }, makeSwatch(number), shown, worth)];
      });
    this.readout.replaceChildren(make("b", {}, `${xLabel} ${this.nameX(value)}`), ...found);
  }
}
