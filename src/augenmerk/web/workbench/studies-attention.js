/** The same sentence through all variants of a study: one of the study, or one that the user types. */

import { find, isolate, make, replaceInside, rootFontSize } from "../page/dom.js";
import { makeScale } from "../page/heatmap.js";
import { makeTexts } from "../page/texts.js";
import { linkToTranslate } from "./links.js";
import { linkTiles, makeTile } from "./maps.js";
import { makeSwatch } from "./series.js";
import { getJson, postJson } from "./server.js";
import { makeCard, makeSelect } from "./studies-parts.js";

const PAUSE = 300; // milliseconds without a key before a sentence is translated
const MAX_TILES = 24; // maps that are shown at once
export const MAX_TEXT = 2000;

/** The card. `view` is the state of the page; it has `frame`, `state`, `study`, `change` and `askAbout`. */
export class AttentionCard {
  constructor(view) {
    this.view = view;
    this.sentence = null; // what is shown: {source, reference, maps}
    this.asking = new AbortController();
    this.shownTiles = MAX_TILES;
    this.typing = 0;
  }

  /** Returns the runs that a sentence can be given to: one of each variant, or all; first seeds first. */
  chooseRuns() {
    const bySeed = this.view.study.variants.map((variant) =>
      variant.runs
        .filter((run) => run.model)
        .map(({ seed, run, state: how }) => ({ variant: variant.name, seed, run, state: how }))
    );
    const most = this.view.state.seeds === "all" ? Math.max(0, ...bySeed.map((runs) => runs.length)) : 1;
    const chosen = [];
    for (let place = 0; place < most; place++) {
      for (const runs of bySeed) if (runs[place]) chosen.push(runs[place]);
    }
    return chosen;
  }

  canTranslate() {
    return this.view.study.variants.some((variant) => variant.runs.some((run) => run.model));
  }

  /** Offers what has come since: sentences, and runs that can be asked. */
  update() {
    find("examples").replaceChildren(
      ...this.view.study.examples.map((example, number) => this.makeChip(example, number))
    );
    find("ask").hidden = !this.canTranslate();
    find("ask-hint").textContent = this.view.frame.t(this.canTranslate() ? "attentionHint" : "noModels");
  }

  make() {
    const { t } = this.view.frame;
    const can = this.canTranslate();
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
          clearTimeout(this.typing);
          this.typing = setTimeout(() => {
            this.view.change({ text: text.value, sentence: text.value.trim() ? -1 : 0 });
            this.show();
          }, PAUSE);
        },
      },
      this.view.state.text
    );
    const seeds = makeSelect(
      t("seeds"),
      ["one", "all"],
      (which) => t(`${which}Seed${which === "all" ? "s" : ""}`),
      this.view.state.seeds,
      (value) => {
        this.view.change({ seeds: value });
        if (this.view.state.text.trim()) this.show();
        else this.drawTiles();
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
        ...this.view.study.examples.map((example, number) => this.makeChip(example, number))
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

  makeChip(example, number) {
    return make(
      "button",
      {
        type: "button",
        "data-number": number,
        onclick: () => {
          find("text").value = "";
          this.view.change({ text: "", sentence: number });
          this.show();
        },
      },
      isolate(example.source)
    );
  }

  async show() {
    const { t } = this.view.frame;
    this.asking.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    this.shownTiles = MAX_TILES;
    const own = this.view.state.text.trim();
    for (const chip of find("examples").children) {
      chip.setAttribute(
        "aria-pressed",
        String(!own && Number(chip.dataset.number) === this.view.state.sentence)
      );
    }
    find("progress").textContent = "";
    find("progress").classList.remove("error");
    try {
      if (own) await this.translateOwn(own, signal);
      else if (!this.view.study.examples.length) find("reference").textContent = t("noExamples");
      else {
        const number = Math.min(Math.max(0, this.view.state.sentence), this.view.study.examples.length - 1);
        const found = await getJson(this.view.askAbout("example", { number }), signal);
        this.sentence = {
          ...found,
          maps: found.maps.map((map) => ({ ...map, source_words: found.source_words })),
        };
        this.drawTiles();
      }
    } catch (error) {
      if (signal.aborted) return;
      find("progress").textContent = t("failed", { reason: error.message });
      find("progress").classList.add("error");
    }
  }

  /** Gives a sentence to one run after another; each answer is shown as soon as it is there. */
  async translateOwn(text, signal) {
    const { t } = this.view.frame;
    const runs = this.chooseRuns();
    this.sentence = { source: text, reference: null, maps: runs.map((each) => ({ ...each, waiting: true })) };
    this.drawTiles();
    for (const [place, { run }] of runs.entries()) {
      find("progress").textContent = t("progress", { done: place, total: runs.length });
      const answer = await postJson(
        "/workbench/studies/translate",
        { study: this.view.state.study, run, text },
        signal
      );
      this.sentence.maps[place] = { ...this.sentence.maps[place], ...answer, waiting: false };
      this.drawTiles();
      if (place === 0 && answer.unfamiliar) find("reference").textContent = t("unfamiliar");
    }
    find("progress").textContent = "";
  }

  /** Returns the maps in the order in which they are shown: variant by variant. */
  orderMaps() {
    const order = this.view.study.variants.map((variant) => variant.name);
    const seen = new Set();
    return this.sentence.maps
      .map((map) => ({ ...map, place: order.indexOf(map.variant) }))
      .sort((a, b) => a.place - b.place || a.seed - b.seed)
      .filter((map) => this.view.state.seeds === "all" || (!seen.has(map.variant) && seen.add(map.variant)));
  }

  /** Returns a link to the same sentence and run in the Translate view, if the run is here. */
  makeTileLink({ variant, seed }) {
    const { runs } = this.view.study.variants.find(({ name }) => name === variant);
    const model = runs.find((run) => run.seed === seed)?.model;
    if (!model) return [];
    const label = `${this.view.frame.t("openRun")}: ${variant}, ${this.view.frame.t("seed", { seed })}`;
    return [
      make(
        "a",
        {
          class: "tile-link",
          href: linkToTranslate(model, this.sentence.source, { beam: 1 }),
          "aria-label": label,
          title: this.view.frame.t("openRun"),
        },
        "→"
      ),
    ];
  }

  drawTiles() {
    const { t } = this.view.frame;
    const place = find("tiles");
    if (!this.sentence || !place) return;
    const maps = this.orderMaps();
    const known = maps.filter((map) => !map.waiting);
    const columns = Math.max(6, ...known.map((map) => map.source_words.length));
    const rem = rootFontSize();
    const width = place.clientWidth || 320;
    const gap = 1.4 * rem;
    const least = Math.min(34, Math.max(15, 6.5 + 1.2 * columns)) * rem;
    const fitting = Math.max(1, Math.floor((width + gap) / (least + gap)));
    const seeds = Math.max(
      ...this.view.study.variants.map((variant) => maps.filter((map) => map.variant === variant.name).length)
    );
    const across = Math.min(this.view.state.seeds === "all" && seeds > 1 ? seeds : maps.length, fitting) || 1;
    const room = Math.min((width - gap * (across - 1)) / across, 36 * rem);
    place.style.setProperty("--across", across);
    const tiles = [];
    const point = linkTiles(tiles, find("pointed"));
    for (const map of maps.slice(0, this.shownTiles)) {
      const which = [
        t("seed", { seed: map.seed }),
        ...(map.state === "unfinished" ? [t("state unfinished")] : []),
      ];
      const heading = [
        makeSwatch(map.place),
        isolate(map.variant),
        make("span", { class: "hint" }, ` · ${which.join(" · ")}`),
        ...this.makeTileLink(map),
      ];
      if (map.waiting) {
        tiles.push({
          light: () => {},
          element: make(
            "article",
            { class: "tile waiting" },
            make("h3", { class: "tile-heading" }, ...heading),
            make("p", { class: "hint" }, t("waiting"))
          ),
        });
      } else {
        tiles.push(makeTile({ ...map, heading }, t.language, room, point));
        if (map.truncated) tiles.at(-1).element.append(make("p", { class: "hint" }, t("truncated")));
      }
    }
    const left = maps.length - this.shownTiles;
    const more =
      left > 0
        ? [
            make(
              "button",
              {
                type: "button",
                class: "more",
                onclick: () => {
                  this.shownTiles += MAX_TILES;
                  this.drawTiles();
                },
              },
              t("more", { count: Math.min(left, MAX_TILES) })
            ),
          ]
        : [];
    find("reference").replaceChildren(
      this.sentence.reference ? isolate(t("reference", { text: this.sentence.reference })) : ""
    );
    replaceInside(place, ...tiles.map((tile) => tile.element), ...more);
  }
}
