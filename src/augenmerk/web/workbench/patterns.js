/** The patterns of a split: a plot in which a point is a sentence, lists of each kind, and each sentence's map. */

import { fillSelect, find } from "../page/dom.js";
import { startFrame } from "./frame.js";
import { writeAddress } from "./links.js";
import { drawList, listChosen, ROWS } from "./patterns-list.js";
import { drawAxes, drawKinds, drawPlot, drawSummary } from "./patterns-plot.js";
import { drawSentence } from "./patterns-sentence.js";
import { PATTERNS_TEXTS } from "./patterns-texts.js";
import { Scatter } from "./scatter.js";
import { getJson, newestOf, postForLines, postJson } from "./server.js";

const UNTOUCHED = {
  of: "translations",
  count: 1000,
  x: "entropy_normalised",
  y: "monotonicity",
  sentence: -1,
};

const frame = startFrame({ texts: PATTERNS_TEXTS, onChange: drawAll });
const state = readAddress();
let counts = [];
let runs = [];
let splits = null;
const view = {
  frame,
  state,
  measures: [], // the names of the measures, in the order of a point's numbers
  sentences: [], // all points
  byIndex: new Map(),
  summary: null,
  asked: null, // what the points are of
  hidden: new Set(), // kinds that are not shown
  box: null,
  rows: ROWS, // of the list
  opened: null, // the sentence that is shown, with its attention
};
let measuring = new AbortController();

const scatter = new Scatter(find("plot"), {
  open: (index) => openSentence(index),
  select: (chosen) => {
    view.box = chosen;
    view.rows = ROWS;
    drawList(view, scatter, openSentence);
  },
  describe: (index) => {
    const each = view.byIndex.get(index);
    return `${frame.t(`kind ${each.kind}`)} · ${each.source}`;
  },
});

// -- address -----------------------------------------------------------------------------------------------

function readNumber(text) {
  return /^\d{1,7}$/.test(text ?? "") ? Number(text) : null;
}

function readAddress() {
  const given = new URLSearchParams(location.search);
  return {
    run: given.get("run") ?? "",
    split: given.get("split") ?? "",
    of: given.get("of") === "references" ? "references" : UNTOUCHED.of,
    count: Number(given.get("count")) || UNTOUCHED.count,
    layer: readNumber(given.get("layer")),
    head: readNumber(given.get("head")),
    x: given.get("x") ?? UNTOUCHED.x,
    y: given.get("y") ?? UNTOUCHED.y,
    sentence: readNumber(given.get("sentence")) ?? UNTOUCHED.sentence,
  };
}

/** Changes the state and writes it into the address. */
function change(changes) {
  Object.assign(state, changes);
  writeAddress("/patterns", state, UNTOUCHED);
}

function say(text, isError = false) {
  find("progress").hidden = !text;
  find("status").textContent = text;
  find("status").classList.toggle("error", isError);
  find("progress").classList.toggle("failed", isError);
}

// -- what is measured --------------------------------------------------------------------------------------

function drawChoices() {
  const { t } = frame;
  fillSelect(find("run"), runs, String, state.run);
  if (splits) {
    fillSelect(find("split"), splits.splits, (split) => `${splits.data}: ${split}`, state.split);
    find("instead").textContent = splits.instead_of ? t("instead", { data: splits.instead_of }) : "";
  }
  for (const [name, count] of [
    ["layer", splits?.layers ?? 1],
    ["head", splits?.heads ?? 1],
  ]) {
    const numbers = Array.from({ length: count }, (_, place) => String(place + 1));
    find(`choose-${name}`).hidden = count === 1;
    fillSelect(find(name), ["", ...numbers], (number) => number || t("mean"), String(state[name] ?? ""));
  }
  fillSelect(find("of"), ["translations", "references"], t, state.of);
  fillSelect(find("count"), counts, (count) => count.toLocaleString(t.language), state.count);
}

const askSplits = newestOf((run, signal) =>
  getJson(`/workbench/patterns/splits?${new URLSearchParams({ run })}`, signal)
);
const askSentence = newestOf((question, signal) =>
  postJson("/workbench/patterns/sentence", question, signal)
);

async function chooseRun() {
  splits = null;
  find("measure").disabled = true;
  try {
    const found = await askSplits(state.run);
    splits = found;
    if (!found.splits.includes(state.split)) state.split = found.split;
    if (state.layer > found.layers || found.layers === 1) state.layer = null;
    if (state.head > found.heads || found.heads === 1) state.head = null;
    find("measure").disabled = false;
    drawChoices();
  } catch (error) {
    find("split").replaceChildren();
    find("instead").textContent = "";
    say(frame.t("failed", { reason: error.message }), true);
  }
}

async function measure() {
  const { t } = frame;
  measuring.abort();
  measuring = new AbortController();
  const { signal } = measuring;
  const { run, split, of, count, layer, head } = state;
  Object.assign(view, {
    ...{ asked: { run, split, of, count, layer, head }, sentences: [], byIndex: new Map(), summary: null },
    ...{ box: null, opened: null, rows: ROWS },
  });
  scatter.box = null;
  scatter.opened = -1;
  say(t("waiting"));
  find("progress").firstChild.style.setProperty("--share", 0);
  let total = 0;
  try {
    for await (const line of postForLines("/workbench/patterns/measure", view.asked, signal)) {
      if (line.error) throw new Error(line.error);
      if (line.measures) {
        view.measures = line.measures;
        total = line.total;
        find("found").hidden = false;
        drawAxes(view);
        drawSentence(view, step);
      }
      if (line.sentences) {
        for (const each of line.sentences) {
          view.sentences.push(each);
          view.byIndex.set(each.index, each);
        }
        find("progress").firstChild.style.setProperty("--share", line.done / total);
        say(
          t("measuring", {
            done: line.done.toLocaleString(t.language),
            total: total.toLocaleString(t.language),
          })
        );
        drawKinds(view, showKinds);
        drawPlot(view, scatter);
        drawList(view, scatter, openSentence);
      }
      if (line.summary) view.summary = line.summary;
    }
    say("");
  } catch (error) {
    if (signal.aborted) return;
    say(t("failed", { reason: error.message }), true);
  }
  drawSummary(view);
  if (view.byIndex.has(state.sentence)) openSentence(state.sentence);
  document.documentElement.dataset.measured = "";
}

function showKinds() {
  view.rows = ROWS;
  drawKinds(view, showKinds);
  drawPlot(view, scatter);
  drawList(view, scatter, openSentence);
}

// -- one sentence ------------------------------------------------------------------------------------------

async function openSentence(index) {
  scatter.opened = index;
  scatter.drawOver();
  change({ sentence: index });
  try {
    view.opened = await askSentence({ ...view.asked, index });
  } catch (error) {
    say(frame.t("failed", { reason: error.message }), true);
    return;
  }
  for (const row of find("table").querySelectorAll("tr[data-index]")) {
    row.classList.toggle("chosen", Number(row.dataset.index) === index);
  }
  drawSentence(view, step);
}

/** Opens the sentence before or after the opened one in the list. */
function step(by) {
  const chosen = listChosen(view, scatter);
  const here = chosen.findIndex((each) => each.index === view.opened.index);
  const next = chosen[Math.min(chosen.length - 1, Math.max(0, here + by))];
  if (next) openSentence(next.index);
}

// -- start -------------------------------------------------------------------------------------------------

function drawAll() {
  drawChoices();
  if (!view.measures.length) return;
  drawAxes(view);
  drawKinds(view, showKinds);
  drawPlot(view, scatter);
  drawList(view, scatter, openSentence);
  drawSentence(view, step);
  drawSummary(view);
}

find("run").addEventListener("change", () => {
  change({ run: find("run").value, split: "", sentence: -1 });
  say("");
  chooseRun();
});
find("split").addEventListener("change", () => change({ split: find("split").value, sentence: -1 }));
find("of").addEventListener("change", () => change({ of: find("of").value, sentence: -1 }));
find("layer").addEventListener("change", () => {
  const layer = readNumber(find("layer").value);
  change({ layer, head: layer === null && splits.layers > 1 ? null : state.head, sentence: -1 });
  drawChoices();
});
find("head").addEventListener("change", () => {
  const head = readNumber(find("head").value);
  change({
    head,
    layer: head !== null && splits.layers > 1 ? (state.layer ?? 1) : state.layer,
    sentence: -1,
  });
  drawChoices();
});
find("count").addEventListener("change", () => change({ count: Number(find("count").value), sentence: -1 }));
find("choose").addEventListener("submit", (event) => {
  event.preventDefault();
  change({});
  measure();
});
for (const id of ["x", "y"]) {
  find(id).addEventListener("change", () => {
    change({ [id]: find(id).value });
    if (view.box) scatter.select(null);
    drawAxes(view);
    drawPlot(view, scatter);
    drawList(view, scatter, openSentence);
  });
}
find("clear").addEventListener("click", () => {
  scatter.select(null);
  scatter.over.focus();
});
find("more").addEventListener("click", () => {
  view.rows += ROWS;
  drawList(view, scatter, openSentence);
});
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth || !view.opened) return;
  lastWidth = innerWidth;
  drawSentence(view, step);
});

async function begin() {
  const linked = state.run !== "";
  try {
    ({ runs, counts } = await getJson("/workbench/patterns/runs"));
  } catch (error) {
    say(frame.t("failed", { reason: error.message }), true);
  }
  if (!runs.includes(state.run)) state.run = runs[0] ?? "";
  if (!counts.includes(state.count)) state.count = 1000;
  drawChoices();
  await chooseRun();
  document.documentElement.dataset.ready = "";
  if (linked && splits) measure(); // a link shows the same
}

begin();
