/** The page: holds the state, asks the models, and draws what they answer. */

import { makeComparison } from "./compare.js";
import { copyPng, copyText, writeSvg } from "./copy.js";
import { find, isolate, make } from "./dom.js";
import { Editor } from "./editor.js";
import { describePointed, drawHeatMap, makeHeatMap, makeScale } from "./heatmap.js";
import { drawLines, makeLines } from "./lines.js";
import { Model } from "./models.js";
import { makeBars } from "./next.js";
import { hasSubwords, makeGrid, showPercent, showToken } from "./shown.js";
import { LANGUAGES, THEMES, makeState, readState, writeState } from "./state.js";
import { restoreExample } from "./stored.js";
import { chooseLanguage, makeTexts, nameLanguage } from "./texts.js";
import { makeTree } from "./tree.js";
import { findToken } from "./vocabulary.js";

const PAUSE = 120; // milliseconds without a key before a sentence is translated
const CANDIDATES = 60; // how many next words are asked for, to compare and to offer

const page = JSON.parse(find("page-data").textContent);
const untouched = { ...makeState(page.beam), text: page.examples[0]?.source ?? "" };

/** Everything that a model shows: its translation, and what is still awaited. */
const answers = page.models.map((data, number) => ({
  model: new Model(data, number, page.engine),
  ready: false,
  failure: "", // why the model could not be read
  error: "", // why it does not answer
  asked: "", // the question whose answer is shown or awaited
  waiting: false,
  translation: null,
  view: null,
  grid: null,
}));

let state = readState(location.hash, untouched, answers.length);
let t = makeTexts("en");
let editor = null;
let typing = 0;

// -- state -------------------------------------------------------------------------------------------------

/** Changes the state, writes it into the address, and draws what depends on it. */
function change(changes) {
  const before = state;
  state = { ...state, ...changes };
  const fragment = writeState(state, untouched);
  if (fragment !== location.hash) history.replaceState(null, "", fragment === "#" ? location.pathname + location.search : fragment);
  if (state.theme !== before.theme) applyTheme();
  if (state.language !== before.language) applyLanguage();
  askAll();
  draw();
}

/** Returns the place that is looked at: the chosen one, or else where the model of the state hesitated most. */
function placeOf(answer) {
  const count = answer.translation?.target_subwords.length ?? 0;
  if (answer.model.number !== state.model || !state.text.trim() || state.at >= count) return -1;
  if (state.at >= 0) return state.at;
  const logs = answer.translation?.token_log_probabilities.slice(0, answer.translation.ids.length) ?? [];
  return logs.length ? logs.indexOf(Math.min(...logs)) : -1;
}

/** Returns changes to the state that go back to what the model does by itself. */
function byItself() {
  return { begin: [], changed: null, of: 0, at: -1, step: -1 };
}

function applyTheme() {
  if (state.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = state.theme;
}

/** Writes all texts of the page that do not depend on a sentence. */
function applyLanguage() {
  t = makeTexts(chooseLanguage(state.language, navigator.languages));
  document.documentElement.lang = t.language;
  const languages = {
    source: nameLanguage(page.models[0].source_language, t.language),
    target: nameLanguage(page.models[0].target_language, t.language),
  };
  for (const node of document.querySelectorAll("[data-text]")) {
    node.textContent = t(node.dataset.text, { language: languages[node.dataset.language] });
  }
  for (const node of document.querySelectorAll("[data-title]")) node.title = t(node.dataset.title);
  find("text").placeholder = t("placeholder");
  const choose = (id, names, chosen) =>
    find(id).replaceChildren(...names.map(([value, text]) => make("option", { value, selected: value === chosen }, text)));
  choose("theme", THEMES.map((name) => [name, t(name)]), state.theme);
  choose("language", LANGUAGES.map((code) => [code, nameLanguage(code, code)]), t.language);
  choose("view", ["map", "lines"].map((name) => [name, t(name)]), state.view);
  choose("unit", ["words", "subwords"].map((name) => [name, t(name)]), state.unit);
  const beams = [...new Set([1, 2, 3, 4, 5, 8, 10, page.beam, state.beam])].sort((a, b) => a - b);
  choose("beam", beams.map((beam) => [beam, String(beam)]), state.beam);
  const notices = [t("privacy")];
  if (page.models.some((data) => data.rounded)) notices.push(t("rounded"));
  for (const { name, licence } of page.models) if (licence) notices.push(t("licence", { name, licence }));
  find("notices").replaceChildren(...notices.map((text) => make("p", {}, text)));
}

// -- asking ------------------------------------------------------------------------------------------------

/** Returns what a model is asked now. */
function questionFor(number) {
  const question = { text: state.text, beam: state.beam, next: 5 };
  if (state.of === number && state.begin.length) question.prefix = state.begin;
  if (state.of === number && state.changed) question.changed = [state.changed];
  if (state.open.includes("beam")) {
    question.tree = true;
    question.n_best = state.beam;
  }
  return question;
}

/** Returns the stored translation that answers a question, if there is one. */
function findStored(number, { text, beam, prefix, changed }) {
  if (beam !== page.beam || prefix || changed) return null;
  const example = page.examples.find((each) => each.source === text);
  return example ? restoreExample(example.translations[number]) : null;
}

function askAll() {
  answers.forEach((answer, number) => ask(answer, number));
}

/** Asks a model for the translation, unless it is there, stored or on its way. */
async function ask(answer, number) {
  const question = questionFor(number);
  const asked = JSON.stringify(question);
  if (asked === answer.asked) return;
  const stored = findStored(number, question);
  if (!question.text.trim() || stored) {
    Object.assign(answer, { asked, translation: stored, error: "", waiting: false });
    return;
  }
  answer.waiting = true;
  if (!answer.ready) return;
  answer.asked = asked;
  try {
    const translation = await answer.model.ask("translate", question);
    if (answer.asked !== asked) return;
    Object.assign(answer, { translation, error: "", waiting: false });
  } catch (error) {
    if (answer.asked !== asked) return;
    Object.assign(answer, { translation: null, error: error.message, waiting: false });
  }
  draw();
}

/** Reads the models one after the other, so that the first is ready as soon as possible. */
async function loadModels() {
  for (const [number, answer] of answers.entries()) {
    try {
      await answer.model.load();
      answer.ready = true;
    } catch (error) {
      answer.failure = error.message;
    }
    ask(answer, number);
    draw();
  }
  document.documentElement.dataset.ready = "";
}

// -- drawing -----------------------------------------------------------------------------------------------

/** Replaces what is in a container; the focus stays on what has the same key. */
function replace(container, ...nodes) {
  const inside = container.contains(document.activeElement);
  const key = inside ? document.activeElement.dataset.key : undefined;
  container.replaceChildren(...nodes);
  if (key) container.querySelector(`[data-key="${key}"]`)?.focus();
}

function draw() {
  answers.forEach(drawAnswer);
  if (answers.length > 1) {
    replace(find("comparison"), makeComparison(answers.map((answer) => answer.model), answers.map((answer) => answer.translation), t));
  }
  drawPlace();
  drawPanels();
  for (const button of find("examples").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.textContent === state.text));
  }
}

/** Says why there is no translation, or what is to be known about the one there is. */
function describeStatus(answer) {
  const { translation } = answer;
  if (answer.error) return [t("failed", { reason: answer.error }), "error"];
  if (!state.text.trim()) return [t("empty"), "hint"];
  if (answer.waiting && answer.failure) return [t("loadFailed", { reason: answer.failure }), "error"];
  if (answer.waiting) return [t(answer.ready ? "computing" : "waiting"), "hint"];
  const remarks = [];
  if (translation?.truncated) remarks.push(t("truncated"));
  if (translation && !translation.finished) remarks.push(t("unfinished"));
  if (translation?.attention.length && !translation.attention.flat().some((weight) => weight > 0)) remarks.push(t("noAttention"));
  return [remarks.join(" "), "hint"];
}

function drawAnswer(answer, number) {
  const box = find(`answer-${number}`);
  const { translation } = answer;
  const shown = state.text.trim() && translation ? translation : null;
  box.classList.toggle("waiting", answer.waiting);
  const [status, kind] = describeStatus(answer);
  const remark = box.querySelector(".status");
  remark.textContent = status;
  remark.className = `status ${kind}`;
  const spoken = box.querySelector(".spoken");
  if (!answer.waiting && spoken.textContent !== (shown?.translation ?? "")) spoken.textContent = shown?.translation ?? "";
  replace(box.querySelector(".forced"), ...describeForced(answer, number));
  answer.grid = shown && shown.target_words.length ? makeGrid(shown, state.unit) : null;
  if (answer.grid === null) {
    answer.view = null;
    replace(box.querySelector(".said"));
    replace(box.querySelector(".picture"));
    return;
  }
  const { grid } = answer;
  const place = placeOf(answer);
  const chosen = place >= 0 ? grid.rowOf(place) : -1;
  const changedRow = state.of === number && state.changed ? grid.rowOf(state.changed.position) : -1;
  const on = { point: (row, column) => point(answer, row, column), select: (row) => change({ model: number, at: grid.rows[row].token }) };
  drawSaid(box.querySelector(".said"), grid, shown, chosen, on);
  const style = getComputedStyle(document.documentElement);
  const picture = box.querySelector(".picture");
  answer.view =
    state.view === "map"
      ? makeHeatMap(grid, chosen, changedRow, t, on)
      : makeLines(grid, chosen, t, on, style, picture.clientWidth || 600);
  const readout = make("p", { class: "readout" }, t("pointHint"));
  replace(picture, answer.view.element, make("div", { class: "under" }, readout, state.view === "map" ? makeScale(t) : ""));
}

/** Writes the translation as words that can be pointed at and chosen. */
function drawSaid(container, grid, translation, chosen, on) {
  // Spaces are those of the translation: none before a full stop. Subwords stand apart.
  let rest = translation.translation;
  const nodes = grid.rows.flatMap((row, number) => {
    const word = make(
      "button",
      {
        type: "button",
        class: row.end ? "word end" : "word",
        "data-key": `word-${number}`,
        "aria-pressed": String(number === chosen),
        title: row.end ? t("end") : showPercent(row.probability, t.language),
        onpointerenter: () => on.point(number, -1),
        onpointerleave: () => on.point(-1, -1),
        onfocus: () => on.point(number, -1),
        onblur: () => on.point(-1, -1),
        onclick: () => on.select(number),
      },
      row.text,
    );
    const place = state.unit === "words" ? rest.indexOf(row.text) : -1;
    const space = number > 0 && (place !== 0 || row.end) ? [" "] : [];
    if (place >= 0) rest = rest.slice(place + row.text.length);
    return [...space, word];
  });
  replace(container, ...nodes);
}

/** Says that a translation has to begin in some way, or with which changed attention it was made. */
function describeForced(answer, number) {
  if (state.of !== number || (!state.begin.length && !state.changed)) return [];
  const texts = [];
  const begun = answer.translation?.target_subwords.slice(0, state.begin.length);
  if (state.changed) texts.push(t("changedAt", { place: state.changed.position + 1 }));
  else if (begun) {
    const isBpe = hasSubwords(answer.translation);
    const words = isBpe ? begun.join("").replaceAll("▁", " ").trim() : begun.join(" ");
    texts.push(t("begun", { words: `\u2068${words}\u2069` }));
  }
  const undo = make("button", { type: "button", onclick: () => change(byItself()) }, t("undo"));
  return [make("span", {}, texts.join(" ")), " ", undo];
}

/** Lights up what is pointed at and says its numbers. */
function point(answer, row, column) {
  if (!answer.view) return;
  answer.view.light(row, column);
  const box = find(`answer-${answer.model.number}`);
  box.querySelector(".readout").textContent = describePointed(answer.grid, row, column, t) || t("pointHint");
  box.querySelectorAll(".said .word").forEach((word, number) => word.classList.toggle("lit", number === row));
}

/** Shows the next-best words and the strongest weights at the chosen place. */
function drawPlace() {
  const { translation } = answers[state.model];
  const count = translation?.target_subwords.length ?? 0;
  const at = placeOf(answers[state.model]);
  const box = find("place");
  if (at < 0) {
    replace(box, make("p", { class: "hint" }, t(count && state.text.trim() ? "placeHint" : "noWords")));
    return;
  }
  const isBpe = hasSubwords(translation);
  const step = (key, sign, to) =>
    make("button", { type: "button", "data-key": key, "aria-label": t(key), title: t(key), disabled: to < 0 || to >= count, onclick: () => change({ at: to }) }, sign);
  const word = showToken(translation.target_subwords[at], isBpe);
  const heading = make(
    "div",
    { class: "stepper buttons" },
    step("before", "◀", at - 1),
    make("h3", {}, t("says", { word: `\u2068${word}\u2069`, place: at + 1, count })),
    step("after", "▶", at + 1),
  );
  const said = translation.ids[at];
  const onChoose = (token) =>
    change({ of: state.model, begin: [...translation.ids.slice(0, at), token.id], changed: keptChange(at), at, step: -1 });
  const next = translation.next?.[at] ?? [];
  const candidates = make("div", {}, make("h4", {}, t("nextBest")), makeBars(next, isBpe, t, answers[state.model].ready ? onChoose : null, said));
  const weights = translation.subword_attention[at] ?? [];
  const looks = weights
    .map((probability, place) => ({ text: translation.source_subwords[place], probability, id: -2 }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, 5);
  const looked = weights.some((weight) => weight > 0)
    ? [make("div", { class: "looks" }, make("h4", {}, t("looksAt")), makeBars(looks, isBpe, t, null))]
    : [];
  replace(box, heading, candidates, ...looked);
}

/** Returns the changed attention if it lies before the chosen place, where it still counts. */
function keptChange(at) {
  return state.of === state.model && state.changed && state.changed.position < at ? state.changed : null;
}

// -- panels ------------------------------------------------------------------------------------------------

function drawPanels() {
  for (const name of ["change", "beam"]) {
    const panel = find(`panel-${name}`);
    if (panel.open !== state.open.includes(name)) panel.open = state.open.includes(name);
  }
  drawEditor();
  drawBeam();
}

let edited = ""; // for which place, sentence and language the editor was made
let drawn = ""; // for which translation and language the tree was drawn

/** Shows the weights of the chosen place as sliders; an editor of the same place is kept as it is. */
function drawEditor() {
  const answer = answers[state.model];
  const { translation } = answer;
  const at = placeOf(answer);
  const inside = find("change-content");
  if (!state.open.includes("change")) return;
  const hint = (key) => {
    edited = "";
    editor = null;
    inside.replaceChildren(make("p", { class: "hint" }, t(key)));
  };
  const { architecture, attention } = answer.model.data;
  if (architecture === "transformer") return hint("changeTransformer");
  if (attention === "none") return hint("changeNone");
  if (!answer.ready) return hint("changeWaiting");
  if (!translation || answer.waiting || at < 0) return hint("changeHint");
  const key = JSON.stringify([state.model, at, answer.asked, t.language]);
  if (key === edited) return;
  edited = key;
  const isBpe = hasSubwords(translation);
  const word = showToken(translation.target_subwords[at], isBpe);
  const prefix = translation.ids.slice(0, at);
  const question = { text: state.text, prefix, count: CANDIDATES };
  const changedHere = state.of === state.model && state.changed?.position === at;
  let own = null;
  const predict = async (weights) => {
    try {
      const now = await answer.model.ask("predict", { ...question, weights });
      if (edited === key) editor?.predicted(own, now);
    } catch (error) {
      editor?.failed(error.message);
    }
  };
  const begin = async () => {
    try {
      own = await answer.model.ask("predict", { ...question, weights: null });
      if (edited !== key) return;
      const tokens = translation.source_subwords.map((token) => showToken(token, isBpe));
      const weights = changedHere && state.changed.weights.length === tokens.length ? state.changed.weights : null;
      editor = new Editor({ tokens, own: own.weights, weights, word, isBpe }, t, {
        change: predict,
        goOn: (chosen) => change({ of: state.model, begin: prefix, changed: { position: at, weights: chosen }, at, step: -1 }),
        want: (text) => want(answer, text, prefix, key),
      });
      inside.replaceChildren(make("p", { class: "lead" }, t("changeFor", { word: `\u2068${word}\u2069` })), editor.element);
      if (weights) await predict(weights);
      else editor.predicted(own, own);
    } catch (error) {
      inside.replaceChildren(make("p", { class: "error" }, t("failed", { reason: error.message })));
    }
  };
  begin();
}

/** Finds the attention under which a word is likeliest. */
async function want(answer, text, prefix, key) {
  const id = findToken(answer.model.settings, text);
  if (id < 0) return editor?.refused(t("notInVocabulary", { word: text }));
  try {
    const result = await answer.model.ask("wanted", { text: state.text, prefix, token: id });
    if (edited === key) editor?.found(text, result);
  } catch (error) {
    editor?.refused(t("failed", { reason: error.message }));
  }
}

/** Shows the beam as a tree. */
function drawBeam() {
  if (!state.open.includes("beam")) return;
  const answer = answers[state.model];
  const tree = state.text.trim() ? answer.translation?.tree : null;
  const inside = find("beam-content");
  if (!tree || !tree.nodes.length) {
    drawn = "";
    inside.replaceChildren(make("p", { class: "hint" }, t(answer.ready ? (state.text.trim() ? "computing" : "empty") : "changeWaiting")));
    return;
  }
  const key = JSON.stringify([state.model, answer.asked, t.language, answer.waiting]);
  if (key === drawn) return;
  drawn = key;
  const isBpe = hasSubwords(answer.translation);
  inside.replaceChildren(
    makeTree(tree, state.step, isBpe, t, {
      step: (step) => change({ step }),
      goOn: (ids) => answer.ready && change({ of: state.model, begin: ids, changed: null, at: Math.max(0, ids.length - 1), step: -1 }),
    }),
  );
}

// -- copying -----------------------------------------------------------------------------------------------

/** Copies in one of four forms, and says what came of it. */
async function copy(form) {
  const answer = answers[state.model];
  const style = getComputedStyle(document.documentElement);
  try {
    let outcome;
    if (form === "link") {
      outcome = await copyText(location.href, "link.txt", "text/plain");
    } else if (!answer.grid) {
      throw new Error(t("noWords"));
    } else if (form === "json") {
      outcome = await copyText(`${JSON.stringify(answer.translation, null, 2)}\n`, "attention.json", "application/json");
    } else {
      const title = answer.translation.source.slice(0, 80);
      const svg = state.view === "map" ? drawHeatMap(answer.grid, title, style) : drawLines(answer.grid, title, style, 600);
      outcome =
        form === "svg" ? await copyText(writeSvg(svg), "attention.svg", "image/svg+xml") : await copyPng(svg, "attention.png");
    }
    find("copy-status").textContent = t(outcome);
  } catch (error) {
    find("copy-status").textContent = t("copyFailed", { reason: error.message });
  }
  setTimeout(() => (find("copy-status").textContent = ""), 4000);
}

// -- beginning ---------------------------------------------------------------------------------------------

/** Makes the parts of the page that are there once for each model and each example. */
function layOut() {
  find("answers").replaceChildren(
    ...answers.map(({ model }, number) =>
      make(
        "article",
        { class: "card answer", id: `answer-${number}` },
        answers.length > 1
          ? make("h2", {}, isolate(model.data.name))
          : make("h2", { class: "label", "data-text": "translation", "data-language": "target" }),
        make("p", { class: "said", dir: "auto" }),
        make("p", { class: "spoken unseen", role: "status" }),
        make("p", { class: "forced" }),
        make("p", { class: "status" }),
        make("div", { class: "picture" }),
      ),
    ),
  );
  document.body.classList.toggle("two", answers.length > 1);
  find("name").replaceChildren(...answers.map(({ model }) => make("span", {}, isolate(model.data.name))));
  find("examples").replaceChildren(
    ...page.examples.map(({ source }) => make("button", { type: "button", onclick: () => choose(source) }, source)),
  );
}

/** Takes another sentence. */
function choose(text) {
  find("text").value = text;
  clearTimeout(typing);
  change({ ...byItself(), text });
}

/** Takes over what the address says. */
function readAddress() {
  state = readState(location.hash, untouched, answers.length);
  applyTheme();
  applyLanguage();
  find("text").value = state.text;
  askAll();
  draw();
}

function listen() {
  find("text").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => change({ ...byItself(), text: find("text").value }), PAUSE);
  });
  const chosen = (id, take) => find(id).addEventListener("change", (event) => change(take(event.target.value)));
  chosen("theme", (theme) => ({ theme }));
  chosen("language", (language) => ({ language }));
  chosen("view", (view) => ({ view }));
  chosen("unit", (unit) => ({ unit }));
  chosen("beam", (beam) => ({ beam: Number(beam), step: -1 }));
  for (const name of ["change", "beam"]) {
    find(`panel-${name}`).addEventListener("toggle", (event) => {
      const open = ["change", "beam"].filter((each) => (each === name ? event.target.open : state.open.includes(each)));
      if (open.join() !== state.open.join()) change({ open });
    });
  }
  for (const button of find("copy").querySelectorAll("button")) button.addEventListener("click", () => copy(button.dataset.form));
  window.addEventListener("hashchange", readAddress);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (width !== window.innerWidth && state.view === "lines") draw();
    width = window.innerWidth;
  });
}

layOut();
listen();
readAddress();
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => setTimeout(loadModels, 20));
else setTimeout(loadModels, 20);
