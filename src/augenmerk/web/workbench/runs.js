/** The view Runs: the list, the curves of those that are picked, their scores and settings, and trainings. */

import { choice, list, name, putAddress, readState, writeState } from "../page/address.js";
import { find } from "../page/dom.js";
import { button, select } from "../page/parts.js";
import { h, render } from "../page/view.js";
import { startFrame } from "./frame.js";
import { chart } from "./plots.js";
import { addEpochs, isMixed } from "./runs-epochs.js";
import { classOf, describeEnded, describeList, describeName, shortenNames } from "./runs-list.js";
import { describeScores, describeSettings } from "./runs-tables.js";
import { RUNS_TEXTS } from "./runs-texts.js";
import { swatch } from "./series.js";
import { newestPost, postJson, postOnce } from "./server.js";
import { makeStartForm } from "./start-form.js";

const SERVER = "/workbench/runs";
const LIVE = 1000; // milliseconds between two looks while something is being trained
const IDLE = 4000; // and otherwise
const MAX_PICKED = 12;
const AXES = ["epoch", "step", "seconds"];
const SPECIFICATION = {
  run: list(name, MAX_PICKED), // the picked runs
  by: choice(AXES, "epoch"),
  settings: choice(["differing", "all"], "differing"),
};

const given = JSON.parse(find("page-data").textContent);
const view = {
  state: readState(location.hash, SPECIFICATION),
  runs: [],
  trainings: [],
  epochs: new Map(), // what is known of the picked runs, by name
  details: new Map(), // their settings
  comparing: "", // the runs whose settings are being asked for
  now: 0,
  asking: "", // the run for which is asked how many epochs it shall have
  more: "", // what was written there
  trouble: "", // why something could not be done
};
let timer = 0;
let form = null; // the form of a new training
const frame = startFrame({ texts: RUNS_TEXTS, onChange: draw });

function change(changes) {
  Object.assign(view.state, changes);
  putAddress(writeState(view.state, SPECIFICATION));
  draw();
}

function pick(run, isPicked) {
  const { run: picked } = view.state;
  change({ run: isPicked ? [...picked, run].slice(-MAX_PICKED) : picked.filter((each) => each !== run) });
  look();
}

// -- asking ------------------------------------------------------------------------------------------------

const watch = newestPost(`${SERVER}/watch`);
const askDetails = newestPost(`${SERVER}/details`);

/** Asks for the list, and for the epochs of the picked runs that are not here yet. */
async function look() {
  clearTimeout(timer);
  if (document.hidden) return; // a page that nobody sees asks for nothing
  const known = view.state.run.map((each) => [each, view.epochs.get(each)?.length ?? 0]);
  try {
    const { runs, trainings, now, epochs } = await watch({ epochs: Object.fromEntries(known) });
    Object.assign(view, { runs, trainings, now, trouble: "" });
    addEpochs(view.epochs, epochs, view.state.run);
  } catch (error) {
    view.trouble = error.message;
  }
  const isBusy = [...view.runs, ...view.trainings].some(
    ({ state, running }) => running || state === "training"
  );
  timer = setTimeout(look, isBusy ? LIVE : IDLE);
  draw();
  compare();
}

/** Asks for the settings of picked runs that are not here yet, and forgets those of others. */
async function compare() {
  const readable = new Set(view.runs.filter((run) => !run.error).map((run) => run.name));
  const picked = view.state.run.filter((each) => readable.has(each));
  for (const each of view.details.keys()) if (!picked.includes(each)) view.details.delete(each);
  const missing = picked.filter((each) => !view.details.has(each));
  // A server that takes longer than the time between two looks is not asked the same again.
  if (!missing.length || String(missing) === view.comparing) return;
  view.comparing = String(missing);
  try {
    const { runs } = await askDetails({ runs: missing });
    for (const run of runs) view.details.set(run.name, run);
  } catch (error) {
    view.trouble = error.message;
  }
  view.comparing = "";
  draw();
}

/** Does something that changes a run, and looks what became of it. */
async function act(what, question) {
  try {
    await postOnce(`${SERVER}/${what}`, question);
    view.trouble = "";
  } catch (error) {
    view.trouble = error.message;
    draw();
    return;
  }
  look();
}

/** Asks how many epochs a run shall have, or "" no more. */
function ask(run, epochs) {
  Object.assign(view, { asking: run, more: String(epochs) });
  draw();
  if (run) find("more-epochs").select();
}

// -- drawing -----------------------------------------------------------------------------------------------

function draw() {
  const { t } = frame;
  const { state } = view;
  document.title = `${t("title")} · Augenmerk`;
  const known = new Map(view.runs.map((run) => [run.name, run]));
  const picked = state.run.map((each) => known.get(each)).filter((run) => run && !run.error);
  render(find("runs"), describeTrouble(), describeRuns(t), picked.length > 0 && describePicked(picked, t));
  document.documentElement.dataset.ready = "";
}

function describeTrouble() {
  return (
    view.trouble &&
    h("p", { key: "trouble", id: "trouble", class: "card error", role: "alert" }, view.trouble)
  );
}

function describeRuns(t) {
  const pickHint = given.local ? t("pick") : `${t("pick")} ${t("onlyLocal")}`;
  return card(
    "runs-card",
    t("runsHere"),
    [
      h("p.hint", pickHint),
      given.local && !form && button(t("newTraining"), openForm, { id: "new", class: "main" }),
    ],
    form?.describe(t),
    h("div", { id: "trainings", role: "status" }, describeEnded(view, t)),
    h(
      "div.scroll.list",
      { id: "list", translate: "no" },
      view.now > 0 && describeList(view, given.local, { pick, act, ask }, t)
    )
  );
}

/** Describes a card with a heading, and what is beside that. */
function card(id, title, beside, ...children) {
  const label = `${id}-label`;
  const head = h("div.card-head", h("h2", { id: label }, title), beside);
  return h("section", { key: id, class: "card", id, "aria-labelledby": label }, head, children);
}

function describePicked(picked, t) {
  const { by, settings } = view.state;
  const isAll = settings === "all";
  const onchange = ({ target }) => change({ settings: target.checked ? "all" : "differing" });
  const box = h("input", { type: "checkbox", id: "all-settings", checked: isAll, onchange });
  const place = { class: "scroll", tabindex: 0, translate: "no" };
  return [
    card(
      "curves-card",
      t("curves"),
      select(t("by"), AXES, t, by, (value) => change({ by: value }), { id: "by" }),
      h("div", { id: "legend", class: "keys", translate: "no" }, describeLegend(picked, t)),
      h("div", { id: "charts", class: "charts", translate: "no" }, describeCharts(picked, t))
    ),
    card(
      "scores-card",
      t("scores"),
      null,
      h("div", { id: "scores", ...place }, describeScores(view, picked, given.metrics, t))
    ),
    card(
      "settings-card",
      t("settings"),
      h("label.check", box, " ", h("span", t("allSettings"))),
      h("div", { id: "settings", ...place }, describeSettings(view, picked, given.settings, t))
    ),
  ];
}

function describeLegend(picked, t) {
  return picked.map(({ name: run, state }) => {
    const unpick = { class: "word", "aria-label": t("unpick", { run }) };
    return h(
      "span",
      { key: run, class: `key ${classOf(view, run)}` },
      swatch(view.state.run.indexOf(run)),
      describeName(run),
      state === "training" && h("span.live-mark", ` ● ${t("live")}`),
      button("×", () => pick(run, false), unpick)
    );
  });
}

function describeCharts(picked, t) {
  const { by } = view.state;
  const short = shortenNames(picked.map((run) => run.name));
  const makeSeries = (key, dashed) =>
    picked.map(({ name: run, state }, place) => ({
      name: dashed ? t("trainingOf", { run: short[place] }) : short[place],
      number: view.state.run.indexOf(run),
      dashed,
      live: state === "training",
      points: (view.epochs.get(run) ?? [])
        .filter((epoch) => Number.isFinite(epoch[by]) && Number.isFinite(epoch[key]))
        .map((epoch) => ({ x: epoch[by], y: epoch[key] })),
    }));
  const isLive = picked.some(({ state }) => state === "training");
  const describe = (about, series) =>
    chart(
      {
        ...about,
        empty: t(isLive ? "firstEpoch" : "noCurve"),
        xLabel: t(by),
        fractions: by === "seconds",
        nearest: by !== "epoch", // runs are rarely at the same step at the same time
        unlabelled: true,
        series: series.filter((each) => each.points.length),
      },
      t
    );
  const note = isMixed(picked.map(({ name: run }) => view.details.get(run)?.settings)) ? t("mixedUnits") : "";
  return [
    describe({ title: t("lossHeading"), note, clip: true, digits: 3 }, [
      ...makeSeries("train_loss", true),
      ...makeSeries("validation_loss", false),
    ]),
    describe({ title: t("bleuHeading"), digits: 1 }, makeSeries("validation_bleu", false)),
  ];
}

// -- start -------------------------------------------------------------------------------------------------

function openForm() {
  form = makeStartForm(given, {
    check: (question, signal) => postJson(`${SERVER}/check`, question, signal),
    start: async (question) => {
      await postOnce(`${SERVER}/start`, question);
      closeForm();
      pick(question.run, true);
    },
    cancel: closeForm,
    draw,
  });
  draw();
  find("start-name").focus();
}

function closeForm() {
  form = null;
  draw();
  find("new").focus();
}

window.addEventListener("hashchange", () => {
  view.state = readState(location.hash, SPECIFICATION);
  look();
});
document.addEventListener("visibilitychange", look);
draw();
look();
