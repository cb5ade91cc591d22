/** The beam as a tree: what was considered, kept and dropped at each step. */

import { isolate, make, makeSvg, replaceInside, rootFontSize } from "./dom.js";
import { END, showNumber, showPercent, showToken } from "./shown.js";

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
function groupBySteps(tree) {
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
  const context = make("canvas").getContext("2d");
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
  const edges = [];
  const labels = [];
  for (const node of shown.flat()) {
    const { x, y } = place.get(node.id);
    const classes = `${node.status}${best.has(node) || node.parent === null ? " best" : ""}`;
    if (node.parent !== null && place.has(node.parent)) {
      const parent = place.get(node.parent);
      const start = parent.end + 0.3 * rem;
      const end = x - 0.3 * rem;
      const bend = (start + end) / 2;
      edges.push(
        makeSvg("path", {
          class: classes,
          d: `M${start} ${parent.y}C${bend} ${parent.y} ${bend} ${y} ${end} ${y}`,
        })
      );
    }
    const text = makeSvg(
      "text",
      { x, y, class: classes, "dominant-baseline": "central", "data-node": node.id },
      labelOf(node)
    );
    text.append(makeSvg("title", {}, describeNode(steps, node, t)));
    if (node.parent !== null) text.addEventListener("click", () => on.goOn(idsTo(tree, node)));
    labels.push(text);
  }
  edges.sort((a, b) => a.classList.contains("best") - b.classList.contains("best"));
  const size = { width, height, viewBox: `0 0 ${width} ${height}`, "font-size": FONT * rem };
  return makeSvg("svg", { class: "tree", ...size, "aria-hidden": "true" }, ...edges, ...labels);
}

function describeNode(steps, node, t) {
  const score = showNumber(node.score, t.language);
  return `${t("score")} ${score} · ${explain(steps, node, t)}`;
}

/** Says what became of a node and, if it was dropped, why. */
function explain(steps, node, t) {
  if (node.parent === null) return t("begin");
  if (node.status === "finished") return t("finished");
  if (node.status === "kept") {
    return steps[node.step + 1]?.parents.has(node.id) ? t("kept") : t("keptLast");
  }
  const number = (value) => showNumber(value, t.language);
  return t("dropped", { score: number(node.score), lowest: number(steps[node.step].lowest) });
}

/** Returns the table of what one step considered. */
function makeStepTable(tree, steps, step, isBpe, t, on) {
  const rows = steps[step].nodes.slice(0, MAX_ROWS).map((node) => {
    const before = pathTo(tree, node)
      .slice(0, -1)
      .map((each) => each.text);
    const words = isBpe ? before.join("").replaceAll("▁", " ").trim().split(" ") : before;
    const text = words.length > LAST_WORDS ? `… ${words.slice(-LAST_WORDS).join(" ")}` : words.join(" ");
    const goOn = {
      type: "button",
      class: "word",
      "data-key": "step-word", // of all words: after one is chosen, the first of the new tree has the focus
      title: t("goOnWith", { word: showToken(node.text, isBpe) }),
      onclick: () => on.goOn(idsTo(tree, node)),
    };
    return make(
      "tr",
      { class: node.status },
      make("td", { class: "before" }, isolate(text || t("begin"))),
      make("th", { scope: "row" }, make("button", goOn, isolate(showToken(node.text, isBpe)))),
      make("td", { class: "number" }, showPercent(Math.exp(node.token_log_probability), t.language)),
      make("td", { class: "number" }, showNumber(node.score, t.language)),
      make("td", { class: "fate" }, explain(steps, node, t))
    );
  });
  const classes = { soFar: "before", probability: "number", score: "number", fate: "fate" };
  const headings = ["soFar", "nextWord", "probability", "score", "fate"].map((key) =>
    make("th", { scope: "col", class: classes[key] }, t(key))
  );
  return make(
    "table",
    { class: "steps" },
    make("caption", { class: "unseen" }, t("stepCaption")),
    make("thead", {}, make("tr", {}, ...headings)),
    make("tbody", {}, ...rows)
  );
}

/**
 * Returns the tree with its controls as `element`, and `show(step)`, which shows another step; -1 is the last.
 * `on` has step(number) and goOn(ids).
 */
export function makeTree(tree, asked, isBpe, t, on) {
  const steps = groupBySteps(tree);
  const count = steps.length - 1;
  const drawing = make("div", { class: "scroll drawing", tabindex: 0 });
  const table = make("div", { class: "scroll", tabindex: 0 });
  const range = make("input", {
    type: "range",
    min: 1,
    max: count,
    "aria-label": t("step"),
    oninput: (event) => go(event.target.valueAsNumber),
  });
  const status = make("span", { class: "hint", role: "status" });
  const button = (sign, key, to) =>
    make(
      "button",
      {
        type: "button",
        "aria-label": t(key),
        title: t(key),
        onclick: () => go(Math.min(count, Math.max(1, to()))),
      },
      sign
    );
  const controls = make(
    "div",
    { class: "buttons stepper" },
    button("|◀", "firstStep", () => 1),
    button("◀", "stepBack", () => range.valueAsNumber - 1),
    button("▶", "stepOn", () => range.valueAsNumber + 1),
    button("▶|", "lastStep", () => count),
    range,
    status
  );
  let painted = 0;
  const paint = (step) => {
    painted = step;
    range.value = step;
    status.textContent = t("stepOf", { step, count });
    drawing.replaceChildren(drawTree(tree, steps, step, isBpe, t, on));
    // The newest step is on the right. A drawing has no width before it is in the page.
    requestAnimationFrame(() => drawing.scrollTo({ left: drawing.scrollWidth }));
    const hidden = steps[step].nodes.length - MAX_ROWS;
    replaceInside(
      table,
      makeStepTable(tree, steps, step, isBpe, t, on),
      ...(hidden > 0 ? [make("p", { class: "hint" }, t("more", { count: hidden }))] : [])
    );
  };
  const go = (step) => {
    paint(step);
    on.step(step);
  };
  const show = (asked) => {
    const step = asked < 1 || asked > count ? count : asked;
    if (step !== painted) paint(step);
  };
  const list = tree.hypotheses.map((one) =>
    make(
      "li",
      {},
      isolate(one.translation),
      " ",
      make("span", { class: "hint" }, `${t("score")} ${showNumber(one.score, t.language)}`)
    )
  );
  show(asked);
  const element = make(
    "div",
    { class: "beam" },
    make("p", { class: "hint" }, t(tree.beam === 1 ? "greedyHint" : "beamHint", { beam: tree.beam })),
    controls,
    drawing,
    table,
    make("h3", {}, t("found")),
    make("ol", { class: "found" }, ...list)
  );
  return { element, show };
}
