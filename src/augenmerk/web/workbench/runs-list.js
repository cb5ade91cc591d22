/** The list of runs: how far each of them is, what can be done with it, and how trainings have ended. */

import { isolate, make } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { COLOURS } from "./series.js";

const MAX_UNBROKEN = 20; // letters

/** Returns the class that gives a picked run its colour. */
export function classOf(view, name) {
  return `c${view.picked.indexOf(name) % COLOURS}`;
}

/** Returns the name of a run, a path, which is broken between its parts, unless one is very long. */
export function showName(name) {
  const parts = name.split(/(?<=\/)/).flatMap((part) => {
    const isShort = part.length <= MAX_UNBROKEN;
    return [make("span", { class: isShort ? "unbroken" : null }, part), make("wbr")];
  });
  return make("bdi", {}, ...parts);
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
 * Returns the table of all runs. `on.pick(name, isPicked)`, `on.act(what, question)` and `on.ask(name, epochs)`,
 * which opens and closes the question how many epochs a run shall have, are called when the user acts; without
 * `isLocal` nobody may train.
 */
export function makeList(view, isLocal, on, t) {
  const training = new Map(view.trainings.filter((each) => each.running).map((each) => [each.run, each]));
  const beginning = view.trainings.filter(
    (each) => each.running && !view.runs.some((run) => run.name === each.run)
  );
  if (!view.runs.length && !beginning.length) return make("p", { class: "hint" }, t("noRuns"));
  const acts = (run, own, key) => (isLocal ? makeActs(view, run, own, key, on, t) : []);
  const number = (value, decimals) =>
    Number.isFinite(value) ? showNumber(value, t.language, decimals) : t("absent");
  // On a narrow screen a row is a card, and each cell says what it is.
  const cell = (key, attributes, ...content) =>
    make("td", { "data-name": t(key), ...attributes }, make("span", {}, ...content));
  const rows = view.runs.map((run) => {
    const isPicked = view.picked.includes(run.name);
    const key = run.name.replace(/[^\w-]/g, (letter) => `_${letter.codePointAt(0)}`);
    const box = make("input", {
      type: "checkbox",
      "data-key": `pick-${key}`,
      checked: isPicked,
      disabled: Boolean(run.error),
      onchange: (event) => on.pick(run.name, event.target.checked),
    });
    const label = make(
      "label",
      { class: isPicked ? `run ${classOf(view, run.name)}` : "run" },
      box,
      showName(run.name)
    );
    if (run.error) {
      return make(
        "tr",
        { class: "broken" },
        make("th", { scope: "row" }, label),
        make("td", { colspan: 8 }, make("span", { title: run.error }, t("broken")))
      );
    }
    const own = training.get(run.name);
    // A process takes a while until it trains, and another one until it ends.
    const isBeginning = own && run.state !== "training" && run.modified < own.begun;
    const state = own?.stopping ? "stopping" : isBeginning ? "starting" : run.state;
    const share = Math.min(1, run.done / run.epochs);
    const bar = make("span", { class: "bar small" });
    bar.style.setProperty("--share", share);
    const changes =
      run.changes === 0
        ? []
        : [
            make(
              "span",
              { class: "hint" },
              ` ${t(run.changes === 1 ? "changedSetting" : "changedSettings", { count: run.changes })}`
            ),
          ];
    return make(
      "tr",
      { class: isPicked ? "picked" : null },
      make("th", { scope: "row" }, label),
      cell("state", {}, make("span", { class: `state ${state}` }, t(state))),
      cell("preset", { title: t("nearest") }, showName(run.preset), ...changes),
      cell("data", {}, isolate(run.data)),
      cell(
        "epochs",
        { class: "number" },
        `${run.done}/${run.epochs}`,
        ...(state === "finished" ? [] : [bar])
      ),
      cell("loss", { class: "number" }, number(run.best.validation_loss, 3)),
      cell("bleu", { class: "number", title: t("bleuHint") }, number(run.best.validation_bleu, 1)),
      cell("when", { class: "when" }, showAge(run.modified, view.now, t)),
      make("td", { class: "acts" }, ...acts(run, own, key))
    );
  });
  const starting = beginning.map((each) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("span", { class: "run" }, showName(each.run))),
      make("td", {}, make("span", { class: "state training" }, t(each.stopping ? "stopping" : "starting"))),
      make("td", { colspan: 6, class: "hint" }, each.said.at(-1) ?? ""),
      make("td", { class: "acts" }, ...acts(null, each, "new"))
    )
  );
  const heads = [
    ...["name", "state", "preset", "data"].map((key) => make("th", { scope: "col" }, t(key))),
    ...["epochs", "loss", "bleu"].map((key) => make("th", { scope: "col", class: "number" }, t(key))),
    make("th", { scope: "col" }, t("when")),
    make("td"),
  ];
  return make(
    "table",
    { class: "plain runs" },
    make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...starting, ...rows)
  );
}

/** Returns the buttons of a run: stop what this server trains, go on with what is not being trained. */
function makeActs(view, run, own, key, on, t) {
  const button = (what, text, title, onclick) =>
    make("button", { type: "button", "data-key": `${what}-${key}`, title, onclick }, text);
  if (own) {
    const stop = button("stop", t("stop"), t("stopHint"), () => on.act("stop", { run: own.run }));
    stop.disabled = own.stopping;
    return [stop];
  }
  if (run?.state === "stopped") {
    return [button("resume", t("resume"), t("keepHint"), () => on.act("resume", { run: run.name }))];
  }
  if (run?.state === "finished") {
    if (view.asking !== run.name) {
      return [button("more", t("more"), null, () => on.ask(run.name, run.epochs + 5))];
    }
    const close = () => on.ask("", 0);
    const field = make("input", {
      type: "number",
      id: "more-epochs",
      "data-key": "more-epochs",
      min: run.epochs + 1,
      max: 100000,
      required: true,
      value: view.more,
      oninput: (event) => (view.more = event.target.value),
      onkeydown: (event) => event.key === "Escape" && close(),
    });
    const send = (event) => {
      event.preventDefault();
      on.act("resume", { run: run.name, epochs: Number(view.more) });
      close();
    };
    const go = make("button", { type: "submit", class: "main" }, t("resume"));
    return [
      make("form", { class: "together", onsubmit: send }, make("label", {}, t("moreEpochs"), " ", field), go),
    ];
  }
  return [];
}

/** Says how trainings of this server have ended, if not by themselves. */
export function makeEnded(view, t) {
  return view.trainings
    .filter((each) => !each.running && each.code !== 0)
    .slice(0, 3)
    .map((each) => {
      const saved = each.code === 143;
      const hadBegun = view.runs.some((run) => run.name === each.run);
      const key = !saved ? "ended" : hadBegun ? "endedSaved" : "endedEarly";
      const text = t(key, { run: `\u2068${each.run}\u2069`, code: each.code });
      const said = make("pre", {}, each.said.join("\n"));
      return make(
        "details",
        { class: saved ? "ended hint" : "ended error", open: !saved },
        make("summary", {}, text),
        said
      );
    });
}
