/** What is beside and below the answers: the chosen place, the editor of its attention, and the beam. */

import { placeIn } from "./answer.js";
import { find, isolate, make, replaceInside, rootFontSize } from "./dom.js";
import { Editor } from "./editor.js";
import { makeBars } from "./next.js";
import { showToken, sourceTokens } from "./shown.js";
import { changedBefore, roundToThousandths } from "./state.js";
import { explainError } from "./texts.js";
import { makeTree } from "./tree.js";
import { findToken } from "./vocabulary.js";

const CANDIDATES = 60; // how many next words are asked for, to compare and to offer
const STRONGEST = 5; // how many source words are listed

let editor = null;
let editorKey = ""; // for which place, question and language the editor was made
let treeKey = ""; // for which question, language and size of letters the tree was made
let treeView = null;

/** Lets a model translate on from the ids that the translation begins with, under changed attention. */
function goOnFrom(app, { number }, begin, changed, at) {
  const model = { changedModel: number, selectedModel: number };
  app.change({ ...model, begin, changed, at, tried: null, step: -1 });
}

/** Shows the next-best words and the strongest weights at the chosen place. */
export function drawPlace(app) {
  const { state, t, change } = app;
  const answer = app.answers[state.selectedModel];
  const { translation } = answer;
  const at = placeIn(app, answer);
  const box = find("place");
  if (at < 0) {
    const isThere = state.text.trim() && translation?.target_subwords.length;
    const hint = answer.waiting ? "computing" : isThere ? "placeHint" : "noWords";
    replaceInside(box, make("p", { class: "hint" }, t(hint)));
    return;
  }
  const { isBpe } = answer.model;
  const { rows, rowOf } = answer.grid; // of words or of subwords, as in the map
  const row = rowOf(at);
  const word = showToken(translation.target_subwords[at], isBpe);
  const go = (key, sign, to) => {
    const named = { "data-key": key, "aria-label": t(key), title: t(key) };
    const onclick = () => change({ at: to.token, tried: null });
    return make("button", { type: "button", ...named, disabled: !to, onclick }, sign);
  };
  const ofModel = app.answers.length > 1 ? [isolate(answer.model.data.name), ": "] : [];
  const heading = make(
    "div",
    { class: "stepper buttons" },
    go("before", "◀", rows[row - 1]),
    make(
      "h3",
      {},
      ...ofModel,
      t("says", { word: `\u2068${word}\u2069`, place: row + 1, count: rows.length })
    ),
    go("after", "▶", rows[row + 1])
  );
  const goOnWith = ({ id }) => {
    const begin = [...translation.ids.slice(0, at), id];
    goOnFrom(app, answer, begin, changedBefore(state, answer.number, at), at);
  };
  const next = translation.next?.[at] ?? [];
  const said = translation.ids[at];
  const candidates = makeBars(next, isBpe, t, answer.ready ? goOnWith : null, said);
  const parts = [make("div", {}, make("h4", {}, t("nextBest")), candidates)];
  const weights = app.hooks.attentionAt?.(app, answer, at) ?? translation.subword_attention[at] ?? [];
  if (weights.some((weight) => weight > 0)) {
    const source = sourceTokens(translation, isBpe);
    const strongest = weights
      .map((probability, place) => ({ text: source[place], probability }))
      .sort((a, b) => b.probability - a.probability)
      .slice(0, STRONGEST);
    parts.push(make("div", {}, make("h4", {}, t("looksAt")), makeBars(strongest, isBpe, t, null)));
  }
  replaceInside(box, heading, ...parts);
}

/** Shows the weights of the chosen place as sliders; an editor of the same place is kept as it is. */
export function drawEditor(app) {
  const { state, t } = app;
  if (!state.open.includes("change")) return;
  const answer = app.answers[state.selectedModel];
  const { architecture, attention } = answer.model.data;
  const at = placeIn(app, answer);
  const refusal = app.hooks.refuseChange?.(app, answer);
  let hint = null;
  if (refusal) hint = "unexpected";
  else if (architecture === "transformer") hint = "changeTransformer";
  else if (attention === "none") hint = "changeNone";
  else if (answer.failure) hint = "loadFailed";
  else if (!answer.ready) hint = "changeWaiting";
  else if (at < 0) hint = "changeHint";
  if (hint !== null) {
    editorKey = "";
    editor = null;
    const reason = make(
      "p",
      { class: "hint" },
      t(hint, { message: refusal, reason: explainError(answer.failure, t) })
    );
    replaceInside(find("change-content"), reason);
    return;
  }
  const key = JSON.stringify([state.selectedModel, at, answer.asked, t.language, app.reads]);
  if (key === editorKey || answer.waiting) return;
  editorKey = key;
  openEditor(app, answer, at, key);
}

/** Asks for the next word under the model's own attention, and makes the editor that changes it. */
async function openEditor(app, answer, at, key) {
  const { state, t } = app;
  const { translation, model } = answer;
  const { isBpe } = model;
  const tokens = sourceTokens(translation, isBpe).map((token) => showToken(token, isBpe));
  const word = `\u2068${showToken(translation.target_subwords[at], isBpe)}\u2069`;
  const prefix = translation.ids.slice(0, at);
  const question = { text: translation.source, prefix, count: CANDIDATES };
  const box = find("change-content");
  const isCurrent = () => key === editorKey;
  if (!model.settings) replaceInside(box, make("p", { class: "hint" }, t("changeWaiting")));
  try {
    const own = await model.ask("predict", { ...question, weights: null });
    if (!isCurrent()) return;
    const predict = async (weights) => {
      try {
        // The heads of a model's own attention differ, so it is not asked for by its mean.
        const asked = weights === own.weights ? null : roundToThousandths(weights);
        const now = await model.ask("predict", { ...question, weights: asked });
        if (isCurrent()) editor.showPrediction(own, now);
      } catch (error) {
        if (isCurrent()) editor.showError(explainError(error, t));
      }
    };
    const { tried } = state.at === at ? state : {};
    const changed = changedBefore(state, answer.number, at + 1).find(({ position }) => position === at);
    const change = (weights) => {
      if (!isCurrent()) return;
      const isOwn = weights === own.weights;
      const kept = isOwn ? (changed ? "own" : null) : roundToThousandths(weights);
      app.keep({ selectedModel: answer.number, at, tried: kept });
      predict(weights);
    };
    const goOn = (weights) => {
      if (!isCurrent()) return;
      const rows = changedBefore(app.state, answer.number, at);
      if (weights !== own.weights) rows.push({ position: at, weights: roundToThousandths(weights) });
      goOnFrom(app, answer, prefix, rows, at);
    };
    const want = (text, id) => findWanted(app, answer, text, id, prefix, isCurrent);
    const given = tried === "own" ? null : (tried ?? changed?.weights);
    const weights = given?.length === tokens.length ? given : own.weights;
    const isMultiHead = model.data.attention === "multi-head";
    const shown = { tokens, own: own.weights, weights, word, isBpe, isMultiHead };
    editor = new Editor(shown, t, { change, goOn, want });
    replaceInside(box, make("p", { class: "lead" }, t("changeFor", { word })), editor.element);
    if (weights === own.weights) editor.showPrediction(own, own);
    else await predict(weights);
  } catch (error) {
    if (isCurrent())
      replaceInside(box, make("p", { class: "error" }, t("failed", { reason: explainError(error, t) })));
  }
}

/** Finds the attention under which a word is likeliest; its id is given if it is one that was offered. */
async function findWanted({ t }, { model, translation }, text, id, prefix, isCurrent) {
  const token = id ?? findToken(model.settings, text);
  if (token < 0) {
    editor.refuse(t("notInVocabulary", { word: text }));
    return;
  }
  try {
    const found = await model.ask("wanted", { text: translation.source, prefix, token });
    if (isCurrent()) editor.showWanted(text, found);
  } catch (error) {
    if (isCurrent()) editor.refuse(t("failed", { reason: explainError(error, t) }));
  }
}

/** Shows the beam as a tree; the tree of the same search is kept as it is. */
export function drawBeam(app) {
  const { state, t } = app;
  if (!state.open.includes("beam")) return;
  const answer = app.answers[state.selectedModel];
  const box = find("beam-content");
  const tree = state.text.trim() ? answer.translation?.tree : null;
  if (!tree?.nodes.length) {
    treeKey = "";
    let hint = answer.ready ? "computing" : "changeWaiting";
    if (!state.text.trim()) hint = "empty";
    else if (answer.failure) hint = "loadFailed";
    else if (answer.error || (answer.translation && !answer.waiting)) hint = "noWords";
    replaceInside(box, make("p", { class: "hint" }, t(hint, { reason: explainError(answer.failure, t) })));
    return;
  }
  const key = JSON.stringify([state.selectedModel, answer.asked, t.language, rootFontSize()]);
  if (answer.waiting) return;
  if (key === treeKey) {
    treeView.show(state.step);
    return;
  }
  treeKey = key;
  const goOn = (ids) => {
    if (!answer.ready) return;
    goOnFrom(
      app,
      answer,
      ids,
      changedBefore(app.state, answer.number, ids.length),
      Math.max(0, ids.length - 1)
    );
  };
  const on = { step: (step) => app.keep({ step }), goOn };
  treeView = makeTree(tree, state.step, answer.model.isBpe, t, on);
  replaceInside(box, treeView.element);
}
