/** The view Runs: the list, the curves of those that are picked, their scores and settings, and trainings. */

import { fillSelect, find, make, replaceInside } from "../page/dom.js";
import { startFrame } from "./frame.js";
import { LineChart } from "./plots.js";
import { classOf, makeEnded, makeList, shortenNames, showName } from "./runs-list.js";
import { makeScores, makeSettings } from "./runs-tables.js";
import { RUNS_TEXTS } from "./runs-texts.js";
import { makeSwatch } from "./series.js";
import { postJson, postOnce } from "./server.js";
import { StartForm } from "./start-form.js";

const SERVER = "/workbench/runs";
const LIVE = 1000; // milliseconds between two looks while something is being trained
const IDLE = 4000; // and otherwise
const MAX_PICKED = 12;
const AXES = ["epoch", "step", "seconds"];
const MAX_KEPT = 20_000; // epochs of a run that the page remembers

const given = JSON.parse(find("page-data").textContent);
const view = {
  runs: [],
  trainings: [],
  picked: [], // names
  by: "epoch",
  all: false, // whether settings that are the same are shown
  epochs: new Map(), // what is known of the picked runs, by name
  details: new Map(), // their settings
  now: 0,
  asking: "", // the run for which is asked how many epochs it shall have
  more: "", // what was written there
};
let timer = 0;
let looking = null; // what cancels the question that the server is asked
let form = null; // the form of a new training
const charts = [];
const frame = startFrame({ texts: RUNS_TEXTS, onChange: () => draw(true) });

// -- address -----------------------------------------------------------------------------------------------

function readAddress() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  view.picked = [...new Set(fragment.getAll("run"))].slice(0, MAX_PICKED);
  view.by = AXES.includes(fragment.get("by")) ? fragment.get("by") : "epoch";
  view.all = fragment.get("settings") === "all";
  find("all-settings").checked = view.all;
}

function writeAddress() {
  const fragment = new URLSearchParams(view.picked.map((name) => ["run", name]));
  if (view.by !== "epoch") fragment.set("by", view.by);
  if (view.all) fragment.set("settings", "all");
  const text = String(fragment).replaceAll("%2F", "/");
  history.replaceState(null, "", text ? `#${text}` : location.pathname);
}

function pick(name, on) {
  view.picked = on ? [...view.picked, name].slice(-MAX_PICKED) : view.picked.filter((each) => each !== name);
  writeAddress();
  draw();
  look();
}

// -- asking ------------------------------------------------------------------------------------------------

/** Asks for the list, and for the epochs of the picked runs that are not here yet. */
async function look() {
  clearTimeout(timer);
  looking?.abort();
  if (document.hidden) return; // a page that nobody sees asks for nothing
  const asking = new AbortController();
  looking = asking;
  const known = view.picked.map((name) => [name, view.epochs.get(name)?.length ?? 0]);
  try {
    const answer = await postOnce(`${SERVER}/watch`, { epochs: Object.fromEntries(known) }, asking.signal);
    if (asking.signal.aborted) return;
    take(answer);
    tell("");
  } catch (error) {
    if (asking.signal.aborted) return;
    tell(error instanceof TypeError ? frame.t("lost") : error.message);
  }
  const busy =
    view.runs.some((run) => run.state === "training") || view.trainings.some((each) => each.running);
  timer = setTimeout(look, busy ? LIVE : IDLE);
}

function take({ runs, epochs, trainings, now }) {
  Object.assign(view, { runs, trainings, now });
  const names = new Set(runs.map((run) => run.name));
  for (const [name, { from, epochs: more }] of Object.entries(epochs)) {
    if (!view.picked.includes(name)) continue;
    const before = (view.epochs.get(name) ?? []).slice(0, from);
    view.epochs.set(name, [...before, ...more].slice(-MAX_KEPT));
  }
  for (const kept of [view.epochs, view.details]) {
    for (const name of kept.keys()) {
      if (!view.picked.includes(name) || !names.has(name)) kept.delete(name);
    }
  }
  draw();
  compare();
}

/** Asks for the settings of picked runs that are not here yet. */
async function compare() {
  const readable = new Set(view.runs.filter((run) => !run.error).map((run) => run.name));
  const missing = view.picked.filter((name) => readable.has(name) && !view.details.has(name));
  if (!missing.length) return;
  try {
    const { runs } = await postJson(`${SERVER}/details`, { runs: missing });
    for (const run of runs) view.details.set(run.name, run);
    draw();
  } catch (error) {
    tell(error.message);
  }
}

/** Does something that changes a run, and looks what became of it. */
async function act(what, question) {
  try {
    await postOnce(`${SERVER}/${what}`, question);
    tell("");
  } catch (error) {
    tell(error.message);
  }
  look();
}

/** Asks how many epochs a run shall have, or "" no more. */
function ask(name, epochs) {
  Object.assign(view, { asking: name, more: String(epochs) });
  draw(true);
  if (name) find("more-epochs").select();
}

function tell(message) {
  find("trouble").hidden = !message;
  if (find("trouble").textContent !== message) find("trouble").textContent = message;
}

// -- drawing -----------------------------------------------------------------------------------------------

const on = { pick, act, ask };
const drawn = new Map(); // what each part was last drawn from, so that what stays the same is left alone

/** Returns whether what a part depends on has changed since it was last drawn. */
function hasChanged(id, depends, anew) {
  const key = JSON.stringify([depends, frame.t.language, frame.theme]);
  if (!anew && drawn.get(id) === key) return false;
  drawn.set(id, key);
  return true;
}

/** Draws a part if what it depends on has changed. */
function drawPart(id, depends, makeNodes, anew) {
  if (hasChanged(id, depends, anew)) replaceInside(find(id), ...makeNodes());
}

function draw(anew = false) {
  const { t } = frame;
  document.title = `${t("title")} · Augenmerk`;
  const known = new Map(view.runs.map((run) => [run.name, run]));
  const picked = view.picked.filter((name) => known.has(name) && !known.get(name).error);
  const minute = Math.floor(view.now / 60);
  find("list-hint").textContent = given.local ? t("pick") : `${t("pick")} ${t("onlyLocal")}`;
  find("new").hidden = !given.local || form !== null;
  const list = () => [makeList(view, given.local, on, t)];
  drawPart("list", [view.runs, view.picked, view.trainings, minute], list, anew);
  drawPart("trainings", [view.trainings, view.runs.map((run) => run.name)], () => makeEnded(view, t), anew);
  for (const id of ["curves-card", "scores-card", "settings-card"]) find(id).hidden = !picked.length;
  if (hasChanged("by", [view.by], anew)) fillSelect(find("by"), AXES, t, view.by);
  drawPart("legend", [picked, view.runs], () => makeLegend(picked, known, t), anew);
  const counts = picked.map((name) => [name, view.epochs.get(name)?.length, known.get(name).state]);
  if (hasChanged("charts", [counts, view.by], anew)) drawCharts(picked, known, t);
  const scores = picked.map((name) => known.get(name).scores);
  drawPart("scores", [scores, picked], () => makeScores(view, picked, known, given.metrics, t), anew);
  const settings = picked.map((name) => view.details.get(name)?.settings);
  drawPart(
    "settings",
    [picked, settings, view.all],
    () => makeSettings(view, picked, given.settings, t),
    anew
  );
  form?.write(t);
}

function makeLegend(picked, known, t) {
  return picked.map((name) =>
    make(
      "span",
      { class: `key ${classOf(view, name)}` },
      makeSwatch(view.picked.indexOf(name)),
      showName(name),
      ...(known.get(name).state === "training"
        ? [make("span", { class: "live-mark" }, ` ● ${t("live")}`)]
        : []),
      make(
        "button",
        {
          type: "button",
          class: "word",
          "aria-label": t("unpick", { run: name }),
          onclick: () => pick(name, false),
        },
        "×"
      )
    )
  );
}

/** Draws the curves of the picked runs into charts that stay, so that one can be read while it grows. */
function drawCharts(picked, known, t) {
  const short = shortenNames(picked);
  const makeSeries = (name, key, dashed) => ({
    name: dashed ? t("trainingOf", { run: short[picked.indexOf(name)] }) : short[picked.indexOf(name)],
    number: view.picked.indexOf(name),
    dashed,
    live: known.get(name).state === "training",
    points: (view.epochs.get(name) ?? [])
      .filter((epoch) => Number.isFinite(epoch[view.by]) && Number.isFinite(epoch[key]))
      .map((epoch) => ({ x: epoch[view.by], y: epoch[key] })),
  });
  const panels = [
    {
      title: t("lossHeading"),
      clip: true,
      digits: 3,
      keys: [
        ["train_loss", true],
        ["validation_loss", false],
      ],
    },
    { title: t("bleuHeading"), digits: 1, keys: [["validation_bleu", false]] },
  ];
  const isLive = picked.some((name) => known.get(name).state === "training");
  panels.forEach(({ keys, ...panel }, place) => {
    const series = keys.flatMap(([key, dashed]) => picked.map((name) => makeSeries(name, key, dashed)));
    const about = {
      ...panel,
      empty: t(isLive ? "firstEpoch" : "noCurve"),
      xLabel: t(view.by),
      fractions: view.by === "seconds",
      nearest: view.by !== "epoch", // runs are rarely at the same step at the same time
      unlabelled: true,
      series: series.filter((each) => each.points.length),
    };
    if (charts[place]) {
      charts[place].change(about, t);
    } else {
      charts.push(new LineChart(about, t));
      find("charts").append(charts[place].element);
    }
  });
}

// -- start -------------------------------------------------------------------------------------------------

function openForm() {
  form = new StartForm(given, {
    check: (question) => postJson(`${SERVER}/check`, question),
    start: async (question) => {
      await postOnce(`${SERVER}/start`, question);
      closeForm();
      pick(question.run, true);
    },
    cancel: closeForm,
  });
  find("start-place").replaceChildren(form.element);
  draw();
  form.focus();
}

function closeForm() {
  form = null;
  find("start-place").replaceChildren();
  draw();
  find("new").focus();
}

readAddress();
find("new").addEventListener("click", openForm);
find("by").addEventListener("change", (event) => {
  view.by = event.target.value;
  writeAddress();
  draw();
});
find("all-settings").addEventListener("change", (event) => {
  view.all = event.target.checked;
  writeAddress();
  draw();
});
window.addEventListener("hashchange", () => {
  readAddress();
  look();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(timer);
    looking?.abort();
  } else {
    look();
  }
});
look();
