/** The patterns of a split: a plot in which a point is a sentence, lists of each kind, and each sentence's map. */

import { choice, list, putAddress, readState, text, whole, writeState } from "../page/address.js";
import { find, onOtherWidth } from "../page/dom.js";
import { hint, select } from "../page/parts.js";
import { showNumber } from "../page/shown.js";
import { h, render } from "../page/view.js";
import { startFrame } from "./frame.js";
import { isWhole, KINDS, readValue, sign } from "./patterns-kinds.js";
import { describeList, ROWS } from "./patterns-list.js";
import { describeSentence } from "./patterns-sentence.js";
import { PATTERNS_TEXTS } from "./patterns-texts.js";
import { Scatter } from "./scatter.js";
import { getJson, newestOf, newestPost, postForLines } from "./server.js";

const SERVER = "/workbench/patterns";
const COUNT = 1000;
const OF = ["translations", "references"];
const SPECIFICATION = {
  run: text(500),
  split: text(500),
  of: choice(OF, "translations"),
  count: whole(1, 1e6, COUNT),
  layer: whole(1, 99, null),
  head: whole(1, 99, null),
  x: text(50, "entropy_normalised"),
  y: text(50, "monotonicity"),
  sentence: whole(0, 9_999_999, -1),
  hidden: list(choice(KINDS, null), KINDS.length), // kinds that are not shown
};
const RANGES = {
  monotonicity: [undefined, 1],
  crossing_rate: [0, undefined],
  sharpness: [undefined, 1],
  coverage: [undefined, 1],
};

const frame = startFrame({ texts: PATTERNS_TEXTS, onChange: draw });
const view = {
  state: readState(location.search, SPECIFICATION),
  colours: JSON.parse(find("page-data").textContent).kinds, // the numbers of kinds' colours
  ...{ counts: [], runs: [], splits: null }, // what can be chosen
  measures: [], // the names of the measures, in the order of a point's numbers
  sentences: [], // all points
  summary: null,
  asked: null, // what the points are of
  rows: ROWS, // of the list
  opened: null, // the sentence that is shown, with its attention
  progress: null, // how much is measured, {done, total}
  error: null,
  scatter: null,
  ...{ open, draw },
};
view.scatter = new Scatter({
  open,
  select: () => {
    view.rows = ROWS;
    draw();
  },
  describe: (index) => {
    const each = view.sentences.find((one) => one.index === index);
    return `${frame.t(`kind ${each.kind}`)} · ${each.source}`;
  },
});

/** Changes the state and writes it into the address. */
function change(changes) {
  Object.assign(view.state, changes);
  putAddress(writeState(view.state, SPECIFICATION), "?");
  draw();
}

/** Changes what is to be measured, which is done when the button is pressed. */
function choose(changes) {
  change({ ...changes, sentence: -1 });
}

/** Does something, and draws what came of it, or why nothing did. */
async function attempt(act) {
  try {
    view.error = null;
    await act();
  } catch (error) {
    view.error = error;
  }
  draw();
}

// -- asking ------------------------------------------------------------------------------------------------

const askSplits = newestOf((run, signal) =>
  getJson(`${SERVER}/splits?${new URLSearchParams({ run })}`, signal)
);
const askSentence = newestPost(`${SERVER}/sentence`);
const askPoints = newestOf((question, take, signal) =>
  postForLines(`${SERVER}/measure`, question, signal, take)
);

function readSplits() {
  const { state } = view;
  view.splits = null;
  return attempt(async () => {
    const found = await askSplits(state.run);
    view.splits = found;
    if (!found.splits.includes(state.split)) state.split = found.split;
    if (state.layer > found.layers || found.layers === 1) state.layer = null;
    if (state.head > found.heads || found.heads === 1) state.head = null;
  });
}

/** Has the chosen split measured; its points are shown as they come. */
async function measure() {
  const { run, split, of, count, layer, head } = view.state;
  const asked = { run, split, of, count, layer, head };
  view.scatter.clear();
  Object.assign(view, { asked, opened: null, rows: ROWS });
  await attempt(() => askPoints(asked, take));
  view.progress = null;
  if (view.sentences.some(({ index }) => index === view.state.sentence)) open(view.state.sentence);
  draw();
  document.documentElement.dataset.measured = "";
}

/** Takes a line of the server's answer; null is the beginning. */
function take(line) {
  if (line === null) {
    Object.assign(view, { sentences: [], summary: null, progress: { done: 0, total: 0 } });
  } else if (line.error) {
    throw new Error(line.error);
  } else if (line.measures) {
    Object.assign(view, { measures: line.measures, progress: { done: 0, total: line.total } });
  } else if (line.sentences) {
    view.sentences = [...view.sentences, ...line.sentences];
    view.progress.done = line.done;
  } else {
    view.summary = line.summary;
  }
  draw();
}

function open(index) {
  view.scatter.opened = index;
  change({ sentence: index });
  attempt(async () => {
    view.opened = await askSentence({ ...view.asked, index });
  });
}

// -- drawing -----------------------------------------------------------------------------------------------

function draw() {
  const { t } = frame;
  document.title = `${t("title")} · Augenmerk`;
  const isThere = view.measures.length > 0;
  render(find("choose"), describeChoices(t));
  render(find("instead"), view.splits?.instead_of && t("instead", { data: view.splits.instead_of }));
  render(find("progress"), describeProgress(t));
  find("found").hidden = !isThere;
  if (isThere) {
    render(find("found"), describePlot(t), describeSentence(view, t), describeList(view, t));
    showPoints(t);
  }
}

function describeChoices(t) {
  const { state, splits, runs, counts } = view;
  const numbers = (count) => Array.from({ length: count }, (_, place) => String(place + 1));
  const number = (value) => (value ? Number(value) : null);
  const several = splits?.layers > 1;
  const chooseOf = (name, count, onchoose) => {
    const nameOf = (value) => value || t("mean");
    return select(t(name), ["", ...numbers(count)], nameOf, String(state[name] ?? ""), onchoose, {
      id: name,
    });
  };
  const chooseRun = (run) => {
    choose({ run, split: "" });
    readSplits();
  };
  const chooseLayer = (value) => {
    const layer = number(value);
    choose({ layer, head: layer === null && several ? null : state.head });
  };
  const chooseHead = (value) => {
    const head = number(value);
    choose({ head, layer: head !== null && several ? (state.layer ?? 1) : state.layer });
  };
  const nameSplit = (split) => `${splits.data}: ${split}`;
  const nameCount = (count) => Number(count).toLocaleString(t.language);
  const button = { id: "measure", class: "main", disabled: !splits };
  return [
    select(t("run"), runs, String, state.run, chooseRun, { id: "run" }),
    select(t("data"), splits?.splits ?? [], nameSplit, state.split, (split) => choose({ split }), {
      id: "split",
    }),
    select(t("of"), OF, t, state.of, (of) => choose({ of }), { id: "of" }),
    several && chooseOf("layer", splits.layers, chooseLayer),
    splits?.heads > 1 && chooseOf("head", splits.heads, chooseHead),
    select(t("count"), counts, nameCount, state.count, (count) => choose({ count: Number(count) }), {
      id: "count",
    }),
    h("button", button, t("measure")),
  ];
}

function describeProgress(t) {
  const { error, progress } = view;
  const status = (look, said) => h("span", { id: "status", class: look, role: "status" }, said);
  if (error) return status("hint error", t("failed", { reason: error.message }));
  if (!progress) return status("hint", "");
  const [done, total] = [progress.done, progress.total].map((count) => count.toLocaleString(t.language));
  const share = progress.done / Math.max(1, progress.total);
  return [
    h("span.bar", { "aria-hidden": "true", style: { "--share": share } }),
    status("hint", progress.total ? t("measuring", { done, total }) : t("waiting")),
  ];
}

/** Describes the plot with the choices of its axes and kinds, and what all points say together. */
function describePlot(t) {
  const { state, measures, scatter } = view;
  const names = [...measures, "words"];
  if (!names.includes(state.x)) state.x = SPECIFICATION.x.otherwise;
  if (!names.includes(state.y)) state.y = SPECIFICATION.y.otherwise;
  const nameOf = (name) => t(`measure ${name}`);
  const chooseAxis = (axis) => {
    const onchoose = (name) => {
      scatter.box = null;
      change({ [axis]: name });
    };
    return select(t(`axis ${axis}`), names, nameOf, state[axis], onchoose, { id: axis });
  };
  const about = (name) => h("span", h("b", nameOf(name)), ` ${t(`about ${name}`)}`);
  return h(
    "section",
    { key: "plot", class: "card plot-card" },
    h("div.controls", chooseAxis("y"), chooseAxis("x")),
    h(
      "div",
      { id: "kinds", class: "legend kinds", role: "group", "aria-label": t("kinds") },
      describeKinds(t)
    ),
    scatter.place,
    h("p", { id: "axes", class: "hint" }, about(state.y), " ", about(state.x)),
    hint(t("plotHint")),
    hint(describeSummary(t))
  );
}

function describeKinds(t) {
  const { state, sentences, colours } = view;
  const show = (hidden) => {
    view.rows = ROWS;
    change({ hidden });
  };
  return KINDS.map((kind) => {
    const isHidden = state.hidden.includes(kind);
    const count = sentences.filter((each) => each.kind === kind).length;
    const attributes = {
      ...{ type: "button", "data-kind": kind, title: t(`rule ${kind}`), "aria-pressed": String(!isHidden) },
      onclick: () => show(isHidden ? state.hidden.filter((each) => each !== kind) : [...state.hidden, kind]),
      ondblclick: () => show(KINDS.filter((each) => each !== kind)),
    };
    const number = h("b", count.toLocaleString(t.language));
    return h("button", { key: kind, ...attributes }, sign(kind, colours), `${t(`kind ${kind}`)} `, number);
  });
}

/** Says how what was found agrees with gold links, and what was left out. */
function describeSummary(t) {
  const { agreement, without_words: count } = view.summary ?? {};
  const share = (value) => (value === null ? "–" : showNumber(value, t.language, 3));
  const { gold_inversions: gold, found } = agreement ?? {};
  const shares = agreement && { precision: share(agreement.precision), recall: share(agreement.recall) };
  const parts = [agreement && t("agreement", { gold, found, ...shares }), count && t("without", { count })];
  return parts.filter(Boolean).join(" ");
}

function showPoints(t) {
  const { state, sentences, measures, scatter, colours } = view;
  const axis = (name) => {
    const [low, high] = RANGES[name] ?? [];
    return { name: t(`measure ${name}`), whole: isWhole(name), low, high };
  };
  const points = sentences.map((each) => ({
    index: each.index,
    kind: each.kind,
    colour: `--c${colours[each.kind]}`,
    x: readValue(each, state.x, measures),
    y: readValue(each, state.y, measures),
    shown: !state.hidden.includes(each.kind),
  }));
  const axes = { x: axis(state.x), y: axis(state.y) };
  const about = { count: points.length, x: axes.x.name, y: axes.y.name };
  scatter.show(points, axes, t.language, t("plotLabel", about));
}

// -- start -------------------------------------------------------------------------------------------------

async function begin() {
  const { state } = view;
  const linked = state.run !== "";
  await attempt(async () => Object.assign(view, await getJson(`${SERVER}/runs`)));
  if (!view.runs.includes(state.run)) state.run = view.runs[0] ?? "";
  if (!view.counts.includes(state.count)) state.count = COUNT;
  await readSplits();
  document.documentElement.dataset.ready = "";
  if (linked && view.splits) measure(); // a link shows the same
}

find("choose").addEventListener("submit", (event) => {
  event.preventDefault();
  change({});
  measure();
});
onOtherWidth(draw);
begin();
