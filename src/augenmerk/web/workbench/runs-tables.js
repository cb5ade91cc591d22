/** The picked runs side by side: their scores and their settings. */

import { isolate, make } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { classOf, showName } from "./runs-list.js";

/** Returns the scores of the picked runs, by the metrics that any of them has. */
export function makeScores(view, picked, known, metrics, t) {
  const scores = picked.flatMap((name) => known.get(name).scores);
  const shown = metrics.filter(({ key }) => scores.some((score) => Number.isFinite(score[key])));
  const rows = picked.flatMap((name) =>
    known
      .get(name)
      .scores.map((score) =>
        make(
          "tr",
          {},
          make("th", { scope: "row", class: `run ${classOf(view, name)}` }, showName(name)),
          make("td", {}, isolate(String(score.split))),
          make("td", { class: "number" }, String(score.beam ?? t("absent"))),
          ...shown.map(({ key, digits }) =>
            make(
              "td",
              { class: "number" },
              Number.isFinite(score[key]) ? showNumber(score[key], t.language, digits) : t("absent")
            )
          )
        )
      )
  );
  if (!rows.length) return [make("p", { class: "hint" }, t("noScores"))];
  const heads = [t("name"), t("split"), t("beam"), ...shown.map(({ heading }) => heading)];
  const head = heads.map((text, place) =>
    make("th", { scope: "col", class: place > 1 ? "number" : null }, text)
  );
  return [
    make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
  ];
}

/** Returns the settings of the picked runs, those that differ first. */
export function makeSettings(view, picked, described, t) {
  const details = picked.map((name) => view.details.get(name)).filter(Boolean);
  // A single run is compared with its preset.
  const beside = details.map(({ preset, preset_settings }) => ({ name: preset, settings: preset_settings }));
  const runs = details.length === 1 ? [...details, ...beside] : details;
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))];
  const settingOf = (run, name) => JSON.stringify(run.settings[name] ?? null);
  const differs = new Set(names.filter((name) => new Set(runs.map((run) => settingOf(run, name))).size > 1));
  const meaning = new Map(described.map((setting) => [setting.name, setting.meaning]));
  const shown = [
    ...names.filter((name) => differs.has(name)),
    ...(view.all ? names.filter((name) => !differs.has(name)) : []),
  ];
  const note = runs.length > 1 && !differs.size ? [make("p", { class: "hint" }, t("sameSettings"))] : [];
  if (!shown.length) return note;
  const write = (value) =>
    value === null || value === undefined
      ? t("absent")
      : typeof value === "object"
        ? JSON.stringify(value)
        : String(value);
  const rows = shown.map((name) =>
    make(
      "tr",
      { class: differs.has(name) ? "differs" : null },
      make("th", { scope: "row", title: meaning.get(name) ?? null }, name),
      ...runs.map((run) => make("td", {}, isolate(write(run.settings[name]))))
    )
  );
  const head = runs.map((run) =>
    view.picked.includes(run.name)
      ? make("th", { scope: "col", class: `run ${classOf(view, run.name)}` }, showName(run.name))
      : make("th", { scope: "col" }, t("presetNamed", { preset: run.name }))
  );
  return [
    ...note,
    make(
      "table",
      { class: "plain settings" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, t("setting")), ...head)),
      make("tbody", {}, ...rows)
    ),
  ];
}
