/** The view Translate: the exported page, asked of the server, with any runs and their layers and heads. */

import { fillSelect, find, findAll, isolate, make, replaceInside } from "../page/dom.js";
import { startPage } from "../page/main.js";
import { ServerModel } from "./asked.js";
import {
  keepViews,
  makeViewTexts,
  recallLanguage,
  recallTheme,
  rememberSwitch,
  writeTexts,
} from "./frame.js";
import { makeHeadPicture, makePartGrid, makeSmallMaps, meanMap } from "./heads.js";
import { getJson } from "./server.js";

const PARTS = ["cross", "encoder", "decoder"];
const SIDES = 2; // how many answers stand side by side
const MEAN = "mean";
const ALL = "all";

const TEXTS = {
  en: {
    title: "Translate",
    models: "Models",
    modelsHint:
      "Choose one run or several; those chosen in one column translate together, as an ensemble. The second column is shown beside the first.",
    run: "run",
    left: "first",
    right: "beside it",
    together: "{runs} together",
    architecture: "architecture",
    mechanism: "attention",
    attention: "Attention",
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
    left: "erstes",
    right: "daneben",
    together: "{runs} gemeinsam",
    architecture: "Architektur",
    mechanism: "Aufmerksamkeit",
    attention: "Aufmerksamkeit",
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
let own = makeViewTexts(TEXTS, "en"); // the texts of this view

/** Takes what the server says of its models. */
function takeServed(described) {
  served.models = described;
  readable = described.filter((model) => !model.error);
  byName = new Map(readable.map((model) => [model.name, model]));
}

// -- models ------------------------------------------------------------------------------------------------

/** Writes names as the address has them: `a,b;c` is an ensemble of a and b, and c beside it. */
function writeNames(sides) {
  const encode = (name) => name.replace(/[%,;]/g, encodeURIComponent);
  return sides.map((names) => names.map(encode).join(",")).join(";");
}

function readNames(text) {
  const decode = (name) => {
    try {
      return decodeURIComponent(name);
    } catch {
      return name;
    }
  };
  const sides = text
    .split(";")
    .map((side) => [...new Set(side.split(",").map(decode))].filter((name) => byName.has(name)))
    .map((side) => side.slice(0, served.max_models))
    .filter((side) => side.length)
    .slice(0, SIDES);
  return sides.length ? sides : [[readable[0].name]];
}

/** Returns what the page shows of one run, or of several that translate together. */
function describeSide(names) {
  const first = byName.get(names[0]);
  if (names.length === 1) return { ...first, runs: names };
  const members = names.map((name) => byName.get(name));
  const attention = [...new Set(members.map((member) => member.attention))].join(" + ");
  const licence = [...new Set(members.map((member) => member.licence))].join(" ");
  return {
    ...first,
    name: names.join(" + "),
    attention,
    licence,
    layers: 1,
    heads: { cross: 1 },
    runs: names,
  };
}

function chooseModels(text) {
  const chosen = readNames(text).map(describeSide);
  const examples = (served.examples[chosen[0].examples] ?? []).map((source) => ({ source }));
  return { models: chosen, examples };
}

function makeModel(data, number) {
  const key = JSON.stringify([data.runs, number]);
  if (!models.has(key)) models.set(key, new ServerModel(data, number));
  return models.get(key);
}

/** Draws the list of runs with a column of boxes for each side. */
function drawModels(app) {
  const sides = app.page.models.map(({ runs }) => runs);
  const chosen = app.page.models.map(({ name }) => name);
  replaceInside(
    find("models-chosen"),
    ...chosen.flatMap((name, side) => (side ? [" · ", isolate(name)] : [isolate(name)]))
  );
  if (!find("models").open) return;
  const toggle = (side, name, on) => {
    const next = [sides[0] ?? [], sides[1] ?? []];
    next[side] = on ? [...next[side], name] : next[side].filter((each) => each !== name);
    const left = next.filter((names) => names.length);
    if (left.length)
      app.change({ models: writeNames(left), selectedModel: 0, begin: [], changed: [], at: -1, tried: null });
    else drawModels(app); // one has to be chosen
  };
  const box = (side, name) =>
    make("input", {
      type: "checkbox",
      "data-key": `side-${side}-${name.replace(/[^\w-]/g, (letter) => `_${letter.codePointAt(0)}`)}`,
      checked: sides[side]?.includes(name) ?? false,
      "aria-label": `${name}: ${own(side ? "right" : "left")}`,
      onchange: (event) => toggle(side, name, event.target.checked),
    });
  const head = ["left", "right", "run", "architecture", "mechanism"].map((key) =>
    make("th", { scope: "col" }, own(key))
  );
  const rows = served.models.map((model) =>
    model.error
      ? make(
          "tr",
          { class: "broken" },
          make("td"),
          make("td"),
          make("th", { scope: "row" }, isolate(model.name)),
          make("td", { colspan: 2, title: model.error }, own("cannotRead"))
        )
      : make(
          "tr",
          {},
          make("td", {}, box(0, model.name)),
          make("td", {}, box(1, model.name)),
          make("th", { scope: "row" }, isolate(model.name)),
          make("td", {}, isolate(model.title)),
          make("td", {}, isolate(model.attention))
        )
  );
  const table = make(
    "table",
    { class: "plain" },
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows)
  );
  replaceInside(find("models-list"), table);
}

// -- layers and heads --------------------------------------------------------------------------------------

/** Returns the parts of a model that have attention, and that can be shown: a GRU has one. */
function listParts(model) {
  return PARTS.filter((part) => model.heads[part]);
}

/** Returns whether a model has attention of which the mean over all heads is not all there is. */
function hasHeads(model) {
  return listParts(model).length > 1 || model.layers * model.heads.cross > 1;
}

/** Returns whether something else than the mean over all heads, which is always there, is asked for. */
function wantsHeads({ state }) {
  return state.part !== "cross" || state.layer !== MEAN || state.head !== MEAN;
}

function drawHeads(app) {
  const { state, page } = app;
  // What can be chosen is what the model with the most of it has.
  const most = (count) => Math.max(...page.models.map(count));
  const layers = most((model) => model.layers);
  const heads = most((model) => model.heads[state.part] ?? 1);
  const parts = PARTS.filter((part) => page.models.some((model) => listParts(model).includes(part)));
  find("heads").hidden = !page.models.some(hasHeads);
  const numbers = (count) => Array.from({ length: count }, (_, place) => String(place + 1));
  const number = (value) => (value === MEAN || value === ALL ? own(value) : value);
  fillSelect(find("part"), parts, own, state.part);
  fillSelect(find("layer"), [MEAN, ...numbers(layers)], number, state.layer);
  fillSelect(find("head"), [MEAN, ALL, ...(heads > 1 ? numbers(heads) : [])], number, state.head);
  find("part").parentElement.hidden = parts.length === 1;
  find("layer").parentElement.hidden = layers === 1 || state.head === ALL;
}

function addToQuestion(app, number) {
  const data = app.page.models[number];
  if (!wantsHeads(app) || !hasHeads(data)) return {};
  return { heads: listParts(data).includes(app.state.part) ? app.state.part : "cross" };
}

/** Draws the heads that were chosen; null if it is the mean of all, which is drawn as ever. */
function makePicture(app, answer, chosen, on, room) {
  const { state, t } = app;
  const { translation, grid, model } = answer;
  const found = translation.heads;
  if (!found || !wantsHeads(app)) return null;
  const maps = found[state.unit];
  const withNames = (layer, head) =>
    maps.length > 1 ? own("headName", { layer, head }) : own("headOnly", { head });
  if (state.head === ALL) {
    const choose = (layer, head) =>
      app.change({ layer: maps.length > 1 ? String(layer) : MEAN, head: String(head) });
    const describe = (words) => own("headSpread", { words });
    return makeSmallMaps(maps, withNames, choose, describe, own("smallHint"), t);
  }
  // The other model, or the other part, may have more of them than this one.
  const layer = maps[Number(state.layer) - 1];
  const head = maps[0][Number(state.head) - 1] && state.head;
  const heads = (layer ? [layer] : maps).map((each) => (head ? each[Number(head) - 1] : meanMap(each)));
  const shown = makePartGrid(found.part, translation, state.unit, model.isBpe, grid, meanMap(heads));
  const isSource = found.part === "encoder";
  const points = isSource ? { ...on, select: () => {} } : on;
  const name = [
    own(`${found.part}Name`),
    ...(maps.length > 1 ? [layer ? own("layerName", { layer: state.layer }) : own("layerMean")] : []),
    ...(maps[0].length > 1 ? [head ? own("headOnly", { head }) : own("headMean")] : []),
  ].join(", ");
  return makeHeadPicture(name, shown, isSource ? -1 : chosen, state.view, t, points, room);
}

// -- start -------------------------------------------------------------------------------------------------

function refuseChange(_app, answer) {
  const { runs, in_browser } = answer.model.data;
  if (runs.length > 1) return own("ensembleChange", { count: runs.length });
  return in_browser ? "" : own("ownMechanism");
}

/** Writes the texts of the frame and of this view, and returns the notices. */
function writeOwnTexts({ t }) {
  own = makeViewTexts(TEXTS, t.language);
  writeTexts(own, []);
  document.title = `${own("title")} · Augenmerk`;
  for (const node of findAll("[data-own]")) node.textContent = own(node.dataset.own);
  return [own("privacy"), own("changedInBrowser")];
}

function listenHere(app) {
  for (const name of ["part", "layer", "head"]) {
    find(name).addEventListener("change", () => app.change({ [name]: find(name).value }));
  }
  for (const name of ["theme", "language"]) {
    find(name).addEventListener("change", () => rememberSwitch(name, find(name).value));
  }
  find("models").addEventListener("toggle", async () => {
    drawModels(app);
    if (!find("models").open) return;
    // There may be new runs since the page was opened.
    const { models: described } = await getJson("/workbench/translate/models");
    const chosen = app.page.models.flatMap(({ runs }) => runs);
    const missing = chosen.filter((name) => !described.some((model) => model.name === name && !model.error));
    if (missing.length) return; // what is shown stays as it is
    takeServed(described);
    drawModels(app);
  });
}

let isListening = false;

function drawOwn(app) {
  if (!isListening) {
    isListening = true;
    listenHere(app);
  }
  drawModels(app);
  drawHeads(app);
}

keepViews();
const first = writeNames([[readable[0].name]]);
const countOf = (text) => (/^[1-9]\d?$/.test(text) ? text : MEAN);
startPage(
  {
    ...chooseModels(first),
    beam: Math.min(readable[0].beam, served.max_beam),
    max_beam: served.max_beam,
    untouched: {
      models: first,
      part: "cross",
      layer: MEAN,
      head: MEAN,
      theme: recallTheme(),
      language: recallLanguage(),
    },
    choices: {
      models: (text) => writeNames(readNames(text)),
      part: (text) => (PARTS.includes(text) ? text : "cross"),
      layer: countOf,
      head: (text) => (text === ALL ? ALL : countOf(text)),
    },
  },
  {
    makeModel,
    chooseModels,
    addToQuestion,
    makePicture,
    refuseChange,
    writeTexts: writeOwnTexts,
    draw: drawOwn,
  }
);
