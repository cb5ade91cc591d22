/** The picked runs side by side: their scores and their settings. */

import { headings, hint, isolate, table, tableRow } from "../page/parts.js";
import { showNumber } from "../page/shown.js";
import { h } from "../page/view.js";
import { classOf, describeName } from "./runs-list.js";

/** Describes the scores of the picked runs, by the metrics that any of them has. */
export function describeScores(view, picked, metrics, t) {
  const scores = picked.flatMap((run) => run.scores.map((score) => ({ name: run.name, score })));
  if (!scores.length) return hint(t("noScores"));
  const shown = metrics.filter(({ key }) => scores.some(({ score }) => Number.isFinite(score[key])));
  const number = (text) => h("td.number", text);
  const rows = scores.map(({ name, score }) => {
    const numbers = shown.map(({ key, digits }) =>
      number(Number.isFinite(score[key]) ? showNumber(score[key], t.language, digits) : t("absent"))
    );
    const cells = [isolate(String(score.split)), number(score.beam ?? t("absent")), ...numbers];
    return tableRow(h("th.run", { scope: "row", class: classOf(view, name) }, describeName(name)), cells);
  });
  const texts = [t("name"), t("split"), t("beam"), ...shown.map(({ heading }) => heading)];
  return table("plain", null, headings(texts, 2), rows);
}

/** Describes the settings of the picked runs, those that differ first; a single run is compared with its preset. */
export function describeSettings(view, picked, described, t) {
  const details = picked.map(({ name }) => view.details.get(name)).filter(Boolean);
  const beside = details.map(({ preset, preset_settings }) => ({ name: preset, settings: preset_settings }));
  const runs = details.length === 1 ? [...details, ...beside] : details;
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))];
  const settingOf = (run, name) => JSON.stringify(run.settings[name] ?? null);
  const differs = new Set(names.filter((name) => new Set(runs.map((run) => settingOf(run, name))).size > 1));
  const meaning = new Map(described.map((setting) => [setting.name, setting.meaning]));
  const same = view.state.settings === "all" ? names.filter((name) => !differs.has(name)) : [];
  const shown = [...names.filter((name) => differs.has(name)), ...same];
  const note = runs.length > 1 && !differs.size && hint(t("sameSettings"));
  if (!shown.length) return note;
  const write = (value) => {
    if (value === null || value === undefined) return t("absent");
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  };
  const rows = shown.map((name) => {
    const cells = runs.map((run) => isolate(write(run.settings[name])));
    const heading = h("th", { scope: "row", title: meaning.get(name) }, name);
    return tableRow(heading, cells, { class: differs.has(name) && "differs" });
  });
  const head = runs.map(({ name }) => {
    const isRun = view.state.run.includes(name);
    const attributes = { scope: "col", class: isRun ? `run ${classOf(view, name)}` : null };
    return h("th", attributes, isRun ? describeName(name) : t("presetNamed", { preset: name }));
  });
  return [note, table("plain settings", null, [headings([t("setting")]), head], rows)];
}
