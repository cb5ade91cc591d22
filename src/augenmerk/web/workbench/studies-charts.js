/** The charts of a study: learning curves, and BLEU by length, by a factor in numbers and by width of the beam. */

import { isolate, make } from "../page/dom.js";
import { isWide } from "./axes.js";
import { LineChart } from "./plots.js";
import { makeSwatch } from "./series.js";
import { makeCard, nameMeasure } from "./studies-parts.js";

const CURVES = ["validation_loss", "validation_bleu", "train_loss"];

/** Returns buttons that hide and emphasise variants; `show(lit)` is called for each change of `hidden`. */
export function makeLegend(study, hidden, show, t) {
  if (study.variants.length < 2) return "";
  return make(
    "div",
    { class: "legend", role: "group", "aria-label": t("legend") },
    ...study.variants.map((variant, number) => {
      const emphasise = (lit) => () => show(lit);
      const button = make(
        "button",
        {
          type: "button",
          "aria-pressed": String(!hidden.has(variant.name)),
          onclick: () => {
            if (!hidden.delete(variant.name)) hidden.add(variant.name);
            button.setAttribute("aria-pressed", String(!hidden.has(variant.name)));
            show(null);
          },
          onpointerenter: emphasise(variant.name),
          onpointerleave: emphasise(null),
          onfocus: emphasise(variant.name),
          onblur: emphasise(null),
        },
        makeSwatch(number),
        isolate(variant.name)
      );
      return button;
    })
  );
}

/** Returns a card with charts, and the charts. */
function makeCharts(id, title, list) {
  const card = makeCard(id, title, make("div", { class: "charts" }, ...list.map((chart) => chart.element)));
  return { element: card, charts: list };
}

/** Returns the charts of what was measured in each epoch; `curves` has it of single runs. */
export function makeCurves(study, curves, t) {
  return CURVES.map((measure) => {
    const series = study.variants.map((variant, number) => {
      const thin = Object.values(curves[variant.name] ?? {}).map((run) => run[measure] ?? []);
      const mean = variant.curves.find((curve) => curve.measure === measure)?.points ?? [];
      const points = mean.map((point) => ({ x: point.epoch, y: point.mean }));
      return { name: variant.name, number, thin, points: points.length ? points : averageRuns(thin) };
    });
    const drawn = series.filter((each) => each.points.length);
    return drawn.length
      ? new LineChart(
          {
            title: nameMeasure(measure, study, t),
            xLabel: t("epoch"),
            digits: measure === "validation_bleu" ? 1 : 3,
            series: drawn,
          },
          t
        )
      : null;
  }).filter(Boolean);
}

/** Returns the mean of runs that are still being trained, over those that have come so far. */
function averageRuns(runs) {
  const byEpoch = new Map();
  for (const [epoch, value] of runs.flat()) byEpoch.set(epoch, [...(byEpoch.get(epoch) ?? []), value]);
  return [...byEpoch.entries()]
    .sort(([a], [b]) => a - b)
    .map(([x, values]) => ({ x, y: values.reduce((sum, value) => sum + value, 0) / values.length }));
}

/** Returns BLEU by the length of sentences; null if the study has none. */
export function makeLengths(study, t) {
  const bins = study.variants.find((variant) => variant.by_length.length)?.by_length;
  if (!bins) return null;
  const series = study.variants
    .map((variant, number) => ({
      name: variant.name,
      number,
      points: variant.by_length.map((bin, x) => ({ x, y: bin.bleu, low: bin.low, high: bin.high })),
    }))
    .filter(({ points }) => points.length);
  const categories = bins.map((bin) =>
    bin.shortest === bin.longest ? `${bin.shortest}` : `${bin.shortest}–${bin.longest}`
  );
  const about = {
    title: t("lengthsTitle", { split: study.splits[0] }),
    note: t("rangeNote"),
    xLabel: t("words"),
    digits: 1,
    categories,
    series,
  };
  return makeCharts("lengths", t("lengths"), [new LineChart(about, t)]);
}

/** Returns BLEU and, if it can be compared, the loss per word by each factor that is a number; null without one. */
export function makeFactors(study, t) {
  const [split, beam] = [study.splits[0], study.beams[0]];
  const measures = ["bleu", "word_loss"].filter((measure) => !study.incomparable.includes(measure));
  const list = study.number_factors.flatMap((factor) =>
    measures.map((measure) => {
      const lines = new Map();
      for (const variant of study.variants) {
        const summary = variant.summaries.find(
          (each) =>
            each.measure === measure &&
            each.split === split &&
            (measure === "word_loss" || each.beam === beam)
        );
        if (!summary) continue;
        const others = Object.entries(variant.settings).filter(([key]) => key !== factor);
        const name = others.map(([, value]) => String(value)).join(", ") || nameMeasure(measure, study, t);
        const deviation = Math.sqrt(summary.variance ?? 0);
        const point = {
          x: variant.settings[factor],
          y: summary.mean,
          low: summary.mean - deviation,
          high: summary.mean + deviation,
        };
        lines.set(name, [...(lines.get(name) ?? []), point]);
      }
      const series = [...lines].map(([name, points], number) => ({
        name,
        number,
        points: points.sort((a, b) => a.x - b.x),
      }));
      if (!series.length) return null;
      const values = series.flatMap(({ points }) => points.map(({ x }) => x));
      const name = factor.split(".").at(-1);
      const title = t("factorTitle", { measure: nameMeasure(measure, study, t), factor: name, split });
      const about = {
        title,
        note: t("deviationNote"),
        xLabel: name,
        digits: measure === "word_loss" ? 3 : 2,
        series,
        exact: true,
      };
      return new LineChart({ ...about, log: isWide(values), yLog: measure === "word_loss" }, t);
    })
  );
  const found = list.filter(Boolean);
  return found.length ? makeCharts("factors", t("factor"), found) : null;
}

/** Returns BLEU by the width of the beam; null if there is one width. */
export function makeBeams(study, t) {
  if (!study.beam_rows.length) return null;
  const found = study.splits.map((split) => {
    const series = study.variants
      .map((variant, number) => ({
        name: variant.name,
        number,
        points: study.beam_rows
          .filter((row) => row.variant === variant.name && row.split === split)
          .map((row) => ({ x: row.beam, y: row.bleu, low: row.bleu_low, high: row.bleu_high })),
      }))
      .filter(({ points }) => points.length);
    const about = {
      title: t("beamTitle", { split }),
      note: t("rangeNote"),
      xLabel: t("beam"),
      digits: 2,
      series,
      log: true,
      exact: true,
    };
    return series.length ? new LineChart(about, t) : null;
  });
  const drawn = found.filter(Boolean);
  if (!drawn.length) return null;
  const card = makeCharts("beams", t("beams"), drawn);
  const repairs = study.beam_repairs.map((each) => make("li", {}, isolate(each.in_words)));
  if (repairs.length) card.element.append(make("ul", { class: "hint", lang: "en" }, ...repairs));
  return card;
}
