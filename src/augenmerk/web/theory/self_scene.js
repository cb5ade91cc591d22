/** Self-attention over parts: the pictures of 1.6, a triangle of inputs, and of 1.7, K, Q and V to be set. */

import { decimal } from "../page/address.js";
import { button, headings, scroll, table, tableRow } from "../page/parts.js";
import { levelOf } from "../page/shown.js";
import { h } from "../page/view.js";
import {
  asSum,
  distance,
  dot,
  IDENTITY,
  INPUTS,
  PARTS,
  PUBLISHED,
  readMatrix,
  selfAttend,
  times,
  WANTED,
  ZERO,
} from "./attention.js";
import { slider } from "./controls.js";
import { showNotation } from "./notation.js";
import { Plane } from "./plane.js";

const NEAR = 0.05; // an output is right if it is this near, in units of B
const MATRICES = ["K", "Q", "V"];
const ENTRIES = { 0: "·", p: "1", n: "−1" };
const NEXT = { 0: "p", p: "n", n: "0" };

export class SelfScene {
  /** Returns what the address may say about this picture. */
  static specify(task) {
    const B = decimal(0.1, 6, task === "1.6" ? 1 : 3);
    if (task === "1.6") return { B, d: decimal(0, 1, 0), c: decimal(0, 1, 0) };
    const read = (text) => (/^[n0p]{16}$/.test(text) ? text : null);
    const matrix = { read, write: String, otherwise: IDENTITY };
    return { B, K: matrix, Q: matrix, V: matrix };
  }

  constructor(view) {
    this.view = view;
    this.isProjected = view.state.task === "1.7";
    this.plane = new Plane(view, [-1.5, 1.5, -0.45, 1.75]);
    this.planes = this.isProjected ? [] : [this.plane];
  }

  reveal() {
    if (this.isProjected) this.view.set(PUBLISHED);
    this.view.glide({ B: 4 });
  }

  draw() {
    const { view, isProjected } = this;
    const { t, state } = view;
    const [K, Q, V] = MATRICES.map((name) => readMatrix(isProjected ? state[name] : IDENTITY));
    this.inputs = isProjected ? INPUTS : [INPUTS[0], [1, 0, state.c, state.d], INPUTS[2]];
    this.drawn = { K, Q, ...selfAttend(this.inputs, K, Q, V, state.B) };
    const part = (name, label, least, most) =>
      slider(view, name, label, { least, most, show: (value) => view.number(value) });
    const added = isProjected ? [] : ["d", "c"];
    const settings = added.map((each) => part(each, t("addedPart", { part: `u_${each}` }), 0, 1));
    const matrices = () => MATRICES.map((name) => this.describeMatrix(name));
    const triangle = () => this.plane.describe(t("triangleShort"), t("triangle"), () => this.paintTriangle());
    return h(
      "div.scene.self",
      isProjected ? h("div.matrices", matrices()) : h("div.alone", triangle()),
      h("div.settings", part("B", t("lengthOfParts"), 0.1, 6), settings),
      scroll(this.describeTable()),
      view.describeSaid()
    );
  }

  /** Describes a matrix as a grid of buttons; the entry at row r and column s says how u_s becomes u_r. */
  describeMatrix(name) {
    const { view } = this;
    const written = view.state[name];
    const set = (matrix) => view.change({ [name]: matrix });
    const entry = (row, column) => {
      const at = 4 * PARTS.indexOf(row) + PARTS.indexOf(column);
      const value = written[at];
      const label = view.t("entryLabel", { matrix: name, from: column, to: row });
      return button(ENTRIES[value], () => set(written.slice(0, at) + NEXT[value] + written.slice(at + 1)), {
        class: `entry ${{ p: "positive", n: "negative" }[value] ?? ""}`,
        "data-entry": `${name}${Math.floor(at / 4)}${at % 4}`,
        "aria-label": `${label}: ${ENTRIES[value].replace("·", "0")}`,
      });
    };
    const names = PARTS.map((part) => showNotation(`u_${part}`));
    const describeRow = (row, i) =>
      tableRow(
        names[i],
        PARTS.map((column) => entry(row, column))
      );
    const head = h("thead", h("tr", h("td"), headings(names)));
    const grid = h("table.matrix", h("caption", h("var", name)), head, h("tbody", PARTS.map(describeRow)));
    const presets = [
      ["0", "zero", ZERO],
      ["I", "identity", IDENTITY],
    ].map(([sign, control, matrix]) =>
      button(showNotation(sign), () => set(matrix), {
        "data-control": `${name}-${control}`,
        "aria-label": `${name} = ${sign}`,
      })
    );
    return h("div.matrix-card", grid, h("div.buttons", presets));
  }

  describeTable() {
    const { view, isProjected } = this;
    const { t } = view;
    const { K, Q, weights, values, outputs } = this.drawn;
    const names = isProjected ? ["x_i", "q_i", "k_i", "v_i"] : ["x_i"];
    const head = [
      h("td"),
      headings(names.map(showNotation)),
      h("th", { scope: "colgroup", colspan: 3 }, t("weightsOn")),
      headings([showNotation("c_i"), ...(isProjected ? [t("wantedOutput")] : [])]),
    ];
    const sum = (coefficients, look = "") =>
      h("td", { class: `sum ${look}` }, showNotation(this.showSum(coefficients)));
    const target = (i) => {
      const isNear = i < WANTED.length && distance(outputs[i], WANTED[i]) <= NEAR;
      const text = i < WANTED.length ? `${this.showSum(WANTED[i])} ${isNear ? "✓" : "✗"}` : "";
      return h("td", { class: isNear ? "sum near" : "sum" }, showNotation(text));
    };
    const rows = this.inputs.map((x, i) =>
      tableRow(i + 1, [
        ...(isProjected ? [x, times(Q, x), times(K, x), values[i]] : [x]).map((vector) => sum(vector)),
        ...weights[i].map((weight) => h("td.heat", { class: `h${levelOf(weight)}` }, view.number(weight))),
        sum(outputs[i], "output-sum"),
        ...(isProjected ? [target(i)] : []),
      ])
    );
    return table("parts", t("partsCaption"), head, rows);
  }

  showSum(coefficients) {
    return asSum(coefficients, (value) => this.view.number(value));
  }

  /** Draws the plane through the three inputs, at their true distances, in units of B. */
  paintTriangle() {
    const { plane } = this;
    const { weights, outputs } = this.drawn;
    const [x_1, x_2, x_3] = this.inputs;
    const minus = (x, y) => x.map((value, i) => value - y[i]);
    const scaled = (x, factor) => x.map((value) => value * factor);
    const unit = (x) => scaled(x, 1 / Math.hypot(...x));
    const middle = x_1.map((value, i) => (value + x_3[i]) / 2);
    const e_1 = unit(minus(x_3, x_1));
    const side = minus(x_2, middle);
    const e_2 = unit(minus(side, scaled(e_1, dot(side, e_1))));
    const flat = (x) => [dot(minus(x, middle), e_1), dot(minus(x, middle), e_2)];
    const corners = this.inputs.map(flat);
    plane.polygon(corners, { class: "hull" });
    weights[1].forEach((weight, i) => plane.spring(flat(outputs[1]), corners[i], weight, `var(--s${i})`));
    corners.forEach((corner, i) => {
      plane.square(corner, 6.5, `var(--s${i})`);
      plane.text(corner, i === 1 ? [20, -8] : [0, 26], `x_${i + 1}`);
    });
    const u_b = [0, 1, 0, 0];
    const below = flat(u_b);
    this.height = Math.sqrt(Math.max(0, distance(u_b, middle) ** 2 - dot(below, below)));
    if (this.view.state.reveal === "yes") {
      plane.dot(below, 8, { class: "above" });
      plane.text(below, [0, 22], "u_b");
    }
    for (const i of [0, 2]) plane.output(flat(outputs[i]), `c_${i + 1}`, "output lesser");
    plane.output(flat(outputs[1]), "c_2");
    return [];
  }

  say() {
    const { view } = this;
    const { t } = view;
    const { outputs, weights } = this.drawn;
    if (this.isProjected) {
      const right = WANTED.filter((wanted, i) => distance(outputs[i], wanted) <= NEAR).length;
      return t("rightOutputs", { right });
    }
    const c_2 = t("secondOutput", { sum: this.showSum(outputs[1]) });
    const self = t("onItself", { weight: view.number(weights[1][1], 3) });
    if (view.state.reveal !== "yes") return `${c_2} ${self}`;
    return `${c_2} ${self} ${t("above", { height: view.number(this.height) })} ${t("hullAnswer")}`;
  }
}
