/** The same sentence through all variants of a study: one of the study, or one that the user types. */

import { find, rootFontSize } from "../page/dom.js";
import { button, hint, isolate, select } from "../page/parts.js";
import { h } from "../page/view.js";
import { linkToTranslate } from "./links.js";
import { describeTile, describeUnder } from "./maps.js";
import { swatch } from "./series.js";
import { getJson, newestOf, postJson } from "./server.js";
import { card, listShown } from "./studies-parts.js";

const PAUSE = 300; // milliseconds without a key before a sentence is translated
const MAX_TILES = 24; // maps that are shown at once
export const MAX_TEXT = 2000;

/** What is shown of a sentence: {source, reference, maps, progress, error, unfamiliar, tiles}. */
const attention = {
  ...{ source: "", reference: null, maps: [], progress: "", error: null, unfamiliar: false },
  tiles: MAX_TILES,
};
let typing = 0;

// -- asking ------------------------------------------------------------------------------------------------

/** Returns the runs that a sentence can be given to: one of each variant, or all; first seeds first. */
function chooseRuns({ study, state }) {
  const bySeed = study.variants.map(({ name: variant, runs }) =>
    runs.filter((run) => run.model).map(({ seed, run, state: how }) => ({ variant, seed, run, state: how }))
  );
  const most = state.seeds === "all" ? Math.max(0, ...bySeed.map((runs) => runs.length)) : 1;
  const rounds = Array.from({ length: most }, (_, place) => bySeed.map((runs) => runs[place]));
  return rounds.flat().filter(Boolean);
}

/** Shows the chosen sentence of the study, or has the typed one translated, by one run after another. */
const askForMaps = newestOf(async (view, signal) => {
  const { study, state, askAbout, draw } = view;
  const text = state.text.trim();
  Object.assign(attention, { progress: "", error: null, unfamiliar: false, tiles: MAX_TILES });
  if (!text) {
    if (!study.examples.length) return;
    const number = Math.min(Math.max(0, state.sentence), study.examples.length - 1);
    const found = await getJson(askAbout("example", { number }), signal);
    const { source_words } = found;
    Object.assign(attention, { ...found, maps: found.maps.map((map) => ({ ...map, source_words })) });
    return;
  }
  const runs = chooseRuns(view);
  const maps = runs.map((each) => ({ ...each, waiting: true }));
  Object.assign(attention, { source: text, reference: null, maps });
  for (const [place, { run }] of runs.entries()) {
    attention.progress = view.frame.t("progress", { done: place, total: runs.length });
    draw();
    const question = { study: state.study, run, text };
    const answer = await postJson("/workbench/studies/translate", question, signal);
    Object.assign(maps[place], answer, { waiting: false });
    attention.unfamiliar ||= Boolean(answer.unfamiliar);
  }
  attention.progress = "";
});

/** Asks for the maps of the sentence that is chosen, and draws. */
export async function showSentence(view) {
  try {
    await askForMaps(view);
  } catch (error) {
    attention.error = error;
  }
  view.draw();
}

// -- drawing -----------------------------------------------------------------------------------------------

export function describeAttention(view, t) {
  const { study, state } = view;
  const can = study.variants.some((variant) => variant.runs.some((run) => run.model));
  const isOwn = state.text.trim() !== "";
  const chips = study.examples.map(({ source }, number) => {
    const choose = () => {
      find("text").value = "";
      view.change({ text: "", sentence: number });
      showSentence(view);
    };
    return button(isolate(source), choose, { "aria-pressed": String(!isOwn && number === state.sentence) });
  });
  const oninput = ({ target }) => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      view.change({ text: target.value, sentence: 0 });
      showSentence(view);
    }, PAUSE);
  };
  const field = { id: "text", rows: 1, maxlength: MAX_TEXT, dir: "auto", value: state.text, oninput };
  const typed = { spellcheck: "false", autocomplete: "off", placeholder: t("placeholder") };
  const chooseSeeds = (seeds) => {
    view.change({ seeds });
    if (isOwn) showSentence(view);
  };
  const { error, progress, unfamiliar, reference } = attention;
  const about = unfamiliar
    ? t("unfamiliar")
    : reference
      ? t("reference", { text: reference })
      : !isOwn && !study.examples.length && t("noExamples");
  const group = {
    id: "examples",
    class: "examples",
    role: "group",
    "aria-label": t("sentence"),
    translate: "no",
  };
  const said = error ? t("failed", { reason: error.message }) : progress;
  return card(
    "attention",
    t("attention"),
    hint(t(can ? "attentionHint" : "noModels")),
    can &&
      h(
        "div.ask.sentence",
        h("label.unseen", { for: "text" }, t("sentence")),
        h("textarea", { ...field, ...typed })
      ),
    h("div", group, chips),
    h(
      "div.controls",
      select(t("seeds"), ["one", "all"], (which) => t(`seeds ${which}`), state.seeds, chooseSeeds),
      h("span", { id: "progress", class: error ? "hint error" : "hint", role: "status" }, said)
    ),
    about && hint(isolate(about), { id: "reference" }),
    describeTiles(view, t),
    describeUnder(t)
  );
}

/** Returns the maps that are shown, variant by variant. */
function orderMaps(view) {
  const shown = listShown(view);
  const seen = new Set();
  return attention.maps
    .map((map) => ({ ...map, variant: shown.find(({ name }) => name === map.variant) }))
    .filter((map) => map.variant)
    .sort((a, b) => a.variant.number - b.variant.number || a.seed - b.seed)
    .filter((map) => view.state.seeds === "all" || (!seen.has(map.variant) && seen.add(map.variant)));
}

function describeTiles(view, t) {
  const maps = orderMaps(view);
  const known = maps.filter((map) => !map.waiting);
  const columns = Math.max(6, ...known.map((map) => map.source_words.length));
  const rem = rootFontSize();
  const width = find("tiles")?.clientWidth || find("study").clientWidth - 2.6 * rem || 320;
  const gap = 1.4 * rem;
  const least = Math.min(34, Math.max(15, 6.5 + 1.2 * columns)) * rem;
  const fitting = Math.max(1, Math.floor((width + gap) / (least + gap)));
  const seeds = Math.max(
    0,
    ...Map.groupBy(maps, (map) => map.variant)
      .values()
      .map((each) => each.length)
  );
  const across = Math.min(seeds > 1 ? seeds : maps.length, fitting) || 1;
  const room = Math.min((width - gap * (across - 1)) / across, 36 * rem);
  const left = maps.length - attention.tiles;
  const showMore = () => {
    attention.tiles += MAX_TILES;
    view.draw();
  };
  return h(
    "div",
    { id: "tiles", class: "tiles", translate: "no", style: { "--across": across } },
    maps.slice(0, attention.tiles).map((map) => describeMap(map, room, t)),
    left > 0 && button(t("more", { count: Math.min(left, MAX_TILES) }), showMore, { class: "more" })
  );
}

/** Describes the map of a run, or that its translation is on its way. */
function describeMap(map, room, t) {
  const { variant, seed, state, waiting, truncated } = map;
  const which = [t("seed", { seed }), ...(state === "unfinished" ? [t("state unfinished")] : [])];
  const model = variant.runs.find((run) => run.seed === seed)?.model;
  const link = model && {
    class: "tile-link",
    href: linkToTranslate(model, attention.source, { beam: 1 }),
    "aria-label": `${t("openRun")}: ${variant.name}, ${t("seed", { seed })}`,
    title: t("openRun"),
  };
  const heading = [
    swatch(variant.number),
    isolate(variant.name),
    h("span.hint", ` · ${which.join(" · ")}`),
    link && h("a", link, "→"),
  ];
  if (!waiting) {
    const note = truncated && hint(t("truncated"));
    return describeTile({ ...map, heading }, t.language, room, note);
  }
  const title = h("h3.tile-heading", heading);
  return h("article.tile.waiting", title, hint(t("waiting")));
}
