/** A study in figures: its header with what was found, the table of variants, and that of runs. */

import { headings, hint, isolate, scroll, table, tableRow } from "../page/parts.js";
import { h } from "../page/view.js";
import { linkToTranslate } from "./links.js";
import { swatch } from "./series.js";
import { describeFindings } from "./studies-findings.js";
import { card, nameMeasure, sayCounts } from "./studies-parts.js";

const MAX_REMARKS = 3;
const MAX_RUNS = 12; // rows of the table of runs that are shown at first

/** Describes the question of a study, its state and its findings. */
export function describeHeader(study, t) {
  const kind = study.running ? "running" : study.complete ? "complete" : "incomplete";
  const warning = study.running ? t("stillRunning") : study.complete ? "" : t("stopped");
  const runs = study.variants.flatMap((variant) => variant.runs);
  const finished = runs.filter((run) => run.state === "finished").length;
  const counts = { variants: study.variants.length, runs: runs.length, finished };
  const badge = h("span", { class: `badge ${kind}` }, t(kind));
  return h(
    "header",
    { key: "header", class: "card study-header" },
    hint([isolate(t("study", { name: study.title })), " ", badge]),
    h("h1", isolate(study.question || t("noQuestion"))),
    hint(sayCounts(counts, t)),
    warning && h("p.warning", warning),
    describeFindings(study, t),
    describeRemarks(study, t)
  );
}

/** Describes what the study says about its own limits; many sentences are folded. */
function describeRemarks(study, t) {
  const all = study.remarks.map((each) => hint(isolate(each), { lang: "en" }));
  if (all.length <= MAX_REMARKS) return h("div.remarks", all);
  const summary = h("summary.hint", t("remarks", { count: all.length }));
  return h("details.remarks", summary, all);
}

/** Returns figures, written by the server in the English way, as the page's language writes them. */
function localise(text, t) {
  return t.language === "de" ? text.replace(/[.,]/g, (sign) => (sign === "." ? "," : ".")) : text;
}

function nameColumn(column, study, t) {
  const heading = nameMeasure(column.measure, study, t);
  const arrow = { higher: "\u00a0↑", lower: "\u00a0↓" }[column.better] ?? "";
  const split = study.of_a_split.includes(column.measure) ? `, ${study.splits[0]}` : "";
  return column.published ? `${heading}, ${t("published")}` : `${heading}${split}${arrow}`;
}

/** Describes the table of all measures, a row for each variant. */
export function describeResults(study, t) {
  const lookOf = (column) => (column.published ? "published" : null);
  const head = study.columns.map((column) =>
    h("th", { scope: "col", class: lookOf(column) }, isolate(nameColumn(column, study, t)))
  );
  const cells = (row) =>
    study.columns.map((column) => {
      const { mean, best, spread, low, high } = column.cells[row];
      const range = low && `[${localise(low, t)}, ${localise(high, t)}]`;
      return h(
        "td",
        { class: lookOf(column) },
        best ? h("b", localise(mean, t)) : localise(mean, t),
        spread && h("span.spread", ` ${localise(spread, t)}`),
        range && h("small", range)
      );
    });
  const rows = study.variants.map(({ name }, row) => tableRow([swatch(row), isolate(name)], cells(row)));
  const search = study.beams[0] === 1 ? t("greedy") : t("beamOf", { beam: study.beams[0] });
  return card(
    "figures",
    t("figures"),
    scroll(table("figures", null, [headings([t("variant")]), head], rows), {
      role: "region",
      "aria-label": t("figures"),
    }),
    hint(isolate(t("figuresNote", { split: study.splits[0], search }))),
    study.notes.map((note) => hint(isolate(note), { lang: "en" }))
  );
}

export function describeRuns(study, t) {
  const seconds = (value) => Math.round(value).toLocaleString(t.language);
  const describeRun = (variant, run) => {
    const state = study.running && run.state === "unfinished" ? "working" : run.state;
    const epochs = { best: run.best_epoch, epochs: run.epochs };
    return tableRow(isolate(variant.name), [
      run.seed,
      [t(`state ${state}`), run.problem && h("small.error", isolate(run.problem))],
      run.best_epoch === null ? "–" : t("ofEpochs", epochs),
      run.seconds === null ? "–" : seconds(run.seconds),
      run.model ? h("a", { href: linkToTranslate(run.model) }, t("openRun")) : "–",
    ]);
  };
  const rows = study.variants.flatMap((variant) => variant.runs.map((run) => describeRun(variant, run)));
  const texts = ["variant", "seeds", "state", "bestEpoch", "seconds"].map((key) => t(key));
  const { origin } = study;
  const from = origin && {
    bitext: origin.bitext,
    hardware: origin.hardware.join(" · "),
    seconds: seconds(origin.seconds),
  };
  return h(
    "details",
    { key: "runs", class: "card panel", id: "runs", open: rows.length <= MAX_RUNS },
    h("summary", h("h2", t("runs"))),
    scroll(table("figures run-table", null, [headings(texts), h("td")], rows), {
      role: "region",
      "aria-label": t("runs"),
    }),
    hint(isolate(from ? t("origin", from) : ""))
  );
}
