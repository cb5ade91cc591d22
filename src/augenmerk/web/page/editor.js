/**
 * "Change what it attends to": the weights of one place as sliders. A context is the sum of the values
 * weighted so (equation 11), and the decoder's state does not look at the attention (equation 10). So what
 * is shown of the next word under changed weights is exact.
 */

import { placeIn } from "./answer.js";
import { find } from "./dom.js";
import { describeBars } from "./next.js";
import { button, hint, isolate, tableRow } from "./parts.js";
import { showNumber, showPercent, showToken, sourceTokens } from "./shown.js";
import { changedBefore, roundToThousandths } from "./state.js";
import { explainError } from "./texts.js";
import { h, render } from "./view.js";
import { findToken } from "./vocabulary.js";

const CANDIDATES = 60; // how many next words are asked for, to compare and to offer
const SHOWN = 7; // how many of them are shown

// -- weights -----------------------------------------------------------------------------------------------

/** Returns weights with one of them set; the others share the rest in the proportions they had. */
function setWeight(weights, place, value) {
  const chosen = Math.min(1, Math.max(0, value));
  const others = weights.reduce((sum, weight, i) => (i === place ? sum : sum + weight), 0);
  const rest = 1 - chosen;
  return weights.map((weight, i) => {
    if (i === place) return weights.length === 1 ? 1 : chosen;
    return others > 1e-9 ? (weight / others) * rest : rest / (weights.length - 1);
  });
}

/** Returns weights with two of them exchanged. */
function swapWeights(weights, a, b) {
  return weights.with(a, weights[b]).with(b, weights[a]);
}

// -- asking ------------------------------------------------------------------------------------------------

/**
 * Returns why the attention of an answer cannot be changed, as a text and its values; null if it can.
 * @returns {any}
 */
function refuse(app, answer, at) {
  const { architecture, attention } = answer.model.data;
  const message = app.hooks.refuseChange?.(app, answer);
  if (message) return ["unexpected", { message }];
  if (architecture === "transformer") return ["changeTransformer"];
  if (attention === "none") return ["changeNone"];
  if (answer.failure) return ["loadFailed", { reason: explainError(answer.failure, app.t) }];
  if (!answer.ready) return ["changeWaiting"];
  return at < 0 ? ["changeHint"] : null;
}

/** Opens the editor of the place that is looked at, unless it is open; that of the same place is kept as it is. */
function followPlace(app, answer, at) {
  const key = JSON.stringify([app.state.selectedModel, at, answer.asked, app.reads]);
  if (key === app.editor?.key || answer.waiting) return;
  const { translation, model } = answer;
  app.editor = {
    key,
    at,
    answer,
    shown: app.editor?.shown, // what is seen until this one has its answer
    tokens: sourceTokens(translation, model.isBpe).map((token) => showToken(token, model.isBpe)),
    word: `\u2068${showToken(translation.target_subwords[at], model.isBpe)}\u2069`,
    question: { text: translation.source, prefix: translation.ids.slice(0, at) },
    said: "", // what was found for a wish
    error: null,
  };
  open(app, app.editor);
}

/** Asks for the next word under the model's own attention, and under that which the address says. */
async function open(app, editor) {
  const { state } = app;
  const { at, answer, question } = editor;
  await attempt(app, editor, async () => {
    const own = await answer.model.ask("predict", { ...question, count: CANDIDATES, weights: null });
    const changed = changedBefore(state, answer.number, at + 1).find(({ position }) => position === at);
    const { tried } = state.at === at ? state : {};
    const given = tried === "own" ? null : (tried ?? changed?.weights);
    const weights = given?.length === own.weights.length ? given : own.weights;
    const [first, second = first] = [...own.weights.keys()].sort((a, b) => own.weights[b] - own.weights[a]);
    const before = { own, weights, changed, first, second, now: own };
    const now = weights === own.weights ? own : await predict(editor, before, weights);
    if (editor === app.editor) Object.assign(editor, before, { now, shown: null });
  });
}

/** Asks for the next word under some weights; the heads of a model's own attention differ, so it is not asked for by them. */
function predict({ answer, question }, { own }, weights) {
  const asked = weights === own.weights ? null : roundToThousandths(weights);
  return answer.model.ask("predict", { ...question, count: CANDIDATES, weights: asked });
}

/** Does something of an editor, shows what came of it, or why nothing did. */
async function attempt(app, editor, act) {
  try {
    await act();
    editor.error = null;
  } catch (error) {
    editor.error = error;
  }
  if (editor === app.editor) drawEditor(app);
}

/** Takes other weights, and asks for the next word under them. */
function take(app, editor, weights) {
  const { at, answer, own, changed } = editor;
  const kept = weights === own.weights ? (changed ? "own" : null) : roundToThousandths(weights);
  editor.weights = weights;
  app.keep({ selectedModel: answer.number, at, tried: kept });
  drawEditor(app);
  attempt(app, editor, async () => {
    editor.now = await predict(editor, editor, weights);
  });
}

function goOn(app, { at, answer, own, weights, question }) {
  const rows = changedBefore(app.state, answer.number, at);
  if (weights !== own.weights) rows.push({ position: at, weights: roundToThousandths(weights) });
  app.goOnFrom(answer.number, question.prefix, rows, at);
}

/**
 * Finds the attention under which a word is likeliest, and takes the weights: those under which it comes first, or else
 * those under which it is as likely as it gets.
 */
async function want(app, editor, text) {
  const { t } = app;
  const { answer, question, own } = editor;
  const { isBpe, settings } = answer.model;
  const offered = own.tokens.find((token) => showToken(token.text, isBpe) === text);
  const token = offered?.id ?? findToken(settings, text);
  if (token < 0) {
    editor.said = t("notInVocabulary", { word: text });
    drawEditor(app);
    return;
  }
  try {
    const found = await answer.model.ask("wanted", { ...question, token });
    if (editor !== app.editor) return;
    editor.said = describeFound(found, text, isBpe, t);
    const isFirst = found.probability > found.best.probability;
    take(app, editor, found.wins && !isFirst ? found.winning_weights : found.weights);
  } catch (error) {
    editor.said = t("failed", { reason: explainError(error, t) });
    drawEditor(app);
  }
}

function describeFound({ probability, own_probability, wins, best }, text, isBpe, t) {
  const percent = (share) => showPercent(share, t.language);
  const leads = probability > best.probability;
  const key = wins === null ? "undecided" : !wins ? "losesTo" : leads ? "wins" : "winsElsewhere";
  return t(key, {
    word: `\u2068${text}\u2069`,
    probability: percent(probability),
    own: percent(own_probability),
    best: `\u2068${showToken(best.text, isBpe)}\u2069`,
    other: percent(best.probability),
  });
}

// -- drawing -----------------------------------------------------------------------------------------------

export function drawEditor(app) {
  if (!app.state.open.includes("change")) return;
  const answer = app.answers[app.state.selectedModel];
  const at = placeIn(app, answer);
  const refused = refuse(app, answer, at);
  if (refused) app.editor = null;
  else followPlace(app, answer, at);
  const { editor, t } = app;
  if (editor && !editor.shown && editor.own) editor.shown = editor;
  /** @type {any} */
  let content = hint(refused ? t(...refused) : t("changeWaiting"));
  if (editor?.error && !editor.own) {
    content = h("p.error", t("failed", { reason: explainError(editor.error, t) }));
  } else if (editor?.shown) {
    content = describe(app, editor.shown);
  }
  render(find("change-content"), content);
}

function describe(app, editor) {
  const { t } = app;
  const { key, word, own, tokens, answer } = editor;
  const set = (weights) => take(app, editor, weights);
  const even = () => set(own.weights.map(() => 1 / tokens.length));
  const swap = () => set(swapWeights(editor.weights, editor.first, editor.second));
  const choose = (name, label) => {
    const onchange = ({ target }) => (editor[name] = Number(target.value));
    const options = tokens.map((token, place) => h("option", { value: place }, token));
    return h("select", { "aria-label": t(label), value: editor[name], onchange }, options);
  };
  const isMultiHead = answer.model.data.attention === "multi-head";
  const swapped = [choose("first", "swapFirst"), choose("second", "swapSecond"), button(t("swap"), swap)];
  const buttons = [button(t("own"), () => set(own.weights)), button(t("uniform"), even)];
  const rows = tokens.map((token, place) => describeWeight(editor, token, place, set, t));
  const weights = h(
    "div.weights",
    h("div.buttons", buttons, h("span.together", swapped)),
    h("table", h("caption.unseen", t("weightsCaption", { word })), h("tbody", rows)),
    hint([t("editorHint"), isMultiHead && [" ", t("allHeads")]])
  );
  const onward = button(t("goOn"), () => goOn(app, editor), { class: "main" });
  const effect = h(
    "div.effect",
    h("h3", t("nextNow")),
    h("div.prediction", describePrediction(editor, t)),
    h("p.buttons", onward),
    describeWish(app, editor)
  );
  const lead = h("p.lead", t("changeFor", { word }));
  return [lead, h("div.editor", { key }, weights, effect)];
}

function describeWeight({ own, weights }, token, place, set, t) {
  const weight = weights[place];
  const slider = {
    ...{ type: "range", min: 0, max: 1, step: 0.01, value: weight, style: { "--share": weight } },
    "aria-label": t("weightOf", { word: token }),
    oninput: ({ target }) => set(setWeight(weights, place, target.valueAsNumber)),
  };
  const number = {
    ...{ type: "number", min: 0, max: 100, step: 1, value: String(Math.round(weight * 100)) },
    "aria-label": t("percentOf", { word: token }),
    onchange: ({ target }) => set(setWeight(weights, place, (target.valueAsNumber || 0) / 100)),
  };
  const mark = {
    class: "own",
    title: t("ownWeight", { weight: showNumber(own.weights[place], t.language) }),
    style: { "--own": own.weights[place] },
  };
  const all = { class: "word", title: t("allOn", { word: token }) };
  const choose = () => set(weights.map((_, i) => Number(i === place)));
  return tableRow(button(isolate(token), choose, all), [
    h("td.slide", h("input", slider), h("span", mark)),
    [h("input", number), h("span.unit", { "aria-hidden": "true" }, "%")],
  ]);
}

/** Describes the next words under the weights, with marks where they were under the model's own attention. */
function describePrediction({ answer, own, now, error }, t) {
  if (error) return h("p.error", explainError(error, t));
  const before = new Map(own.tokens.map((token) => [token.id, token.probability]));
  const tokens = now.tokens.slice(0, SHOWN).map((token) => ({ ...token, own: before.get(token.id) ?? 0 }));
  return describeBars(tokens, answer.model.isBpe, t);
}

/** Describes the form in which the user says what the model shall say. */
function describeWish(app, editor) {
  const { t } = app;
  const onsubmit = (event) => {
    event.preventDefault();
    const text = find("wish").value.trim();
    if (text) want(app, editor, text);
  };
  const offered = new Set(editor.own.tokens.map(({ text }) => showToken(text, editor.answer.model.isBpe)));
  const options = [...offered].map((value) => h("option", { value }));
  const typed = { type: "text", dir: "auto", autocomplete: "off", spellcheck: "false" };
  const field = h("input", { id: "wish", list: "wishes", ...typed });
  return h(
    "form.wanted",
    { onsubmit },
    h("label", { for: "wish" }, t("wanted")),
    h("span.together", field, h("button", { type: "submit" }, t("find"))),
    h("datalist", { id: "wishes" }, options),
    h("p.answer", { role: "status" }, editor.said)
  );
}
