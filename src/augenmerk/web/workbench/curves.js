/** Curves of training as SVG: a panel with a line for each run, which are told apart by colour and by dashes. */

import { make, makeSvg } from "../page/dom.js";
import { showNumber } from "../page/shown.js";

const HEIGHT = 230;
const LEFT = 44;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 34;
export const COLOURS = 7;
const MAX_POINTS = 400; // of a line: more than there are pixels cannot be seen

/** Returns round numbers between two values, about `count` of them. */
export function chooseTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, place) => (first + place) * step);
}

/** Returns at most so many points of a line, its first and its last among them. */
export function thinOut(points, most = MAX_POINTS) {
  if (points.length <= most) return points;
  const stride = (points.length - 1) / (most - 1);
  return Array.from({ length: most }, (_, place) => points[Math.round(place * stride)]);
}

/** Returns the points of a metric, [x, y], where a run has both. */
export function getPoints(epochs, by, key) {
  return epochs
    .filter((epoch) => Number.isFinite(epoch[by]) && Number.isFinite(epoch[key]))
    .map((epoch) => [epoch[by], epoch[key]]);
}

function formatTick(value, step, language) {
  const decimals = Math.max(0, Math.min(4, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toLocaleString(language, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/**
 * Returns a panel; on its axis are whole numbers only, if `isWhole`. `lines` are [{name, colour (a number), dashed, points, live}]; `lowIsGood` says where a
 * curve should go, so that outliers of the first epochs do not press everything else together.
 */
export function drawPanel({ heading, xName, isWhole, lines, lowIsGood, width, t }) {
  const shown = lines.filter((line) => line.points.length);
  const xs = shown.flatMap((line) => line.points.map(([x]) => x));
  const ys = shown.flatMap((line) => line.points.map(([, y]) => y));
  const title = `${heading}: ${shown.map((line) => line.name).join(", ")}`;
  const svg = makeSvg("svg", {
    class: "curve",
    width,
    height: HEIGHT,
    viewBox: `0 0 ${width} ${HEIGHT}`,
    role: "img",
    "aria-label": title,
  });
  const head = make("h3", {}, heading);
  if (!xs.length) return make("figure", {}, head, make("p", { class: "hint" }, t(lines.some((line) => line.live) ? "firstEpoch" : "noCurve")));
  const xLow = Math.min(...xs);
  const xHigh = Math.max(...xs, xLow + 1e-9);
  let yLow = Math.min(...ys);
  let yHigh = Math.max(...ys);
  if (lowIsGood && ys.length > 8) {
    const sorted = [...ys].sort((a, b) => a - b);
    const usual = sorted[Math.floor(sorted.length * 0.9)];
    if (yHigh - yLow > 3 * (usual - yLow)) yHigh = yLow + 2 * (usual - yLow);
  }
  const air = (yHigh - yLow || Math.abs(yHigh) || 1) * 0.06;
  yLow = Math.min(yLow >= 0 ? Math.max(0, yLow - air) : yLow - air, yLow);
  yHigh += air;
  const inside = { width: width - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM };
  const place = ([x, y]) => [
    LEFT + (xHigh === xLow ? 0.5 : (x - xLow) / (xHigh - xLow)) * inside.width,
    TOP + (1 - (Math.min(y, yHigh) - yLow) / (yHigh - yLow)) * inside.height,
  ];
  const yTicks = chooseTicks(yLow, yHigh, 4);
  for (const value of yTicks) {
    const [, y] = place([xLow, value]);
    svg.append(
      makeSvg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }),
      makeSvg(
        "text",
        { x: LEFT - 7, y, "text-anchor": "end", "dominant-baseline": "central" },
        formatTick(value, yTicks[1] - yTicks[0] || 1, t.language)
      )
    );
  }
  const xTicks = chooseTicks(xLow, xHigh, Math.max(2, Math.min(8, inside.width / 70)));
  const shownTicks = isWhole ? xTicks.filter((value) => Math.abs(value - Math.round(value)) < 1e-6) : xTicks;
  for (const value of shownTicks.length ? shownTicks : [xLow]) {
    const [x] = place([value, yLow]);
    svg.append(
      makeSvg(
        "text",
        { x, y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" },
        value.toLocaleString(t.language, { maximumFractionDigits: 1 })
      )
    );
  }
  svg.append(
    makeSvg("text", { x: width - RIGHT, y: HEIGHT - 4, "text-anchor": "end", class: "axis" }, xName)
  );
  for (const line of shown) {
    const points = thinOut(line.points).map(place);
    const classes = `series c${line.colour % COLOURS}${line.dashed ? " dashed" : ""}`;
    const d = points.map(([x, y], number) => `${number ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    svg.append(makeSvg("path", { class: classes, d }));
    const [x, y] = points[points.length - 1];
    const [, last] = line.points[line.points.length - 1];
    const dot = makeSvg("circle", { class: `${classes}${line.live ? " live" : ""}`, cx: x, cy: y, r: 3.5 });
    dot.append(makeSvg("title", {}, `${line.name}: ${showNumber(last, t.language, 3)}`));
    if (!line.dashed) svg.append(dot);
  }
  addReading(svg, shown, { place, xLow, xHigh, inside, width, t });
  return make("figure", {}, head, svg, make("div", { class: "unseen" }, makeTable(heading, xName, shown, t)));
}

/** Returns the last value of each line as a table, for a picture tells a screen reader nothing. */
function makeTable(heading, xName, lines, t) {
  const rows = lines.map(({ name, points }) => {
    const [x, y] = points[points.length - 1];
    const cells = [showNumber(x, t.language, 0), showNumber(y, t.language, 3)].map((text) => make("td", {}, text));
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  });
  const head = [t("name"), xName, heading].map((text) => make("th", { scope: "col" }, text));
  return make(
    "table",
    {},
    make("caption", {}, t("lastValues")),
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows)
  );
}

/** Shows the values of all lines at the place that is pointed at. */
function addReading(svg, lines, { place, xLow, xHigh, inside, width, t }) {
  const mark = makeSvg("line", { class: "pointer", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const box = makeSvg("g", { class: "reading", visibility: "hidden" });
  svg.append(mark, box);
  svg.addEventListener("pointermove", (event) => {
    const bounds = svg.getBoundingClientRect();
    const at = ((event.clientX - bounds.left) * width) / bounds.width;
    const wanted = xLow + ((at - LEFT) / inside.width) * (xHigh - xLow);
    const near = lines.map((line) => ({
      line,
      point: line.points.reduce((best, each) =>
        Math.abs(each[0] - wanted) < Math.abs(best[0] - wanted) ? each : best
      ),
    }));
    const x = place(near[0].point)[0];
    mark.setAttribute("x1", x);
    mark.setAttribute("x2", x);
    const rows = near.map(({ line, point }, number) =>
      makeSvg(
        "text",
        { y: 16 + number * 15, x: 8, class: `c${line.colour % COLOURS}` },
        `${showNumber(point[1], t.language, 3)}  ${line.name}`
      )
    );
    const wide = Math.min(inside.width, Math.max(...rows.map((row) => row.textContent.length)) * 6.4 + 18);
    const left = x + 12 + wide > width - RIGHT ? x - 12 - wide : x + 12;
    box.setAttribute("transform", `translate(${Math.max(LEFT, left)} ${TOP})`);
    const back = makeSvg("rect", { width: wide, height: rows.length * 15 + 10, rx: 5 });
    box.replaceChildren(back, ...rows);
    for (const node of [mark, box]) node.setAttribute("visibility", "visible");
  });
  svg.addEventListener("pointerleave", () => {
    for (const node of [mark, box]) node.setAttribute("visibility", "hidden");
  });
}
