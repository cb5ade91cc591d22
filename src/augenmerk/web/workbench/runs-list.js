/** The list of runs: how far each of them is, what can be done with it, and how trainings have ended. */

import { button, headings, hint, isolate, table } from "../page/parts.js";
import { showNumber } from "../page/shown.js";
import { h } from "../page/view.js";
import { COLOURS } from "./series.js";

const MAX_UNBROKEN = 20; // letters

/** Returns the class that gives a picked run its colour. */
export function classOf({ state }, name) {
  return `c${state.run.indexOf(name) % COLOURS}`;
}

/** Describes the name of a run, a path, which is broken between its parts, unless one is very long. */
export function describeName(name) {
  const parts = name.split(/(?<=\/)/);
  const isShort = (part) => part.length <= MAX_UNBROKEN;
  return h(
    "bdi",
    parts.map((part) => [h("span", { class: isShort(part) ? "unbroken" : null }, part), h("wbr")])
  );
}

/** Returns names without the folders that all of them are in. */
export function shortenNames(names) {
  const paths = names.map((name) => name.split("/"));
  const [first = [], ...others] = paths;
  const isShared = (folder, place) =>
    others.every((path) => place < path.length - 1 && path[place] === folder);
  const differs = first.slice(0, -1).findIndex((folder, place) => !isShared(folder, place));
  const shared = differs < 0 ? Math.max(0, first.length - 1) : differs;
  return paths.map((path) => path.slice(shared).join("/"));
}

/** Says when a run was last changed. */
function showAge(seconds, now, t) {
  const minutes = Math.floor((now - seconds) / 60);
  if (minutes < 1) return t("justNow");
  if (minutes < 60) return t("minutesAgo", { count: minutes });
  const today = new Date(now * 1000).toDateString() === new Date(seconds * 1000).toDateString();
  /** @type {Intl.DateTimeFormatOptions} */
  const style = today ? { timeStyle: "short" } : { dateStyle: "medium" };
  return new Intl.DateTimeFormat(t.language, style).format(seconds * 1000);
}

/**
 * Describes the table of all runs. `on.pick(name, isPicked)`, `on.act(what, question)` and `on.ask(name, epochs)`,
 * which opens and closes the question how many epochs a run shall have, are called when the user acts; without
 * `isLocal` nobody may train.
 */
export function describeList(view, isLocal, on, t) {
  const { runs, trainings } = view;
  const training = new Map(trainings.filter((each) => each.running).map((each) => [each.run, each]));
  const known = new Set(runs.map((run) => run.name));
  const beginning = [...training.values()].filter((each) => !known.has(each.run));
  if (!runs.length && !beginning.length) return hint(t("noRuns"));
  const acts = (run, own) => h("td.acts", isLocal && describeActs(view, run, own, on, t));
  const starting = beginning.map((each) =>
    h(
      "tr",
      { key: each.run },
      h("th", { scope: "row" }, h("span.run", describeName(each.run))),
      h("td", h("span.state.training", t(each.stopping ? "stopping" : "starting"))),
      h("td", { colspan: 6, class: "hint" }, each.said.at(-1)),
      acts(null, each)
    )
  );
  const rows = runs.map((run) => describeRun(view, run, training.get(run.name), acts, on, t));
  const texts = ["name", "state", "preset", "data", "epochs", "loss", "bleu"].map((key) => t(key));
  const head = [headings(texts, 4), headings([t("when")]), h("td")];
  return table("plain runs", null, head, [starting, rows]);
}

function describeRun(view, run, own, acts, on, t) {
  const { name } = run;
  const isPicked = view.state.run.includes(name);
  const onchange = ({ target }) => on.pick(name, target.checked);
  const box = h("input", { type: "checkbox", checked: isPicked, disabled: Boolean(run.error), onchange });
  const look = isPicked ? `run ${classOf(view, name)}` : "run";
  const heading = h("th", { scope: "row" }, h("label", { class: look }, box, describeName(name)));
  if (run.error) {
    const why = h("td", { colspan: 8 }, h("span", { title: run.error }, t("broken")));
    return h("tr", { key: name, class: "broken" }, heading, why);
  }
  // On a narrow screen a row is a card, and each cell says what it is.
  const cell = (key, attributes, ...content) =>
    h("td", { "data-name": t(key), ...attributes }, h("span", content));
  const number = (value, decimals) =>
    Number.isFinite(value) ? showNumber(value, t.language, decimals) : t("absent");
  // A process takes a while until it trains, and another one until it ends.
  const isBeginning = own && run.state !== "training" && run.modified < own.begun;
  const state = own?.stopping ? "stopping" : isBeginning ? "starting" : run.state;
  const bar = h("span.bar.small", { style: { "--share": Math.min(1, run.done / run.epochs) } });
  const changed = t(run.changes === 1 ? "changedSetting" : "changedSettings", { count: run.changes });
  return h(
    "tr",
    { key: name, class: isPicked ? "picked" : null },
    heading,
    cell("state", {}, h("span", { class: `state ${state}` }, t(state))),
    cell(
      "preset",
      { title: t("nearest") },
      describeName(run.preset),
      run.changes > 0 && [" ", h("span.hint", changed)]
    ),
    cell("data", {}, isolate(run.data)),
    cell("epochs", { class: "number" }, `${run.done}/${run.epochs}`, state !== "finished" && bar),
    cell("loss", { class: "number" }, number(run.best.validation_loss, 3)),
    cell("bleu", { class: "number", title: t("bleuHint") }, number(run.best.validation_bleu, 1)),
    cell("when", { class: "when" }, showAge(run.modified, view.now, t)),
    acts(run, own)
  );
}

/** Describes the buttons of a run: stop what this server trains, go on with what is not being trained. */
function describeActs(view, run, own, on, t) {
  if (own) {
    const stop = () => on.act("stop", { run: own.run });
    return button(t("stop"), stop, { key: "stop", title: t("stopHint"), disabled: own.stopping });
  }
  if (run?.state === "stopped") {
    const resume = () => on.act("resume", { run: run.name });
    return button(t("resume"), resume, { key: "resume", title: t("keepHint") });
  }
  if (run?.state !== "finished") return null;
  if (view.asking !== run.name) {
    return button(t("more"), () => on.ask(run.name, run.epochs + 5), { key: "more" });
  }
  const close = () => on.ask("", 0);
  const onsubmit = (event) => {
    event.preventDefault();
    on.act("resume", { run: run.name, epochs: Number(view.more) });
    close();
  };
  const field = h("input", {
    ...{
      type: "number",
      id: "more-epochs",
      min: run.epochs + 1,
      max: 100000,
      required: true,
      value: view.more,
    },
    oninput: ({ target }) => (view.more = target.value),
    onkeydown: ({ key }) => key === "Escape" && close(),
  });
  const resume = h("button", { type: "submit", class: "main" }, t("resume"));
  return h("form.together", { onsubmit }, h("label", t("moreEpochs"), " ", field), resume);
}

/** Says how trainings of this server have ended, if not by themselves. */
export function describeEnded({ runs, trainings }, t) {
  const ended = trainings.filter((each) => !each.running && each.code !== 0).slice(0, 3);
  return ended.map(({ run, code, said }) => {
    const saved = code === 143;
    const hadBegun = runs.some(({ name }) => name === run);
    const key = !saved ? "ended" : hadBegun ? "endedSaved" : "endedEarly";
    return h(
      "details",
      { key: run, class: saved ? "ended hint" : "ended error", open: !saved },
      h("summary", t(key, { run: `\u2068${run}\u2069`, code })),
      h("pre", said.join("\n"))
    );
  });
}
