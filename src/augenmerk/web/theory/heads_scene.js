/**
 * Queries in the plane of mu_a and mu_b, and what they make of keys that are drawn again and again: the
 * pictures of 1.2 to 1.5. All other keys are at the origin of this plane, whatever the dimension.
 */

import { make } from "../page/dom.js";
import { attend } from "./attention.js";
import { headBreaks, outputMoments } from "./closed_form.js";
import { makeButton, makeSlider, makeTable, makeWeightBars } from "./controls.js";
import { convexHull, strengthNeeded, tiedWeight } from "./copying.js";
import { drawOutput } from "./keys_scene.js";
import { attendToSamples, covarianceEllipse, KeyNoise, outputStatistics, planeMeans } from "./noise.js";
import { showNotation } from "./notation.js";
import { Plane } from "./plane.js";
import { Random } from "./random.js";
import { planeValues } from "./results.js";

const SAMPLES = 2000;
const ALPHA = 1e-6; // the tiny variance of 1.5
const BREAKS_EPS = 0.05; // a head is broken if it leaves more than this elsewhere
const QUICK = 60_000; // a sum over so many nodes is no matter for one frame
const BINS = 41;
const STARTS = {
  1.2: { q: [0.25, 1.3], s: 4, beta: 0 },
  1.3: { q: [1, 1], s: 10, beta: 0.1 },
  1.4: { q: [1, 1], q1: [1.1, 0.7], q2: [0.55, 1], s: 20, beta: 0.1 },
  1.5: { q: [1, 1], q1: [1.1, 0.7], q2: [0.55, 1], s: 20, beta: 0.5 },
};
const ANSWERS = { q: [1, 1], q1: [1, 0], q2: [0, 1] };
const SWEETSPOTS = [
  [1, 1],
  [1, 0],
  [0, 1],
  [0, 0],
];

/** Returns what the address may say about this picture. */
export function specifyHeads(task) {
  const start = STARTS[task];
  const specification = {
    q: { kind: "point", otherwise: start.q },
    s: { kind: "number", least: 0.1, most: 40, otherwise: start.s },
    m: { kind: "number", least: 3, most: 32, otherwise: 8 },
    seed: { kind: "number", least: 1, most: 1e9, otherwise: 1 },
  };
  if (task !== "1.2") specification.beta = { kind: "number", least: 0.001, most: 1, otherwise: start.beta };
  if (start.q1) {
    specification.q1 = { kind: "point", otherwise: start.q1 };
    specification.q2 = { kind: "point", otherwise: start.q2 };
  }
  return specification;
}

export class HeadsScene {
  constructor(view) {
    this.view = view;
    this.task = view.state.task;
    this.shown = 0;
    this.wanted = SAMPLES;
    this.moments = new Map();
    const { t, state } = view;
    for (const name of ["m", "seed"]) state[name] = Math.round(state[name]);
    this.isNoisy = this.task !== "1.2";
    this.keyPlane = new Plane({ left: -1, right: 2.2, bottom: -1, top: 2.2, label: t("headsPlane") });
    this.ways = this.listWays();
    for (const way of this.ways) {
      way.plane = new Plane({
        left: -1.62,
        right: 1.62,
        bottom: this.isNoisy ? -0.72 : -0.4,
        top: 1.82,
        label: t("valuePlane"),
      });
    }
    this.addHandles();
    const figure = (plane, caption) =>
      make("figure", {}, make("figcaption", {}, ...showNotation(caption)), plane.element);
    this.captions = this.ways.map((way) => figure(way.plane, way.caption()));
    this.said = make("p", { class: "said-now", role: "status" });
    this.numbers = this.makeNumbers();
    const hint = make("p", { class: "hint" }, ...showNotation(t("fieldHint")));
    const names = this.isNoisy ? { a: "mu_a", b: "mu_b" } : { a: "k_a", b: "k_b" };
    const queries = this.keyPlane.handles.length > 1 ? t("theQueries") : "q";
    const legend = this.isNoisy ? [make("p", { class: "hint" }, ...showNotation(t("cloudHint")))] : [];
    this.element = make(
      "div",
      { class: `scene heads ${this.ways.length > 1 ? "against" : ""}` },
      make(
        "div",
        { class: "column" },
        figure(this.keyPlane, t("headsPlaneShort", { ...names, queries })),
        make("div", { class: "settings" }, ...this.makeSettings(), hint, ...legend)
      ),
      make(
        "div",
        { class: "column" },
        make("div", { class: "clouds" }, ...this.captions),
        make("div", { class: "beside" }, this.said, ...(this.isNoisy ? [] : [this.numbers.element]))
      ),
      ...(this.isNoisy ? [make("div", { class: "scroll wide", tabindex: 0 }, this.numbers.element)] : [])
    );
    this.planes = [this.keyPlane, ...this.ways.map((way) => way.plane)];
    this.resample();
  }

  /**
   * Returns the ways to attend that are compared: names of their queries, and of what these are made.
   * @returns {any[]}
   */
  listWays() {
    const { t } = this.view;
    const isRevealed = () => this.view.state.reveal === "yes";
    const one = { name: "one", heads: ["q"], colour: 0, origin: () => "means" };
    if (this.task === "1.2") return [{ ...one, caption: () => t("valuePlaneShort") }];
    if (this.task === "1.3") {
      const other = {
        name: "other",
        heads: ["q"],
        colour: 4,
        origin: () => (isRevealed() ? "lengths" : "keys"),
        caption: () => t(isRevealed() ? "fromLengths" : "fromKeys"),
      };
      return [{ ...one, caption: () => t("fromMeans") }, other];
    }
    const two = {
      name: "two",
      heads: ["q1", "q2"],
      colour: 1,
      origin: () => "means",
      caption: () => t("twoHeads"),
    };
    return [{ ...one, caption: () => t("oneHead") }, two];
  }

  addHandles() {
    const { view } = this;
    const { t } = view;
    const names = [...new Set(this.ways.flatMap((way) => way.heads))];
    for (const name of names) {
      const colour = name === "q" ? 0 : 1;
      const handle = this.keyPlane.addHandle({
        name: name === "q" ? "q" : `q_${name[1]}`,
        kind: "query",
        label: t("headLabel", { name: name === "q" ? "q" : `q ${name[1]}` }),
        colour: `var(--s${colour})`,
        get: () => view.state[name],
        move: (point) => view.set({ [name]: point }),
        done: () => view.settled(),
        say: ([x, y]) => t("combination", { x: view.number(x), y: view.number(y) }),
        magnets: () => SWEETSPOTS,
      });
      if (names.length === 1) this.keyPlane.fetchByClick(handle);
    }
  }

  makeSettings() {
    const { view } = this;
    const { t, state } = view;
    const slider = (name, label, options) =>
      makeSlider({
        name,
        label,
        value: state[name],
        oninput: (value) => {
          view.set({ [name]: value });
          if (name !== "s") this.resample(true);
        },
        onchange: () => view.settled(),
        ...options,
      });
    this.sliders = {
      s: slider("s", t("strength"), { least: 0.1, most: 40, show: (s) => view.number(s, 1) }),
      m: slider("m", t("howManyKeys"), { least: 3, most: 32, step: 1, show: (m) => String(m) }),
    };
    if (!this.isNoisy) return [this.sliders.s.element, this.sliders.m.element];
    const show = (beta) => view.number(beta, beta < 0.1 ? 3 : 2);
    this.sliders.beta = slider("beta", t(this.task === "1.5" ? "betaOfFirst" : "beta"), {
      least: 0.001,
      most: 1,
      log: true,
      show,
    });
    const grow = (wanted) => () => {
      this.wanted = Math.min(SAMPLES, wanted());
      view.draw();
    };
    const buttons = [
      makeButton(
        t("oneMore"),
        grow(() => (this.shown = Math.min(SAMPLES, Math.floor(this.shown) + 1))),
        { "data-control": "one-more" }
      ),
      makeButton(
        t("manyMore"),
        grow(() => SAMPLES),
        { "data-control": "many" }
      ),
      makeButton(
        t("resample"),
        () => {
          view.set({ seed: (state.seed % 1e9) + 1 });
          state.seed = view.state.seed;
          this.shown = 0;
          this.wanted = 1;
          this.resample();
          this.shown = 1;
          view.settled();
        },
        { "data-control": "resample" }
      ),
    ];
    this.count = make("output", { class: "hint count" });
    return [
      ...["s", "beta", "m"].map((name) => this.sliders[name].element),
      make("div", { class: "buttons" }, ...buttons, this.count),
    ];
  }

  makeNumbers() {
    const { t } = this.view;
    if (!this.isNoisy) return makeWeightBars(["k_a", "k_b", t("eachOther")], t("weights"));
    const groups = this.ways.map((way) => [way.caption(), [t("sampled"), t("closedForm")]]);
    return makeTable(groups, t("numbersCaption"));
  }

  /** Draws keys; the same normal numbers with other settings, so that a cloud changes its shape smoothly. */
  resample(keep = false) {
    const { m, seed, beta } = this.view.state;
    this.values = planeValues(m);
    if (!this.isNoisy) return;
    const noise = this.task === "1.5" ? KeyNoise.ofFirst(m, beta, ALPHA) : KeyNoise.ofNorms(m, beta);
    this.samples = noise.sample(planeMeans(m), SAMPLES, new Random(seed));
    if (!keep && this.view.still) this.shown = SAMPLES;
  }

  reveal() {
    const { m } = this.view.state;
    const queries = Object.entries(ANSWERS).filter(([name]) => name in this.view.state);
    const strength = this.task === "1.2" ? { s: strengthNeeded(m, 2, 0.01) } : {};
    const answer = { ...Object.fromEntries(queries), ...strength };
    this.view.glide(answer);
  }

  draw(now) {
    const { view } = this;
    const { state } = view;
    for (const [name, slider] of Object.entries(this.sliders)) slider.set(state[name]);
    this.drawKeys();
    if (!this.isNoisy) {
      this.drawOutputs();
      return false;
    }
    const seconds = Math.min(0.1, (now - (this.before ?? now)) / 1000);
    this.before = now;
    const more = view.still ? SAMPLES : (30 + 0.9 * this.shown) * seconds;
    this.shown = Math.min(this.wanted, this.shown + more);
    const count = Math.max(1, Math.floor(this.shown));
    for (const [i, way] of this.ways.entries()) {
      this.writeCaption(i, way.caption());
      this.drawCloud(way, count);
    }
    this.drawNumbers(count);
    const isGrowing = this.shown < this.wanted;
    if (!isGrowing) this.before = undefined;
    return isGrowing;
  }

  /** Writes above a cloud, and above its numbers, what it shows. */
  writeCaption(i, text) {
    const caption = this.captions[i].firstChild;
    if (caption.written === text) return;
    caption.written = text;
    caption.replaceChildren(...showNotation(text));
    this.numbers.name(i, text);
  }

  drawKeys() {
    const { view, keyPlane: plane } = this;
    const { state } = view;
    const keys = [
      { key: [1, 0], colour: view.rgb(2), count: 1 },
      { key: [0, 1], colour: view.rgb(3), count: 1 },
      { key: [0, 0], colour: view.rgb(6), count: state.m - 2 },
    ];
    plane.drawField(keys, state.s, view.fieldOpacity);
    plane.begin();
    plane.line("axis-x", [plane.left, 0], [plane.right, 0], { class: "axis" });
    plane.line("axis-y", [0, plane.bottom], [0, plane.top], { class: "axis" });
    let [a, b] = [
      [1, 0],
      [0, 1],
    ];
    if (this.isNoisy) {
      const { keys: drawn, m } = this.samples;
      const count = Math.max(1, Math.floor(this.shown));
      this.drawKeyCloud(plane, count);
      const at = (count - 1) * m * 2;
      [a, b] = [
        [drawn[at], drawn[at + 1]],
        [drawn[at + 2], drawn[at + 3]],
      ];
      plane.dot("mean-a", [1, 0], 9, { class: "mean" });
      plane.dot("mean-b", [0, 1], 9, { class: "mean" });
    }
    plane.dot("others", [0, 0], 6, { class: "key-dot" }).style.setProperty("--own", "var(--s6)");
    plane.dot("key-a", a, 7, { class: "key-dot" }).style.setProperty("--own", "var(--s2)");
    plane.dot("key-b", b, 7, { class: "key-dot" }).style.setProperty("--own", "var(--s3)");
    plane.text("name-a", [1, 0], [0, 24], this.isNoisy ? "mu_a" : "k_a");
    plane.text("name-b", [0, 1], [-22, 4], this.isNoisy ? "mu_b" : "k_b");
    plane.text("name-others", [0, 0], [-10, 22], view.t("others", { count: state.m - 2 }), {
      class: "small",
    });
    for (const way of this.ways) {
      for (const name of way.heads) {
        plane
          .arrow(`arrow-${name}`, [0, 0], state[name], { class: "query-arrow" })
          .style.setProperty("--own", `var(--s${name === "q" ? 0 : 1})`);
      }
    }
    plane.end();
    plane.placeHandles([0, 0]);
  }

  /** Draws the keys k_a and k_b of all samples, unless they are there already. */
  drawKeyCloud(plane, count) {
    const { view } = this;
    const { keys, m } = this.samples;
    const drawn = [keys, count, plane.width, view.ink];
    if (this.keyCloud?.every((each, i) => each === drawn[i])) return;
    this.keyCloud = drawn;
    const pairs = new Float64Array(count * 4);
    for (let n = 0; n < count; n++) pairs.set(keys.subarray(n * m * 2, n * m * 2 + 4), n * 4);
    const opacity = Math.max(0.03, 0.25 / Math.sqrt(1 + count / 50));
    plane.drawCloud(plane.clearCanvas(), pairs, count * 2, view.ink, opacity, 2);
  }

  /** Draws values, and where the average is that is wanted. */
  drawValuePlane(plane) {
    plane.line("between", this.values[0], this.values[1], { class: "axis" });
    this.values.forEach((value, i) => {
      const [x, y] = plane.toPixels(value);
      const r = i < 2 ? 6.5 : 3.5;
      const node = plane.shape(`value-${i}`, "rect", {
        x: x - r,
        y: y - r,
        width: 2 * r,
        height: 2 * r,
        class: "value-mark",
      });
      node.style.setProperty("--own", `var(--s${i < 2 ? 2 + i : 6})`);
    });
    for (const i of [0, 1]) plane.text(`name-${i}`, this.values[i], [i ? 19 : -19, 4], i ? "v_b" : "v_a");
    const [x, y] = plane.toPixels([0, 0]);
    plane.shape("wanted", "path", {
      d: `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x - 6} ${y + 6}L${x + 6} ${y - 6}`,
      class: "wanted",
    });
  }

  /** 1.2: one output, and the weights. */
  drawOutputs() {
    const { view, values } = this;
    const { q, s, m } = view.state;
    const [{ plane }] = this.ways;
    const { weights, output } = attend(q, planeMeans(m), values, s);
    plane.clearCanvas();
    plane.begin();
    weights.forEach((weight, i) => {
      const look = {
        class: "spring",
        "stroke-width": 0.6 + 5.4 * weight,
        "stroke-opacity": 0.12 + 0.88 * weight,
      };
      plane
        .line(`spring-${i}`, output, values[i], look)
        .style.setProperty("--own", `var(--s${i < 2 ? 2 + i : 6})`);
    });
    plane.polygon(
      "hull",
      convexHull(values).map((i) => values[i]),
      { class: "hull" }
    );
    this.drawValuePlane(plane);
    drawOutput(plane, "output", output, "a");
    plane.end();
    const colours = ["var(--s2)", "var(--s3)", "var(--s6)"];
    this.numbers.set(weights.slice(0, 3), (weight) => view.number(weight, 3), colours);
    this.drawn = { weights, output };
  }

  drawCloud(way, count) {
    const { view, values } = this;
    const { state } = view;
    const heads = way.heads.map((name) => state[name]);
    const origin = way.origin();
    const outputs = attendToSamples(this.samples, heads, values, state.s, origin);
    const { plane } = way;
    const context = plane.clearCanvas();
    const colour = view.series[way.colour];
    this.drawBars(context, plane, outputs, count, colour);
    plane.drawCloud(context, outputs, count, colour, Math.min(0.75, 0.16 + 6 / count), 1.8);
    way.measured = outputStatistics(outputs, count);
    way.predicted = this.predict(way, heads, origin);
    way.distance = meanDistance(outputs, count);
    plane.begin();
    this.drawValuePlane(plane);
    this.drawEllipse(plane, "measured", way.measured, { class: "ellipse" }).style.setProperty(
      "--own",
      `var(--s${way.colour})`
    );
    if (way.predicted) this.drawEllipse(plane, "predicted", way.predicted, { class: "ellipse predicted" });
    const [x, y] = plane.toPixels(way.measured.mean);
    plane
      .shape("mean", "path", { d: `M${x} ${y - 8}V${y + 8}M${x - 8} ${y}H${x + 8}`, class: "mean-cross" })
      .style.setProperty("--own", `var(--s${way.colour})`);
    if (this.shown < this.wanted || count === 1)
      plane.dot("newest", [outputs[2 * count - 2], outputs[2 * count - 1]], 6, { class: "newest" });
    plane.end();
  }

  drawEllipse(plane, key, { mean, covariance }, look) {
    const { long, short, angle } = covarianceEllipse(covariance);
    const [x, y] = plane.toPixels(mean);
    const turn = `translate(${x} ${y}) rotate(${(-angle * 180) / Math.PI})`;
    return plane.shape(key, "ellipse", {
      rx: Math.max(1, long * plane.unit),
      ry: Math.max(1, short * plane.unit),
      transform: turn,
      ...look,
    });
  }

  /** Draws below the line from v_a to v_b how many of the outputs lie where along it. */
  drawBars(context, plane, outputs, count, colour) {
    const bins = new Float64Array(BINS);
    const width = 2.05 / BINS;
    for (let n = 0; n < count; n++) {
      const bin = Math.floor((outputs[2 * n] + 1.025) / width);
      if (bin >= 0 && bin < BINS) bins[bin]++;
    }
    const most = Math.max(...bins);
    context.fillStyle = colour;
    context.globalAlpha = 0.6;
    for (let i = 0; i < BINS; i++) {
      const [x, y] = plane.toPixels([-1.025 + i * width, -0.14]);
      context.fillRect(x + 0.5, y, width * plane.unit - 1, (0.5 * plane.unit * bins[i]) / most);
    }
    context.globalAlpha = 1;
  }

  /** Returns mean and covariance in closed form; where that takes long, only once nothing moves any more. */
  predict(way, heads, origin) {
    const { s, m, beta } = this.view.state;
    const strengths = heads.map((head) => head.map((value) => value * s));
    const betas = origin === "lengths" ? [0, 0] : [beta, this.task === "1.5" ? 0 : beta];
    const key = JSON.stringify([strengths, m, betas, origin]);
    const known = this.moments.get(way.name);
    if (known?.key === key) return known.moments;
    const compute = () =>
      this.moments.set(way.name, { key, moments: outputMoments(this.values, strengths, betas, origin) });
    if (countNodes(strengths, betas, origin) <= QUICK) {
      compute();
      return this.moments.get(way.name).moments;
    }
    clearTimeout(way.timer);
    way.timer = setTimeout(() => {
      compute();
      this.view.draw();
    }, 80);
    return null;
  }

  drawNumbers(count) {
    const { view } = this;
    const { t } = view;
    const pair = ([x, y]) => `${view.number(x, 3)}; ${view.number(y, 3)}`;
    const each = (name, of) => [
      name,
      ...this.ways.flatMap((way) => [of(way.measured, way), way.predicted ? of(way.predicted, null) : "…"]),
    ];
    this.numbers.set([
      each(t("meanOutput"), ({ mean }) => pair(mean)),
      each(t("deviation"), ({ covariance: [xx, , yy] }) =>
        pair([Math.sqrt(Math.max(0, xx)), Math.sqrt(Math.max(0, yy))])
      ),
      each(t("meanDistance"), (_, way) => (way ? view.number(way.distance, 3) : "")),
    ]);
    const text =
      count === 1 ? t("oneSample") : t("samplesDrawn", { count: count.toLocaleString(t.language) });
    if (this.count.textContent !== text) this.count.textContent = text;
  }

  describe() {
    const { view } = this;
    const { t, state } = view;
    const number = (value, decimals = 2) => view.number(value, decimals);
    if (this.task === "1.2") {
      const { weights, output } = this.drawn;
      const said = t("weightsOfTwo", {
        a: number(weights[0], 3),
        b: number(weights[1], 3),
        distance: number(Math.hypot(...output), 3),
      });
      if (state.reveal !== "yes") return said;
      const tied = number(tiedWeight(state.m, 2, state.s), 3);
      return `${said} ${t("tied", { s: number(state.s), m: state.m, tied })}`;
    }
    const combination = (name) => t("combination", { x: number(state[name][0]), y: number(state[name][1]) });
    if (this.task === "1.3")
      return `q = ${combination("q")}. ${t(state.reveal === "yes" ? "lengthsHelp" : "leans")}`;
    const broken = headBreaks(state.m, state.s, state.beta, BREAKS_EPS);
    const never = headBreaks(2, Infinity, state.beta, 0.5);
    const queries = `q_1 = ${combination("q1")}, q_2 = ${combination("q2")}.`;
    const percent = (share) => `${number(100 * share, share < 0.1 ? 2 : 1)} %`;
    return state.reveal === "yes"
      ? `${queries} ${t("broken", { broken: percent(broken), never: percent(never) })}`
      : queries;
  }

  /** Stops what would continue after the picture is gone. */
  leave() {
    for (const way of this.ways) clearTimeout(way.timer);
  }
}

/** Returns how far outputs are from (v_a + v_b)/2, the origin, on average. */
function meanDistance(outputs, count) {
  let sum = 0;
  for (let n = 0; n < count; n++) sum += Math.hypot(outputs[2 * n], outputs[2 * n + 1]);
  return sum / count;
}

/** Returns about how many terms the sums of the closed form have. */
function countNodes(strengths, betas, origin) {
  return betas.reduce((product, beta, axis) => {
    if (beta === 0) return product;
    const deviation = Math.sqrt(beta);
    const slope = origin === "keys" ? 2 * (1 + 5 * deviation) : 1;
    const strength = Math.max(...strengths.map((head) => Math.abs(head[axis])));
    return product * 18 * Math.max(8, 0.8 * strength * slope * deviation);
  }, strengths.length);
}
