/** Line charts in SVG that can be read with a pointer, by keys, and as a table. */

import { isolate, make, makeSvg } from "../page/dom.js";
import { showNumber } from "../page/shown.js";

const COLOURS = 7; // of the variables --c0, --c1, … in workbench.css
const DASHES = ["", "7 4", "2 3", "9 3 2 3"]; // for series beyond the number of colours
const MAX_END_LABELS = 8;
const MAX_NAME = 26;

/** Returns the look of a series: its colour and, beyond the number of colours, its dashes. */
export function lookOf(number) {
  return {
    colour: `var(--c${number % COLOURS})`,
    dash: DASHES[Math.floor(number / COLOURS) % DASHES.length],
  };
}

/** Returns a short line that looks as a series does. */
export function makeSwatch(number) {
  const { colour, dash } = lookOf(number);
  return makeSvg(
    "svg",
    { class: "swatch", width: 22, height: 10, "aria-hidden": "true" },
    makeSvg("line", {
      x1: 1,
      x2: 21,
      y1: 5,
      y2: 5,
      stroke: colour,
      "stroke-width": 2.5,
      "stroke-dasharray": dash,
    })
  );
}

/** Returns a name that is not too long for a label. */
export function shortenName(name, most = MAX_NAME) {
  const letters = [...name];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
}

/** Returns round numbers from `low` to `high`, about `count` of them. */
export function chooseTicks(low, high, count) {
  const raw = (high - low || Math.abs(high) || 1) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 2.5, 5, 10].find((each) => each * power >= raw * 0.999) ?? 10);
  const ticks = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place++) {
    ticks.push(Number((place * step).toPrecision(12)));
  }
  return ticks;
}

/** Returns how many decimals ticks need to be told apart. */
export function countDecimals(ticks) {
  const decimals = (tick) => (String(tick).split(".")[1] ?? "").length;
  return Math.min(6, Math.max(0, ...ticks.map(decimals)));
}

/** Returns a function from values to places; `log` makes equal factors equally long. */
export function makeAxis(low, high, from, to, log = false) {
  const turn = log ? Math.log : (value) => value;
  const [a, b] = [turn(low), turn(high)];
  const width = b - a || 1;
  return (value) => from + ((turn(value) - a) / width) * (to - from);
}

/** Returns whether an axis of these values is better logarithmic: the largest is many times the smallest. */
export function isWide(values) {
  const low = Math.min(...values);
  return low > 0 && Math.max(...values) >= 10 * low;
}

/** Moves places apart that are closer than `gap`, and keeps their order; returns the new places. */
function moveApart(places, gap, top, bottom) {
  const order = places.map((_, index) => index).sort((a, b) => places[a] - places[b]);
  const moved = [...places];
  for (let round = 0; round < 40; round++) {
    for (let next = 1; next < order.length; next++) {
      const [above, below] = [order[next - 1], order[next]];
      const missing = gap - (moved[below] - moved[above]);
      if (missing > 0.01) {
        moved[above] -= missing / 2;
        moved[below] += missing / 2;
      }
    }
    for (const index of order) moved[index] = Math.min(bottom, Math.max(top, moved[index]));
  }
  return moved;
}

/**
 * A chart of lines over numbers or over categories.
 *
 * `about` is {title, note, xLabel, digits, categories, log, yLog, series}; a series is {name, number, points,
 * thin}, where a point is {x, y, low, high} (low and high are the ends of its whisker, null for none), and
 * thin are lines of single runs, lists of [x, y]. With categories, x is the number of one.
 */
export class LineChart {
  constructor(about, t) {
    this.about = about;
    this.t = t;
    this.at = -1; // which of the values of x is pointed at
    this.hidden = new Set();
    this.xs = [...new Set(about.series.flatMap(({ points }) => points.map(({ x }) => x)))].sort(
      (a, b) => a - b
    );
    this.readout = make("p", { class: "readout", "aria-live": "polite" });
    this.place = make("div", { class: "plot" });
    this.element = make(
      "figure",
      { class: "chart" },
      make(
        "figcaption",
        {},
        make("h3", {}, about.title),
        about.note ? make("p", { class: "hint" }, about.note) : ""
      ),
      this.place,
      this.readout,
      this.makeTable()
    );
    this.width = 0;
    this.observer = new ResizeObserver(() => {
      if (this.place.clientWidth && this.place.clientWidth !== this.width) this.draw();
    });
    this.observer.observe(this.place);
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
    const { categories } = this.about;
    return categories ? categories[x] : x.toLocaleString(this.t.language);
  }

  makeTable() {
    const { series, digits, xLabel } = this.about;
    const number = (value) => (value === undefined ? "–" : showNumber(value, this.t.language, digits));
    const valueAt = (each, x) => each.points.find((point) => point.x === x)?.y;
    const head = [xLabel, ...series.map(({ name }) => name)].map((name) =>
      make("th", { scope: "col" }, isolate(name))
    );
    const fillRows = () =>
      this.xs.map((x) =>
        make(
          "tr",
          {},
          make("th", { scope: "row" }, this.nameX(x)),
          ...series.map((each) => make("td", {}, number(valueAt(each, x))))
        )
      );
    const body = make("tbody");
    const details = make(
      "details",
      {
        class: "numbers",
        ontoggle: () => {
          if (details.open && !body.rows.length) body.append(...fillRows());
        },
      },
      make("summary", {}, this.t("asTable")),
      make(
        "div",
        { class: "scroll" },
        make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...head)), body)
      )
    );
    return details;
  }

  draw() {
    this.width = this.place.clientWidth;
    const { series, categories, log, yLog, xLabel, title } = this.about;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const unit = rem / 16;
    const width = Math.max(220, this.width);
    const height = Math.round(Math.min(20 * rem, Math.max(12.5 * rem, width * 0.52)));
    const points = series.flatMap((each) => each.points);
    const thin = series.flatMap((each) => each.thin ?? []).flat();
    const ys = [...points.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]), ...thin.map(([, y]) => y)];
    let [low, high] = [Math.min(...ys), Math.max(...ys)];
    const onLog = yLog && isWide(ys);
    const room = (high - low || Math.abs(high) * 0.1 || 1) * 0.05;
    if (!onLog) [low, high] = [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
    const yTicks = onLog
      ? chooseLogTicks(low, high)
      : chooseTicks(low, high, Math.max(3, Math.round(height / (52 * unit))));
    const decimals = countDecimals(yTicks);
    const yText = (value) => showNumber(value, this.t.language, onLog ? countDecimals([value]) : decimals);
    const letter = 6.6 * unit;
    const left = 12 * unit + letter * Math.max(...yTicks.map((tick) => yText(tick).length));
    const labelled = width > 30 * rem && series.length <= MAX_END_LABELS && series.length > 1;
    const longest = Math.max(0, ...series.map(({ name }) => shortenName(name, 18).length));
    const right = labelled ? 14 * unit + 1.2 * letter * longest : 14 * unit;
    const [top, bottom] = [8 * unit, 40 * unit];
    const xs = this.xs;
    const place = makeAxis(xs[0], xs.at(-1), left + 8 * unit, width - right - 8 * unit, log);
    // A single value stands in the middle.
    const x = (value) => (xs.length > 1 ? place(value) : (left + width - right) / 2);
    const y = makeAxis(low, high, height - bottom, top, onLog);
    const parts = [];
    const text = (content, attributes) => makeSvg("text", { class: "tick", ...attributes }, content);
    for (const tick of yTicks) {
      parts.push(makeSvg("line", { class: "rule", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }));
      parts.push(text(yText(tick), { x: left - 6 * unit, y: y(tick) + 4 * unit, "text-anchor": "end" }));
    }
    for (const tick of this.chooseXTicks(x, letter)) {
      parts.push(
        text(this.nameX(tick), { x: x(tick), y: height - bottom + 16 * unit, "text-anchor": "middle" })
      );
      parts.push(
        makeSvg("line", {
          class: "mark-tick",
          x1: x(tick),
          x2: x(tick),
          y1: height - bottom,
          y2: height - bottom + 4 * unit,
        })
      );
    }
    parts.push(
      makeSvg("line", {
        class: "axis",
        x1: left,
        x2: width - right,
        y1: height - bottom,
        y2: height - bottom,
      })
    );
    parts.push(
      text(xLabel, {
        class: "tick label-x",
        x: (left + width - right) / 2,
        y: height - 6 * unit,
        "text-anchor": "middle",
      })
    );
    const cursor = makeSvg("line", {
      class: "cursor",
      x1: 0,
      x2: 0,
      y1: top,
      y2: height - bottom,
      visibility: "hidden",
    });
    parts.push(cursor);
    const endLabel = (each, height) => {
      const place = { class: "tick end-label", x: width - right + 6 * unit, y: height + 4 * unit };
      const label = text(shortenName(each.name, 18), place);
      label.style.fill = lookOf(each.number).colour;
      return label;
    };
    const ends = series.map((each) => y(each.points.at(-1)?.y ?? low));
    const labels = moveApart(ends, 15 * unit, top + 6 * unit, height - bottom - 2 * unit);
    const every = Math.max(1, Math.ceil(xs.length / 10));
    series.forEach((each, index) => {
      const { colour, dash } = lookOf(each.number);
      const line = (list, attributes) =>
        makeSvg("path", {
          d: list.map(([a, b], step) => `${step ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join(""),
          fill: "none",
          stroke: colour,
          ...attributes,
        });
      const aside = (index - (series.length - 1) / 2) * Math.min(3 * unit, (18 * unit) / series.length);
      const whiskers = each.points
        .filter(
          ({ low: a, high: b }, step) =>
            a !== undefined && a !== null && a !== b && (each.points.length - 1 - step) % every === 0
        )
        .map((point) =>
          makeSvg("line", {
            class: "whisker",
            x1: x(point.x) + aside,
            x2: x(point.x) + aside,
            y1: y(point.low),
            y2: y(point.high),
            stroke: colour,
          })
        );
      const dots = each.points.length > 25 ? each.points.slice(-1) : each.points;
      parts.push(
        makeSvg(
          "g",
          { "data-series": index, class: "series" },
          ...(each.thin ?? []).filter((list) => list.length).map((list) => line(list, { class: "thin" })),
          ...whiskers,
          line(
            each.points.map((point) => [point.x, point.y]),
            { class: "mean", "stroke-dasharray": dash }
          ),
          ...dots.map((point) =>
            makeSvg("circle", { cx: x(point.x), cy: y(point.y), r: 2.6 * unit, fill: colour })
          ),
          ...(labelled && each.points.length ? [endLabel(each, labels[index])] : [])
        )
      );
    });
    const svg = makeSvg(
      "svg",
      {
        width,
        height,
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        tabindex: 0,
        "aria-label": `${title}. ${this.t("chartKeys")}`,
        onpointermove: (event) => {
          const box = svg.getBoundingClientRect();
          const here = ((event.clientX - box.left) / box.width) * width;
          const distances = xs.map((value) => Math.abs(x(value) - here));
          this.point(distances.indexOf(Math.min(...distances)), cursor, x);
        },
        onpointerleave: () => this.point(-1, cursor, x),
        onblur: () => this.point(-1, cursor, x),
        onkeydown: (event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          const next =
            { Home: 0, End: xs.length - 1, Escape: -1 }[event.key] ?? (step ? this.at + step : undefined);
          if (next === undefined) return;
          event.preventDefault();
          this.point(event.key === "Escape" ? -1 : Math.min(xs.length - 1, Math.max(0, next)), cursor, x);
        },
      },
      ...parts
    );
    this.place.replaceChildren(svg);
    this.point(-1, cursor, x);
    this.show(this.hidden, null);
  }

  chooseXTicks(x, letter) {
    const { categories, log, exact } = this.about;
    const xs = this.xs;
    const wanted =
      categories || log || exact || xs.length < 3
        ? xs
        : chooseTicks(xs[0], xs.at(-1), 6).filter((tick) => Number.isInteger(tick) && tick >= xs[0]);
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

  /** Says what the lines are worth at one of the values of x; -1 for none. */
  point(at, cursor, x) {
    this.at = at;
    const { series, digits, xLabel } = this.about;
    cursor.setAttribute("visibility", at < 0 ? "hidden" : "visible");
    if (at < 0) {
      this.readout.replaceChildren("\u00a0");
      return;
    }
    const value = this.xs[at];
    cursor.setAttribute("x1", x(value));
    cursor.setAttribute("x2", x(value));
    const shown = series.filter(({ name }) => !this.hidden.has(name));
    const found = shown.flatMap((each) => {
      const point = each.points.find((one) => one.x === value);
      if (!point) return [];
      const worth = showNumber(point.y, this.t.language, digits);
      return [
        make(
          "span",
          { class: "worth" },
          makeSwatch(each.number),
          isolate(shortenName(each.name)),
          ` ${worth}`
        ),
      ];
    });
    this.readout.replaceChildren(make("b", {}, `${xLabel} ${this.nameX(value)}`), ...found);
  }
}

/** Returns powers of ten and their doubles and fives between two numbers. */
function chooseLogTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of [1, 2, 5]) {
      const tick = Number((digit * 10 ** power).toPrecision(6));
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks.length > 1 ? ticks : chooseTicks(low, high, 4);
}
