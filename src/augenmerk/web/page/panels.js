/** What is beside and below the answers: the chosen place, and the beam. */

import { placeIn } from "./answer.js";
import { find, rootFontSize } from "./dom.js";
import { attentionAt } from "./heads.js";
import { describeBars } from "./next.js";
import { button, hint, isolate } from "./parts.js";
import { showToken, sourceTokens } from "./shown.js";
import { changedBefore } from "./state.js";
import { explainError } from "./texts.js";
import { describeTree, groupBySteps } from "./tree.js";
import { h, render } from "./view.js";

const STRONGEST = 5; // how many source words are listed

/** Describes the candidates and the strongest weights at the chosen place. */
export function describePlace(app) {
  const { state, t, change, answers } = app;
  const answer = answers[state.selectedModel];
  const { translation, own, number } = answer;
  const at = placeIn(app, answer);
  if (at < 0) {
    const isThere = state.text.trim() && translation?.target_subwords.length;
    return hint(t(answer.waiting ? "computing" : isThere ? "placeHint" : "noWords"));
  }
  const { isBpe, data } = answer.model;
  const { rows, rowOf } = own; // of words or of subwords, as in the map
  const row = rowOf(at);
  const step = (key, sign, to) => {
    const named = { key, "data-key": key, "aria-label": t(key), title: t(key), disabled: !to };
    return button(sign, () => change({ at: to.token, tried: null }), named);
  };
  const word = `\u2068${showToken(translation.target_subwords[at], isBpe)}\u2069`;
  const says = t("says", { word, place: row + 1, count: rows.length });
  const goOnWith = ({ id }) =>
    app.goOnFrom(number, [...translation.ids.slice(0, at), id], changedBefore(state, number, at), at);
  const next = translation.next?.[at] ?? [];
  const candidates = describeBars(next, isBpe, t, answer.ready ? goOnWith : null, translation.ids[at]);
  const weights = attentionAt(app, answer, at);
  const source = sourceTokens(translation, isBpe);
  const strongest = weights
    .map((probability, place) => ({ text: source[place], probability }))
    .sort((a, b) => b.probability - a.probability)
    .slice(0, STRONGEST);
  return [
    h(
      "div.stepper.buttons",
      step("before", "◀", rows[row - 1]),
      h("h3", answers.length > 1 && [isolate(data.name), ": "], says),
      step("after", "▶", rows[row + 1])
    ),
    h("div", h("h4", t("nextBest")), candidates),
    weights.some((weight) => weight > 0) &&
      h("div", h("h4", t("looksAt")), describeBars(strongest, isBpe, t)),
  ];
}

/** Draws the beam as a tree; the newest step is on the right. */
export function drawBeam(app) {
  if (!app.state.open.includes("beam")) return;
  const box = find("beam-content");
  const before = app.beam?.drawn;
  render(box, describeBeam(app));
  if (app.beam && app.beam.drawn !== before) {
    const drawing = box.querySelector(".drawing");
    drawing.scrollTo({ left: drawing.scrollWidth });
  }
}

function describeBeam(app) {
  const { state, t } = app;
  const answer = app.answers[state.selectedModel];
  const tree = state.text.trim() ? answer.translation?.tree : null;
  if (!tree?.nodes.length) {
    app.beam = null;
    if (!state.text.trim()) return hint(t("empty"));
    if (answer.failure) return hint(t("loadFailed", { reason: explainError(answer.failure, t) }));
    const isOver = answer.error || (answer.translation && !answer.waiting);
    return hint(t(isOver ? "noWords" : answer.ready ? "computing" : "changeWaiting"));
  }
  const key = JSON.stringify([state.selectedModel, answer.asked]);
  // While its model is busy, the tree before stays.
  if (app.beam?.tree !== tree && !(app.beam?.answer === answer && answer.waiting)) {
    app.beam = { key, answer, tree, steps: groupBySteps(tree) };
  }
  const { steps } = app.beam;
  const count = steps.length - 1;
  const step = state.step < 1 || state.step > count ? count : state.step;
  app.beam.drawn = JSON.stringify([app.beam.key, step, rootFontSize()]);
  const on = {
    step: (wanted) => {
      app.keep({ step: Math.min(count, Math.max(1, wanted)) });
      drawBeam(app);
    },
    goOn: (ids) => {
      const { length } = ids;
      if (!answer.ready) return;
      app.goOnFrom(answer.number, ids, changedBefore(state, answer.number, length), Math.max(0, length - 1));
    },
  };
  return h(
    "div",
    { key: app.beam.key, class: "beam" },
    describeTree(app.beam.tree, steps, step, answer.model.isBpe, t, on)
  );
}
