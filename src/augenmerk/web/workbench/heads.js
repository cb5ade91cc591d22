/** The layers and heads of a model: which are chosen, and their attention as a large map or as many small ones. */

import { isolate, make } from "../page/dom.js";
import { makeHeatMap } from "../page/heatmap.js";
import { makeLines } from "../page/lines.js";
import { levelOf, showNumber, showToken, showWord, spread } from "../page/shown.js";
import { h } from "../page/view.js";

const BEGIN = "<s>";
const PARTS = ["cross", "encoder", "decoder"];
const MEAN = "mean";
const ALL = "all";
const readCount = (text) => (/^[1-9]\d?$/.test(text) ? text : MEAN);

/** The parts of the state, as the address has them. */
export const HEAD_CHOICES = {
  part: (text) => (PARTS.includes(text) ? text : "cross"),
  layer: readCount,
  head: (text) => (text === ALL ? ALL : readCount(text)),
};

// -- choosing ----------------------------------------------------------------------------------------------

/** Returns the parts of a model that have attention, and that can be shown: a GRU has one. */
function listParts(model) {
  return PARTS.filter((part) => model.heads[part]);
}

/** Returns whether a model has attention of which the mean over all heads is not all there is. */
function hasHeads(model) {
  return listParts(model).length > 1 || model.layers * model.heads.cross > 1;
}

/** Returns whether something else than the mean over all heads of this model is asked for. */
function wantsHeads({ state }, model) {
  return hasHeads(model) && (state.part !== "cross" || state.layer !== MEAN || state.head !== MEAN);
}

/** Returns the choices of part, layer and head: those that the model with the most of it has. */
export function viewHeads({ state, page, t, change }) {
  if (!page.models.some(hasHeads)) return null;
  const most = (count) => Math.max(...page.models.map(count));
  const layers = most((model) => model.layers);
  const heads = most((model) => model.heads[state.part] ?? 1);
  const parts = PARTS.filter((part) => page.models.some((model) => listParts(model).includes(part)));
  const numbers = (count) => Array.from({ length: count }, (_, place) => String(place + 1));
  const choose = (name, label, values) => {
    const chosen = {
      id: name,
      value: state[name],
      onchange: ({ target }) => change({ [name]: target.value }),
    };
    const options = values.map((value) => h("option", { value }, /\d/.test(value) ? value : t(value)));
    return h("label", { key: name }, h("span", {}, t(label)), h("select", chosen, options));
  };
  return [
    parts.length > 1 && choose("part", "attentionOf", parts),
    layers > 1 && state.head !== ALL && choose("layer", "layer", [MEAN, ...numbers(layers)]),
    choose("head", "head", [MEAN, ALL, ...(heads > 1 ? numbers(heads) : [])]),
  ];
}

export function addToQuestion(app, number) {
  const data = app.page.models[number];
  if (!wantsHeads(app, data)) return {};
  return { heads: listParts(data).includes(app.state.part) ? app.state.part : "cross" };
}

// -- what is chosen ----------------------------------------------------------------------------------------

/** Returns the mean of maps of one size. */
function meanMap(maps) {
  return maps[0].map((row, i) =>
    row.map((_, j) => maps.reduce((sum, each) => sum + each[i][j], 0) / maps.length)
  );
}

/**
 * Returns the chosen one of maps [layer][head], or the mean of those that the choice leaves: {layer, head, weights}.
 * The other model, or the other part, may have more of them than this one: then `layer` and `head` are "" as for a mean.
 */
function chooseMap(maps, state) {
  const layer = maps[Number(state.layer) - 1] ? state.layer : "";
  const head = maps[0][Number(state.head) - 1] ? state.head : "";
  const layers = layer ? [maps[Number(layer) - 1]] : maps;
  return {
    layer,
    head,
    weights: meanMap(layers.map((each) => (head ? each[Number(head) - 1] : meanMap(each)))),
  };
}

/** Returns the weights of a token over the source in the layer and head that are chosen; undefined for the mean of all. */
export function attentionAt({ state }, { model, translation }, place) {
  const found = translation.heads;
  if (found?.part !== "cross" || !wantsHeads({ state }, model.data)) return undefined;
  return chooseMap(found.subwords, state).weights[place];
}

/**
 * Returns the rows and columns of a part, as `makeGrid` does for the attention to the source: in the encoder
 * source words look at source words, in the decoder target words at those before them. `weights` is a map.
 */
function makePartGrid(part, translation, unit, isBpe, grid, weights) {
  if (part === "cross") return { ...grid, weights };
  const words = unit === "words";
  const show = words ? showWord : (token) => showToken(token, isBpe);
  const source = (words ? translation.source_words : translation.source_subwords).map(show);
  const target = (words ? translation.target_words : translation.target_subwords).map(show);
  if (part === "encoder") {
    const end = source.length - 1;
    const rows = source.map((text, place) => ({ text, end: place === end, token: -1 }));
    return { columns: source, columnEnd: end, rows, weights, rowOf: () => -1 };
  }
  const columns = [BEGIN, ...target.slice(0, -1)].slice(0, weights[0]?.length ?? 0);
  return { ...grid, columns, columnEnd: -1, weights };
}

/** Draws the heads that were chosen, with their name; null if it is the mean of all, which is drawn as ever. */
export function makePicture(app, answer, chosen, on, room) {
  const { state, t } = app;
  const { translation, grid, model } = answer;
  const found = translation.heads;
  if (!found || !wantsHeads(app, model.data)) return null;
  const maps = found[state.unit];
  if (state.head === ALL) return makeSmallMaps(maps, app);
  const { layer, head, weights } = chooseMap(maps, state);
  const shown = makePartGrid(found.part, translation, state.unit, model.isBpe, grid, weights);
  const isSource = found.part === "encoder";
  const points = isSource ? { ...on, select: () => {} } : on;
  const row = isSource ? -1 : chosen;
  const style = getComputedStyle(document.documentElement);
  const picture =
    state.view === "map"
      ? makeHeatMap(shown, row, [], t, points, room)
      : makeLines(shown, row, t, points, style, room);
  const name = [
    t(`${found.part}Name`),
    ...(maps.length > 1 ? [layer ? t("layerName", { layer }) : t("layerMean")] : []),
    ...(maps[0].length > 1 ? [head ? t("headOnly", { head }) : t("headMean")] : []),
  ].join(", ");
  picture.element.querySelector("caption").textContent = name;
  const element = make("div", {}, make("p", { class: "head-name" }, name), picture.element);
  return { ...picture, element, grid: shown };
}

/** Paints a map with a pixel for each weight, in the colours of the page's scale. */
function paintMap(weights) {
  const style = getComputedStyle(document.documentElement);
  const canvas = make("canvas", { width: weights[0].length, height: weights.length, "aria-hidden": "true" });
  canvas.style.aspectRatio = String(weights[0].length / weights.length);
  const context = canvas.getContext("2d");
  weights.forEach((row, y) => {
    row.forEach((weight, x) => {
      context.fillStyle = style.getPropertyValue(`--h${levelOf(weight)}`).trim();
      context.fillRect(x, y, 1, 1);
    });
  });
  return canvas;
}

/** Returns all heads [layer][head] as small maps, a row for each layer; a click shows one of them large. */
function makeSmallMaps(maps, { t, change }) {
  const several = maps.length > 1;
  const makeMap = (weights, layer, head) => {
    const rows = weights.filter((row) => row.some((weight) => weight > 0));
    const words = rows.reduce((sum, row) => sum + spread(row), 0) / Math.max(1, rows.length);
    const said = t("headSpread", { words: showNumber(words, t.language, 1) });
    const name = t(several ? "headName" : "headOnly", { layer, head });
    return make(
      "button",
      {
        type: "button",
        class: "small-map",
        "data-key": `head-${layer}-${head}`,
        title: `${name}: ${said}`,
        onclick: () => change({ layer: several ? String(layer) : MEAN, head: String(head) }),
      },
      paintMap(weights),
      make("span", {}, isolate(name)),
      make("span", { class: "unseen" }, said)
    );
  };
  const rows = maps.map((heads, layer) =>
    make(
      "div",
      { class: "small-row" },
      ...heads.map((weights, head) => makeMap(weights, layer + 1, head + 1))
    )
  );
  const element = make("div", { class: "small-maps" }, ...rows);
  element.style.setProperty("--heads", String(maps[0].length));
  return { element, light: () => {}, hint: t("smallHint") };
}
