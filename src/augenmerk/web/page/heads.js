/** The layers and heads of a model: which are chosen, and their attention as a large map or as many small ones. */

import { choice } from "./address.js";
import { readColours } from "./dom.js";
import { button, isolate, select } from "./parts.js";
import { levelOf, showNumber, showToken, showWord, spread } from "./shown.js";
import { h } from "./view.js";

const BEGIN = "<s>";
const PARTS = ["cross", "encoder", "decoder"];
const MEAN = "mean";
const ALL = "all";
const NUMBERS = Array.from({ length: 99 }, (_, place) => String(place + 1));

/** The parts of the state, as the address has them. */
export const HEAD_CHOICES = {
  part: choice(PARTS, "cross"),
  layer: choice(NUMBERS, MEAN),
  head: choice([ALL, ...NUMBERS], MEAN),
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

/** Describes the choices of part, layer and head: those that the model with the most of it has. */
export function describeHeads({ state, page, t, change }) {
  if (!page.models.some(hasHeads)) return null;
  const most = (count) => Math.max(...page.models.map(count));
  const layers = most((model) => model.layers);
  const heads = most((model) => model.heads[state.part] ?? 1);
  const parts = PARTS.filter((part) => page.models.some((model) => listParts(model).includes(part)));
  const nameOf = (value) => (/\d/.test(value) ? value : t(value));
  const choose = (name, label, values) =>
    select(t(label), values, nameOf, state[name], (value) => change({ [name]: value }), { id: name });
  return [
    parts.length > 1 && choose("part", "attentionOf", parts),
    layers > 1 && state.head !== ALL && choose("layer", "layer", [MEAN, ...NUMBERS.slice(0, layers)]),
    choose("head", "head", [MEAN, ALL, ...(heads > 1 ? NUMBERS.slice(0, heads) : [])]),
  ];
}

/** Returns the part of a model whose heads have to be asked for; null if the mean over all of them will do. */
export function chooseHeads({ page, state }, number) {
  const model = page.models[number];
  if (!wantsHeads({ state }, model)) return null;
  return listParts(model).includes(state.part) ? state.part : "cross";
}

// -- what is chosen ----------------------------------------------------------------------------------------

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
  const weights = meanMap(layers.map((each) => (head ? each[Number(head) - 1] : meanMap(each))));
  return { layer, head, weights };
}

/** Returns the weights of a token over the source, in the layer and head that are chosen. */
export function attentionAt({ state }, { model, translation }, place) {
  const found = translation.heads;
  const isMean = found?.part !== "cross" || !wantsHeads({ state }, model.data);
  return (isMean ? translation.subword_attention : chooseMap(found.subwords, state).weights)[place] ?? [];
}

/** Returns whether all heads are shown, as small maps. */
export function isSmall(state) {
  return state.head === ALL;
}

/**
 * Returns what to show of an answer: {grid}, for chosen heads also their `name` and whether rows are source words
 * (`isSource`); or all `maps`. `own` is the grid of the mean over all heads.
 * @returns {any}
 */
export function chooseGrid({ state, t }, { model, translation }, own) {
  const { heads: found } = translation;
  if (!found || !wantsHeads({ state }, model.data)) return { grid: own };
  const maps = found[state.unit];
  if (isSmall(state)) return { grid: own, maps };
  const { layer, head, weights } = chooseMap(maps, state);
  const name = [
    t(`name ${found.part}`),
    ...(maps.length > 1 ? [layer ? t("layerName", { layer }) : t("layerMean")] : []),
    ...(maps[0].length > 1 ? [head ? t("headOnly", { head }) : t("headMean")] : []),
  ].join(", ");
  const isSource = found.part === "encoder";
  return {
    grid: makePartGrid(found.part, translation, state.unit, model.isBpe, own, weights),
    name,
    isSource,
  };
}

/**
 * Returns the rows and columns of a part, as `makeGrid` does for the attention to the source: in the encoder
 * source words look at source words, in the decoder target words at those before them. `weights` is a map.
 */
function makePartGrid(part, translation, unit, isBpe, own, weights) {
  if (part === "cross") return { ...own, weights };
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
  return { ...own, columns, columnEnd: -1, weights };
}

/** Describes all heads [layer][head] as small maps, a row for each layer; a click shows one of them large. */
export function describeSmallMaps(maps, { t, change }) {
  const several = maps.length > 1;
  const colour = readColours();
  const describeMap = (weights, layer, head) => {
    const rows = weights.filter((row) => row.some((weight) => weight > 0));
    const words = rows.reduce((sum, row) => sum + spread(row), 0) / Math.max(1, rows.length);
    const said = t("headSpread", { words: showNumber(words, t.language, 1) });
    const name = t(several ? "headName" : "headOnly", { layer, head });
    const enlarge = () => change({ layer: several ? String(layer) : MEAN, head: String(head) });
    const canvas = {
      width: weights[0].length,
      height: weights.length,
      "aria-hidden": "true",
      style: { "aspect-ratio": weights[0].length / weights.length },
      own: (element) => paintMap(element, weights, colour),
    };
    const content = [h("canvas", canvas), h("span", isolate(name)), h("span.unseen", said)];
    return button(content, enlarge, { class: "small-map", title: `${name}: ${said}` });
  };
  const rows = maps.map((heads, layer) =>
    h(
      "div.small-row",
      heads.map((weights, head) => describeMap(weights, layer + 1, head + 1))
    )
  );
  return h("div.small-maps", { style: { "--heads": maps[0].length } }, rows);
}

/** Paints a map with a pixel for each weight, in the colours of the page's scale. */
function paintMap(canvas, weights, colour) {
  const context = canvas.getContext("2d");
  weights.forEach((row, y) => {
    row.forEach((weight, x) => {
      context.fillStyle = colour(`--h${levelOf(weight)}`);
      context.fillRect(x, y, 1, 1);
    });
  });
}
