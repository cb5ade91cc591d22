/** Differences with their intervals as a forest plot: a table in which a column is a picture. */

import { isolate, table } from "../page/parts.js";
import { showNumber } from "../page/shown.js";
import { h } from "../page/view.js";
import { chooseTicks, countDecimals, findRange, makeAxis } from "./axes.js";

const WIDTH = 1000; // of the picture in its own units; the page stretches it

/** Returns a number with its sign, none if it rounds to zero. */
function showSigned(value, language, digits) {
  const text = showNumber(value, language, digits);
  const isZero = Number(value.toFixed(digits)) === 0;
  if (isZero) return showNumber(0, language, digits);
  return value > 0 ? `+${text}` : text.replace("-", "−");
}

function showP(p, language) {
  return p < 0.001
    ? `< ${showNumber(0.001, language, 3)}`
    : p.toLocaleString(language, { maximumSignificantDigits: 2 });
}

/** Describes the table of comparisons by question, the differences drawn on one axis. */
export function describeForest(comparisons, digits, measure, t) {
  const ends = comparisons.flatMap(({ interval, seeds }) => [
    ...interval,
    ...seeds.map(({ difference }) => difference),
    0,
  ]);
  const [least, most] = findRange(ends);
  const room = (most - least || 1) * 0.06;
  const [low, high] = [least - room, most + room];
  const ticks = chooseTicks(low, high, 5);
  const x = makeAxis(low, high, 0, WIDTH);
  const share = (value) => `${(x(value) / WIDTH) * 100}%`;
  const line = (kind, from, to, y1, y2, title = null) =>
    h("line", { class: kind, x1: share(from), x2: share(to), y1, y2 }, title);
  const rules = [...new Set([...ticks, 0])].map((tick) =>
    line(tick === 0 ? "zero" : "rule", tick, tick, "0%", "100%")
  );
  const strip = (...parts) => h("svg.strip", { "aria-hidden": "true" }, parts);
  const signed = (value) => showSigned(value, t.language, digits);
  const number = (name, text) => h("td.number", { "data-name": name }, text);
  const describeRow = (each) => {
    const certain = each.difference !== 0 && !each.doubt;
    const [from, to] = each.interval;
    const pairs = each.seeds.map(({ seed, difference }) => {
      const title = h("title", t("seedDifference", { seed, difference: signed(difference) }));
      return line("pair", difference, difference, "68%", "88%", title);
    });
    const interval = line("interval", from, to, "42%", "42%");
    const middle = h("circle.middle", { cx: share(each.difference), cy: "42%", r: 5 });
    const doubt = each.doubt && h("small", t(`doubt ${each.doubt}`));
    return h(
      "tr",
      { class: certain ? "certain" : null },
      h("th", { scope: "row" }, isolate(each.variant), " − ", isolate(each.against), doubt),
      h("td.drawn", strip(rules, pairs, interval, middle)),
      number(t("difference", { measure }), signed(each.difference)),
      number(t("interval"), t("fromTo", { from: signed(from), to: signed(to) })),
      number(t("pCorrected"), showP(each.p_corrected, t.language)),
      number(t("pTheseRuns"), each.p_these_runs === null ? "–" : showP(each.p_these_runs, t.language))
    );
  };
  const questions = [...new Set(comparisons.map(({ question }) => question))];
  const rows = questions.map((question) => [
    questions.length > 1 && h("tr.question", h("th", { colspan: 6, lang: "en" }, isolate(question))),
    comparisons.filter((each) => each.question === question).map(describeRow),
  ]);
  const decimals = countDecimals(ticks);
  const numbers = ticks.map((tick) => {
    const text = showNumber(tick, t.language, decimals).replace("-", "−");
    return h("text.tick", { x: share(tick), y: "60%", "text-anchor": "middle" }, text);
  });
  const axis = h(
    "tr.axis-row",
    { "aria-hidden": "true" },
    h("td"),
    h("td.drawn", strip(numbers)),
    h("td", { colspan: 4 })
  );
  const heading = (text, kind = "number") => h("th", { scope: "col", class: kind }, text);
  const head = [
    heading(t("variants"), null),
    heading(t("forestHeading"), "drawn"),
    heading(t("difference", { measure })),
    heading(t("interval")),
    heading(t("pCorrected")),
    heading(t("pTheseRuns")),
  ];
  return table("forest", null, head, [rows, axis]);
}
