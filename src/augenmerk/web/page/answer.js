/** What one model answers: its translation, remarks about it, and the picture of its attention. */

import { wholeText } from "./compare.js";
import { find, make, replaceInside } from "./dom.js";
import { describePointed, makeHeatMap, makeScale } from "./heatmap.js";
import { makeLines } from "./lines.js";
import { makeGrid, showPercent } from "./shown.js";
import { changedBefore, forgetChoices } from "./state.js";
import { explainError } from "./texts.js";

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

/** Draws an answer. */
export function drawAnswer(app, answer) {
  const { state, t } = app;
  const { number } = answer;
  const box = find(`answer-${number}`);
  const inside = (name) => box.querySelector(`.${name}`);
  const translation = state.text.trim() ? answer.translation : null;
  box.classList.toggle("waiting", answer.waiting);
  const [status, kind] = describeStatus(app, answer);
  inside("status").textContent = status;
  inside("status").className = `status ${kind}`;
  // A screen reader says it when it changes, and does not when it stays.
  const spoken = translation ? wholeText(translation) : "";
  if (!answer.waiting && inside("spoken").textContent !== spoken) inside("spoken").textContent = spoken;
  replaceInside(inside("forced"), ...describeForced(app, answer));
  answer.view = null;
  answer.grid = translation?.target_words.length
    ? makeGrid(translation, state.unit, answer.model.isBpe)
    : null;
  if (answer.grid === null) {
    replaceInside(inside("said"));
    replaceInside(inside("picture"));
    return;
  }
  const { grid } = answer;
  const rowAt = (token) => (token >= 0 ? grid.rowOf(token) : -1);
  const chosen = rowAt(placeIn(app, answer));
  const changed = changedBefore(state, number, Infinity).map(({ position }) => rowAt(position));
  const on = {
    point: (row, column) => point(app, answer, row, column),
    select: (row) => app.change({ selectedModel: number, at: grid.rows[row].token, tried: null }),
  };
  drawSaid(inside("said"), app, answer, chosen, on);
  const room = inside("picture").clientWidth;
  const style = getComputedStyle(document.documentElement);
  answer.view =
    app.hooks.makePicture?.(app, answer, chosen, on, room) ??
    (state.view === "map"
      ? makeHeatMap(grid, chosen, changed, t, on, room)
      : makeLines(grid, chosen, t, on, style, room));
  const readout = make("p", { class: "readout", role: "status" }, answer.view.hint ?? t("pointHint"));
  const under = make("div", { class: "under" }, readout, ...(state.view === "map" ? [makeScale(t)] : []));
  replaceInside(inside("picture"), answer.view.element, under);
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
  if (state.changedModel !== number || (!state.begin.length && !state.changed.length)) return [];
  const remarks = [];
  if (state.changed.length) {
    const places = state.changed.map(({ position }) => String(position + 1));
    const list = new Intl.ListFormat(t.language).format(places);
    remarks.push(t(places.length > 1 ? "changedAtPlaces" : "changedAt", { place: list }));
  } else {
    const begun = translation?.target_subwords.slice(0, state.begin.length) ?? ["…"];
    const words = model.isBpe ? begun.join("").replaceAll("▁", " ").trim() : begun.join(" ");
    remarks.push(t("begun", { words: `\u2068${words}\u2069` }));
  }
  const undo = make("button", { type: "button", onclick: () => change(forgetChoices()) }, t("undo"));
  return [make("span", {}, remarks.join(" ")), " ", undo];
}

/** Writes the translation: of the sentence that is looked at as words, of each other one as a button. */
function drawSaid(container, app, answer, chosen, on) {
  const { translation } = answer;
  const { sentences = [translation], sentence: looked = 0 } = translation;
  let rest = wholeText(translation);
  const nodes = sentences.flatMap(({ source, translation: text }, number) => {
    const place = rest.indexOf(text);
    const between = rest.slice(0, place);
    rest = rest.slice(place + text.length);
    if (number === looked) return [between, ...makeWords(app, answer, chosen, on)];
    const look = () => app.change({ ...forgetChoices(), sentence: number });
    // Unlike a button, it is broken into lines like any text.
    const other = {
      class: "sentence",
      role: "button",
      tabindex: 0,
      "data-key": `sentence-${number}`,
      title: app.t("lookAtSentence", { source }),
      onclick: look,
      onkeydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        look();
      },
    };
    return [between, make("span", other, text || "∅")];
  });
  replaceInside(container, ...nodes, rest);
}

/** Returns the words of a translation, which can be pointed at and chosen. */
function makeWords({ state, t }, { grid, translation }, chosen, on) {
  // Spaces between words are those of the translation: none before a full stop. Subwords stand apart.
  let rest = translation.translation;
  return grid.rows.flatMap((row, number) => {
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
      row.text
    );
    const place = state.unit === "words" ? rest.indexOf(row.text) : -1;
    if (place >= 0) rest = rest.slice(place + row.text.length);
    return number > 0 && (place !== 0 || row.end) ? [" ", word] : [word];
  });
}

/** Lights up what is pointed at, and says its numbers; -1 is no row or no column. */
function point({ t }, answer, row, column) {
  if (!answer.view) return;
  answer.view.light(row, column);
  const box = find(`answer-${answer.number}`);
  const hint = answer.view.hint ?? t("pointHint");
  const shown = answer.view.grid ?? answer.grid;
  box.querySelector(".readout").textContent =
    answer.view.hint ?? (describePointed(shown, row, column, t) || hint);
  const words = box.querySelectorAll(".said .word");
  words.forEach((word, number) => word.classList.toggle("lit", number === row));
}
