/** Keys and a query in the plane, and beside them values and the output: to play with, and for 1.1. */

import { choice, decimal, whole } from "../page/address.js";
import { button, hint } from "../page/parts.js";
import { h } from "../page/view.js";
import { attend } from "./attention.js";
import { chooser, slider, weightBars } from "./controls.js";
import { convexHull, leakBound, reach, strengthNeeded } from "./copying.js";
import { showNotation } from "./notation.js";
import { Plane, point, points } from "./plane.js";

const EPS = 0.01; // the weight that all other keys together may have in the answer
const MAX_KEYS = 8;
const MAX_SCALE = 300;
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

function keyColour(i) {
  return `var(--s${i % 8})`;
}

export class KeysScene {
  /** Returns what the address may say about this picture. */
  static specify(task, data) {
    const isCopying = task.startsWith("1.1");
    let { keys, values } = isCopying ? data.copying : { keys: PLAY_KEYS, values: PLAY_VALUES };
    let q = isCopying ? [0.2, 1] : [0.95, 0.95];
    if (task === "1.1-one-length") {
      keys = keys.map(([x, y]) => [x / Math.hypot(x, y), y / Math.hypot(x, y)]);
      q = [-1.1, 0.2]; // at no key
    }
    return {
      q: point(q),
      keys: points(3, MAX_KEYS, keys),
      values: points(3, MAX_KEYS, values),
      c: decimal(0.1, MAX_SCALE, isCopying ? 4 : 3),
      root: choice(["with", "without"], "with"),
      target: whole(1, MAX_KEYS, 1),
    };
  }

  constructor(view) {
    const { state } = view;
    this.view = view;
    this.isCopying = view.base === "1.1";
    this.trail = [];
    state.keys.length = state.values.length = Math.min(state.keys.length, state.values.length);
    state.target = Math.min(state.target, state.keys.length);
    const room = this.isCopying ? 2.5 : 1.7;
    this.keyPlane = new Plane(view, [-room, room, -room, room], "q");
    this.valuePlane = new Plane(view, this.isCopying ? [-1.75, 1.75, -0.75, 2] : [-1.7, 1.7, -1.7, 1.7]);
    this.planes = [this.keyPlane, this.valuePlane];
  }

  /** The number by which the products q . k are multiplied. */
  get factor() {
    const { c, root } = this.view.state;
    return root === "with" ? c / Math.SQRT2 : c;
  }

  /** Moves the query to the best one for the key that is to be copied, if there is one. */
  reveal() {
    const { keys, target } = this.view.state;
    const { query, margin } = reach(keys, target - 1);
    if (query)
      this.view.glide({ q: query, c: Math.min(MAX_SCALE, Math.max(0.1, scaleNeeded(keys, margin))) });
  }

  draw(now) {
    const { view, keyPlane, valuePlane } = this;
    const { t, state } = view;
    const { keys, values } = state;
    const { weights, output } = attend(state.q, keys, values, this.factor);
    this.drawn = { weights, output };
    this.follow(output, now);
    const middle = [0, 1].map((r) => values.reduce((sum, value) => sum + value[r] / values.length, 0));
    const names = keys.map((_, i) => `k_${i + 1}`);
    const scale = { least: 0.1, most: MAX_SCALE, log: true, show: (c) => view.number(c, c < 10 ? 2 : 0) };
    const settings = [
      slider(view, "c", t("scaleOfQuery"), scale),
      this.isCopying ? this.describeTarget(names) : this.describeSwitches(),
      hint(showNotation(t("levelHint"))),
    ];
    const keyPicture = keyPlane.describe(t("keyPlaneShort"), t("keyPlane"), () => this.paintKeys());
    const paint = () => this.paintValues(now);
    const valuePicture = valuePlane.describe(t("valuePlaneShort"), t("valuePlane"), paint, middle);
    const beside = [view.describeSaid(), weightBars(view, names, weights, keyColour)];
    return h(
      "div.scene",
      h("div.column", keyPicture, h("div.settings", settings)),
      h("div.column", valuePicture, h("div.beside", beside))
    );
  }

  describeTarget(names) {
    const { view } = this;
    return chooser({
      name: "target",
      label: view.t("toCopy"),
      choices: names.map((name, i) => [i + 1, name]),
      value: view.state.target,
      onchoose: (target) => {
        view.change({ target });
        if (view.state.reveal === "yes") this.reveal();
      },
    });
  }

  describeSwitches() {
    const { view } = this;
    const { t, state } = view;
    const { keys, values } = state;
    const remove = () => view.change({ keys: keys.slice(0, -1), values: values.slice(0, -1) });
    const add = () => {
      const angle = 2.4 * keys.length + 0.3;
      const at = (radius, turn) => [radius * Math.cos(angle + turn), radius * Math.sin(angle + turn)];
      view.change({ keys: [...keys, at(1.2, 0)], values: [...values, at(1.1, 0.5)] });
    };
    const root = {
      type: "checkbox",
      "data-control": "root",
      checked: state.root === "with",
      onchange: ({ target }) => view.change({ root: target.checked ? "with" : "without" }),
    };
    return [
      h("label.check", h("input", root), h("span", showNotation(t("divideByRoot")))),
      h(
        "div.buttons",
        button(t("fewerKeys"), remove, { disabled: keys.length <= 3, "data-control": "fewer" }),
        button(t("moreKeys"), add, { disabled: keys.length >= MAX_KEYS, "data-control": "more" }),
        button(t("startAgain"), () => view.startAgain(), { "data-control": "again" })
      ),
    ];
  }

  /** Returns what can be moved of "keys" or "values". */
  listHandles(name, kind) {
    const { view, drawn } = this;
    return view.state[name].map((at, i) => ({
      name: `${kind[0]}_${i + 1}`,
      kind,
      label: view.t(`label ${kind}`, { number: i + 1 }),
      said: this.sayPlace(at),
      at,
      move: (moved) => view.set({ [name]: view.state[name].with(i, moved) }),
      colour: keyColour(i),
      weight: drawn.weights[i],
    }));
  }

  sayPlace([x, y]) {
    const { view } = this;
    return view.t("at", { x: view.number(x), y: view.number(y) });
  }

  paintKeys() {
    const { view, keyPlane, isCopying } = this;
    const { q, keys, target, reveal } = view.state;
    const { weights } = this.drawn;
    const coloured = keys.map((key, i) => ({ key, colour: view.rgb(i), count: 1 }));
    keyPlane.drawField(coloured, this.factor, view.fieldOpacity);
    keyPlane.axes();
    keyPlane.dot([0, 0], keyPlane.unit, { class: "axis ring" });
    if (!isCopying) keyPlane.polygon(convexHull(keys), { class: "hull faint" });
    else if (reveal === "yes") this.paintReach();
    // All keys beyond this line have a larger product with the query than the one on it.
    const on = keys[isCopying ? target - 1 : weights.indexOf(Math.max(...weights))];
    const length = Math.hypot(...q);
    if (length > 0.01) {
      const [from, to] = [-9, 9].map((far) => [on[0] - (far * q[1]) / length, on[1] + (far * q[0]) / length]);
      keyPlane.line(from, to, { class: "level" });
    }
    if (isCopying) keyPlane.dot(keys[target - 1], 13, { class: "target" });
    keyPlane.arrow(q);
    const query = {
      name: "q",
      kind: "query",
      label: view.t("queryLabel"),
      said: this.sayPlace(q),
      at: q,
      move: (moved) => view.set({ q: moved }),
      magnets: [[0, 0]],
    };
    return [...this.listHandles("keys", "key"), query];
  }

  /** Draws the answer to 1.1: the hull of the other keys, its nearest point, and which keys are hidden. */
  paintReach() {
    const { keyPlane } = this;
    const { keys, target } = this.view.state;
    const key = keys[target - 1];
    keyPlane.polygon(convexHull(keys.toSpliced(target - 1, 1)), { class: "hull" });
    keys.forEach((each, i) => {
      if (!reach(keys, i).query) keyPlane.dot(each, 11, { class: "hidden-key" });
    });
    const { query, margin } = reach(keys, target - 1);
    if (!query) return;
    const nearest = key.map((value, r) => value - margin * query[r]);
    keyPlane.line(nearest, key, { class: "margin" });
    keyPlane.dot(nearest, 3.5, { class: "nearest" });
    keyPlane.text(nearest, [-20, 10], "h_j", { class: "small" });
  }

  paintValues(now) {
    const { valuePlane, drawn } = this;
    const { values, target } = this.view.state;
    this.paintTrail(valuePlane.clearCanvas(), now);
    valuePlane.polygon(convexHull(values), { class: "hull" });
    drawn.weights.forEach((weight, i) => valuePlane.spring(drawn.output, values[i], weight, keyColour(i)));
    if (this.isCopying) valuePlane.dot(values[target - 1], 13, { class: "target" });
    valuePlane.output(drawn.output, "a");
    return this.listHandles("values", "value");
  }

  /** Notes where the output is, and forgets where it was a while ago. */
  follow(output, now) {
    const { view, trail } = this;
    const last = trail.at(-1);
    if (view.still) return;
    if (!last || Math.hypot(last[0] - output[0], last[1] - output[1]) > 0.004) trail.push([...output, now]);
    while (trail.length && now - trail[0][2] > TRAIL) trail.shift();
    if (trail.length > 1) view.draw();
  }

  /** Draws where the output was a moment ago. */
  paintTrail(context, now) {
    const { trail, valuePlane } = this;
    context.lineCap = "round";
    context.strokeStyle = this.view.ink;
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
  }

  say() {
    const { view } = this;
    const { t, state } = view;
    const { weights, output } = this.drawn;
    if (!this.isCopying) {
      const most = weights.indexOf(Math.max(...weights));
      const [x, y] = output.map((each) => view.number(each));
      return t("outputIs", { x, y, key: `k_${most + 1}`, weight: view.number(weights[most], 3) });
    }
    const place = state.target - 1;
    const key = `k_${state.target}`;
    const weight = t("weightOfKey", { key, weight: view.number(weights[place], 3) });
    if (state.reveal !== "yes") return weight;
    const { query, margin, hullWeights, ceiling } = reach(state.keys, place);
    if (query) {
      const bound = 1 - leakBound(state.keys.length, 1, state.c * margin * Math.SQRT1_2);
      const found = { margin: view.number(margin, 3), bound: view.number(bound, 3) };
      const c = view.number(scaleNeeded(state.keys, margin), 1);
      return `${weight} ${t("canBeCopied", { key, c, ...found })}`;
    }
    const mix = hullWeights
      .map((share, i) => (share > 0.005 ? `${view.number(share)} k_${i + 1}` : ""))
      .filter(Boolean)
      .join(" + ");
    return `${weight} ${t("isHidden", { key, mix, ceiling: view.number(ceiling, 3) })}`;
  }
}

/** Returns the scale with which the best query of length 1 copies a key in the plane. */
function scaleNeeded(keys, margin) {
  return (strengthNeeded(keys.length, 1, EPS) * Math.SQRT2) / margin;
}
