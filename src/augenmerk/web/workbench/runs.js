/** The view Runs: the list, the curves of those that are picked, their scores and settings, and trainings. */

import { find, isolate, make, replaceInside } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { COLOURS, drawPanel, getPoints } from "./curves.js";
import { startFrame } from "./frame.js";
import { RUNS_TEXTS } from "./runs-texts.js";
import { postJson } from "./server.js";
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
    const answer = await postJson(`${SERVER}/watch`, { epochs: Object.fromEntries(known) }, asking.signal);
    if (asking.signal.aborted) return;
    take(answer);
    tell("");
  } catch (error) {
    if (asking.signal.aborted) return;
    tell(error instanceof TypeError ? frame.t("lost") : error.message);
  }
  const busy = view.runs.some((run) => run.state === "training") || view.trainings.some((each) => each.running);
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
    await postJson(`${SERVER}/${what}`, question);
    tell("");
  } catch (error) {
    tell(error.message);
  }
  look();
}

function tell(message) {
  find("trouble").hidden = !message;
  if (find("trouble").textContent !== message) find("trouble").textContent = message;
}

// -- drawing -----------------------------------------------------------------------------------------------

const drawn = new Map(); // what each part was last drawn from, so that what stays the same is left alone

/** Draws a part if what it depends on has changed. */
function drawPart(id, depends, makeNodes, anew) {
  const key = JSON.stringify([depends, frame.t.language, frame.theme]);
  if (!anew && drawn.get(id) === key) return;
  drawn.set(id, key);
  replaceInside(find(id), ...makeNodes());
}

function draw(anew = false) {
  const { t } = frame;
  document.title = `${t("title")} · Augenmerk`;
  const known = new Map(view.runs.map((run) => [run.name, run]));
  const picked = view.picked.filter((name) => known.has(name) && !known.get(name).error);
  const minute = Math.floor(view.now / 60);
  find("list-hint").textContent = given.local ? t("pick") : `${t("pick")} ${t("onlyLocal")}`;
  find("new").hidden = !given.local || form !== null;
  drawPart("list", [view.runs, view.picked, view.trainings, minute], () => [makeList(t)], anew);
  drawPart("trainings", [view.trainings, view.runs.map((run) => run.name)], () => makeEnded(t), anew);
  for (const id of ["curves-card", "scores-card", "settings-card"]) find(id).hidden = !picked.length;
  const options = AXES.map((each) => make("option", { value: each, selected: each === view.by }, t(each)));
  drawPart("by", [view.by], () => options, anew);
  drawPart("legend", [picked, view.runs], () => makeLegend(picked, known, t), anew);
  const counts = picked.map((name) => [name, view.epochs.get(name)?.length, known.get(name).state]);
  drawPart("charts", [counts, view.by, innerWidth], () => makeCharts(picked, known, t), anew);
  drawPart("scores", [picked.map((name) => known.get(name).scores), picked], () => makeScores(picked, known, t), anew);
  const settings = picked.map((name) => view.details.get(name)?.settings);
  drawPart("settings", [picked, settings, view.all], () => makeSettings(picked, t), anew);
  form?.write(t);
}

function colourOf(name) {
  return view.picked.indexOf(name) % COLOURS;
}

/** Says when a run was last changed. */
function showAge(seconds, t) {
  const minutes = Math.floor((view.now - seconds) / 60);
  if (minutes < 1) return t("justNow");
  if (minutes < 60) return t("minutesAgo", { count: minutes });
  const today = new Date(view.now * 1000).toDateString() === new Date(seconds * 1000).toDateString();
  const style = today ? { timeStyle: "short" } : { dateStyle: "medium" };
  return new Intl.DateTimeFormat(t.language, style).format(seconds * 1000);
}

function makeList(t) {
  const training = new Map(view.trainings.filter((each) => each.running).map((each) => [each.run, each]));
  const beginning = view.trainings.filter(
    (each) => each.running && !view.runs.some((run) => run.name === each.run)
  );
  if (!view.runs.length && !beginning.length) return make("p", { class: "hint" }, t("noRuns"));
  const number = (value, decimals) => (Number.isFinite(value) ? showNumber(value, t.language, decimals) : t("absent"));
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
      onchange: (event) => pick(run.name, event.target.checked),
    });
    const label = make("label", { class: isPicked ? `run c${colourOf(run.name)}` : "run" }, box, isolate(run.name));
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
        : [make("span", { class: "hint" }, ` ${t(run.changes === 1 ? "changedSetting" : "changedSettings", { count: run.changes })}`)];
    return make(
      "tr",
      { class: isPicked ? "picked" : null },
      make("th", { scope: "row" }, label),
      cell("state", {}, make("span", { class: `state ${state}` }, t(state))),
      cell("preset", { title: t("nearest") }, run.preset, ...changes),
      cell("data", {}, isolate(run.data)),
      cell("epochs", { class: "number" }, `${run.done}/${run.epochs}`, ...(state === "finished" ? [] : [bar])),
      cell("loss", { class: "number" }, number(run.best.validation_loss, 3)),
      cell("bleu", { class: "number", title: t("bleuHint") }, number(run.best.validation_bleu, 1)),
      cell("when", { class: "when" }, showAge(run.modified, t)),
      make("td", { class: "acts" }, ...makeActs(run, own, key, t))
    );
  });
  const starting = beginning.map((each) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("span", { class: "run" }, isolate(each.run))),
      make("td", {}, make("span", { class: "state training" }, t(each.stopping ? "stopping" : "starting"))),
      make("td", { colspan: 6, class: "hint" }, each.said.at(-1) ?? ""),
      make("td", { class: "acts" }, ...makeActs(null, each, "new", t))
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
function makeActs(run, own, key, t) {
  if (!given.local) return [];
  const button = (what, text, title, onclick) =>
    make("button", { type: "button", "data-key": `${what}-${key}`, title, onclick }, text);
  if (own) {
    const stop = button("stop", t("stop"), t("stopHint"), () => act("stop", { run: own.run }));
    stop.disabled = own.stopping;
    return [stop];
  }
  if (run?.state === "stopped") {
    return [button("resume", t("resume"), t("keepHint"), () => act("resume", { run: run.name }))];
  }
  if (run?.state === "finished") {
    if (view.asking !== run.name) {
      const ask = () => {
        Object.assign(view, { asking: run.name, more: String(run.epochs + 5) });
        draw(true);
        find("more-epochs").select();
      };
      return [button("more", t("more"), null, ask)];
    }
    const close = () => {
      view.asking = "";
      draw(true);
    };
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
      act("resume", { run: run.name, epochs: Number(view.more) });
      close();
    };
    const go = make("button", { type: "submit", class: "main" }, t("resume"));
    return [make("form", { class: "together", onsubmit: send }, make("label", {}, t("moreEpochs"), " ", field), go)];
  }
  return [];
}

/** Says how trainings of this server have ended, if not by themselves. */
function makeEnded(t) {
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

function makeLegend(picked, known, t) {
  return picked.map((name) =>
    make(
      "span",
      { class: `key c${colourOf(name)}` },
      isolate(name),
      ...(known.get(name).state === "training" ? [make("span", { class: "live-mark" }, ` ● ${t("live")}`)] : []),
      make(
        "button",
        { type: "button", class: "word", "aria-label": t("unpick", { run: name }), onclick: () => pick(name, false) },
        "×"
      )
    )
  );
}

function makeCharts(picked, known, t) {
  const room = find("charts").clientWidth;
  const width = Math.max(260, Math.floor(room >= 760 ? (room - 40) / 2 : room));
  const series = (name, key, dashed) => ({
    name: dashed ? t("trainingOf", { run: name }) : name,
    colour: colourOf(name),
    dashed,
    live: known.get(name).state === "training",
    points: getPoints(view.epochs.get(name) ?? [], view.by, key),
  });
  const panels = [
    { heading: t("lossHeading"), lowIsGood: true, keys: [["train_loss", true], ["validation_loss", false]] },
    { heading: t("bleuHeading"), lowIsGood: false, keys: [["validation_bleu", false]] },
  ];
  return panels.map(({ heading, lowIsGood, keys }) => {
    const lines = keys.flatMap(([key, dashed]) => picked.map((name) => series(name, key, dashed)));
    return drawPanel({ heading, xName: t(view.by), isWhole: view.by !== "seconds", lines, lowIsGood, width, t });
  });
}

function makeScores(picked, known, t) {
  const rows = picked.flatMap((name) =>
    known.get(name).scores.map((score) =>
      make(
        "tr",
        {},
        make("th", { scope: "row", class: `run c${colourOf(name)}` }, isolate(name)),
        make("td", {}, isolate(String(score.split))),
        make("td", { class: "number" }, String(score.beam ?? t("absent"))),
        ...["bleu", "chrf", "ter", "perplexity"].map((key) =>
          make("td", { class: "number" }, Number.isFinite(score[key]) ? showNumber(score[key], t.language, 1) : t("absent"))
        )
      )
    )
  );
  if (!rows.length) return [make("p", { class: "hint" }, t("noScores"))];
  const heads = [t("name"), t("split"), t("beam"), "BLEU", "chrF", "TER", "perplexity"];
  const head = heads.map((text, place) => make("th", { scope: "col", class: place > 1 ? "number" : null }, text));
  return [
    make("table", { class: "plain" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)),
  ];
}

/** Returns the settings of the picked runs, those that differ first. */
function makeSettings(picked, t) {
  const details = picked.map((name) => view.details.get(name)).filter(Boolean);
  // A run by itself is compared with its preset.
  const beside = details.map(({ preset, preset_settings }) => ({ name: preset, settings: preset_settings }));
  const runs = details.length === 1 ? [...details, ...beside] : details;
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.settings)))];
  const valueOf = (run, name) => JSON.stringify(run.settings[name] ?? null);
  const differs = new Set(names.filter((name) => new Set(runs.map((run) => valueOf(run, name))).size > 1));
  const meaning = new Map(given.settings.map((setting) => [setting.name, setting.meaning]));
  const shown = [
    ...names.filter((name) => differs.has(name)),
    ...(view.all ? names.filter((name) => !differs.has(name)) : []),
  ];
  const note = runs.length > 1 && !differs.size ? [make("p", { class: "hint" }, t("sameSettings"))] : [];
  if (!shown.length) return note;
  const write = (value) => (value === null || value === undefined ? t("absent") : typeof value === "object" ? JSON.stringify(value) : String(value));
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
      ? make("th", { scope: "col", class: `run c${colourOf(run.name)}` }, isolate(run.name))
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

// -- start -------------------------------------------------------------------------------------------------

function openForm() {
  form = new StartForm(given, {
    check: (question) => postJson(`${SERVER}/check`, question),
    start: async (question) => {
      await postJson(`${SERVER}/start`, question);
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
window.addEventListener("resize", () => draw());
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(timer);
    looking?.abort();
  } else {
    look();
  }
});
look();
