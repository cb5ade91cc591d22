/** Differences with their intervals as a forest plot: a table in which a column is a picture. */

import { isolate, make, makeSvg } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { chooseTicks, countDecimals, findRange, makeAxis } from "./axes.js";

const WIDTH = 1000; // of the picture in its own units; the page stretches it

/** Returns a number with its sign, none if it rounds to zero. */
function showSigned(value, language, digits) {
  const text = showNumber(value, language, digits);
  const isZero = Number(value.toFixed(digits)) === 0;
  if (isZero) return showNumber(0, language, digits);
  return value > 0 ? `+${text}` : text.replace("-", "−");
}

/** Returns p as it is usual to write it. */
function showP(p, language) {
  return p < 0.001
    ? `< ${showNumber(0.001, language, 3)}`
    : p.toLocaleString(language, { maximumSignificantDigits: 2 });
}

/** Returns the table of comparisons by question, the differences drawn on one axis. */
export function makeForest(comparisons, digits, measure, t) {
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
  const strip = (...parts) => {
    const rules = ticks.map((tick) =>
      makeSvg("line", {
        class: tick === 0 ? "zero" : "rule",
        x1: share(tick),
        x2: share(tick),
        y1: 0,
        y2: "100%",
      })
    );
    const zero = ticks.includes(0)
      ? []
      : [makeSvg("line", { class: "zero", x1: share(0), x2: share(0), y1: 0, y2: "100%" })];
    return makeSvg("svg", { class: "strip", "aria-hidden": "true" }, ...rules, ...zero, ...parts);
  };
  const signed = (value) => showSigned(value, t.language, digits);
  const makeRow = (each) => {
    const certain = each.difference !== 0 && !each.doubt;
    const [from, to] = each.interval;
    const doubt = each.doubt ? [make("small", {}, t(`doubt ${each.doubt}`))] : [];
    return make(
      "tr",
      { class: certain ? "certain" : null, title: each.in_words },
      make("th", { scope: "row" }, isolate(each.variant), " − ", isolate(each.against), ...doubt),
      make(
        "td",
        { class: "drawn" },
        strip(
          ...each.seeds.map(({ seed, difference }) =>
            makeSvg(
              "line",
              { class: "pair", x1: share(difference), x2: share(difference), y1: "68%", y2: "88%" },
              makeSvg("title", {}, t("seedDifference", { seed, difference: signed(difference) }))
            )
          ),
          makeSvg("line", { class: "interval", x1: share(from), x2: share(to), y1: "42%", y2: "42%" }),
          makeSvg("circle", { class: "middle", cx: share(each.difference), cy: "42%", r: 5 })
        )
      ),
      make("td", { class: "number", "data-name": t("difference", { measure }) }, signed(each.difference)),
      make(
        "td",
        { class: "number", "data-name": t("interval") },
        t("fromTo", { from: signed(from), to: signed(to) })
      ),
      make("td", { class: "number", "data-name": t("pCorrected") }, showP(each.p_corrected, t.language)),
      make(
        "td",
        { class: "number", "data-name": t("pTheseRuns") },
        each.p_these_runs === null ? "–" : showP(each.p_these_runs, t.language)
      )
    );
  };
  const questions = [...new Set(comparisons.map(({ question }) => question))];
  const rows = questions.flatMap((question) => [
    ...(questions.length > 1
      ? [make("tr", { class: "question" }, make("th", { colspan: 6 }, isolate(question)))]
      : []),
    ...comparisons.filter((each) => each.question === question).map(makeRow),
  ]);
  const decimals = countDecimals(ticks);
  const axis = make(
    "tr",
    { class: "axis-row", "aria-hidden": "true" },
    make("td"),
    make(
      "td",
      { class: "drawn" },
      makeSvg(
        "svg",
        { class: "strip" },
        ...ticks.map((tick) =>
          makeSvg(
            "text",
            { class: "tick", x: share(tick), y: "60%", "text-anchor": "middle" },
            showNumber(tick, t.language, decimals).replace("-", "−")
          )
        )
      )
    ),
    make("td", { colspan: 4 })
  );
  const heading = (text, kind) => make("th", { scope: "col", class: kind }, text);
  return make(
    "table",
    { class: "forest" },
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        heading(t("variants")),
        heading(t("forestHeading"), "drawn"),
        heading(t("difference", { measure }), "number"),
        heading(t("interval"), "number"),
        heading(t("pCorrected"), "number"),
        heading(t("pTheseRuns"), "number")
      )
    ),
    make("tbody", {}, ...rows, axis)
  );
}
