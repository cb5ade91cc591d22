/** The studies of a folder, and one of them: figures, differences, curves, and sentences through all variants. */

import { choice, list, name, putAddress, readState, text, whole, writeState } from "../page/address.js";
import { find, onOtherWidth } from "../page/dom.js";
import { hint, isolate } from "../page/parts.js";
import { h, render } from "../page/view.js";
import { startFrame } from "./frame.js";
import { getJson } from "./server.js";
import { describeAttention, MAX_TEXT, showSentence } from "./studies-attention.js";
import {
  describeBeams,
  describeCurves,
  describeFactors,
  describeLegend,
  describeLengths,
} from "./studies-charts.js";
import { describeDifferences } from "./studies-differences.js";
import { describeHeader, describeResults, describeRuns } from "./studies-figures.js";
import { sayCounts } from "./studies-parts.js";
import { STUDIES_TEXTS } from "./studies-texts.js";

const REFRESH = 4000; // milliseconds between two looks at a study that is running
const MAX_NAME = 500;
const SPECIFICATION = {
  study: text(MAX_NAME),
  text: text(MAX_TEXT),
  sentence: whole(0, 9999, 0),
  seeds: choice(["one", "all"], "one"),
  measure: text(MAX_NAME, "bleu"),
  split: text(MAX_NAME),
  hidden: list(name, 100), // variants that no chart shows
};

const frame = startFrame({ texts: STUDIES_TEXTS, onChange: draw });
const view = {
  frame,
  state: readState(location.search, SPECIFICATION),
  studies: null, // what the server says about all of them,
  study: null, // and about one
  curves: {}, // by variant and seed
  lit: null, // the variant that stands out in charts
  error: null,
  ...{ change, askAbout, draw, light },
};

/** Changes the state and writes it into the address. */
function change(changes) {
  Object.assign(view.state, changes);
  putAddress(writeState(view.state, SPECIFICATION), "?");
  draw();
}

function light(variant) {
  view.lit = variant;
  draw();
}

function askAbout(what, more = {}) {
  return `/workbench/studies/${what}?${new URLSearchParams({ study: view.state.study, ...more })}`;
}

/** Does something, and draws what came of it, or why nothing did. */
async function attempt(act) {
  try {
    await act();
    view.error = null;
  } catch (error) {
    view.error = error;
  }
  draw();
}

// -- all studies -------------------------------------------------------------------------------------------

function describeList(t) {
  const listed = view.studies?.map((each) => describeListed(each, t)) ?? [];
  const shown = view.studies && (listed.length ? listed : h("li.hint", t("noStudies")));
  const list = h("ul.study-list", { id: "studies", translate: "no" }, shown);
  return h("section.card", { id: "list" }, h("h1", t("listTitle")), hint(t("listHint")), list);
}

function describeListed(each, t) {
  const href = `/studies?${writeState({ ...view.state, study: each.name }, SPECIFICATION)}`;
  const kind = each.error ? "damaged" : each.running ? "running" : each.complete ? "complete" : "incomplete";
  const share = each.error ? 0 : each.finished / Math.max(1, each.runs);
  const badge = h("span", { class: `badge ${kind}` }, t(kind));
  const name = h("span.study-name", isolate(each.name), " ", badge);
  const question = h("span.study-question", isolate(each.error ? "" : each.question || t("noQuestion")));
  return h(
    "li",
    { key: each.name },
    h("a.study-link", { href }, name, question),
    each.error ? h("p.error", each.error) : hint(sayCounts(each, t)),
    !each.error && !each.complete && h("span.bar", { "aria-hidden": "true", style: { "--share": share } })
  );
}

// -- one study ---------------------------------------------------------------------------------------------

async function readStudy() {
  const before = view.study && JSON.stringify(view.study);
  view.study = await getJson(askAbout("study"));
  // More runs have a sentence of the study now.
  if (JSON.stringify(view.study) !== before && (!before || !view.state.text.trim())) showSentence(view);
  draw();
  const nothing = { curves: {} }; // then there are means only
  ({ curves: view.curves } = await getJson(askAbout("curves")).catch(() => nothing));
}

/** Looks again at a study that is running; a page that nobody sees waits. */
async function refresh() {
  if (!document.hidden) await attempt(readStudy);
  if (view.study?.running) setTimeout(refresh, REFRESH);
}

function describeStudy(t) {
  const { study, curves } = view;
  const back = h("p.back", h("a", { href: "/studies" }, "← ", t("allStudies")));
  if (!study) return back;
  return [
    back,
    describeHeader(study, t),
    describeResults(study, t),
    describeDifferences(view, t),
    describeAttention(view, t),
    h("div", { key: "legend" }, describeLegend(view, t)),
    describeCurves(view, curves, t),
    describeLengths(view, t),
    describeFactors(view, t),
    describeBeams(view, t),
    describeRuns(study, t),
  ];
}

// -- start -------------------------------------------------------------------------------------------------

function draw() {
  const { t } = frame;
  const { error, study, studies, state } = view;
  const isThere = study ?? studies;
  const said = error ? t("failed", { reason: error.message }) : isThere ? "" : t("loading");
  render(find("status"), said);
  find("status").classList.toggle("error", Boolean(error));
  document.title = `${study?.title ?? t("listTitle")} · Augenmerk`;
  render(find("study"), state.study ? (isThere || error) && describeStudy(t) : describeList(t));
}

async function begin() {
  if (view.state.study) {
    await refresh();
  } else {
    await attempt(async () => ({ studies: view.studies } = await getJson("/workbench/studies/list")));
  }
  document.documentElement.dataset.ready = "";
}

onOtherWidth(draw);
begin();
