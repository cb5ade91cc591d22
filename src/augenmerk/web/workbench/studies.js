/** The studies of a folder, and one of them: figures, differences, curves, and sentences through all variants. */

import { find, isolate, make, replaceInside } from "../page/dom.js";
import { makeScale } from "../page/heatmap.js";
import { makeTexts } from "../page/texts.js";
import { makeForest } from "./forest.js";
import { startFrame } from "./frame.js";
import { linkToTranslate } from "./links.js";
import { linkTiles, makeTile } from "./maps.js";
import { LineChart, isWide, makeSwatch } from "./plots.js";
import { getJson, postJson } from "./server.js";
import { STUDIES_TEXTS } from "./studies-texts.js";

const PAUSE = 300; // milliseconds without a key before a sentence is translated
const REFRESH = 4000; // milliseconds between two looks at a study that is running
const MAX_TILES = 24; // maps that are shown at once
const MAX_TEXT = 2000;
const MAX_REMARKS = 3;
const MAX_PAIRS = 10; // comparisons that are all shown at first
const MAX_RUNS = 12; // rows of the table of runs that are shown at first
const CURVES = ["validation_loss", "validation_bleu", "train_loss"];
const OF_A_SPLIT = ["loss", "perplexity", "word_perplexity"];

const frame = startFrame({ texts: STUDIES_TEXTS, onChange: drawAll });
const state = readAddress();
let study = null; // what the server says about the chosen study
let curves = {}; // by variant and seed
let charts = [];
let drawnCurves = ""; // what the curves were drawn of
let hidden = new Set(); // the variants that are not drawn
let sentence = null; // what the attention section shows: {source, reference, maps, waiting}
let asking = new AbortController();
let shownTiles = MAX_TILES;
let typing = 0;

// -- address -----------------------------------------------------------------------------------------------

function readAddress() {
  const given = new URLSearchParams(location.search);
  const number = given.get("sentence") ?? "";
  return {
    study: given.get("study") ?? "",
    text: (given.get("text") ?? "").slice(0, MAX_TEXT),
    sentence: /^\d{1,4}$/.test(number) ? Number(number) : 0,
    seeds: given.get("seeds") === "all" ? "all" : "one",
    measure: given.get("measure") ?? "bleu",
    against: given.get("against") ?? "",
    split: given.get("split") ?? "",
  };
}

/** Changes the state and writes it into the address, so that a link shows the same. */
function change(changes) {
  Object.assign(state, changes);
  const untouched = {
    study: "",
    text: "",
    sentence: 0,
    seeds: "one",
    measure: "bleu",
    against: "",
    split: "",
  };
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== untouched[name]) written.set(name, value);
  }
  history.replaceState(null, "", `/studies?${written}`);
}

function askAbout(what, more = {}) {
  return `/workbench/studies/${what}?${new URLSearchParams({ study: state.study, ...more })}`;
}

function say(text, isError = false) {
  find("status").textContent = text;
  find("status").classList.toggle("error", isError);
}

/** Returns figures, written by the server in the English way, as the page's language writes them. */
function localise(text) {
  return frame.language === "de" ? text.replace(/[.,]/g, (sign) => (sign === "." ? "," : ".")) : text;
}

function sayCounts(counts) {
  return frame.t(counts.variants === 1 ? "countsOne" : "counts", counts);
}

// -- all studies -------------------------------------------------------------------------------------------

async function showList() {
  const { t } = frame;
  say(t("loading"));
  try {
    const { studies } = await getJson("/workbench/studies/list");
    say("");
    const nodes = studies.map(makeListed);
    find("studies").replaceChildren(
      ...(nodes.length ? nodes : [make("li", { class: "hint" }, t("noStudies"))])
    );
  } catch (error) {
    say(t("failed", { reason: error.message }), true);
  }
  find("list").hidden = false;
  document.documentElement.dataset.ready = "";
}

function makeListed(each) {
  const { t } = frame;
  const address = `/studies?${new URLSearchParams({ study: each.name })}`;
  const kind = each.error ? "damaged" : each.running ? "running" : each.complete ? "complete" : "incomplete";
  const about = each.error
    ? make("p", { class: "error" }, each.error)
    : make("p", { class: "hint" }, sayCounts(each));
  const share = each.error ? 0 : each.finished / Math.max(1, each.runs);
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  bar.style.setProperty("--share", share);
  return make(
    "li",
    {},
    make(
      "a",
      { href: address, class: "study-link" },
      make(
        "span",
        { class: "study-name" },
        isolate(each.name),
        " ",
        make("span", { class: `badge ${kind}` }, t(kind))
      ),
      make("span", { class: "study-question" }, isolate(each.error ? "" : each.question || t("noQuestion")))
    ),
    about,
    each.error || each.complete ? "" : bar
  );
}

// -- one study ---------------------------------------------------------------------------------------------

async function openStudy() {
  const { t } = frame;
  say(t("loading"));
  try {
    study = await getJson(askAbout("study"));
    say("");
  } catch (error) {
    say(t("failed", { reason: error.message }), true);
    find("study").replaceChildren(makeBack());
    find("study").hidden = false;
    document.documentElement.dataset.ready = "";
    return;
  }
  document.title = `${study.title} · Augenmerk`;
  find("study").hidden = false;
  drawStudy();
  showSentence();
  await readCurves();
  document.documentElement.dataset.ready = "";
  if (study.running) setTimeout(refresh, REFRESH);
}

async function readCurves() {
  try {
    ({ curves } = await getJson(askAbout("curves")));
  } catch {
    curves = {}; // then there are means only
  }
  drawCurves();
}

/** Looks again at a study that is running; a page that nobody sees waits. */
async function refresh() {
  if (!document.hidden) {
    try {
      const before = JSON.stringify(study);
      study = await getJson(askAbout("study"));
      if (JSON.stringify(study) !== before) {
        drawStudy();
        if (!state.text.trim()) showSentence(); // more runs have it now
      }
      await readCurves();
    } catch (error) {
      say(frame.t("failed", { reason: error.message }), true);
    }
  }
  if (study.running) setTimeout(refresh, REFRESH);
}

function makeBack() {
  return make("p", { class: "back" }, make("a", { href: "/studies" }, "← ", frame.t("allStudies")));
}

function makeCard(id, title, ...children) {
  return make("section", { class: "card", id }, make("h2", {}, title), ...children);
}

/** Draws everything but the curves and the attention; these keep their places. */
function drawStudy() {
  const { t } = frame;
  const kept = find("attention");
  const attention = kept ?? makeAttentionCard();
  if (kept) updateAttentionCard();
  const parts = [
    makeBack(),
    makeHeader(),
    makeFigures(),
    makeDifferences(),
    attention,
    makeCard(
      "learning",
      t("learning"),
      make("p", { class: "hint" }, t("learningHint")),
      makeLegend(),
      make("div", { class: "charts", id: "curves" })
    ),
    makeLengths(),
    makeFactors(),
    makeBeams(),
    makeRuns(),
  ].filter(Boolean);
  for (const chart of charts) chart.observer.disconnect();
  charts = parts.flatMap((part) => part.charts ?? []);
  const nodes = parts.map((part) => part.element ?? part);
  // The attention stays where it is in the page, for a person may be typing into it.
  if (kept) {
    for (const node of [...find("study").children]) if (node !== kept) node.remove();
    const place = nodes.indexOf(kept);
    kept.before(...nodes.slice(0, place));
    kept.after(...nodes.slice(place + 1));
  } else {
    find("study").replaceChildren(...nodes);
  }
  drawCurves();
}

function makeHeader() {
  const { t } = frame;
  const kind = study.running ? "running" : study.complete ? "complete" : "incomplete";
  const warning = study.running ? t("stillRunning") : study.complete ? "" : t("stopped");
  const runs = study.variants.flatMap((variant) => variant.runs);
  const counts = {
    variants: study.variants.length,
    runs: runs.length,
    finished: runs.filter((run) => run.state === "finished").length,
  };
  return make(
    "header",
    { class: "card study-header" },
    make(
      "p",
      { class: "hint" },
      isolate(t("study", { name: study.title })),
      " ",
      make("span", { class: `badge ${kind}` }, t(kind))
    ),
    make("h1", {}, isolate(study.question || t("noQuestion"))),
    make("p", { class: "hint" }, sayCounts(counts)),
    warning ? make("p", { class: "warning" }, warning) : "",
    study.findings.length
      ? make(
          "ul",
          { class: "findings", lang: "en" },
          ...study.findings.map((each) => make("li", {}, isolate(each)))
        )
      : "",
    makeRemarks()
  );
}

/** Returns what the study says about its own limits; many sentences are folded. */
function makeRemarks() {
  const all = study.remarks.map((each) => make("p", { class: "hint", lang: "en" }, isolate(each)));
  if (all.length <= MAX_REMARKS) return make("div", { class: "remarks" }, ...all);
  const summary = make("summary", { class: "hint" }, frame.t("remarks", { count: all.length }));
  return make("details", { class: "remarks" }, summary, ...all);
}

function nameColumn(column) {
  const { t } = frame;
  const heading = t(`heading ${column.measure}`);
  const arrow = { higher: "\u00a0↑", lower: "\u00a0↓" }[column.better] ?? "";
  const split = OF_A_SPLIT.includes(column.measure) ? `, ${study.splits[0]}` : "";
  return column.published ? `${heading}, ${t("published")}` : `${heading}${split}${arrow}`;
}

function makeFigures() {
  const { t } = frame;
  const head = study.columns.map((column) =>
    make("th", { scope: "col", class: column.published ? "published" : null }, isolate(nameColumn(column)))
  );
  const rows = study.variants.map((variant, row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, makeSwatch(row), isolate(variant.name)),
      ...study.columns.map((column) => {
        const cell = column.cells[row];
        const mean = localise(cell.mean);
        return make(
          "td",
          { class: column.published ? "published" : null },
          cell.best ? make("b", {}, mean) : mean,
          cell.spread ? make("span", { class: "spread" }, ` ${localise(cell.spread)}`) : "",
          cell.low ? make("small", {}, `[${localise(cell.low)}, ${localise(cell.high)}]`) : ""
        );
      })
    )
  );
  const search = study.beams[0] === 1 ? t("greedy") : t("beamOf", { beam: study.beams[0] });
  return makeCard(
    "figures",
    t("figures"),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": t("figures") },
      make(
        "table",
        { class: "figures" },
        make("thead", {}, make("tr", {}, make("th", { scope: "col" }, t("variant")), ...head)),
        make("tbody", {}, ...rows)
      )
    ),
    make("p", { class: "hint" }, isolate(t("figuresNote", { split: study.splits[0], search }))),
    ...study.notes.map((note) => make("p", { class: "hint", lang: "en" }, isolate(note)))
  );
}

function makeSelect(label, values, names, chosen, onChoose) {
  const options = values.map((value, place) =>
    make("option", { value, selected: value === chosen }, names[place])
  );
  const select = make("select", { onchange: () => onChoose(select.value), "data-key": label }, ...options);
  return make("label", {}, make("span", {}, label), select);
}

function makeDifferences() {
  const { t } = frame;
  if (study.variants.length < 2) return null;
  const measures = [...new Set(study.comparisons.map((each) => each.measure))];
  const splits = [...new Set(study.comparisons.map((each) => each.split))];
  if (!measures.length)
    return makeCard("differences", t("differences"), make("p", { class: "hint" }, t("noDifferences")));
  const content = make("div");
  const draw = () => {
    const measure = measures.includes(state.measure) ? state.measure : measures[0];
    const split = splits.includes(state.split) ? state.split : splits[0];
    const all = study.comparisons.filter((each) => each.measure === measure && each.split === split);
    const against = chooseAgainst(all, measure, split);
    const chosen = against ? turnAgainst(all, against) : all;
    const names = measures.map((each) => t(`heading ${each}`));
    const choose = [
      makeSelect(t("measure"), measures, names, measure, (value) => redraw({ measure: value })),
    ];
    if (splits.length > 1)
      choose.push(makeSelect(t("split"), splits, splits, split, (value) => redraw({ split: value })));
    if (study.variants.length > 2) {
      const values = ["", ...study.variants.map((variant) => variant.name)];
      const labels = [t("allPairs"), ...values.slice(1)];
      choose.push(
        makeSelect(t("against"), values, labels, against, (value) => redraw({ against: value || "*" }))
      );
    }
    replaceInside(
      content,
      make("div", { class: "controls" }, ...choose),
      make(
        "div",
        { class: "forest-place" },
        makeForest(chosen, study.digits[measure], t(`heading ${measure}`), against, t)
      )
    );
  };
  const redraw = (changes) => {
    change(changes);
    draw();
  };
  draw();
  return makeCard("differences", t("differences"), content, make("p", { class: "hint" }, t("forestNote")));
}

/** Returns the variant that the others are compared with; "" for all pairs, if these are not too many. */
function chooseAgainst(comparisons, measure, split) {
  if (study.variants.some((variant) => variant.name === state.against)) return state.against;
  if (state.against === "*" || comparisons.length <= MAX_PAIRS) return "";
  const means = study.variants.flatMap(({ name, summaries }) =>
    summaries
      .filter((each) => each.measure === measure && each.split === split)
      .slice(0, 1)
      .map(({ mean }) => [name, measure === "bleu" ? mean : -mean])
  );
  return means.sort(([, a], [, b]) => b - a)[0]?.[0] ?? "";
}

/** Returns the comparisons with one variant, turned so that it is the one that is subtracted. */
function turnAgainst(comparisons, against) {
  const turn = (each) => ({
    ...each,
    variant: each.against,
    against: each.variant,
    difference: -each.difference,
    interval: [-each.interval[1], -each.interval[0]],
    seeds: each.seeds.map((seed) => ({ ...seed, difference: -seed.difference })),
  });
  return comparisons
    .filter((each) => [each.variant, each.against].includes(against))
    .map((each) => (each.against === against ? each : turn(each)));
}

// -- charts ------------------------------------------------------------------------------------------------

function makeLegend() {
  const { t } = frame;
  if (study.variants.length < 2) return "";
  return make(
    "div",
    { class: "legend", role: "group", "aria-label": t("legend") },
    ...study.variants.map((variant, number) => {
      const emphasise = (lit) => () => showCharts(lit);
      const button = make(
        "button",
        {
          type: "button",
          "aria-pressed": String(!hidden.has(variant.name)),
          onclick: () => {
            if (!hidden.delete(variant.name)) hidden.add(variant.name);
            button.setAttribute("aria-pressed", String(!hidden.has(variant.name)));
            showCharts(null);
          },
          onpointerenter: emphasise(variant.name),
          onpointerleave: emphasise(null),
          onfocus: emphasise(variant.name),
          onblur: emphasise(null),
        },
        makeSwatch(number),
        isolate(variant.name)
      );
      return button;
    })
  );
}

function showCharts(lit) {
  for (const chart of charts) chart.show(hidden, hidden.has(lit) ? null : lit);
}

function makeCharts(id, title, list) {
  const card = makeCard(id, title, make("div", { class: "charts" }, ...list.map((chart) => chart.element)));
  return { element: card, charts: list };
}

function drawCurves() {
  const { t } = frame;
  const place = find("curves");
  if (!place) return;
  const old = charts.filter((chart) => place.contains(chart.element));
  // A chart that is being read is drawn anew only when its numbers have changed.
  const wanted = JSON.stringify([study.variants.map((variant) => variant.curves), curves, t.language]);
  if (drawnCurves === wanted && old.length) return;
  for (const chart of old) chart.observer.disconnect();
  charts = charts.filter((chart) => !old.includes(chart));
  const found = CURVES.map((measure) => {
    const series = study.variants.map((variant, number) => {
      const thin = Object.values(curves[variant.name] ?? {}).map((run) => run[measure] ?? []);
      const mean = variant.curves.find((curve) => curve.measure === measure)?.points ?? [];
      const points = mean.map((point) => ({ x: point.epoch, y: point.mean }));
      return { name: variant.name, number, thin, points: points.length ? points : averageRuns(thin) };
    });
    const drawn = series.filter((each) => each.points.length);
    return drawn.length
      ? new LineChart(
          {
            title: t(`heading ${measure}`),
            xLabel: t("epoch"),
            digits: measure === "validation_bleu" ? 1 : 3,
            series: drawn,
          },
          t
        )
      : null;
  }).filter(Boolean);
  charts.push(...found);
  drawnCurves = wanted;
  place.replaceChildren(...found.map((chart) => chart.element));
  find("learning").hidden = !found.length;
}

/** Returns the mean of runs that are still being trained, over those that have come so far. */
function averageRuns(runs) {
  const byEpoch = new Map();
  for (const [epoch, value] of runs.flat()) byEpoch.set(epoch, [...(byEpoch.get(epoch) ?? []), value]);
  return [...byEpoch.entries()]
    .sort(([a], [b]) => a - b)
    .map(([x, values]) => ({ x, y: values.reduce((sum, value) => sum + value, 0) / values.length }));
}

function makeLengths() {
  const { t } = frame;
  const bins = study.variants.find((variant) => variant.by_length.length)?.by_length;
  if (!bins) return null;
  const series = study.variants
    .map((variant, number) => ({
      name: variant.name,
      number,
      points: variant.by_length.map((bin, x) => ({ x, y: bin.bleu, low: bin.low, high: bin.high })),
    }))
    .filter(({ points }) => points.length);
  const categories = bins.map((bin) =>
    bin.shortest === bin.longest ? `${bin.shortest}` : `${bin.shortest}–${bin.longest}`
  );
  const about = {
    title: t("lengthsTitle", { split: study.splits[0] }),
    note: t("rangeNote"),
    xLabel: t("words"),
    digits: 1,
    categories,
    series,
  };
  return makeCharts("lengths", t("lengths"), [new LineChart(about, t)]);
}

function makeFactors() {
  const { t } = frame;
  const [split, beam] = [study.splits[0], study.beams[0]];
  const list = study.number_factors.flatMap((factor) =>
    ["bleu", "loss"].map((measure) => {
      const lines = new Map();
      for (const variant of study.variants) {
        const summary = variant.summaries.find(
          (each) =>
            each.measure === measure && each.split === split && (measure === "loss" || each.beam === beam)
        );
        if (!summary) continue;
        const others = Object.entries(variant.settings).filter(([key]) => key !== factor);
        const name = others.map(([, value]) => String(value)).join(", ") || t(`heading ${measure}`);
        const deviation = Math.sqrt(summary.variance ?? 0);
        const point = {
          x: variant.settings[factor],
          y: summary.mean,
          low: summary.mean - deviation,
          high: summary.mean + deviation,
        };
        lines.set(name, [...(lines.get(name) ?? []), point]);
      }
      const series = [...lines].map(([name, points], number) => ({
        name,
        number,
        points: points.sort((a, b) => a.x - b.x),
      }));
      if (!series.length) return null;
      const values = series.flatMap(({ points }) => points.map(({ x }) => x));
      const name = factor.split(".").at(-1);
      const title = t("factorTitle", { measure: t(`heading ${measure}`), factor: name, split });
      const about = {
        title,
        note: t("deviationNote"),
        xLabel: name,
        digits: measure === "loss" ? 3 : 2,
        series,
        exact: true,
      };
      return new LineChart({ ...about, log: isWide(values), yLog: measure === "loss" }, t);
    })
  );
  const found = list.filter(Boolean);
  return found.length ? makeCharts("factors", t("factor"), found) : null;
}

function makeBeams() {
  const { t } = frame;
  if (!study.beam_rows.length) return null;
  const found = study.splits.map((split) => {
    const series = study.variants
      .map((variant, number) => ({
        name: variant.name,
        number,
        points: study.beam_rows
          .filter((row) => row.variant === variant.name && row.split === split)
          .map((row) => ({ x: row.beam, y: row.bleu, low: row.bleu_low, high: row.bleu_high })),
      }))
      .filter(({ points }) => points.length);
    const about = {
      title: t("beamTitle", { split }),
      note: t("rangeNote"),
      xLabel: t("beam"),
      digits: 2,
      series,
      log: true,
      exact: true,
    };
    return series.length ? new LineChart(about, t) : null;
  });
  const drawn = found.filter(Boolean);
  if (!drawn.length) return null;
  const card = makeCharts("beams", t("beams"), drawn);
  const repairs = study.beam_repairs.map((each) => make("li", {}, isolate(each.in_words)));
  if (repairs.length) card.element.append(make("ul", { class: "hint", lang: "en" }, ...repairs));
  return card;
}

function makeRuns() {
  const { t } = frame;
  const rows = study.variants.flatMap((variant) =>
    variant.runs.map((run) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, isolate(variant.name)),
        make("td", {}, String(run.seed)),
        make(
          "td",
          {},
          t(`state ${study.running && run.state === "unfinished" ? "working" : run.state}`),
          run.problem ? make("small", { class: "error" }, isolate(run.problem)) : ""
        ),
        make(
          "td",
          {},
          run.best_epoch === null ? "–" : t("ofEpochs", { best: run.best_epoch, epochs: run.epochs })
        ),
        make("td", {}, run.seconds === null ? "–" : Math.round(run.seconds).toLocaleString(t.language)),
        make("td", {}, run.model ? make("a", { href: linkToTranslate(run.model) }, t("openRun")) : "–")
      )
    )
  );
  const head = ["variant", "seed", "state", "bestEpoch", "seconds"].map((key) =>
    make("th", { scope: "col" }, key === "seed" ? t("seeds") : t(key))
  );
  const { origin } = study;
  const seconds = origin && Math.round(origin.seconds).toLocaleString(t.language);
  const from = origin
    ? t("origin", { bitext: origin.bitext, hardware: origin.hardware.join(" · "), seconds })
    : "";
  return make(
    "details",
    { class: "card panel", id: "runs", open: rows.length <= MAX_RUNS },
    make("summary", {}, make("h2", {}, t("runs"))),
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": t("runs") },
      make(
        "table",
        { class: "figures run-table" },
        make("thead", {}, make("tr", {}, ...head, make("td"))),
        make("tbody", {}, ...rows)
      )
    ),
    make("p", { class: "hint" }, isolate(from))
  );
}

// -- attention ---------------------------------------------------------------------------------------------

/** Returns the runs that a sentence can be given to: one of each variant, or all; first seeds first. */
function chooseRuns() {
  const bySeed = study.variants.map((variant) =>
    variant.runs
      .filter((run) => run.model)
      .map(({ seed, run, state: how }) => ({ variant: variant.name, seed, run, state: how }))
  );
  const most = state.seeds === "all" ? Math.max(0, ...bySeed.map((runs) => runs.length)) : 1;
  const chosen = [];
  for (let place = 0; place < most; place++) {
    for (const runs of bySeed) if (runs[place]) chosen.push(runs[place]);
  }
  return chosen;
}

function canTranslate() {
  return study.variants.some((variant) => variant.runs.some((run) => run.model));
}

/** Offers what has come since: sentences, and runs that can be asked. */
function updateAttentionCard() {
  find("examples").replaceChildren(...study.examples.map(makeChip));
  find("ask").hidden = !canTranslate();
  find("ask-hint").textContent = frame.t(canTranslate() ? "attentionHint" : "noModels");
}

function makeAttentionCard() {
  const { t } = frame;
  const can = canTranslate();
  const text = make(
    "textarea",
    {
      id: "text",
      rows: 1,
      maxlength: MAX_TEXT,
      dir: "auto",
      spellcheck: "false",
      autocomplete: "off",
      placeholder: t("placeholder"),
      oninput: () => {
        clearTimeout(typing);
        typing = setTimeout(() => {
          change({ text: text.value, sentence: text.value.trim() ? -1 : 0 });
          showSentence();
        }, PAUSE);
      },
    },
    state.text
  );
  const seeds = makeSelect(
    t("seeds"),
    ["one", "all"],
    [t("oneSeed"), t("allSeeds")],
    state.seeds,
    (value) => {
      change({ seeds: value });
      if (state.text.trim()) showSentence();
      else drawTiles();
    }
  );
  return makeCard(
    "attention",
    t("attention"),
    make("p", { class: "hint", id: "ask-hint" }, t(can ? "attentionHint" : "noModels")),
    make(
      "div",
      { class: "ask sentence", id: "ask", hidden: !can },
      make("label", { class: "unseen", for: "text" }, t("sentence")),
      text
    ),
    make(
      "div",
      { id: "examples", class: "examples", role: "group", "aria-label": t("sentence"), translate: "no" },
      ...study.examples.map(makeChip)
    ),
    make(
      "div",
      { class: "controls" },
      seeds,
      make("span", { id: "progress", class: "hint", role: "status" })
    ),
    make("p", { id: "reference", class: "hint" }),
    make("div", { id: "tiles", class: "tiles", translate: "no" }),
    make(
      "div",
      { class: "under" },
      make("p", { id: "pointed", class: "readout" }, t("pointHint")),
      makeScale(makeTexts(t.language))
    )
  );
}

function makeChip(example, number) {
  return make(
    "button",
    {
      type: "button",
      "data-number": number,
      onclick: () => {
        find("text").value = "";
        change({ text: "", sentence: number });
        showSentence();
      },
    },
    isolate(example.source)
  );
}

async function showSentence() {
  const { t } = frame;
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  shownTiles = MAX_TILES;
  const own = state.text.trim();
  for (const chip of find("examples").children) {
    chip.setAttribute("aria-pressed", String(!own && Number(chip.dataset.number) === state.sentence));
  }
  find("progress").textContent = "";
  find("progress").classList.remove("error");
  try {
    if (own) await translateOwn(own, signal);
    else if (!study.examples.length) find("reference").textContent = t("noExamples");
    else {
      const number = Math.min(Math.max(0, state.sentence), study.examples.length - 1);
      const found = await getJson(askAbout("example", { number }), signal);
      sentence = { ...found, maps: found.maps.map((map) => ({ ...map, source_words: found.source_words })) };
      drawTiles();
    }
  } catch (error) {
    if (signal.aborted) return;
    find("progress").textContent = t("failed", { reason: error.message });
    find("progress").classList.add("error");
  }
}

/** Gives a sentence to one run after another; each answer is shown as soon as it is there. */
async function translateOwn(text, signal) {
  const { t } = frame;
  const runs = chooseRuns();
  sentence = { source: text, reference: null, maps: runs.map((each) => ({ ...each, waiting: true })) };
  drawTiles();
  for (const [place, { run }] of runs.entries()) {
    find("progress").textContent = t("progress", { done: place, total: runs.length });
    const answer = await postJson("/workbench/studies/translate", { study: state.study, run, text }, signal);
    sentence.maps[place] = { ...sentence.maps[place], ...answer, waiting: false };
    drawTiles();
    if (place === 0 && answer.unfamiliar) find("reference").textContent = t("unfamiliar");
  }
  find("progress").textContent = "";
}

/** Returns the maps in the order in which they are shown: variant by variant. */
function orderMaps() {
  const order = study.variants.map((variant) => variant.name);
  const seen = new Set();
  return sentence.maps
    .map((map) => ({ ...map, place: order.indexOf(map.variant) }))
    .sort((a, b) => a.place - b.place || a.seed - b.seed)
    .filter((map) => state.seeds === "all" || (!seen.has(map.variant) && seen.add(map.variant)));
}

/** Returns a link to the same sentence and run in the Translate view, if the run is here. */
function makeTileLink({ variant, seed }) {
  const { runs } = study.variants.find(({ name }) => name === variant);
  const model = runs.find((run) => run.seed === seed)?.model;
  if (!model) return [];
  const label = `${frame.t("openRun")}: ${variant}, ${frame.t("seed", { seed })}`;
  return [
    make(
      "a",
      {
        class: "tile-link",
        href: linkToTranslate(model, sentence.source, { beam: 1 }),
        "aria-label": label,
        title: frame.t("openRun"),
      },
      "→"
    ),
  ];
}

function drawTiles() {
  const { t } = frame;
  const place = find("tiles");
  if (!sentence || !place) return;
  const maps = orderMaps();
  const known = maps.filter((map) => !map.waiting);
  const columns = Math.max(6, ...known.map((map) => map.source_words.length));
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const width = place.clientWidth || 320;
  const gap = 1.4 * rem;
  const least = Math.min(34, Math.max(15, 6.5 + 1.2 * columns)) * rem;
  const fitting = Math.max(1, Math.floor((width + gap) / (least + gap)));
  const seeds = Math.max(
    ...study.variants.map((variant) => maps.filter((map) => map.variant === variant.name).length)
  );
  const across = Math.min(state.seeds === "all" && seeds > 1 ? seeds : maps.length, fitting) || 1;
  const room = Math.min((width - gap * (across - 1)) / across, 36 * rem);
  place.style.setProperty("--across", across);
  const tiles = [];
  const point = linkTiles(tiles, find("pointed"));
  for (const map of maps.slice(0, shownTiles)) {
    const which = [
      t("seed", { seed: map.seed }),
      ...(map.state === "unfinished" ? [t("state unfinished")] : []),
    ];
    const heading = [
      makeSwatch(map.place),
      isolate(map.variant),
      make("span", { class: "hint" }, ` · ${which.join(" · ")}`),
      ...makeTileLink(map),
    ];
    if (map.waiting) {
      tiles.push({
        light: () => {},
        element: make(
          "article",
          { class: "tile waiting" },
          make("h4", { class: "tile-heading" }, ...heading),
          make("p", { class: "hint" }, t("waiting"))
        ),
      });
    } else {
      tiles.push(makeTile({ ...map, heading }, t.language, room, point));
      if (map.truncated) tiles.at(-1).element.append(make("p", { class: "hint" }, t("truncated")));
    }
  }
  const left = maps.length - shownTiles;
  const more =
    left > 0
      ? [
          make(
            "button",
            {
              type: "button",
              class: "more",
              onclick: () => {
                shownTiles += MAX_TILES;
                drawTiles();
              },
            },
            t("more", { count: Math.min(left, MAX_TILES) })
          ),
        ]
      : [];
  find("reference").replaceChildren(
    sentence.reference ? isolate(t("reference", { text: sentence.reference })) : ""
  );
  replaceInside(place, ...tiles.map((tile) => tile.element), ...more);
}

// -- start -------------------------------------------------------------------------------------------------

function drawAll() {
  if (!state.study) {
    showList();
  } else if (study) {
    find("attention")?.remove();
    drawStudy();
    drawTiles();
    showSentence();
  }
}

let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return; // a phone's bars come and go
  lastWidth = innerWidth;
  drawTiles();
});

if (state.study) openStudy();
else showList();
