/**
 * The page: holds the state, asks the models, and has everything drawn that depends on either. It is started
 * by `start.js` in an exported page, and by `workbench/translate.js` with a server behind it.
 */

import { putAddress, readState, writeState } from "./address.js";
import { describeAnswer } from "./answer.js";
import { describeComparison } from "./compare.js";
import { copyAnswer } from "./copy.js";
import { fillSelect, find, findAll, onOtherWidth } from "./dom.js";
import { drawEditor } from "./editor.js";
import { chooseHeads, describeHeads } from "./heads.js";
import { inNotebook } from "./models.js";
import { describePlace, drawBeam } from "./panels.js";
import { button, isolate } from "./parts.js";
import { forgetChoices, PANELS, specifyState, UNITS, VIEWS } from "./state.js";
import { restoreExample } from "./stored.js";
import { applySwitches } from "./switches.js";
import { chooseLanguage, makeTexts, nameLanguage } from "./texts.js";
import { h, render } from "./view.js";

const PAUSE = 120; // milliseconds without a key before a sentence is translated, or after a slider was moved
const REST = 2000; // milliseconds without a key after which what is typed is another step
const BEAMS = [1, 2, 3, 4, 5, 8, 10, 20, 50];
const STEPS = ["text", "sentence", "models", "begin", "changed"]; // each change of these is a step back

/** What all parts of the page share: the state, the texts, and for each model what it answers. */
const app = {
  page: null, // what the page consists of; its `models` and `examples` may be exchanged
  hooks: {}, // see `startPage`
  specification: null, // of the state, as the address has it
  state: null,
  t: makeTexts("en"),
  answers: [],
  editor: null, // of changed attention
  beam: null, // the tree that is shown
  reads: 0, // how often the address was taken over
  ...{ change, choose, keep, writeAddress, takeModels, goOnFrom, nameSide },
};

let typing = 0; // the timer that runs while the user types
let typed = -REST; // when something was typed, if that was the last change
let dragging = 0; // the timer that runs while the user drags a slider

// -- state -------------------------------------------------------------------------------------------------

/** Changes the state, writes it into the address, and draws what depends on it. */
function change(changes, isTyped = false) {
  const before = app.state;
  app.state = { ...before, ...changes };
  const isStep = STEPS.some((name) => JSON.stringify(app.state[name]) !== JSON.stringify(before[name]));
  writeAddress(isStep && !(isTyped && performance.now() - typed < REST));
  typed = isTyped ? performance.now() : -REST;
  if (app.state.theme !== before.theme || app.state.language !== before.language) applyLook();
  if (app.state.models !== before.models) takeModels(app.state.models);
  app.answers.forEach(askModel);
  draw();
}

/** Changes the state where only the address has yet to follow, which it does when a slider rests. */
function keep(changes) {
  app.state = { ...app.state, ...changes };
  clearTimeout(dragging);
  dragging = setTimeout(writeAddress, PAUSE);
}

/** Has a model translate on from the ids that the translation begins with, under changed attention. */
function goOnFrom(number, begin, changed, at) {
  change({ changedModel: number, selectedModel: number, begin, changed, at, tried: null, step: -1 });
}

/** Writes the state into the address; with `isStep`, "Back" leads to the one before. */
function writeAddress(isStep = false) {
  clearTimeout(dragging);
  const fragment = writeState(app.state, app.specification);
  if (fragment === location.hash.slice(1)) return;
  putAddress(fragment, "#", isStep);
}

/** Takes another text. The sentence that is looked at stays the one it was, as far as there is one. */
function choose(text, changes = {}, isTyped = false) {
  clearTimeout(typing);
  find("text").value = text;
  change({ ...forgetChoices(), text, ...changes }, isTyped);
}

/** Takes over what the address says; colours and language stay when one goes back. */
function readAddress(isBack = true) {
  clearTimeout(dragging);
  app.reads += 1;
  let { theme, language, models } = readState(location.hash, app.specification);
  if (app.hooks.chooseModels) takeModels(models);
  if (isBack) ({ theme, language } = app.state);
  typed = -REST;
  app.state = { ...readState(location.hash, app.specification), theme, language };
  find("text").value = app.state.text;
  applyLook();
  app.answers.forEach(askModel);
  draw();
}

/** Names the language of a side in a text, if it is known. */
function nameSide(key, side) {
  const code = app.page.models[0][side];
  return app.t(code ? key : `${key}Unknown`, { language: code && nameLanguage(code, app.t.language) });
}

/** Applies the colours and the language, and writes all texts of the page that do not depend on a sentence. */
function applyLook() {
  const { state, page, hooks } = app;
  const t = makeTexts(chooseLanguage(state.language, navigator.languages), hooks.texts ?? {});
  app.t = t;
  applySwitches(state.theme, t.language, t);
  for (const node of findAll("[data-title]")) node.title = t(node.dataset.title);
  for (const node of findAll("[data-text]")) {
    const { text, language } = node.dataset;
    node.textContent = language ? nameSide(text, language) : t(text);
  }
  find("text").placeholder = t("placeholder");
  const possible = BEAMS.filter((beam) => beam <= page.max_beam);
  const beams = [...new Set([...possible, page.beam, state.beam])].sort((a, b) => a - b);
  fillSelect(find("view"), VIEWS, t, state.view);
  fillSelect(find("unit"), UNITS, t, state.unit);
  fillSelect(find("beam"), beams, String, state.beam);
  hooks.writeTexts?.(app);
  const notices = (hooks.notices ?? ["privacy"]).map((key) => t(key));
  if (page.models.some((data) => data.rounded)) notices.push(t("rounded"));
  const licences = page.models.map(({ name, licence }) =>
    // The notice comes with the run, in English.
    h("p", t("licence", { name }), " ", h("span", { lang: "en" }, licence))
  );
  render(
    find("notices"),
    notices.map((text) => h("p", text)),
    licences
  );
}

// -- asking ------------------------------------------------------------------------------------------------

/** Returns what a model is asked in the present state. */
function questionFor(number) {
  const { text, sentence, beam, begin, changed, changedModel, open } = app.state;
  const question = { text, sentence, beam, n_best: 1, next: 5 };
  const heads = chooseHeads(app, number);
  if (heads) question.heads = heads;
  if (changedModel === number && begin.length) question.prefix = begin;
  if (changedModel === number && changed.length) question.changed = changed;
  return open.includes("beam") ? { ...question, tree: true, n_best: beam } : question;
}

/** Returns the stored translation that answers a question, if there is one. */
function findStored(number, /** @type {any} */ { text, sentence, beam, prefix, changed, heads }) {
  if (sentence !== 0 || beam !== app.page.beam || prefix || changed || heads) return null;
  const stored = app.page.examples.find((each) => each.source === text)?.translations?.[number];
  return stored ? restoreExample(stored) : null;
}

/** Asks a model for the translation, unless it is there, stored or on its way. */
async function askModel(answer) {
  const question = questionFor(answer.number);
  const asked = JSON.stringify(question);
  if (asked === answer.asked) return;
  const stored = findStored(answer.number, question);
  if (!question.text.trim() || stored) {
    Object.assign(answer, { asked, translation: stored, error: null, waiting: false });
    return;
  }
  answer.waiting = true;
  if (!answer.ready) {
    answer.asked = ""; // what is shown answers another question, which may be asked again
    if (answer.failure) answer.translation = null;
    return;
  }
  answer.asked = asked;
  const answered = await answer.model.ask("translate", question).then(
    (translation) => ({ translation, error: null }),
    (error) => ({ translation: null, error })
  );
  if (answer.asked !== asked) return;
  Object.assign(answer, answered, { waiting: false });
  draw();
}

/** Reads the models one after the other, so that the first is ready as soon as possible. */
async function loadModels() {
  const { answers } = app;
  for (const answer of answers) {
    try {
      await answer.model.load();
      answer.ready = true;
    } catch (error) {
      answer.failure = error;
    }
    if (answers !== app.answers) return;
    askModel(answer);
    draw();
  }
  document.documentElement.dataset.ready = "";
}

/** Takes other models, as the state or the address names them; only with `hooks.chooseModels`. */
function takeModels(names) {
  const chosen = app.hooks.chooseModels(names);
  const isSame = JSON.stringify(chosen.models) === JSON.stringify(app.page.models);
  app.page = { ...app.page, examples: chosen.examples };
  if (isSame) {
    drawExamples();
    return;
  }
  exchangeModels(chosen.models);
  applyLook();
  loadModels();
}

function exchangeModels(models) {
  app.page = { ...app.page, models };
  const { text, ...specified } = specifyState(app.page);
  app.specification = { text: app.specification?.text ?? text, ...specified };
  app.answers = models.map((data, number) => ({
    number,
    model: app.hooks.makeModel(data, number),
    ready: false,
    failure: null, // the error for which the model could not be read
    error: null, // the error for which it does not answer
    asked: "", // the question whose answer is shown or awaited
    waiting: false,
    translation: null,
    own: null, // rows and columns of the mean over all heads
    grid: null, // and of the picture
  }));
  document.body.classList.toggle("two", models.length > 1);
  render(
    find("name"),
    models.map(({ name }) => h("span", isolate(name)))
  );
}

// -- drawing -----------------------------------------------------------------------------------------------

function draw() {
  const { answers, state, t } = app;
  const drawAnswers = () =>
    render(
      find("answers"),
      answers.map((answer) => describeAnswer(app, answer))
    );
  const isNew = find("answers").childElementCount !== answers.length;
  drawAnswers();
  if (isNew) drawAnswers(); // now pictures know how wide their places are
  render(find("comparison"), answers.length > 1 && describeComparison(answers, t));
  render(find("heads"), describeHeads(app));
  for (const name of PANELS) find(`panel-${name}`).open = state.open.includes(name);
  render(find("place"), describePlace(app));
  drawEditor(app);
  drawBeam(app);
  drawExamples();
  app.hooks.draw?.(app);
}

function drawExamples() {
  const examples = app.page.examples.map(({ source }) => {
    const attributes = { dir: "auto", "aria-pressed": String(source === app.state?.text) };
    return button(source, () => choose(source, { sentence: 0 }), attributes);
  });
  render(find("examples"), examples);
}

function listen() {
  find("text").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => choose(find("text").value, {}, true), PAUSE);
  });
  for (const name of ["theme", "language", "view", "unit"]) {
    find(name).addEventListener("change", () => change({ [name]: find(name).value }));
  }
  find("beam").addEventListener("change", () =>
    change({ beam: Number(find("beam").value), step: -1, tried: null })
  );
  for (const name of PANELS) {
    const panel = find(`panel-${name}`);
    panel.addEventListener("toggle", () => {
      const { open } = app.state;
      if (panel.open === open.includes(name)) return;
      change({ open: PANELS.filter((each) => (each === name ? panel.open : open.includes(each))) });
    });
  }
  for (const each of findAll("button", find("copy"))) {
    each.addEventListener("click", () => copyAnswer(app, each.dataset.form));
  }
  window.addEventListener("hashchange", () => readAddress());
  // Small maps are painted in the colours of the theme, and pictures are as wide as there is room.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  onOtherWidth(draw);
}

/**
 * Starts the page. `data` is what it consists of: models, examples, beam and max_beam, and `more` parts of the state.
 * `hooks.makeModel(data, number)` returns a model that answers questions. Optional are:
 *
 *   chooseModels(names)       {models, examples} for the `models` of the state
 *   refuseChange(app, answer) why attention cannot be changed, or ""
 *   texts, notices            a table of further texts, and the keys of those at the foot of the page
 *   writeTexts(app)           writes what else is in the language of `app.t`
 *   draw(app)                 draws what else depends on the state
 */
export function startPage(data, hooks) {
  Object.assign(app, { hooks, page: data });
  exchangeModels(data.models);
  app.state = readState(location.hash, app.specification);
  if (location.protocol !== "file:") document.querySelector(".from-disk")?.remove();
  if (inNotebook) document.querySelector("[data-form=link]").remove(); // the frame's address leads nowhere
  listen();
  readAddress(false);
  // What is shown first is painted before the model, which is most of the page, is decoded.
  const loadSoon = () => setTimeout(loadModels, 20);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", loadSoon);
  else loadSoon();
  return app;
}
