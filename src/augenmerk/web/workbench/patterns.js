/** The patterns of a split: a plot in which a point is a sentence, lists of each kind, and each sentence's map. */

import { find, isolate, make, makeSvg } from "../page/dom.js";
import { makeScale } from "../page/heatmap.js";
import { showNumber } from "../page/shown.js";
import { makeTexts } from "../page/texts.js";
import { startFrame } from "./frame.js";
import { linkToTranslate } from "./links.js";
import { linkTiles, makeTile } from "./maps.js";
import { PATTERNS_TEXTS } from "./patterns-texts.js";
import { Scatter } from "./scatter.js";
import { getJson, postJson } from "./server.js";

const KINDS = ["monotone", "inversion", "spread", "stuck", "shifted"];
const COLOURS = { monotone: 6, inversion: 0, spread: 1, stuck: 3, shifted: 2 };
const ROWS = 40; // of the list that are added at a time
const WHOLE = ["longest_run", "best_offset", "words"];
const RANGES = {
  monotonicity: [undefined, 1],
  crossing_rate: [0, undefined],
  sharpness: [undefined, 1],
  coverage: [undefined, 1],
};
const SHOWN_MEASURES = [
  "entropy_normalised",
  "sharpness",
  "coverage",
  "monotonicity",
  "crossing_rate",
  "diagonal",
  "end_mass",
  "punctuation_mass",
  "longest_run",
  "best_offset",
];

const frame = startFrame({ texts: PATTERNS_TEXTS, onChange: drawAll });
const state = readAddress();
let counts = [];
let runs = [];
let splits = null;
let measures = []; // the names of the measures, in the order of a point's numbers
let sentences = []; // all points
let byIndex = new Map();
let summary = null;
let asked = null; // what the points are of
let hidden = new Set(); // kinds that are not shown
let box = null;
let rows = ROWS;
let opened = null; // the sentence that is shown, with its attention
let measuring = new AbortController();

const scatter = new Scatter(find("plot"), {
  open: (index) => openSentence(index),
  select: (chosen) => {
    box = chosen;
    rows = ROWS;
    drawList();
  },
  describe: (index) => {
    const each = byIndex.get(index);
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
    of: given.get("of") === "references" ? "references" : "translations",
    count: Number(given.get("count")) || 1000,
    layer: readNumber(given.get("layer")),
    head: readNumber(given.get("head")),
    x: given.get("x") ?? "entropy_normalised",
    y: given.get("y") ?? "monotonicity",
    sentence: readNumber(given.get("sentence")) ?? -1,
  };
}

function change(changes) {
  Object.assign(state, changes);
  const untouched = {
    of: "translations",
    count: 1000,
    x: "entropy_normalised",
    y: "monotonicity",
    sentence: -1,
  };
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== untouched[name] && value !== "" && value !== null) written.set(name, value);
  }
  history.replaceState(null, "", `/patterns?${written}`);
}

function say(text, isError = false) {
  find("progress").hidden = !text;
  find("status").textContent = text;
  find("status").classList.toggle("error", isError);
  find("progress").classList.toggle("failed", isError);
}

// -- what is measured --------------------------------------------------------------------------------------

function fillSelect(id, values, names, chosen) {
  const options = values.map((value, place) =>
    make("option", { value, selected: value === chosen }, names[place])
  );
  find(id).replaceChildren(...options);
}

function drawChoices() {
  const { t } = frame;
  fillSelect("run", runs, runs, state.run);
  if (splits) {
    const names = splits.splits.map((split) => `${splits.data}: ${split}`);
    fillSelect("split", splits.splits, names, state.split);
    find("instead").textContent = splits.instead_of ? t("instead", { data: splits.instead_of }) : "";
  }
  for (const [name, count] of [
    ["layer", splits?.layers ?? 1],
    ["head", splits?.heads ?? 1],
  ]) {
    const numbers = Array.from({ length: count }, (_, place) => String(place + 1));
    find(`choose-${name}`).hidden = count === 1;
    fillSelect(name, ["", ...numbers], [t("mean"), ...numbers], String(state[name] ?? ""));
  }
  fillSelect("of", ["translations", "references"], [t("translations"), t("references")], state.of);
  fillSelect(
    "count",
    counts.map(String),
    counts.map((count) => count.toLocaleString(t.language)),
    String(state.count)
  );
}

async function chooseRun() {
  splits = null;
  find("measure").disabled = true;
  try {
    const found = await getJson(`/workbench/patterns/splits?${new URLSearchParams({ run: state.run })}`);
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

/** Reads lines of JSON as they arrive. */
async function* readLines(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

async function measure() {
  const { t } = frame;
  measuring.abort();
  measuring = new AbortController();
  const { signal } = measuring;
  asked = {
    run: state.run,
    split: state.split,
    of: state.of,
    count: state.count,
    layer: state.layer,
    head: state.head,
  };
  [sentences, byIndex, summary, box, opened, rows] = [[], new Map(), null, null, null, ROWS];
  scatter.box = null;
  scatter.opened = -1;
  say(t("waiting"));
  find("progress").firstChild.style.setProperty("--share", 0);
  let total = 0;
  try {
    const answer = await fetch("/workbench/patterns/measure", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
      signal,
    });
    if (!answer.ok) throw new Error((await answer.json()).error);
    for await (const line of readLines(answer)) {
      if (line.error) throw new Error(line.error);
      if (line.measures) {
        measures = line.measures;
        total = line.total;
        find("found").hidden = false;
        drawAxes();
        drawDetail();
      }
      if (line.sentences) {
        for (const each of line.sentences) {
          sentences.push(each);
          byIndex.set(each.index, each);
        }
        find("progress").firstChild.style.setProperty("--share", line.done / total);
        say(
          t("measuring", {
            done: line.done.toLocaleString(t.language),
            total: total.toLocaleString(t.language),
          })
        );
        drawKinds();
        drawPlot();
        drawList();
      }
      if (line.summary) summary = line.summary;
    }
    say("");
  } catch (error) {
    if (signal.aborted) return;
    say(t("failed", { reason: error.message }), true);
  }
  drawSummary();
  if (byIndex.has(state.sentence)) openSentence(state.sentence);
  document.documentElement.dataset.measured = "";
}

// -- plot --------------------------------------------------------------------------------------------------

function valueOf(each, name) {
  return name === "words" ? each.words : each.measures[measures.indexOf(name)];
}

function drawAxes() {
  const { t } = frame;
  const names = [...measures, "words"];
  if (!names.includes(state.x)) state.x = "entropy_normalised";
  if (!names.includes(state.y)) state.y = "monotonicity";
  const labels = names.map((name) => t(`measure ${name}`));
  fillSelect("x", names, labels, state.x);
  fillSelect("y", names, labels, state.y);
  const about = [state.y, state.x].map((name) =>
    make("span", {}, make("b", {}, t(`measure ${name}`)), ` ${t(`about ${name}`)}`)
  );
  find("axes").replaceChildren(about[0], " ", about[1]);
}

function drawPlot() {
  const { t } = frame;
  const axis = (name) => {
    const [low, high] = RANGES[name] ?? [];
    return { name: t(`measure ${name}`), whole: WHOLE.includes(name), low, high };
  };
  const points = sentences.map((each) => ({
    index: each.index,
    sign: KINDS.indexOf(each.kind),
    colour: `--c${COLOURS[each.kind]}`,
    x: valueOf(each, state.x),
    y: valueOf(each, state.y),
    shown: !hidden.has(each.kind),
  }));
  const axes = { x: axis(state.x), y: axis(state.y) };
  scatter.show(
    points,
    axes,
    t.language,
    t("plotLabel", { count: points.length, x: axes.x.name, y: axes.y.name })
  );
}

/** Returns the sign of a kind, as in the plot. */
function makeSign(kind) {
  const shapes = [
    makeSvg("circle", { cx: 7, cy: 7, r: 4.6 }),
    makeSvg("path", { d: "M7 1.4 12.2 11.2H1.8Z" }),
    makeSvg("rect", { x: 2.6, y: 2.6, width: 8.8, height: 8.8 }),
    makeSvg("path", { d: "M7 .8 13.2 7 7 13.2 .8 7Z" }),
    makeSvg("path", { d: "M5.2 1h3.6v4.2H13v3.6H8.8V13H5.2V8.8H1V5.2h4.2Z" }),
  ];
  const sign = makeSvg(
    "svg",
    { class: "sign", width: 14, height: 14, "aria-hidden": "true" },
    shapes[KINDS.indexOf(kind)]
  );
  sign.style.fill = `var(--c${COLOURS[kind]})`;
  return sign;
}

function drawKinds() {
  const { t } = frame;
  const found = new Map(KINDS.map((kind) => [kind, 0]));
  for (const { kind } of sentences) found.set(kind, found.get(kind) + 1);
  const focused = document.activeElement?.dataset?.kind;
  const buttons = KINDS.map((kind) =>
    make(
      "button",
      {
        type: "button",
        "data-kind": kind,
        title: t(`rule ${kind}`),
        "aria-pressed": String(!hidden.has(kind)),
        onclick: () => {
          if (!hidden.delete(kind)) hidden.add(kind);
          showKinds();
        },
        ondblclick: () => {
          hidden = new Set(KINDS.filter((each) => each !== kind));
          showKinds();
        },
      },
      makeSign(kind),
      `${t(`kind ${kind}`)} `,
      make("b", {}, found.get(kind).toLocaleString(t.language))
    )
  );
  find("kinds").setAttribute("aria-label", t("kinds"));
  find("kinds").replaceChildren(...buttons);
  if (focused) find("kinds").querySelector(`[data-kind="${focused}"]`)?.focus();
}

function showKinds() {
  rows = ROWS;
  drawKinds();
  drawPlot();
  drawList();
}

function drawSummary() {
  const { t } = frame;
  const parts = [];
  if (summary?.agreement) {
    const share = (value) => (value === null ? "–" : showNumber(value, t.language, 3));
    const { gold_inversions: gold, found, precision, recall } = summary.agreement;
    parts.push(t("agreement", { gold, found, precision: share(precision), recall: share(recall) }));
  }
  if (summary?.without_words) parts.push(t("without", { count: summary.without_words }));
  find("agreement").textContent = parts.join(" ");
}

// -- list --------------------------------------------------------------------------------------------------

/** Returns the sentences that are shown and selected, the clearest of each kind in turn. */
function listChosen() {
  const places = box ? new Map(scatter.points.map((point) => [point.index, point])) : null;
  const chosen = sentences.filter(
    (each) => !hidden.has(each.kind) && (!box || scatter.isInside(places.get(each.index), box))
  );
  const ranks = new Map();
  const rank = new Map();
  for (const each of [...chosen].sort((a, b) => b.strength - a.strength)) {
    ranks.set(each.kind, (ranks.get(each.kind) ?? -1) + 1);
    rank.set(each.index, ranks.get(each.kind));
  }
  // What stands out comes before what is as expected.
  const order = ["inversion", "spread", "stuck", "shifted", "monotone"];
  return chosen.sort(
    (a, b) => rank.get(a.index) - rank.get(b.index) || order.indexOf(a.kind) - order.indexOf(b.kind)
  );
}

function drawList() {
  const { t } = frame;
  const chosen = listChosen();
  find("chosen").textContent = t(box ? "selected" : "shown", {
    count: chosen.length.toLocaleString(t.language),
  });
  find("clear").hidden = !box;
  const head = make(
    "tr",
    {},
    ...[t("kind"), t("source"), t(`measure ${state.y}`), t(`measure ${state.x}`)].map((text, place) =>
      make("th", { scope: "col", class: place > 1 ? "number" : null }, text)
    )
  );
  const value = (each, name) =>
    showNumber(valueOf(each, name), t.language, WHOLE.includes(name) ? 0 : 2).replace("-", "−");
  const body = chosen.slice(0, rows).map((each) =>
    make(
      "tr",
      { class: opened?.index === each.index ? "chosen" : null, "data-index": each.index },
      make("td", { class: "kind" }, makeSign(each.kind), t(`kind ${each.kind}`)),
      make(
        "th",
        { scope: "row" },
        make(
          "button",
          {
            type: "button",
            class: "word",
            dir: "auto",
            "data-index": each.index,
            onclick: () => openSentence(each.index),
          },
          isolate(each.source)
        )
      ),
      ...[state.y, state.x].map((name) =>
        make("td", { class: "number", "data-name": t(`measure ${name}`) }, value(each, name))
      )
    )
  );
  const focused = document.activeElement?.closest("#table")
    ? document.activeElement.dataset.index
    : undefined;
  find("table").replaceChildren(
    make("caption", { class: "unseen" }, t("listTitle")),
    make("thead", {}, head),
    make(
      "tbody",
      {},
      ...(body.length ? body : [make("tr", {}, make("td", { colspan: 4, class: "hint" }, t("nothing")))])
    )
  );
  if (focused) find("table").querySelector(`button[data-index="${focused}"]`)?.focus();
  const left = chosen.length - rows;
  find("more").hidden = left <= 0;
  find("more").textContent = left > 0 ? t("more", { count: Math.min(left, ROWS) }) : "";
}

// -- one sentence ------------------------------------------------------------------------------------------

async function openSentence(index) {
  scatter.opened = index;
  scatter.drawOver();
  change({ sentence: index });
  try {
    opened = await postJson("/workbench/patterns/sentence", { ...asked, index });
  } catch (error) {
    say(frame.t("failed", { reason: error.message }), true);
    return;
  }
  for (const row of find("table").querySelectorAll("tr[data-index]")) {
    row.classList.toggle("chosen", Number(row.dataset.index) === index);
  }
  drawDetail();
}

/** Opens the sentence before or after the opened one in the list. */
function step(by) {
  const chosen = listChosen();
  const here = chosen.findIndex((each) => each.index === opened.index);
  const next = chosen[Math.min(chosen.length - 1, Math.max(0, here + by))];
  if (next) openSentence(next.index);
}

function drawDetail() {
  const { t } = frame;
  const place = find("detail");
  if (!opened) {
    place.replaceChildren(make("p", { class: "hint" }, t("choose")));
    return;
  }
  const readout = make("p", { class: "readout" }, t("pointHint"));
  const tiles = [];
  const room = Math.max(
    220,
    place.clientWidth - 2.6 * parseFloat(getComputedStyle(document.documentElement).fontSize)
  );
  const heading = [
    makeSign(opened.kind),
    t(`kind ${opened.kind}`),
    make("span", { class: "hint" }, ` · ${t("sentence", { index: opened.index })}`),
  ];
  const tile = makeTile({ ...opened, heading }, t.language, room, (...pointed) =>
    linkTiles(tiles, readout)(...pointed)
  );
  tiles.push(tile);
  const numbers = SHOWN_MEASURES.map((name) => {
    const value = valueOf(opened, name);
    const text = showNumber(value, t.language, WHOLE.includes(name) ? 0 : 2).replace("-", "−");
    return make(
      "div",
      { title: t(`about ${name}`) },
      make("dt", {}, t(`measure ${name}`)),
      make("dd", {}, text)
    );
  });
  const others = [
    opened.reference && opened.reference !== opened.translation ? ["reference", opened.reference] : null,
    opened.tags.length ? ["tags", opened.tags.join(", ")] : null,
  ].filter(Boolean);
  const address = linkToTranslate(asked.run, opened.source);
  const key = document.activeElement?.closest("#detail") ? document.activeElement.dataset.key : undefined;
  place.replaceChildren(
    make(
      "div",
      { class: "detail-head" },
      make("h2", { class: "detail-source", dir: "auto" }, isolate(opened.source)),
      make(
        "span",
        { class: "together" },
        make(
          "button",
          { type: "button", "aria-label": t("previous"), "data-key": "previous", onclick: () => step(-1) },
          "‹"
        ),
        make(
          "button",
          { type: "button", "aria-label": t("next"), "data-key": "next", onclick: () => step(1) },
          "›"
        )
      )
    ),
    make("p", { class: "verdict", lang: "en" }, isolate(opened.verdict)),
    tile.element,
    make("div", { class: "under" }, readout, makeScale(makeTexts(t.language))),
    ...others.map(([name, text]) =>
      make("p", { class: "other" }, make("span", { class: "hint" }, `${t(name)} `), isolate(text))
    ),
    make("dl", { class: "measures" }, ...numbers),
    make("p", {}, make("a", { href: address }, t("openTranslate"), " →"))
  );
  if (key) place.querySelector(`[data-key="${key}"]`)?.focus();
}

// -- start -------------------------------------------------------------------------------------------------

function drawAll() {
  drawChoices();
  if (!measures.length) return;
  drawAxes();
  drawKinds();
  drawPlot();
  drawList();
  drawDetail();
  drawSummary();
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
    if (box) scatter.select(null);
    drawAxes();
    drawPlot();
    drawList();
  });
}
find("clear").addEventListener("click", () => {
  scatter.select(null);
  scatter.over.focus();
});
find("more").addEventListener("click", () => {
  rows += ROWS;
  drawList();
});
let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth || !opened) return;
  lastWidth = innerWidth;
  drawDetail();
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
  if (linked && splits) measure(); // a link shows what a person saw
}

begin();
