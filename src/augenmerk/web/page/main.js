/**
 * The page: holds the state, asks the models, and has everything drawn that depends on either. It is started
 * by `start.js` in an exported page, and by `workbench/translate.js` with a server behind it.
 */

import { drawAnswer } from "./answer.js";
import { makeComparison } from "./compare.js";
import { copyAnswer } from "./copy.js";
import { fillSelect, find, findAll, isolate, make, replaceInside } from "./dom.js";
import { drawBeam, drawEditor, drawPlace } from "./panels.js";
import { forgetChoices, makeState, PANELS, readState, UNITS, VIEWS, writeState } from "./state.js";
import { restoreExample } from "./stored.js";
import { applySwitches } from "./switches.js";
import { chooseLanguage, makeTexts, nameLanguage, PAGE_TEXTS } from "./texts.js";

const PAUSE = 120; // milliseconds without a key before a sentence is translated, or after a slider was moved
const REST = 2000; // milliseconds without a key after which what is typed is another step
const BEAMS = [1, 2, 3, 4, 5, 8, 10, 20, 50];
const STEPS = ["text", "sentence", "models", "begin", "changed"]; // each change of these is a step back

let page = null; // what the page consists of; its `models` may be exchanged
let untouched = null; // the state of a page that nobody has touched
let hooks = {}; // see `startPage`

/** What all parts of the page share: the state, the texts, and for each model what it answers. */
const app = {
  page,
  hooks,
  state: null,
  t: makeTexts("en"),
  answers: [],
  reads: 0, // how often the address was taken over
  change,
  choose,
  keep,
  writeAddress,
  takeModels,
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
  app.answers.forEach(ask);
  draw();
}

/** Changes the state where only the address has yet to follow, which it does when a slider rests. */
function keep(changes) {
  app.state = { ...app.state, ...changes };
  clearTimeout(dragging);
  dragging = setTimeout(writeAddress, PAUSE);
}

/** Writes the state into the address; with `isStep`, "Back" leads to the one before. */
function writeAddress(isStep = false) {
  clearTimeout(dragging);
  const fragment = writeState(app.state, untouched);
  if (fragment === location.hash) return;
  const address = fragment === "#" ? location.pathname + location.search : fragment;
  try {
    if (isStep) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    // Some browsers refuse if it happens too often.
  }
}

/** Takes another text. The sentence that is looked at stays the one it was, as far as there is one. */
function choose(text, changes = {}, isTyped = false) {
  clearTimeout(typing);
  find("text").value = text;
  change({ ...forgetChoices(), text, ...changes }, isTyped);
}

/** Takes over what the address says. */
function readAddress() {
  clearTimeout(dragging);
  app.reads += 1;
  if (hooks.chooseModels) {
    takeModels(new URLSearchParams(location.hash.slice(1)).get("models") ?? untouched.models);
  }
  const { theme, language } = app.state; // these stay when one goes back
  typed = -REST;
  app.state = readState(location.hash, { ...untouched, theme, language }, page);
  find("text").value = app.state.text;
  applyLook();
  app.answers.forEach(ask);
  draw();
}

/** Applies the colours and the language, and writes all texts of the page that do not depend on a sentence. */
function applyLook() {
  const { state } = app;
  const t = makeTexts(chooseLanguage(state.language, navigator.languages), PAGE_TEXTS, hooks.texts ?? {});
  app.t = t;
  applySwitches(state.theme, t.language, t);
  for (const node of findAll("[data-text]")) {
    const code = page.models[0][node.dataset.language];
    const key = node.dataset.language && !code ? `${node.dataset.text}Unknown` : node.dataset.text;
    node.textContent = t(key, { language: code && nameLanguage(code, t.language) });
  }
  for (const node of findAll("[data-title]")) node.title = t(node.dataset.title);
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
    make("p", {}, t("licence", { name }), " ", make("span", { lang: "en" }, licence))
  );
  find("notices").replaceChildren(...notices.map((text) => make("p", {}, text)), ...licences);
}

// -- asking ------------------------------------------------------------------------------------------------

/** Returns what a model is asked in the present state. */
function questionFor(number) {
  const { text, sentence, beam, begin, changed, changedModel, open } = app.state;
  const question = { text, sentence, beam, n_best: 1, next: 5, ...hooks.addToQuestion?.(app, number) };
  if (changedModel === number && begin.length) question.prefix = begin;
  if (changedModel === number && changed.length) question.changed = changed;
  return open.includes("beam") ? { ...question, tree: true, n_best: beam } : question;
}

/** Returns the stored translation that answers a question, if there is one. */
function findStored(number, { text, sentence, beam, prefix, changed }) {
  if (sentence !== 0 || beam !== page.beam || prefix || changed) return null;
  const stored = page.examples.find((each) => each.source === text)?.translations?.[number];
  return stored ? restoreExample(stored) : null;
}

/** Asks a model for the translation, unless it is there, stored or on its way. */
async function ask(answer) {
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
    ask(answer);
    draw();
  }
  document.documentElement.dataset.ready = "";
}

/** Takes other models, as the state or the address names them; only with `hooks.chooseModels`. */
function takeModels(names) {
  const chosen = hooks.chooseModels(names);
  if (JSON.stringify(chosen.models) === JSON.stringify(page.models)) {
    app.page = page = { ...page, examples: chosen.examples };
    layOutExamples();
    return;
  }
  exchangeModels(chosen);
  applyLook();
  loadModels();
}

/** Makes the answers of models and the places where they are shown. */
function exchangeModels(changes) {
  page = { ...page, ...changes };
  app.page = page;
  app.answers = page.models.map((data, number) => ({
    number,
    model: hooks.makeModel(data, number),
    ready: false,
    failure: null, // the error for which the model could not be read
    error: null, // the error for which it does not answer
    asked: "", // the question whose answer is shown or awaited
    waiting: false,
    translation: null,
    grid: null, // the rows and columns of the picture
    view: null, // the picture
  }));
  layOut();
}

// -- drawing -----------------------------------------------------------------------------------------------

function draw() {
  const { answers, state, t } = app;
  for (const answer of answers) drawAnswer(app, answer);
  replaceInside(find("comparison"), ...(answers.length > 1 ? [makeComparison(answers, t)] : []));
  for (const name of PANELS) find(`panel-${name}`).open = state.open.includes(name);
  drawPlace(app);
  drawEditor(app);
  drawBeam(app);
  pressExample();
  hooks.draw?.(app);
}

/** Marks the example that is the text. */
function pressExample() {
  for (const button of find("examples").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.textContent === app.state?.text));
  }
}

/** Makes the parts of the page that are there once for each model and each example. */
function layOut() {
  const { answers } = app;
  const heading = ({ model }) =>
    answers.length > 1
      ? make("h2", {}, isolate(model.data.name))
      : make("h2", { class: "label", "data-text": "translation", "data-language": "target_language" });
  const boxes = answers.map((answer) =>
    make(
      "article",
      { class: "card answer", id: `answer-${answer.number}` },
      heading(answer),
      make("p", { class: "said", dir: "auto" }),
      make("p", { class: "spoken unseen", role: "status" }),
      make("p", { class: "forced" }),
      make("p", { class: "status" }),
      make("div", { class: "picture" })
    )
  );
  if (location.protocol !== "file:") document.querySelector(".from-disk")?.remove();
  find("answers").replaceChildren(...boxes);
  document.body.classList.toggle("two", answers.length > 1);
  find("name").replaceChildren(...answers.map(({ model }) => make("span", {}, isolate(model.data.name))));
  layOutExamples();
}

function layOutExamples() {
  const examples = page.examples.map(({ source }) =>
    make("button", { type: "button", dir: "auto", onclick: () => choose(source, { sentence: 0 }) }, source)
  );
  replaceInside(find("examples"), ...examples);
  pressExample();
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
  for (const button of find("copy").querySelectorAll("button")) {
    button.addEventListener("click", () => copyAnswer(app, button.dataset.form));
  }
  window.addEventListener("hashchange", readAddress);
  // Pictures are as wide as there is room, and lines are drawn in the colours of the theme.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    draw();
  });
}

/**
 * Starts the page. `data` is what it consists of: models, examples, beam and max_beam; `data.untouched` and
 * `data.choices` may add to the state (see `readState`). `given.makeModel(data, number)` returns a model that
 * answers questions. Optional are:
 *
 *   chooseModels(names)       {models, examples} for the `models` of the state
 *   addToQuestion(app, n)     what model n is asked besides
 *   makePicture(app, answer, chosen, on, room)   a picture in place of the usual one, or null
 *   refuseChange(app, answer) why attention cannot be changed, or ""
 *   attentionAt(app, answer, place)   the attention of a token, in place of the mean over all heads
 *   texts, notices            a table of further texts, and the keys of those at the foot of the page
 *   writeTexts(app)           writes what else is in the language of `app.t`
 *   draw(app)                 draws what else depends on the state
 */
export function startPage(data, given) {
  hooks = given;
  app.hooks = given;
  page = data;
  untouched = { ...makeState(data.beam), text: data.examples[0]?.source ?? "", ...data.untouched };
  exchangeModels(data);
  app.state = readState(location.hash, untouched, page);
  listen();
  readAddress();
  // What is shown first is painted before the model, which is most of the page, is decoded.
  const loadSoon = () => setTimeout(loadModels, 20);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", loadSoon);
  else loadSoon();
  return app;
}
