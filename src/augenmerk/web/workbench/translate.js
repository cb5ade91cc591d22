/** The view Translate: the exported page, asked of the server, with any runs and their layers and heads. */

import { name as oneName } from "../page/address.js";
import { find } from "../page/dom.js";
import { startPage } from "../page/main.js";
import { Model } from "../page/models.js";
import { restoreExample } from "../page/stored.js";
import { h, render } from "../page/view.js";
import { keepViews, recallSwitches, rememberSwitch, writeFrame } from "./frame.js";
import { addToQuestion, attentionAt, HEAD_CHOICES, makePicture, viewHeads } from "./heads.js";
import { getJson, newestOf, postJson } from "./server.js";

const SERVER = "/workbench/translate";
const SIDES = 2; // how many answers stand side by side

const TEXTS = {
  en: {
    title: "Translate",
    models: "Models",
    modelsHint:
      "Choose one run or several; those chosen in one column translate together, as an ensemble. The second column is shown beside the first.",
    run: "run",
    left: "Left",
    right: "Right",
    architecture: "architecture",
    attentionOf: "Attention",
    cross: "to the source",
    encoder: "within the encoder",
    decoder: "within the decoder",
    layer: "Layer",
    head: "Head",
    mean: "mean",
    all: "all, small",
    headName: "layer {layer}, head {head}",
    headOnly: "head {head}",
    layerName: "layer {layer}",
    layerMean: "mean of all layers",
    headMean: "mean of all heads",
    crossName: "Attention to the source",
    encoderName: "Attention within the encoder: source words look at one another",
    decoderName: "Attention within the decoder: words produced look back",
    smallHint: "Rows are the words that look, columns those looked at. Click a map to see it large.",
    headSpread: "a word looks at {words} on average",
    ensembleChange:
      "Attention can be changed for one model, in the browser; here {count} translate together. Choose a single run.",
    ownMechanism:
      "The attention of this run is your own mechanism, written in Python, and a browser cannot compute it.",
    privacy: "What you type is translated by this server, which keeps none of it.",
    changedInBrowser:
      "Changed attention is computed in the browser with weights rounded to half precision; numbers may differ in the last digits.",
    cannotRead: "cannot be read",
  },
  de: {
    title: "Übersetzen",
    models: "Modelle",
    modelsHint:
      "Einen Lauf wählen oder mehrere; die in einer Spalte gewählten übersetzen gemeinsam, als Ensemble. Die zweite Spalte steht neben der ersten.",
    run: "Lauf",
    left: "Links",
    right: "Rechts",
    architecture: "Architektur",
    attentionOf: "Aufmerksamkeit",
    cross: "auf den Satz",
    encoder: "im Encoder",
    decoder: "im Decoder",
    layer: "Schicht",
    head: "Kopf",
    mean: "Mittel",
    all: "alle, klein",
    headName: "Schicht {layer}, Kopf {head}",
    headOnly: "Kopf {head}",
    layerName: "Schicht {layer}",
    layerMean: "Mittel aller Schichten",
    headMean: "Mittel aller Köpfe",
    crossName: "Aufmerksamkeit auf den Satz",
    encoderName: "Aufmerksamkeit im Encoder: Wörter des Satzes schauen einander an",
    decoderName: "Aufmerksamkeit im Decoder: erzeugte Wörter schauen zurück",
    smallHint:
      "Zeilen sind die Wörter, die schauen, Spalten die angeschauten. Ein Klick zeigt eine Karte groß.",
    headSpread: "ein Wort schaut im Mittel auf {words}",
    ensembleChange:
      "Aufmerksamkeit lässt sich für ein einzelnes Modell ändern, im Browser; hier übersetzen {count} gemeinsam. Bitte einen einzelnen Lauf wählen.",
    ownMechanism:
      "Die Aufmerksamkeit dieses Laufs ist ein eigener Mechanismus, in Python geschrieben; ein Browser kann sie nicht berechnen.",
    privacy: "Was hier eingegeben wird, übersetzt dieser Server, der nichts davon behält.",
    changedInBrowser:
      "Geänderte Aufmerksamkeit wird im Browser berechnet, mit auf halbe Genauigkeit gerundeten Gewichten; die letzten Stellen können abweichen.",
    cannotRead: "nicht lesbar",
  },
};

const served = JSON.parse(find("page-data").textContent);
let readable = [];
let byName = new Map();
takeServed(served.models);
const models = new Map(); // those that were asked, so that none is fetched twice
const examples = new Map(); // by the name of a run

/** Takes what the server says of its models. */
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

/**
 * One run, or several that translate together: what `page/models.js` has in the browser. The server translates;
 * questions about changed attention are answered by the model itself, which is fetched when one first comes. `data` is
 * as the server describes it, with `runs`, names.
 */
class ServerModel {
  constructor(data, number) {
    this.data = data;
    this.number = number;
    this.isBpe = data.unit === "bpe";
    this.settings = null; // of the model in the browser, once it is there
    this._local = null; // a promise of this model
    this._askNewest = newestOf((question, signal) => postJson(`${SERVER}/ask`, question, signal));
  }

  /** There is nothing to wait for. */
  async load() {
    return this;
  }

  /** Answers a question as `Model.ask` does: the newest of each kind is the only one that is answered. */
  async ask(call, question) {
    if (call !== "translate" || question.changed) return (await this._loadLocal()).ask(call, question);
    const { text, sentence = 0, beam, prefix = [], tree = false, heads = null } = question;
    const asked = { models: this.data.runs, text, sentence, beam, prefix, tree, heads };
    return restoreExample(await this._askNewest(asked));
  }

  _loadLocal() {
    if (this._local === null) {
      const name = this.data.runs[0].split("/").map(encodeURIComponent).join("/");
      const files = { settings: `${SERVER}/model/${name}.json`, weights: `${SERVER}/model/${name}.bin` };
      const model = new Model({ ...this.data, ...files }, this.number, `${SERVER}/engine.js`);
      this._local = model.load().then(() => {
        this.settings = model.settings;
        return model;
      });
      this._local.catch(() => (this._local = null)); // so that it can be tried again
    }
    return this._local;
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
    .map((side) => [...new Set(side.split(",").map(oneName.read))].filter((name) => byName.has(name)))
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
  return { models: chosen, examples: examples.get(name) };
}

function makeModel(data, number) {
  const key = JSON.stringify([data.runs, number]);
  if (!models.has(key)) models.set(key, new ServerModel(data, number));
  return models.get(key);
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
      h("td", {}, error ? null : box(0, name)),
      h("td", {}, error ? null : box(1, name)),
      h("th", { scope: "row" }, h("bdi", {}, name)),
      error
        ? h("td", { colspan: 2, title: error }, t("cannotRead"))
        : [title, attention].map((text) => h("td", {}, h("bdi", {}, text)))
    )
  );
  const head = ["left", "right", "run", "architecture", "mechanism"].map((key) =>
    h("th", { scope: "col" }, t(key))
  );
  return h("table", { class: "plain" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
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
  const chosen = app.page.models.map(({ name }) => h("bdi", {}, name));
  render(find("models-chosen"), chosen.length > 1 ? [chosen[0], " · ", chosen[1]] : chosen);
  render(find("models-list"), find("models").open && viewModels(app));
  render(find("heads"), viewHeads(app));
}

function writeTexts({ t }) {
  writeFrame(t.language);
  document.title = `${t("title")} · Augenmerk`;
}

keepViews();
const [first] = readable;
await askExamples(first.name);
for (const name of ["theme", "language"]) {
  find(name).addEventListener("change", () => rememberSwitch(name, find(name).value));
}
find("models").addEventListener("toggle", () => {
  drawOwn(app);
  renewModels(app);
});
const app = startPage(
  {
    ...chooseModels(writeNames([[first.name]])),
    beam: Math.min(first.beam, served.max_beam),
    max_beam: served.max_beam,
    untouched: {
      models: writeNames([[first.name]]),
      part: "cross",
      layer: "mean",
      head: "mean",
      ...recallSwitches(),
    },
    choices: { models: (text) => writeNames(readNames(text)), ...HEAD_CHOICES },
  },
  {
    texts: TEXTS,
    notices: ["privacy", "changedInBrowser"],
    makeModel,
    chooseModels,
    addToQuestion,
    makePicture,
    attentionAt,
    refuseChange,
    writeTexts,
    draw: drawOwn,
  }
);
