/** The studies of a folder, and one of them: figures, differences, curves, and sentences through all variants. */

import { find, isolate, make } from "../page/dom.js";
import { startFrame } from "./frame.js";
import { writeAddress } from "./links.js";
import { getJson } from "./server.js";
import { AttentionCard, MAX_TEXT } from "./studies-attention.js";
import { makeBeams, makeCurves, makeFactors, makeLegend, makeLengths } from "./studies-charts.js";
import { makeDifferences } from "./studies-differences.js";
import { makeFigures, makeHeader, makeRuns } from "./studies-figures.js";
import { makeCard, sayCounts } from "./studies-parts.js";
import { STUDIES_TEXTS } from "./studies-texts.js";

const REFRESH = 4000; // milliseconds between two looks at a study that is running
const UNTOUCHED = { sentence: 0, seeds: "one", measure: "bleu" };

const frame = startFrame({ texts: STUDIES_TEXTS, onChange: drawAll });
const state = readAddress();
const view = { frame, state, change, askAbout, study: null }; // `study` is what the server says about it
const attention = new AttentionCard(view);
const hidden = new Set(); // the variants that are not drawn
let curves = {}; // by variant and seed
let charts = [];
let drawnCurves = ""; // what the curves were drawn of

// -- address -----------------------------------------------------------------------------------------------

function readAddress() {
  const given = new URLSearchParams(location.search);
  const number = given.get("sentence") ?? "";
  return {
    study: given.get("study") ?? "",
    text: (given.get("text") ?? "").slice(0, MAX_TEXT),
    sentence: /^\d{1,4}$/.test(number) ? Number(number) : UNTOUCHED.sentence,
    seeds: given.get("seeds") === "all" ? "all" : UNTOUCHED.seeds,
    measure: given.get("measure") ?? UNTOUCHED.measure,
    split: given.get("split") ?? "",
  };
}

/** Changes the state and writes it into the address. */
function change(changes) {
  Object.assign(state, changes);
  writeAddress("/studies", state, UNTOUCHED);
}

function askAbout(what, more = {}) {
  return `/workbench/studies/${what}?${new URLSearchParams({ study: state.study, ...more })}`;
}

function say(text, isError = false) {
  find("status").textContent = text;
  find("status").classList.toggle("error", isError);
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
    : make("p", { class: "hint" }, sayCounts(each, t));
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
    view.study = await getJson(askAbout("study"));
    say("");
  } catch (error) {
    say(t("failed", { reason: error.message }), true);
    find("study").replaceChildren(makeBack());
    find("study").hidden = false;
    document.documentElement.dataset.ready = "";
    return;
  }
  document.title = `${view.study.title} · Augenmerk`;
  find("study").hidden = false;
  drawStudy();
  attention.show();
  await readCurves();
  document.documentElement.dataset.ready = "";
  if (view.study.running) setTimeout(refresh, REFRESH);
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
      const before = JSON.stringify(view.study);
      view.study = await getJson(askAbout("study"));
      if (JSON.stringify(view.study) !== before) {
        drawStudy();
        if (!state.text.trim()) attention.show(); // more runs have it now
      }
      await readCurves();
    } catch (error) {
      say(frame.t("failed", { reason: error.message }), true);
    }
  }
  if (view.study.running) setTimeout(refresh, REFRESH);
}

function makeBack() {
  return make("p", { class: "back" }, make("a", { href: "/studies" }, "← ", frame.t("allStudies")));
}

/** Draws everything but the curves and the attention; these keep their places. */
function drawStudy() {
  const { t } = frame;
  const { study } = view;
  const kept = find("attention");
  if (kept) attention.update();
  const parts = [
    makeBack(),
    makeHeader(study, t),
    makeFigures(study, t),
    makeDifferences(study, state, change, t),
    kept ?? attention.make(),
    makeCard(
      "learning",
      t("learning"),
      make("p", { class: "hint" }, t("learningHint")),
      makeLegend(study, hidden, showCharts, t),
      make("div", { class: "charts", id: "curves" })
    ),
    makeLengths(study, t),
    makeFactors(study, t),
    makeBeams(study, t),
    makeRuns(study, t),
  ].filter(Boolean);
  for (const chart of charts) chart.observer.disconnect();
  charts = parts.flatMap((part) => part.charts ?? []);
  const nodes = parts.map((part) => part.element ?? part);
  // The attention stays where it is in the page, because the user may be typing into it.
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

function showCharts(lit) {
  for (const chart of charts) chart.show(hidden, hidden.has(lit) ? null : lit);
}

function drawCurves() {
  const { t } = frame;
  const place = find("curves");
  if (!place) return;
  const old = charts.filter((chart) => place.contains(chart.element));
  // A chart that is being read is drawn again only when its numbers have changed.
  const wanted = JSON.stringify([view.study.variants.map((variant) => variant.curves), curves, t.language]);
  if (drawnCurves === wanted && old.length) return;
  for (const chart of old) chart.observer.disconnect();
  charts = charts.filter((chart) => !old.includes(chart));
  const found = makeCurves(view.study, curves, t);
  charts.push(...found);
  drawnCurves = wanted;
  place.replaceChildren(...found.map((chart) => chart.element));
  find("learning").hidden = !found.length;
}

// -- start -------------------------------------------------------------------------------------------------

function drawAll() {
  if (!state.study) {
    showList();
  } else if (view.study) {
    find("attention")?.remove();
    drawStudy();
    attention.drawTiles();
    attention.show();
  }
}

let lastWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === lastWidth) return; // a phone's bars come and go
  lastWidth = innerWidth;
  attention.drawTiles();
});

if (state.study) openStudy();
else showList();
