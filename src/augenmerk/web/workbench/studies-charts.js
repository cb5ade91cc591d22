/** The charts of a study: learning curves, and BLEU by length, by a factor in numbers and by width of the beam. */

import { hint, isolate } from "../page/parts.js";
import { h } from "../page/view.js";
import { isWide } from "./axes.js";
import { chart } from "./plots.js";
import { swatch } from "./series.js";
import { card, listShown, nameMeasure } from "./studies-parts.js";

const CURVES = ["validation_loss", "validation_bleu", "train_loss"];

/** Describes buttons that hide and emphasise variants, in all charts. */
export function describeLegend({ study, state, lit, change, light }, t) {
  if (study.variants.length < 2) return null;
  const buttons = study.variants.map(({ name }, number) => {
    const isHidden = state.hidden.includes(name);
    const hidden = isHidden ? state.hidden.filter((each) => each !== name) : [...state.hidden, name];
    const emphasise = () => lit !== name && light(isHidden ? null : name);
    const attributes = {
      type: "button",
      "aria-pressed": String(!isHidden),
      onclick: () => change({ hidden }),
      ...{ onpointerenter: emphasise, onfocus: emphasise },
      ...{ onpointerleave: () => light(null), onblur: () => light(null) },
    };
    return h("button", { key: name, ...attributes }, swatch(number), isolate(name));
  });
  return h("div.legend", { role: "group", "aria-label": t("legend") }, buttons);
}

/** Describes a card with charts; null without any. */
function describeCharts(view, id, title, list, t, ...more) {
  const { hidden } = view.state;
  const drawn = list.filter((about) => about?.series.length);
  if (!drawn.length) return null;
  const charts = drawn.map((about) => chart({ hidden, lit: view.lit, ...about }, t));
  return card(id, title, h("div.charts", { id: `${id}-charts` }, charts), more);
}

/** Returns a line for each variant that has points; `drawn(variant)` is {points} and what else the line has. */
function listSeries(study, drawn) {
  const all = study.variants.map((variant, number) => ({ name: variant.name, number, ...drawn(variant) }));
  return all.filter(({ points }) => points.length);
}

/** Describes what was measured in each epoch; `curves` has it of single runs. */
export function describeCurves(view, curves, t) {
  const { study } = view;
  const list = CURVES.map((measure) => {
    const series = listSeries(study, (variant) => {
      const thin = Object.values(curves[variant.name] ?? {}).map((run) => run[measure] ?? []);
      const mean = variant.curves.find((curve) => curve.measure === measure)?.points ?? [];
      const points = mean.map((point) => ({ x: point.epoch, y: point.mean }));
      return { thin, points: points.length ? points : averageRuns(thin) };
    });
    return {
      title: nameMeasure(measure, study, t),
      xLabel: t("epoch"),
      digits: measure === "validation_bleu" ? 1 : 3,
      series,
    };
  });
  return describeCharts(view, "learning", t("learning"), list, t, hint(t("learningHint")));
}

/** Returns the mean of runs that are still being trained, over those that have come so far. */
function averageRuns(runs) {
  const byEpoch = Map.groupBy(runs.flat(), ([epoch]) => epoch);
  return [...byEpoch]
    .sort(([a], [b]) => a - b)
    .map(([x, points]) => ({ x, y: points.reduce((sum, [, value]) => sum + value, 0) / points.length }));
}

/** Describes BLEU by the length of sentences; null if the study has none. */
export function describeLengths(view, t) {
  const { study } = view;
  const bins = study.variants.find((variant) => variant.by_length.length)?.by_length ?? [];
  const series = listSeries(study, ({ by_length }) => ({
    points: by_length.map((bin, x) => ({ x, y: bin.bleu, low: bin.low, high: bin.high })),
  }));
  const about = {
    title: t("lengthsTitle", { split: study.splits[0] }),
    note: t("rangeNote"),
    xLabel: t("words"),
    digits: 1,
    categories: bins.map(({ shortest, longest }) =>
      shortest === longest ? `${shortest}` : `${shortest}–${longest}`
    ),
    series,
  };
  return describeCharts(view, "lengths", t("lengths"), [about], t);
}

/** Describes BLEU and, if it can be compared, the loss per word by each factor that is a number. */
export function describeFactors(view, t) {
  const { study } = view;
  const measures = ["bleu", "word_loss"].filter((measure) => !study.incomparable.includes(measure));
  const list = study.number_factors.flatMap((factor) =>
    measures.map((measure) => {
      const series = collectAlong(view, factor, measure, t);
      const name = factor.split(".").at(-1);
      const about = { measure: nameMeasure(measure, study, t), factor: name, split: study.splits[0] };
      return {
        title: t("factorTitle", about),
        note: t("deviationNote"),
        xLabel: name,
        digits: measure === "word_loss" ? 3 : 2,
        series,
        exact: true,
        log: isWide(series.flatMap(({ points }) => points.map(({ x }) => x))),
        yLog: measure === "word_loss",
        hidden: [], // a line is of several variants: those that are hidden have no points
        lit: null,
      };
    })
  );
  return describeCharts(view, "factors", t("factor"), list, t);
}

/** Returns a line for each combination of the other factors, with a point for each variant that is shown. */
function collectAlong(view, factor, measure, t) {
  const { study } = view;
  const [split, beam] = [study.splits[0], study.beams[0]];
  const lines = new Map();
  for (const variant of listShown(view)) {
    const summary = variant.summaries.find(
      (each) =>
        each.measure === measure && each.split === split && (measure === "word_loss" || each.beam === beam)
    );
    if (!summary) continue;
    const others = Object.entries(variant.settings).filter(([key]) => key !== factor);
    const name = others.map(([, value]) => String(value)).join(", ") || nameMeasure(measure, study, t);
    const deviation = Math.sqrt(summary.variance ?? 0);
    const [low, high] = [summary.mean - deviation, summary.mean + deviation];
    const point = { x: variant.settings[factor], y: summary.mean, low, high };
    lines.set(name, [...(lines.get(name) ?? []), point]);
  }
  return [...lines].map(([name, points], number) => ({
    name,
    number,
    points: points.sort((a, b) => a.x - b.x),
  }));
}

/** Describes BLEU by the width of the beam; null if there is one width. */
export function describeBeams(view, t) {
  const { study } = view;
  const list = study.splits.map((split) => {
    const series = listSeries(study, ({ name }) => ({
      points: study.beam_rows
        .filter((row) => row.variant === name && row.split === split)
        .map((row) => ({ x: row.beam, y: row.bleu, low: row.bleu_low, high: row.bleu_high })),
    }));
    const about = { title: t("beamTitle", { split }), note: t("rangeNote"), xLabel: t("beam") };
    return { ...about, digits: 2, series, log: true, exact: true };
  });
  const repairs = study.beam_repairs.map((each) => h("li", isolate(each.in_words)));
  const listed = repairs.length > 0 && h("ul.hint", { lang: "en" }, repairs);
  return describeCharts(view, "beams", t("beams"), list, t, listed);
}
