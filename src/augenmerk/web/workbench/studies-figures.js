/** A study in figures: its header with what was found, the table of variants, and that of runs. */

import { isolate, make } from "../page/dom.js";
import { linkToTranslate } from "./links.js";
import { makeSwatch } from "./series.js";
import { makeCard, nameMeasure, sayCounts } from "./studies-parts.js";

const MAX_REMARKS = 3;
const MAX_RUNS = 12; // rows of the table of runs that are shown at first

/** Returns the question of a study, its state and its findings. */
export function makeHeader(study, t) {
  const kind = study.running ? "running" : study.complete ? "complete" : "incomplete";
  const warning = study.running ? t("stillRunning") : study.complete ? "" : t("stopped");
  const runs = study.variants.flatMap((variant) => variant.runs);
  const counts = {
    variants: study.variants.length,
    runs: runs.length,
    finished: runs.filter((run) => run.state === "finished").length,
  };
  return make(
    "header",
    { class: "card study-header" },
    make(
      "p",
      { class: "hint" },
      isolate(t("study", { name: study.title })),
      " ",
      make("span", { class: `badge ${kind}` }, t(kind))
    ),
    make("h1", {}, isolate(study.question || t("noQuestion"))),
    make("p", { class: "hint" }, sayCounts(counts, t)),
    warning ? make("p", { class: "warning" }, warning) : "",
    ...study.verdicts.map((verdict) => makeVerdict(verdict, study)),
    makeRemarks(study, t)
  );
}

/** Returns the answer to a question, with the comparisons that it rests on. */
function makeVerdict({ question, answer, details }, study) {
  return make(
    "div",
    { class: "verdict", lang: "en" },
    question === study.question ? "" : make("h2", {}, isolate(question)),
    answer ? make("p", {}, isolate(answer)) : "",
    make("ul", {}, ...details.map((each) => make("li", {}, isolate(each))))
  );
}

/** Returns what the study says about its own limits; many sentences are folded. */
function makeRemarks(study, t) {
  const all = study.remarks.map((each) => make("p", { class: "hint", lang: "en" }, isolate(each)));
  if (all.length <= MAX_REMARKS) return make("div", { class: "remarks" }, ...all);
  const summary = make("summary", { class: "hint" }, t("remarks", { count: all.length }));
  return make("details", { class: "remarks" }, summary, ...all);
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

/** Returns the table of all measures, a row for each variant. */
export function makeFigures(study, t) {
  const head = study.columns.map((column) =>
    make(
      "th",
      { scope: "col", class: column.published ? "published" : null },
      isolate(nameColumn(column, study, t))
    )
  );
  const rows = study.variants.map((variant, row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, makeSwatch(row), isolate(variant.name)),
      ...study.columns.map((column) => {
        const cell = column.cells[row];
        const mean = localise(cell.mean, t);
        return make(
          "td",
          { class: column.published ? "published" : null },
          cell.best ? make("b", {}, mean) : mean,
          cell.spread ? make("span", { class: "spread" }, ` ${localise(cell.spread, t)}`) : "",
          cell.low ? make("small", {}, `[${localise(cell.low, t)}, ${localise(cell.high, t)}]`) : ""
        );
      })
    )
  );
  const search = study.beams[0] === 1 ? t("greedy") : t("beamOf", { beam: study.beams[0] });
  return makeCard(
    "figures",
    t("figures"),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": t("figures") },
      make(
        "table",
        { class: "figures" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, t("variant")), ...head)),
        make("tbody", {}, ...rows)
      )
    ),
    make("p", { class: "hint" }, isolate(t("figuresNote", { split: study.splits[0], search }))),
    ...study.notes.map((note) => make("p", { class: "hint", lang: "en" }, isolate(note)))
  );
}

/** Returns the table of all runs. */
export function makeRuns(study, t) {
  const rows = study.variants.flatMap((variant) =>
    variant.runs.map((run) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, isolate(variant.name)),
        make("td", {}, String(run.seed)),
        make(
          "td",
          {},
          t(`state ${study.running && run.state === "unfinished" ? "working" : run.state}`),
          run.problem ? make("small", { class: "error" }, isolate(run.problem)) : ""
        ),
        make(
          "td",
          {},
          run.best_epoch === null ? "–" : t("ofEpochs", { best: run.best_epoch, epochs: run.epochs })
        ),
        make("td", {}, run.seconds === null ? "–" : Math.round(run.seconds).toLocaleString(t.language)),
        make("td", {}, run.model ? make("a", { href: linkToTranslate(run.model) }, t("openRun")) : "–")
      )
    )
  );
  const head = ["variant", "seed", "state", "bestEpoch", "seconds"].map((key) =>
    make("th", { scope: "col" }, key === "seed" ? t("seeds") : t(key))
  );
  const { origin } = study;
  const seconds = origin && Math.round(origin.seconds).toLocaleString(t.language);
  const from = origin
    ? t("origin", { bitext: origin.bitext, hardware: origin.hardware.join(" · "), seconds })
    : "";
  return make(
    "details",
    { class: "card panel", id: "runs", open: rows.length <= MAX_RUNS },
    make("summary", {}, make("h2", {}, t("runs"))),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": t("runs") },
      make(
        "table",
        { class: "figures run-table" },
        make("thead", {}, make("tr", {}, ...head, make("td"))),
        make("tbody", {}, ...rows)
      )
    ),
    make("p", { class: "hint" }, isolate(from))
  );
}
