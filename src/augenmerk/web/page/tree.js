/** The beam as a tree: what was considered, kept and dropped at each step. */

import { rootFontSize } from "./dom.js";
import { button, headings, hint, isolate, scroll, table } from "./parts.js";
import { END, showNumber, showPercent, showToken } from "./shown.js";
import { h } from "./view.js";

const FONT = 0.86; // the size of labels; like the next two, in units of the page's own
const ROW = 1.9;
const GAP = 3.2; // between the longest label of a step and the next step
const MAX_ROWS = 40;
const MAX_LETTERS = 12;
const LAST_WORDS = 4; // of what comes before a word

/** Returns the nodes from the root, which it leaves out, to a node. */
function pathTo(tree, node) {
  const path = [];
  for (let each = node; each.parent !== null; each = tree.nodes[each.parent]) path.unshift(each);
  return path;
}

/** Returns the ids with which a translation has to begin that goes on from a node. */
function idsTo(tree, node) {
  return pathTo(tree, node)
    .filter((each) => each.text !== END)
    .map((each) => each.token);
}

/**
 * Returns for each step its nodes, those that were kept or finished first and the best first; the lowest score
 * that was not dropped; and the ids of the nodes that its nodes continue.
 */
export function groupBySteps(tree) {
  const steps = [];
  for (const node of tree.nodes) {
    steps[node.step] ??= { nodes: [], lowest: Infinity, parents: new Set() };
    const step = steps[node.step];
    step.nodes.push(node);
    step.parents.add(node.parent);
    if (node.status !== "pruned") step.lowest = Math.min(step.lowest, node.score);
  }
  const dropped = (node) => (node.status === "pruned" ? 1 : 0);
  for (const { nodes } of steps)
    nodes.sort((a, b) => dropped(a) - dropped(b) || b.log_probability - a.log_probability);
  return steps;
}

function shorten(text) {
  const letters = [...text];
  return letters.length > MAX_LETTERS ? `${letters.slice(0, MAX_LETTERS - 1).join("")}…` : text;
}

/** Returns a function that gives the width of a label in pixels, in the boldest letters of the tree. */
function makeMeasure(size) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return (label) => context.measureText(label).width;
}

/** Draws the steps up to one of them; of that step also what was dropped, as far as there is room. */
function drawTree(tree, steps, last, isBpe, t, on) {
  const best = new Set(tree.hypotheses.length ? pathTo(tree, tree.nodes[tree.hypotheses[0].node]) : []);
  const shown = steps.slice(0, last + 1).map(({ nodes }, step) => {
    const kept = nodes.filter((node) => node.status !== "pruned");
    const dropped = nodes.filter((node) => node.status === "pruned");
    return step === last ? [...kept, ...dropped.slice(0, tree.beam)] : kept;
  });
  const rem = rootFontSize();
  const measure = makeMeasure(FONT * rem);
  const labelOf = (node) => (node.parent === null ? t("begin") : shorten(showToken(node.text, isBpe)));
  const place = new Map();
  let left = rem;
  for (const nodes of shown) {
    const widths = nodes.map((node) => measure(labelOf(node)));
    nodes.forEach((node, rank) => {
      place.set(node.id, { x: left, y: (1.25 + rank * ROW) * rem, end: left + widths[rank] });
    });
    left += Math.max(0, ...widths) + GAP * rem;
  }
  const width = left - (GAP - 1) * rem;
  const height = (Math.max(...shown.map((nodes) => nodes.length), 1) * ROW + 1) * rem;
  const isBest = (node) => best.has(node) || node.parent === null;
  const lookOf = (node) => `${node.status}${isBest(node) ? " best" : ""}`;
  const edges = shown
    .flat()
    .filter((node) => place.has(node.parent))
    .sort((a, b) => Number(isBest(a)) - Number(isBest(b)))
    .map((node) => {
      const [parent, { x, y }] = [place.get(node.parent), place.get(node.id)];
      const [start, end] = [parent.end + 0.3 * rem, x - 0.3 * rem];
      const bend = (start + end) / 2;
      const d = `M${start} ${parent.y}C${bend} ${parent.y} ${bend} ${y} ${end} ${y}`;
      return h("path", { class: lookOf(node), d });
    });
  const labels = shown.flat().map((node) => {
    const { x, y } = place.get(node.id);
    const onclick = node.parent === null ? null : () => on.goOn(idsTo(tree, node));
    const attributes = { x, y, class: lookOf(node), "dominant-baseline": "central", "data-node": node.id };
    const about = `${t("score")} ${showNumber(node.score, t.language)} · ${explain(steps, node, t)}`;
    return h("text", { ...attributes, onclick }, labelOf(node), h("title", about));
  });
  const size = { width, height, viewBox: `0 0 ${width} ${height}`, "font-size": FONT * rem };
  return h("svg.tree", { ...size, "aria-hidden": "true" }, edges, labels);
}

/** Says what became of a node and, if it was dropped, why. */
function explain(steps, node, t) {
  if (node.parent === null) return t("begin");
  if (node.status === "finished") return t("finished");
  if (node.status === "kept") return t(steps[node.step + 1]?.parents.has(node.id) ? "kept" : "keptLast");
  const number = (value) => showNumber(value, t.language);
  return t("dropped", { score: number(node.score), lowest: number(steps[node.step].lowest) });
}

/** Describes the table of what one step considered. */
function describeStep(tree, steps, step, isBpe, t, on) {
  const number = (text) => h("td.number", text);
  const rows = steps[step].nodes.slice(0, MAX_ROWS).map((node) => {
    const path = pathTo(tree, node).slice(0, -1);
    const before = path.map((each) => each.text);
    const words = isBpe ? before.join("").replaceAll("▁", " ").trim().split(" ") : before;
    const text = words.length > LAST_WORDS ? `… ${words.slice(-LAST_WORDS).join(" ")}` : words.join(" ");
    const word = showToken(node.text, isBpe);
    const choose = { class: "word", title: t("goOnWith", { word }) };
    const onward = button(isolate(word), () => on.goOn(idsTo(tree, node)), choose);
    return h(
      "tr",
      { class: node.status },
      h("td.before", isolate(text || t("begin"))),
      h("th", { scope: "row" }, onward),
      number(showPercent(Math.exp(node.token_log_probability), t.language)),
      number(showNumber(node.score, t.language)),
      h("td.fate", explain(steps, node, t))
    );
  });
  const [soFar, next, probability, score] = headings(
    ["soFar", "nextWord", "probability", "score"].map((key) => t(key)),
    2
  );
  const fate = h("th", { scope: "col", class: "fate" }, t("fate"));
  return table("steps", t("stepCaption"), [soFar, next, probability, score, fate], rows);
}

/** Describes the tree up to a step, with its controls; `on` has step(number) and goOn(ids). */
export function describeTree(tree, steps, step, isBpe, t, on) {
  const count = steps.length - 1;
  const go = (sign, key, to) => button(sign, () => on.step(to), { "aria-label": t(key), title: t(key) });
  const range = { type: "range", min: 1, max: count, value: step, "aria-label": t("step") };
  const hidden = steps[step].nodes.length - MAX_ROWS;
  const found = tree.hypotheses.map(({ translation, score }) => {
    const scored = `${t("score")} ${showNumber(score, t.language)}`;
    return h("li", isolate(translation), " ", h("span.hint", scored));
  });
  return [
    hint(t(tree.beam === 1 ? "greedyHint" : "beamHint", { beam: tree.beam })),
    h(
      "div.buttons.stepper",
      go("|◀", "firstStep", 1),
      go("◀", "stepBack", step - 1),
      go("▶", "stepOn", step + 1),
      go("▶|", "lastStep", count),
      h("input", { ...range, oninput: ({ target }) => on.step(target.valueAsNumber) }),
      h("span.hint", { role: "status" }, t("stepOf", { step, count }))
    ),
    scroll(drawTree(tree, steps, step, isBpe, t, on), { class: "scroll drawing" }),
    scroll([describeStep(tree, steps, step, isBpe, t, on), hidden > 0 && hint(t("more", { count: hidden }))]),
    h("h3", t("found")),
    h("ol.found", found),
  ];
}
