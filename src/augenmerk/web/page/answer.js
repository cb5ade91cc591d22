/** What one model answers: its translation, remarks about it, and the picture of its attention. */

import { wholeText } from "./compare.js";
import { find } from "./dom.js";
import { chooseGrid, describeSmallMaps, isSmall } from "./heads.js";
import { describeHeatMap, describePointed, describeScale, lightMap } from "./heatmap.js";
import { describeLines, lightLines } from "./lines.js";
import { button, isolate } from "./parts.js";
import { makeGrid, showPercent } from "./shown.js";
import { changedBefore, forgetChoices } from "./state.js";
import { explainError } from "./texts.js";
import { h } from "./view.js";

/** The texts that say why a sentence is unlike what a model learnt from, by Python's names of the reasons. */
const UNFAMILIAR = {
  characters: "strangeCharacters",
  "unknown words": "unknownWords",
  "rare words": "rareWords",
};

/**
 * Returns the place of an answer that is looked at, in target tokens: the one that was chosen, or else where
 * the model hesitated most; -1 if it is in another answer, or nowhere.
 */
export function placeIn({ state }, { number, translation }) {
  const count = translation?.target_subwords.length ?? 0;
  if (number !== state.selectedModel || !state.text.trim() || state.at >= count) return -1;
  if (state.at >= 0) return state.at;
  const logs = translation?.token_log_probabilities.slice(0, translation.ids.length) ?? [];
  return logs.length ? logs.indexOf(Math.min(...logs)) : -1;
}

export function describeAnswer(app, answer) {
  const { state, answers } = app;
  const { number, model } = answer;
  const translation = state.text.trim() ? answer.translation : null;
  const [status, kind] = describeStatus(app, answer);
  // A screen reader says it when it changes, and does not when it stays.
  if (!answer.waiting) answer.spoken = translation ? wholeText(translation) : "";
  const heading =
    answers.length > 1
      ? h("h2", isolate(model.data.name))
      : h("h2.label", app.nameSide("translation", "target_language"));
  const own = translation?.target_words.length ? makeGrid(translation, state.unit, model.isBpe) : null;
  const shown = own && chooseGrid(app, answer, own);
  answer.own = own;
  answer.grid = shown?.grid ?? null;
  const rowAt = (token) => (token >= 0 ? own.rowOf(token) : -1);
  const chosen = own ? rowAt(placeIn(app, answer)) : -1;
  const on = {
    point: (row, column) => point(app, answer, row, column),
    select: (row) => app.change({ selectedModel: number, at: own.rows[row].token, tried: null }),
  };
  const changed = own && changedBefore(state, number, Infinity).map(({ position }) => rowAt(position));
  return h(
    "article",
    { key: number, class: answer.waiting ? "card answer waiting" : "card answer", id: `answer-${number}` },
    heading,
    h("p.said", { dir: "auto" }, own && describeSaid(app, answer, chosen, on)),
    h("p.spoken.unseen", { role: "status" }, answer.spoken),
    h("p.forced", describeForced(app, answer)),
    h("p", { class: `status ${kind}` }, status),
    h("div.picture", own && drawPicture(app, answer, shown, chosen, changed, on))
  );
}

/** Describes the picture of an answer: of the mean over all heads, of one head, or of all of them. */
function drawPicture(app, { number }, { grid, isSource, name, maps }, chosen, changed, on) {
  const { state, t } = app;
  const readout = (text) => h("p.readout", { role: "status" }, text);
  if (maps) return [describeSmallMaps(maps, app), h("div.under", readout(t("smallHint")))];
  const room = find(`answer-${number}`)?.querySelector(".picture").clientWidth ?? 0;
  const row = isSource ? -1 : chosen;
  const points = isSource ? { ...on, select: () => {} } : on;
  const isMap = state.view === "map";
  const picture = isMap
    ? describeHeatMap(grid, row, name ? [] : changed, t, points, room, name)
    : describeLines(grid, row, t, points, room, name);
  const under = h("div.under", readout(t("pointHint")), isMap && describeScale(t));
  return [name && h("p.head-name", name), picture, under];
}

/** Says why there is no translation, or what is to be known about the one there is. */
function describeStatus({ state, t }, { translation, waiting, ready, error, failure }) {
  if (!state.text.trim()) return [t("empty"), "hint"];
  if (error) return [t("failed", { reason: explainError(error, t) }), "error"];
  if (waiting && failure) return [t("loadFailed", { reason: explainError(failure, t) }), "error"];
  if (waiting) return [t(ready ? "computing" : "waiting"), "hint"];
  if (!translation) return ["", "hint"];
  const remarks = [];
  const { sentences = [translation] } = translation;
  const unfamiliar = sentences.map((one) => one.unfamiliar).find(Boolean);
  if (unfamiliar) remarks.push(t("unfamiliar", { reason: t(UNFAMILIAR[unfamiliar.reason]) }));
  const uncovered = sentences.flatMap((one) => (one.uncovered ? [one.uncovered.text] : []));
  if (uncovered.length) remarks.push(t("uncovered", { text: `\u2068${uncovered.join(" … ")}\u2069` }));
  if (translation.truncated) remarks.push(t("truncated"));
  if (!translation.finished) remarks.push(t("unfinished"));
  const { attention } = translation;
  if (attention.length && !attention.flat().some((weight) => weight > 0)) remarks.push(t("noAttention"));
  return [remarks.join(" "), unfamiliar || uncovered.length ? "warning" : "hint"];
}

/** Says that a translation has to begin in some way, or with which changed attention it was made. */
function describeForced({ state, t, change }, { number, model, translation }) {
  if (state.changedModel !== number || (!state.begin.length && !state.changed.length)) return null;
  let remark = "";
  if (state.changed.length) {
    const places = state.changed.map(({ position }) => String(position + 1));
    const place = new Intl.ListFormat(t.language).format(places);
    remark = t(places.length > 1 ? "changedAtPlaces" : "changedAt", { place });
  } else {
    const begun = translation?.target_subwords.slice(0, state.begin.length) ?? ["…"];
    const words = model.isBpe ? begun.join("").replaceAll("▁", " ").trim() : begun.join(" ");
    remark = t("begun", { words: `\u2068${words}\u2069` });
  }
  return [h("span", remark), " ", button(t("undo"), () => change(forgetChoices()))];
}

/** Describes the translation: of the sentence that is looked at as words, of each other one as a button. */
function describeSaid(app, answer, chosen, on) {
  const { translation } = answer;
  const { sentences = [translation], sentence: looked = 0 } = translation;
  let rest = wholeText(translation);
  const nodes = sentences.map(({ source, translation: text }, number) => {
    const place = rest.indexOf(text);
    const between = rest.slice(0, place);
    rest = rest.slice(place + text.length);
    if (number === looked) return [between, describeWords(app, answer, chosen, on)];
    const look = () => app.change({ ...forgetChoices(), sentence: number });
    const press = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      look();
    };
    // Unlike a button, it is broken into lines like any text.
    const title = app.t("lookAtSentence", { source });
    const other = { class: "sentence", role: "button", tabindex: 0, title, onclick: look, onkeydown: press };
    return [between, h("span", { key: `sentence-${number}`, ...other }, text || "∅")];
  });
  return [nodes, rest];
}

function describeWords({ state, t }, { own, translation }, chosen, on) {
  // Spaces between words are those of the translation: none before a full stop. Subwords stand apart.
  let rest = translation.translation;
  const leave = () => on.point(-1, -1);
  return own.rows.map(({ text, end, probability }, number) => {
    const look = () => on.point(number, -1);
    const pointed = { onpointerenter: look, onpointerleave: leave, onfocus: look, onblur: leave };
    const word = button(text, () => on.select(number), {
      key: `word-${number}`,
      class: end ? "word end" : "word",
      "aria-pressed": String(number === chosen),
      title: end ? t("end") : showPercent(probability, t.language),
      ...pointed,
    });
    const place = state.unit === "words" ? rest.indexOf(text) : -1;
    if (place >= 0) rest = rest.slice(place + text.length);
    return number > 0 && (place !== 0 || end) ? [" ", word] : word;
  });
}

/** Lights up what is pointed at, and says its numbers; -1 is no row or no column. */
function point({ t, state }, answer, row, column) {
  const box = find(`answer-${answer.number}`);
  const picture = box.querySelector(".picture .map, .picture .lines");
  if (!picture || isSmall(state)) return;
  if (state.view === "map") lightMap(picture, row, column);
  else lightLines(picture, row, column);
  box.querySelector(".readout").textContent = describePointed(answer.grid, row, column, t) || t("pointHint");
  const words = box.querySelectorAll(".said .word");
  words.forEach((word, number) => word.classList.toggle("lit", number === row));
}
