/** The view Translate: the exported page, asked of the server, with any runs and their layers and heads. */

import { choice, name } from "../page/address.js";
import { find } from "../page/dom.js";
import { startPage } from "../page/main.js";
import { Model } from "../page/models.js";
import { headings, isolate, table } from "../page/parts.js";
import { restoreExample } from "../page/stored.js";
import { THEMES } from "../page/switches.js";
import { LANGUAGES } from "../page/texts.js";
import { h, render } from "../page/view.js";
import { keepViews, recallSwitches, rememberSwitch, writeFrame } from "./frame.js";
import { getJson, newestPost } from "./server.js";

const SERVER = "/workbench/translate";
const SIDES = 2; // how many answers stand side by side

const TEXTS = {
  title: ["Translate", "Übersetzen"],
  models: ["Models", "Modelle"],
  modelsHint: [
    "Runs checked in one column translate together, as an ensemble. With runs in both columns, you see two translations side by side.",
    "Läufe in einer Spalte übersetzen gemeinsam, als Ensemble. Mit Läufen in beiden Spalten stehen zwei Übersetzungen nebeneinander.",
  ],
  run: ["run", "Lauf"],
  left: ["Left", "Links"],
  right: ["Right", "Rechts"],
  architecture: ["architecture", "Architektur"],
  ensembleChange: [
    "Attention can be changed for one model, in the browser; here {count} translate together. Choose a single run.",
    "Aufmerksamkeit lässt sich für ein einzelnes Modell ändern, im Browser; hier übersetzen {count} gemeinsam. Bitte einen einzelnen Lauf wählen.",
  ],
  ownMechanism: [
    "The attention of this run is your own mechanism, written in Python, and a browser cannot compute it.",
    "Die Aufmerksamkeit dieses Laufs ist ein eigener Mechanismus, in Python geschrieben; ein Browser kann sie nicht berechnen.",
  ],
  privacy: [
    "What you type is translated by this server, which keeps none of it.",
    "Dieser Server übersetzt, was du eingibst, und speichert nichts davon.",
  ],
  changedInBrowser: [
    "Changed attention is computed in the browser with weights rounded to half precision; numbers may differ in the last digits.",
    "Geänderte Aufmerksamkeit wird im Browser berechnet, mit auf halbe Genauigkeit gerundeten Gewichten; die letzten Stellen können abweichen.",
  ],
  cannotRead: ["cannot be read", "nicht lesbar"],
};

const served = JSON.parse(find("page-data").textContent);
let readable = [];
let byName = new Map();
takeServed(served.models);
const locals = new Map(); // promises of models in the browser, by the names of runs
const examples = new Map(); // by the name of a run
let app = null; // what the parts of the page share

function takeServed(described) {
  served.models = described;
  readable = described.filter((model) => !model.error);
  byName = new Map(readable.map((model) => [model.name, model]));
}

/** Asks for sentences that a run translates well, for the page to offer. */
async function askExamples(name) {
  examples.set(name, []);
  const asked = getJson(`${SERVER}/examples?${new URLSearchParams({ model: name })}`);
  const found = await asked.catch(() => ({ examples: [] })); // what is wrong is said below the sentence
  const described = found.examples.map((source) => ({ source }));
  examples.set(name, described);
}

/** One run, or several that translate together: `page/models.js` with a server. `data` is as the server describes it. */
class ServerModel {
  constructor(data) {
    this.data = data;
    this.isBpe = data.unit === "bpe";
    this.settings = null; // of the model in the browser, once it is there
    this._askNewest = newestPost(`${SERVER}/ask`);
  }

  /** There is nothing to wait for. */
  async load() {
    return this;
  }

  /**
   * Answers a question as `Model.ask` does: the newest of each kind is the only one that is answered. Those about changed
   * attention are answered in the browser.
   */
  async ask(call, question) {
    if (call === "translate" && !question.changed) {
      const { text, sentence = 0, beam, prefix = [], tree = false, heads = null } = question;
      const asked = { models: this.data.runs, text, sentence, beam, prefix, tree, heads };
      return restoreExample(await this._askNewest(asked));
    }
    const local = await loadLocal(this.data);
    this.settings = local.settings;
    return local.ask(call, question);
  }
}

/** Has the browser itself read a run, once for both sides; resolves to a `Model`. */
function loadLocal(data) {
  const [run] = data.runs;
  if (!locals.has(run)) {
    const name = run.split("/").map(encodeURIComponent).join("/");
    const files = { settings: `${SERVER}/model/${name}.json`, weights: `${SERVER}/model/${name}.bin` };
    const loading = new Model({ ...data, ...files }, 0, `${SERVER}/engine.js`).load();
    loading.catch(() => locals.delete(run)); // so that it can be tried again
    locals.set(run, loading);
  }
  return locals.get(run);
}

/** Ends the workers of runs that are not shown any more. */
function endWorkers(shown) {
  for (const [run, loading] of locals) {
    if (shown.some(({ runs }) => runs.length === 1 && runs[0] === run)) continue;
    locals.delete(run);
    loading.then(
      (model) => model.close(),
      () => {}
    );
  }
}

// -- models ------------------------------------------------------------------------------------------------

/** Writes names as the address has them: `a,b;c` is an ensemble of a and b, and c beside it. */
function writeNames(sides) {
  const encode = (name) => name.replace(/[%,;]/g, encodeURIComponent);
  return sides.map((names) => names.map(encode).join(",")).join(";");
}

function readNames(text) {
  const sides = text
    .split(";")
    .map((side) => [...new Set(side.split(",").map(name.read))].filter((name) => byName.has(name)))
    .map((side) => side.slice(0, served.max_models))
    .filter((side) => side.length)
    .slice(0, SIDES);
  return sides.length ? sides : [[readable[0].name]];
}

/** Returns what the page shows of one run, or of several that translate together. */
function describeSide(runs) {
  const members = runs.map((name) => byName.get(name));
  if (runs.length === 1) return { ...members[0], runs };
  const join = (key, between) => [...new Set(members.map((member) => member[key]))].join(between);
  const together = {
    name: runs.join(" + "),
    attention: join("attention", " + "),
    licence: join("licence", " "),
  };
  return { ...members[0], ...together, layers: 1, heads: { cross: 1 }, runs };
}

function chooseModels(text) {
  const chosen = readNames(text).map(describeSide);
  const [name] = chosen[0].runs;
  if (!examples.has(name)) askExamples(name).then(() => app.takeModels(app.state.models));
  endWorkers(chosen);
  return { models: chosen, examples: examples.get(name) };
}

/** Returns the list of runs with a column of boxes for each side. */
function viewModels(app) {
  const { t } = app;
  const sides = app.page.models.map(({ runs }) => runs);
  const toggle = (side, name, box) => {
    const next = [sides[0] ?? [], sides[1] ?? []];
    next[side] = box.checked ? [...next[side], name] : next[side].filter((each) => each !== name);
    const left = next.filter((names) => names.length);
    if (!left.length)
      box.checked = true; // one has to be chosen
    else
      app.change({ models: writeNames(left), selectedModel: 0, begin: [], changed: [], at: -1, tried: null });
  };
  const box = (side, name) =>
    h("input", {
      type: "checkbox",
      checked: sides[side]?.includes(name) ?? false,
      "aria-label": `${name}: ${t(side ? "right" : "left")}`,
      onchange: (event) => toggle(side, name, event.target),
    });
  const rows = served.models.map(({ name, title, attention, error }) =>
    h(
      "tr",
      { key: name, class: error && "broken" },
      h("td", error ? null : box(0, name)),
      h("td", error ? null : box(1, name)),
      h("th", { scope: "row" }, isolate(name)),
      error
        ? h("td", { colspan: 2, title: error }, t("cannotRead"))
        : [title, attention].map((text) => h("td", isolate(text)))
    )
  );
  const head = headings(["left", "right", "run", "architecture", "mechanism"].map((key) => t(key)));
  return table("plain", null, head, rows);
}

/** Asks for the runs again: there may be new ones since the page was opened. */
async function renewModels(app) {
  if (!find("models").open) return;
  const { models: described } = await getJson(`${SERVER}/models`);
  const readableNow = new Set(described.filter(({ error }) => !error).map(({ name }) => name));
  if (!app.page.models.flatMap(({ runs }) => runs).every((name) => readableNow.has(name))) return;
  takeServed(described);
  drawOwn(app);
}

// -- the page ----------------------------------------------------------------------------------------------

function refuseChange({ t }, answer) {
  const { runs, in_browser } = answer.model.data;
  if (runs.length > 1) return t("ensembleChange", { count: runs.length });
  return in_browser ? "" : t("ownMechanism");
}

function drawOwn(app) {
  const chosen = app.page.models.map(({ name }) => isolate(name));
  render(find("models-chosen"), chosen.length > 1 ? [chosen[0], " · ", chosen[1]] : chosen);
  render(find("models-list"), find("models").open && viewModels(app));
}

function writeTexts({ t }) {
  writeFrame(t.language);
  document.title = `${t("title")} · Augenmerk`;
}

/** Starts the page once there is an example to show: a sentence that the first run translates well. */
async function begin() {
  const [first] = readable;
  const switches = recallSwitches();
  const names = writeNames([[first.name]]);
  await askExamples(first.name);
  const more = {
    models: { read: (text) => writeNames(readNames(text)), write: String, otherwise: names },
    theme: choice(THEMES, switches.theme),
    language: choice(LANGUAGES, switches.language),
  };
  const beam = Math.min(first.beam, served.max_beam);
  const makeModel = (data) => new ServerModel(data);
  app = startPage(
    { ...chooseModels(names), beam, max_beam: served.max_beam, more },
    {
      ...{ texts: TEXTS, notices: ["privacy", "changedInBrowser"], draw: drawOwn },
      ...{ makeModel, chooseModels, refuseChange, writeTexts },
    }
  );
}

keepViews();
for (const name of ["theme", "language"]) {
  find(name).addEventListener("change", () => rememberSwitch(name, find(name).value));
}
find("models").addEventListener("toggle", () => {
  drawOwn(app);
  renewModels(app);
});
begin();
