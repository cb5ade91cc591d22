/** Keys and a query in the plane, and beside them values and the output: to play with, and for 1.1. */

import { make } from "../page/dom.js";
import { attend } from "./attention.js";
import { makeButton, makeCheckbox, makeChoice, makeSlider, makeWeightBars } from "./controls.js";
import { convexHull, leakBound, reach, strengthNeeded } from "./copying.js";
import { showNotation } from "./notation.js";
import { Plane } from "./plane.js";

const EPS = 0.01; // the weight that all other keys together may have in the answer
const MAX_KEYS = 8;
const TRAIL = 700; // milliseconds for which the way of the output can be seen
const PLAY_KEYS = [
  [1.1, 0.35],
  [0.45, 1.15],
  [-0.85, 0.8],
  [-1.05, -0.5],
  [0.3, -1.1],
];
const PLAY_VALUES = [
  [1.2, 0.2],
  [0.7, 1.1],
  [-0.6, 1.2],
  [-1.25, 0.1],
  [-0.2, -0.9],
];

/** Returns what the address may say about this picture. */
export function specifyKeys(task, data) {
  const isCopying = task === "1.1";
  const keys = isCopying ? data.copying.keys : PLAY_KEYS;
  const values = isCopying ? data.copying.values : PLAY_VALUES;
  return {
    q: { kind: "point", otherwise: isCopying ? [0.2, 1] : [0.95, 0.95] },
    keys: { kind: "points", least: 3, most: MAX_KEYS, otherwise: keys },
    values: { kind: "points", least: 3, most: MAX_KEYS, otherwise: values },
    c: { kind: "number", least: 0.1, most: 300, otherwise: isCopying ? 4 : 3 },
    root: { kind: "choice", choices: ["with", "without"], otherwise: "with" },
    target: { kind: "number", least: 1, most: MAX_KEYS, otherwise: 1 },
  };
}

export class KeysScene {
  constructor(view) {
    this.view = view;
    this.task = view.state.task;
    this.trail = [];
    const { t, state } = view;
    const reachable = this.task === "1.1" ? 2.5 : 1.7;
    state.keys.length = state.values.length = Math.min(state.keys.length, state.values.length);
    state.target = Math.min(Math.round(state.target), state.keys.length);
    this.keyPlane = new Plane({
      left: -reachable,
      right: reachable,
      bottom: -reachable,
      top: reachable,
      label: t("keyPlane"),
    });
    const room =
      this.task === "1.1"
        ? { left: -1.75, right: 1.75, bottom: -0.75, top: 2 }
        : { left: -1.7, right: 1.7, bottom: -1.7, top: 1.7 };
    this.valuePlane = new Plane({ ...room, label: t("valuePlane") });
    this.addHandles();
    this.weights = makeWeightBars(
      state.keys.map((_, i) => `k_${i + 1}`),
      t("weights")
    );
    this.scale = makeSlider({
      name: "c",
      label: t("scaleOfQuery"),
      least: 0.1,
      most: 300,
      log: true,
      value: state.c,
      show: (c) => view.number(c, c < 10 ? 2 : 0),
      oninput: (c) => view.set({ c }),
      onchange: () => view.settled(),
    });
    this.said = make("p", { class: "said-now", role: "status" });
    const figure = (plane, caption, ...more) =>
      make("figure", {}, make("figcaption", {}, ...showNotation(caption)), plane.element, ...more);
    const hint = make("p", { class: "hint" }, ...showNotation(t("levelHint")));
    this.element = make(
      "div",
      { class: "scene" },
      make(
        "div",
        { class: "column" },
        figure(this.keyPlane, t("keyPlaneShort")),
        make("div", { class: "settings" }, this.scale.element, ...this.makeSwitches(), hint)
      ),
      make(
        "div",
        { class: "column" },
        figure(this.valuePlane, t("valuePlaneShort")),
        make("div", { class: "beside" }, this.said, this.weights.element)
      )
    );
    this.planes = [this.keyPlane, this.valuePlane];
  }

  addHandles() {
    const { view, keyPlane, valuePlane } = this;
    const { t, state } = view;
    const say = ([x, y]) => t("at", { x: view.number(x), y: view.number(y) });
    const done = () => view.settled();
    const movePoint = (name, i) => (point) => {
      view.state[name][i] = point;
      view.set({});
    };
    state.keys.forEach((_, i) => {
      const common = { kind: "key", done, say, colour: `var(--s${i % 8})` };
      keyPlane.addHandle({
        ...common,
        name: `k_${i + 1}`,
        label: t("keyLabel", { number: i + 1 }),
        get: () => view.state.keys[i],
        move: movePoint("keys", i),
      });
      valuePlane.addHandle({
        ...common,
        kind: "value",
        name: `v_${i + 1}`,
        label: t("valueLabel", { number: i + 1 }),
        get: () => view.state.values[i],
        move: movePoint("values", i),
      });
    });
    const query = keyPlane.addHandle({
      name: "q",
      kind: "query",
      label: t("queryLabel"),
      get: () => view.state.q,
      move: (q) => view.set({ q }),
      done,
      say,
      magnets: () => [[0, 0]],
    });
    keyPlane.fetchByClick(query);
  }

  makeSwitches() {
    const { view } = this;
    const { t, state } = view;
    if (this.task === "1.1") {
      this.target = makeChoice({
        name: "target",
        label: t("toCopy"),
        choices: state.keys.map((_, i) => [String(i + 1), `k_${i + 1}`]),
        value: state.target,
        onchoose: (key) => {
          view.set({ target: Number(key) });
          if (view.state.reveal === "yes") this.reveal();
          view.settled();
        },
      });
      return [this.target.element];
    }
    this.root = makeCheckbox({
      name: "root",
      label: t("divideByRoot"),
      value: state.root === "with",
      onchange: (on) => {
        view.set({ root: on ? "with" : "without" });
        view.settled();
      },
    });
    const more = (step) => () => {
      const { keys, values } = view.state;
      if (step < 0) [keys, values].forEach((each) => each.pop());
      else if (keys.length < MAX_KEYS) {
        const angle = 2.4 * keys.length + 0.3;
        keys.push([1.2 * Math.cos(angle), 1.2 * Math.sin(angle)]);
        values.push([1.1 * Math.cos(angle + 0.5), 1.1 * Math.sin(angle + 0.5)]);
      }
      view.rebuild();
    };
    return [
      this.root.element,
      make(
        "div",
        { class: "buttons" },
        makeButton(t("fewerKeys"), more(-1), { disabled: state.keys.length <= 3, "data-control": "fewer" }),
        makeButton(t("moreKeys"), more(1), {
          disabled: state.keys.length >= MAX_KEYS,
          "data-control": "more",
        }),
        makeButton(t("startAgain"), () => view.startAgain(), { "data-control": "again" })
      ),
    ];
  }

  /** The number by which the products q . k are multiplied. */
  get factor() {
    const { c, root } = this.view.state;
    return root === "with" ? c / Math.SQRT2 : c;
  }

  /** Moves the query to the best one for the key that is to be copied, if there is one. */
  reveal() {
    const { keys, target } = this.view.state;
    const { query, margin } = reach(keys, [target - 1]);
    if (!query) return;
    const c = Math.min(300, Math.max(0.1, (strengthNeeded(keys.length, 1, EPS) * Math.SQRT2) / margin));
    this.view.glide({ q: query, c });
  }

  draw(now) {
    const { view, keyPlane, valuePlane } = this;
    const { q, keys, values, c, target } = view.state;
    const { weights, output } = attend(q, keys, values, this.factor);
    this.scale.set(c);
    this.root?.set(view.state.root === "with");
    this.target?.set(target);
    this.drawKeys(weights);
    const going = this.drawValues(weights, output, now);
    for (const { element, name, kind } of [...keyPlane.handles, ...valuePlane.handles]) {
      if (kind !== "query")
        element.style.setProperty("--weight", weights[Number(name.slice(2)) - 1].toFixed(4));
    }
    this.weights.set(
      weights,
      (weight) => view.number(weight, 3),
      keys.map((_, i) => `var(--s${i % 8})`)
    );
    this.drawn = { weights, output };
    return going;
  }

  drawKeys(weights) {
    const { view, keyPlane } = this;
    const { q, keys, target, reveal: revealed } = view.state;
    const isCopying = this.task === "1.1";
    const coloured = keys.map((key, i) => ({ key, colour: view.rgb(i), count: 1 }));
    keyPlane.drawField(coloured, this.factor, view.fieldOpacity);
    keyPlane.begin();
    keyPlane.drawAxes();
    if (isCopying && revealed === "yes") this.drawReach();
    else if (!isCopying)
      keyPlane.polygon(
        "hull",
        convexHull(keys).map((i) => keys[i]),
        { class: "hull faint" }
      );
    // All keys beyond this line have a larger product with the query than the one on it.
    const on = keys[isCopying ? target - 1 : weights.indexOf(Math.max(...weights))];
    const length = Math.hypot(...q);
    if (length > 0.01) {
      const along = [-q[1] / length, q[0] / length];
      const ends = [-9, 9].map((far) => [on[0] + far * along[0], on[1] + far * along[1]]);
      keyPlane.line("level", ...ends, { class: "level" });
    }
    if (isCopying) keyPlane.dot("target", keys[target - 1], 13, { class: "target" });
    keyPlane.arrow("query", [0, 0], q, { class: "query-arrow" });
    keyPlane.end();
    keyPlane.placeHandles([0, 0]);
  }

  /** Draws the answer to 1.1: the hull of the other keys, its nearest point, and which keys are hidden. */
  drawReach() {
    const { keys, target } = this.view.state;
    const j = target - 1;
    const others = keys.filter((_, i) => i !== j);
    this.keyPlane.polygon(
      "hull",
      convexHull(others).map((i) => others[i]),
      { class: "hull" }
    );
    const { query, margin, hullWeights } = reach(keys, [j]);
    keys.forEach((key, i) => {
      if (!reach(keys, [i]).query) this.keyPlane.dot(`hidden-${i}`, key, 11, { class: "hidden-key" });
    });
    if (!query) return;
    const nearest = [0, 1].map((r) => keys.reduce((sum, key, i) => sum + hullWeights[i] * key[r], 0));
    this.keyPlane.line("margin", nearest, keys[j], { class: "margin" });
    this.keyPlane.dot("nearest", nearest, 3.5, { class: "nearest" });
    this.keyPlane.text("nearest-name", nearest, [-20, 10], "h_j", { class: "small" });
    this.margin = margin;
  }

  drawValues(weights, output, now) {
    const { view, valuePlane } = this;
    const { values, target } = view.state;
    const going = this.drawTrail(valuePlane.clearCanvas(), output, now);
    valuePlane.begin();
    valuePlane.polygon(
      "hull",
      convexHull(values).map((i) => values[i]),
      { class: "hull" }
    );
    weights.forEach((weight, i) => {
      const look = {
        class: "spring",
        "stroke-width": 0.6 + 5.4 * weight,
        "stroke-opacity": 0.12 + 0.88 * weight,
      };
      valuePlane.line(`spring-${i}`, output, values[i], look).style.setProperty("--own", `var(--s${i % 8})`);
    });
    if (this.task === "1.1") valuePlane.dot("target", values[target - 1], 13, { class: "target" });
    drawOutput(valuePlane, "output", output, "a");
    valuePlane.end();
    const middle = [0, 1].map((r) => values.reduce((sum, value) => sum + value[r] / values.length, 0));
    valuePlane.placeHandles(middle);
    return going;
  }

  /** Draws where the output was a moment ago; returns whether any of it is still to be seen. */
  drawTrail(context, output, now) {
    const { view, valuePlane, trail } = this;
    const last = trail.at(-1);
    if (view.still) return false;
    if (!last || Math.hypot(last[0] - output[0], last[1] - output[1]) > 0.004) trail.push([...output, now]);
    while (trail.length && now - trail[0][2] > TRAIL) trail.shift();
    context.lineCap = "round";
    context.strokeStyle = view.ink;
    for (let i = 1; i < trail.length; i++) {
      const age = (now - trail[i][2]) / TRAIL;
      context.globalAlpha = 0.35 * (1 - age) ** 2;
      context.lineWidth = 7 * (1 - age) + 0.5;
      context.beginPath();
      context.moveTo(...valuePlane.toPixels(trail[i - 1]));
      context.lineTo(...valuePlane.toPixels(trail[i]));
      context.stroke();
    }
    context.globalAlpha = 1;
    return trail.length > 1;
  }

  /** Returns in words what is to be seen, once something has been moved. */
  describe() {
    const { view } = this;
    const { t, state } = view;
    const { weights, output } = this.drawn;
    const number = (value, decimals = 2) => view.number(value, decimals);
    if (this.task !== "1.1") {
      const most = weights.indexOf(Math.max(...weights));
      return t("outputIs", {
        x: number(output[0]),
        y: number(output[1]),
        key: `k_${most + 1}`,
        weight: number(weights[most], 3),
      });
    }
    const j = state.target - 1;
    const key = `k_${j + 1}`;
    const weight = t("weightOfKey", { key, weight: number(weights[j], 3) });
    if (state.reveal !== "yes") return weight;
    const { query, margin, hullWeights, ceiling } = reach(state.keys, [j]);
    if (query) {
      const strength = state.c * margin * Math.SQRT1_2;
      const bound = number(1 - leakBound(state.keys.length, 1, strength), 3);
      const needed = (strengthNeeded(state.keys.length, 1, EPS) * Math.SQRT2) / margin;
      return `${weight} ${t("canBeCopied", { key, margin: number(margin, 3), c: number(needed, 1), bound })}`;
    }
    const mix = hullWeights
      .map((w, i) => (w > 0.005 ? `${number(w)} k_${i + 1}` : ""))
      .filter(Boolean)
      .join(" + ");
    return `${weight} ${t("isHidden", { key, mix, ceiling: number(ceiling, 3) })}`;
  }
}

/** Draws the output: a diamond, unlike keys and values. */
export function drawOutput(plane, key, output, name, look = "output") {
  const [x, y] = plane.toPixels(output);
  plane.shape(key, "path", {
    d: `M${x} ${y - 10}L${x + 10} ${y}L${x} ${y + 10}L${x - 10} ${y}Z`,
    class: look,
  });
  if (name) plane.text(`${key}-name`, output, [0, -16], name, { class: "output-name" });
}
