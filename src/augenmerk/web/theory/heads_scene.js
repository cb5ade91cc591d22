/**
 * Queries in the plane of mu_a and mu_b, and what they make of keys that are drawn again and again: the
 * pictures of 1.2 to 1.5. All other keys are at the origin of this plane, whatever the dimension.
 */

import { decimal, whole } from "../page/address.js";
import { button, headings, hint, scroll, table, tableRow } from "../page/parts.js";
import { h } from "../page/view.js";
import { attend, planeValues } from "./attention.js";
import { Cloud, colourOf, paintValues, remember, SAMPLES } from "./clouds.js";
import { slider, weightBars } from "./controls.js";
import { convexHull, strengthNeeded, tiedWeight } from "./copying.js";
import { drawKeys, headBreaks, planeMeans, Random } from "./noise.js";
import { showNotation } from "./notation.js";
import { Plane, point } from "./plane.js";

const ALPHA = 1e-6; // the tiny variance of 1.5
const BREAKS_EPS = 0.05; // a head is broken if it leaves more than this elsewhere
const ASIDE = [0.25, 1.3]; // a query that is no answer
/** There is one sample at first: what many look like is asked for. */
const TWO = { q: ASIDE, q1: [1.1, 0.7], q2: [0.55, 1], s: 20, samples: 1 };
const STARTS = {
  1.2: { q: ASIDE, s: 4 },
  1.3: { q: ASIDE, s: 10, beta: 0.1, samples: 1 },
  1.4: { ...TWO, beta: 0.1 },
  1.5: { ...TWO, beta: 0.5 },
};
const ANSWERS = { q: [1, 1], q1: [1, 0], q2: [0, 1] };
const MAGNETS = [...Object.values(ANSWERS), [0, 0]];

export class HeadsScene {
  /** Returns what the address may say about this picture. */
  static specify(task) {
    const { q, q1, q2, s, beta } = STARTS[task.split("-")[0]];
    return {
      q: point(q),
      s: decimal(0.1, 40, s),
      m: whole(3, 32, 8),
      seed: whole(1, 1e9, 1),
      ...(beta && { beta: decimal(0.001, 1, beta) }),
      ...(q1 && { q1: point(q1), q2: point(q2) }),
    };
  }

  constructor(view) {
    this.view = view;
    this.task = view.base;
    this.isNoisy = this.task !== "1.2";
    this.shown = 0; // how many samples are seen, of which a part is on its way
    this.wanted = (view.state.reveal !== "yes" && STARTS[this.task].samples) || SAMPLES;
    this.queries = Object.keys(ANSWERS).filter((name) => name in view.state);
    this.keyPlane = new Plane(view, [-1, 2.2, -1, 2.2], this.queries.length === 1 ? "q" : "");
    this.valuePlane = new Plane(view, [-1.62, 1.62, -0.4, 1.82]);
    const isRevealed = () => view.state.reveal === "yes";
    const second = {
      1.3: () => new Cloud(view, ["q"], 4, () => (isRevealed() ? "lengths" : "keys")),
      1.4: () => new Cloud(view, ["q1", "q2"], 1, () => "means"),
    };
    this.clouds = this.isNoisy
      ? [new Cloud(view, ["q"], 0, () => "means"), (second[this.task] ?? second[1.4])()]
      : [];
    this.planes = [
      this.keyPlane,
      ...(this.isNoisy ? this.clouds.map(({ plane }) => plane) : [this.valuePlane]),
    ];
    this.makeValues = remember(planeValues);
    // The same normal numbers with other settings, so that a cloud changes its shape smoothly.
    this.makeSamples = remember((m, beta, seed) =>
      drawKeys(this.listBetas(m, beta), this.task === "1.5" ? ALPHA : 0, SAMPLES, new Random(seed))
    );
    this.keyCloud = remember((samples, count, _width, ink) => this.paintKeyCloud(samples, count, ink));
  }

  /** Returns the variances of the lengths of keys. */
  listBetas(m, beta) {
    return Array.from({ length: m }, (_, i) => (this.task === "1.5" && i > 0 ? 0 : beta));
  }

  reveal() {
    const { state } = this.view;
    this.wanted = SAMPLES;
    const answer = Object.fromEntries(this.queries.map((name) => [name, ANSWERS[name]]));
    this.view.glide(this.isNoisy ? answer : { ...answer, s: strengthNeeded(state.m, 2, 0.01) });
  }

  /** Stops what would continue after the picture is gone. */
  leave() {
    for (const cloud of this.clouds) clearTimeout(cloud.timer);
  }

  get count() {
    return Math.max(1, Math.floor(this.shown));
  }

  /** Has more samples, the faster the more there are already. */
  grow(now) {
    const { view } = this;
    const seconds = Math.min(0.1, (now - (this.before ?? now)) / 1000);
    this.shown = Math.min(
      this.wanted,
      this.shown + (view.still ? SAMPLES : (30 + 0.9 * this.shown) * seconds)
    );
    this.isGrowing = this.shown < this.wanted;
    this.before = this.isGrowing ? now : undefined;
    if (this.isGrowing) view.draw();
  }

  draw(now) {
    const { view, isNoisy, keyPlane } = this;
    const { t, state } = view;
    this.values = this.makeValues(state.m);
    if (isNoisy) {
      this.grow(now);
      this.samples = this.makeSamples(state.m, state.beta, state.seed);
      const betas = this.listBetas(2, state.beta);
      for (const cloud of this.clouds) cloud.compute(this.samples, this.values, this.count, betas);
    } else {
      this.drawn = attend(state.q, planeMeans(state.m), this.values, state.s);
    }
    const names = isNoisy ? { a: "mu_a", b: "mu_b" } : { a: "k_a", b: "k_b" };
    const queries = this.queries.length > 1 ? t("theQueries") : "q";
    const titles = this.nameClouds();
    const title = t("headsPlaneShort", { ...names, queries });
    const settings = [
      this.describeSettings(),
      hint(t("fieldHint")),
      isNoisy && hint(showNotation(t("cloudHint"))),
    ];
    const keys = keyPlane.describe(title, t("headsPlane"), () => this.paintKeys());
    const beside = h("div.beside", view.describeSaid(), !isNoisy && this.describeWeights());
    return h(
      "div.scene.heads",
      { class: isNoisy && "against" },
      h("div.column", keys, h("div.settings", settings)),
      h("div.column", h("div.clouds", this.describeOutputs(titles)), beside),
      isNoisy && scroll(this.describeNumbers(titles), { class: "scroll wide" })
    );
  }

  nameClouds() {
    const { t, state } = this.view;
    const second = state.reveal === "yes" ? "fromLengths" : "fromKeys";
    return (this.task === "1.3" ? ["fromMeans", second] : ["oneHead", "twoHeads"]).map((key) => t(key));
  }

  describeOutputs(titles) {
    const { t } = this.view;
    if (!this.isNoisy)
      return this.valuePlane.describe(t("valuePlaneShort"), t("valuePlane"), () => this.paintOutput());
    return this.clouds.map((cloud, i) =>
      cloud.plane.describe(titles[i], t("valuePlane"), () => cloud.paint(this.isGrowing))
    );
  }

  describeSettings() {
    const { view } = this;
    const { t, state } = view;
    const strength = { least: 0.1, most: 40, show: (s) => view.number(s, 1) };
    const keys = { least: 3, most: 32, step: 1, show: String };
    const noise = { least: 0.001, most: 1, log: true, show: (beta) => view.number(beta, beta < 0.1 ? 3 : 2) };
    const show = (shown, wanted) => {
      Object.assign(this, { shown, wanted });
      view.draw();
    };
    const resample = () => {
      view.change({ seed: (state.seed % 1e9) + 1 });
      show(1, 1);
    };
    const { count } = this;
    const counted =
      count === 1 ? t("oneSample") : t("samplesDrawn", { count: count.toLocaleString(t.language) });
    const more = Math.min(SAMPLES, Math.floor(this.shown) + 1);
    return [
      slider(view, "s", t("strength"), strength),
      this.isNoisy && slider(view, "beta", t(this.task === "1.5" ? "betaOfFirst" : "beta"), noise),
      slider(view, "m", t("howManyKeys"), keys),
      this.isNoisy &&
        h(
          "div.buttons",
          button(t("oneMore"), () => show(more, more), { "data-control": "one-more" }),
          button(t("manyMore"), () => show(this.shown, SAMPLES), { "data-control": "many" }),
          button(t("resample"), resample, { "data-control": "resample" }),
          h("output.hint.count", counted)
        ),
    ];
  }

  describeWeights() {
    const { view } = this;
    const { t } = view;
    return weightBars(view, ["k_a", "k_b", t("eachOther")], this.drawn.weights, colourOf);
  }

  describeNumbers(titles) {
    const { view, clouds } = this;
    const { t } = view;
    const pair = (both) => both.map((each) => view.number(each, 3)).join("; ");
    const deviations = ({ covariance: [xx, , yy] }) => [xx, yy].map((each) => Math.sqrt(Math.max(0, each)));
    const all = clouds.flatMap(({ measured, predicted }) => [measured, predicted]);
    const describe = (name, show) =>
      tableRow(
        showNotation(t(name)),
        all.map((found) => (found ? show(found) : "…"))
      );
    const head = [
      titles.map((title) => h("th", { scope: "colgroup", colspan: 2 }, showNotation(title))),
      headings(clouds.flatMap(() => [t("sampled"), t("closedForm")])),
    ];
    const heads = head.map((cells) => h("tr", h("td"), cells));
    return table("numbers", t("numbersCaption"), heads, [
      describe("meanOutput", ({ mean }) => pair(mean)),
      describe("deviation", (found) => pair(deviations(found))),
      describe("meanDistance", ({ distance }) => (distance === undefined ? "" : view.number(distance, 3))),
    ]);
  }

  paintKeys() {
    const { view, keyPlane, isNoisy } = this;
    const { state, t } = view;
    const counts = [1, 1, state.m - 2];
    const means = planeMeans(3);
    const field = means.map((key, i) => ({ key, colour: view.rgb([2, 3, 6][i]), count: counts[i] }));
    keyPlane.drawField(field, state.s, view.fieldOpacity);
    keyPlane.axes();
    let places = means;
    if (isNoisy) {
      const { keys } = this.samples;
      this.keyCloud(this.samples, this.count, keyPlane.width, view.ink);
      const at = (this.count - 1) * state.m * 2;
      places = [keys.subarray(at, at + 2), keys.subarray(at + 2, at + 4), means[2]];
      for (const mean of means.slice(0, 2)) keyPlane.dot(mean, 9, { class: "mean" });
    }
    for (const i of [2, 0, 1]) {
      keyPlane.dot(places[i], i < 2 ? 7 : 6, { class: "key-dot", style: { "--own": colourOf(i) } });
    }
    keyPlane.text(means[0], [0, 24], isNoisy ? "mu_a" : "k_a");
    keyPlane.text(means[1], [-22, 4], isNoisy ? "mu_b" : "k_b");
    keyPlane.text(means[2], [-10, 22], t("others", { count: state.m - 2 }), { class: "small" });
    return this.queries.map((name) => {
      const colour = `var(--s${name === "q" ? 0 : 1})`;
      const shown = name.replace(/(\d)/, "_$1");
      keyPlane.arrow(state[name], colour);
      return {
        ...{ name: shown, kind: "query", colour, at: state[name], magnets: MAGNETS },
        label: t("headLabel", { name: shown.replace("_", " ") }),
        said: this.sayQuery(name),
        move: (at) => view.set({ [name]: at }),
      };
    });
  }

  /** Draws the keys k_a and k_b of the first samples. */
  paintKeyCloud({ keys, m }, count, ink) {
    const pairs = new Float64Array(count * 4);
    for (let n = 0; n < count; n++) pairs.set(keys.subarray(n * m * 2, n * m * 2 + 4), n * 4);
    const opacity = Math.max(0.03, 0.25 / Math.sqrt(1 + count / 50));
    this.keyPlane.drawCloud(this.keyPlane.clearCanvas(), pairs, count * 2, ink, opacity, 2);
  }

  /** 1.2: one output. */
  paintOutput() {
    const { valuePlane, values } = this;
    const { weights, output } = this.drawn;
    weights.forEach((weight, i) => valuePlane.spring(output, values[i], weight, colourOf(i)));
    valuePlane.polygon(convexHull(values), { class: "hull" });
    paintValues(valuePlane, values);
    valuePlane.output(output, "a");
    return [];
  }

  sayQuery(name) {
    const { view } = this;
    const [x, y] = view.state[name].map((each) => view.number(each));
    return view.t("combination", { x, y });
  }

  say() {
    const { view } = this;
    const { t, state } = view;
    const isRevealed = state.reveal === "yes";
    const number = (value) => view.number(value, 3);
    if (!this.isNoisy) {
      const { weights, output } = this.drawn;
      const [a, b] = weights.map(number);
      const said = t("weightsOfTwo", { a, b, distance: number(Math.hypot(...output)) });
      const tied = number(tiedWeight(state.m, 2, state.s));
      return isRevealed ? `${said} ${t("tied", { s: view.number(state.s), m: state.m, tied })}` : said;
    }
    const name = (query) => query.replace(/(\d)/, "_$1");
    const own = this.task === "1.3" ? ["q"] : ["q1", "q2"];
    const queries = `${own.map((query) => `${name(query)} = ${this.sayQuery(query)}`).join(", ")}.`;
    if (!isRevealed) return queries;
    if (this.task === "1.3") return `${queries} ${t("leans")} ${t("lengthsHelp")}`;
    const percent = (share) => `${view.number(100 * share, share < 0.1 ? 2 : 1)} %`;
    const broken = percent(headBreaks(state.m, state.s, state.beta, BREAKS_EPS));
    const never = percent(headBreaks(2, Infinity, state.beta, 0.5));
    return `${queries} ${t("broken", { broken, never })}`;
  }
}
