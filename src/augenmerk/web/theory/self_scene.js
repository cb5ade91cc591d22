/** Self-attention over parts: the pictures of 1.6, a triangle of inputs, and of 1.7, K, Q and V to be set. */

import { make } from "../page/dom.js";
import { levelOf } from "../page/shown.js";
import { distance, dot } from "./attention.js";
import { makeButton, makeSlider } from "./controls.js";
import { drawOutput } from "./keys_scene.js";
import { showNotation } from "./notation.js";
import { Plane } from "./plane.js";
import { asSum, INPUTS, identity, PARTS, PUBLISHED, selfAttend, WANTED } from "./self_attention.js";

const NEAR = 0.05; // an output is what is wanted if it is this near, in units of B
const MATRICES = ["K", "Q", "V"];
const ENTRIES = { 0: "·", 1: "1", "-1": "−1" };

function writeMatrix(matrix) {
  return matrix
    .flat()
    .map((entry) => "n0p"[entry + 1])
    .join("");
}

function readMatrix(text) {
  return [0, 4, 8, 12].map((start) =>
    [...text.slice(start, start + 4)].map((letter) => "n0p".indexOf(letter) - 1)
  );
}

/** Returns what the address may say about this picture. A matrix is 16 letters: n, 0, p for -1, 0, 1. */
export function specifySelf(task) {
  const B = { kind: "number", least: 0.1, most: 6, otherwise: task === "1.6" ? 1 : 3 };
  if (task === "1.6") {
    const added = { kind: "number", least: 0, most: 1, otherwise: 0 };
    return { B, d: added, c: added };
  }
  const matrix = { kind: "text", most: 16, otherwise: writeMatrix(identity(4)) };
  return { B, K: matrix, Q: matrix, V: matrix };
}

export class SelfScene {
  constructor(view) {
    this.view = view;
    this.task = view.state.task;
    this.planes = [];
    const { t, state } = view;
    for (const name of MATRICES) {
      if (this.task === "1.7" && !/^[n0p]{16}$/.test(state[name])) state[name] = writeMatrix(identity(4));
    }
    const slider = (name, label, least, most) =>
      makeSlider({
        name,
        label,
        least,
        most,
        value: state[name],
        show: (value) => view.number(value),
        oninput: (value) => view.set({ [name]: value }),
        onchange: () => view.settled(),
      });
    this.sliders = { B: slider("B", t("lengthOfParts"), 0.1, 6) };
    if (this.task === "1.6") {
      this.sliders.d = slider("d", t("addedPart", { part: "u_d" }), 0, 1);
      this.sliders.c = slider("c", t("addedPart", { part: "u_c" }), 0, 1);
    }
    this.said = make("p", { class: "said-now", role: "status" });
    const settings = make(
      "div",
      { class: "settings" },
      ...Object.values(this.sliders).map((each) => each.element)
    );
    const parts = this.task === "1.6" ? [this.makeTriangle(), settings] : [this.makeMatrices(), settings];
    this.element = make(
      "div",
      { class: "scene self" },
      ...parts,
      make("div", { class: "scroll", tabindex: 0 }, this.makeTable()),
      this.said
    );
  }

  makeTriangle() {
    const { t } = this.view;
    this.plane = new Plane({ left: -1.5, right: 1.5, bottom: -0.45, top: 1.75, label: t("triangle") });
    this.planes = [this.plane];
    const caption = make("figcaption", {}, ...showNotation(t("triangleShort")));
    return make("div", { class: "alone" }, make("figure", {}, caption, this.plane.element));
  }

  /** Makes K, Q and V as grids of buttons; the entry at row r and column s says how u_s becomes u_r. */
  makeMatrices() {
    const { view } = this;
    const { t } = view;
    this.entries = {};
    const grids = MATRICES.map((name) => {
      const rows = PARTS.map((row, r) => {
        const cells = PARTS.map((column, c) => {
          const button = make("button", {
            type: "button",
            "data-entry": `${name}${r}${c}`,
            onclick: () => this.turn(name, r, c),
          });
          this.entries[`${name}${r}${c}`] = button;
          button.label = t("entryLabel", { matrix: name, from: column, to: row });
          return make("td", {}, button);
        });
        return make("tr", {}, make("th", { scope: "row" }, ...showNotation(`u_${row}`)), ...cells);
      });
      const head = make(
        "tr",
        {},
        make("td"),
        ...PARTS.map((part) => make("th", { scope: "col" }, ...showNotation(`u_${part}`)))
      );
      const table = make(
        "table",
        { class: "matrix" },
        make("caption", {}, make("var", {}, name)),
        make("thead", {}, head),
        make("tbody", {}, ...rows)
      );
      const set = (matrix) => () => {
        view.set({ [name]: writeMatrix(matrix) });
        view.settled();
      };
      const zero = identity(4).map((row) => row.map(() => 0));
      const buttons = make(
        "div",
        { class: "buttons" },
        makeButton("0", set(zero), { "data-control": `${name}-zero`, "aria-label": `${name} = 0` }),
        makeButton("I", set(identity(4)), { "data-control": `${name}-identity`, "aria-label": `${name} = I` })
      );
      return make("div", { class: "matrix-card" }, table, buttons);
    });
    return make("div", { class: "matrices" }, ...grids);
  }

  /** Turns an entry from 0 to 1, from 1 to -1, and from -1 to 0. */
  turn(name, r, c) {
    const matrix = readMatrix(this.view.state[name]);
    matrix[r][c] = { 0: 1, 1: -1, "-1": 0 }[matrix[r][c]];
    this.view.set({ [name]: writeMatrix(matrix) });
    this.view.settled();
  }

  makeTable() {
    const { t } = this.view;
    const isProjected = this.task === "1.7";
    const names = isProjected ? ["x_i", "q_i", "k_i", "v_i"] : ["x_i"];
    const heads = [
      ...names.map((name) => [name, {}]),
      [t("weightsOn"), { colspan: 3 }],
      ["c_i", {}],
      ...(isProjected ? [[t("wantedOutput"), {}]] : []),
    ];
    this.cells = INPUTS.map(() => ({
      sums: names.map(() => make("td", { class: "sum" })),
      weights: INPUTS.map(() => make("td", { class: "heat" })),
      output: make("td", { class: "sum output-sum" }),
      verdict: make("td", { class: "sum" }),
    }));
    const rows = this.cells.map(({ sums, weights, output, verdict }, i) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, String(i + 1)),
        ...sums,
        ...weights,
        output,
        ...(isProjected ? [verdict] : [])
      )
    );
    const head = make(
      "tr",
      {},
      make("td"),
      ...heads.map(([text, attributes]) =>
        make("th", { scope: attributes.colspan ? "colgroup" : "col", ...attributes }, ...showNotation(text))
      )
    );
    return make(
      "table",
      { class: "parts" },
      make("caption", { class: "unseen" }, t("partsCaption")),
      make("thead", {}, head),
      make("tbody", {}, ...rows)
    );
  }

  reveal() {
    const { view } = this;
    if (this.task === "1.7")
      view.set(Object.fromEntries(MATRICES.map((name) => [name, writeMatrix(PUBLISHED[name])])));
    view.glide({ B: 4 });
  }

  /** Returns the inputs over the parts, with what was added to x_2. */
  get inputs() {
    const { d, c } = this.view.state;
    return this.task === "1.6" ? [INPUTS[0], [1, 0, c, d], INPUTS[2]] : INPUTS;
  }

  draw() {
    const { view } = this;
    const { state } = view;
    for (const [name, slider] of Object.entries(this.sliders)) slider.set(state[name]);
    const [K, Q, V] = MATRICES.map((name) => (this.task === "1.7" ? readMatrix(state[name]) : identity(4)));
    const attended = selfAttend(this.inputs, K, Q, V, state.B);
    this.drawn = attended;
    if (this.plane) this.drawTriangle(attended);
    else this.drawMatrices({ K, Q, V });
    this.drawTable(attended, { K, Q });
    return false;
  }

  drawMatrices(matrices) {
    for (const [key, button] of Object.entries(this.entries)) {
      const entry = matrices[key[0]][key[1]][key[2]];
      const text = ENTRIES[entry];
      if (button.textContent !== text) button.textContent = text;
      button.className = `entry${entry ? (entry > 0 ? " positive" : " negative") : ""}`;
      button.setAttribute("aria-label", `${button.label}: ${entry}`);
    }
  }

  drawTable({ weights, values, outputs }, { K, Q }) {
    const { view } = this;
    const show = (coefficients) => asSum(coefficients, (value) => view.number(value));
    const map = (matrix, x) => matrix.map((row) => dot(row, x));
    const write = (cell, text) => {
      if (cell.written === text) return;
      cell.replaceChildren(...showNotation(text));
      cell.written = text;
    };
    this.cells.forEach(({ sums, weights: cells, output, verdict }, i) => {
      const x = this.inputs[i];
      const vectors = this.task === "1.7" ? [x, map(Q, x), map(K, x), values[i]] : [x];
      vectors.forEach((vector, n) => write(sums[n], show(vector)));
      cells.forEach((cell, j) => {
        write(cell, view.number(weights[i][j]));
        cell.className = `heat h${levelOf(weights[i][j])}`;
      });
      write(output, show(outputs[i]));
      if (i < WANTED.length) {
        const isNear = distance(outputs[i], WANTED[i]) <= NEAR;
        write(verdict, `${show(WANTED[i])} ${isNear ? "✓" : "✗"}`);
        verdict.classList.toggle("near", isNear);
      }
    });
  }

  /** Draws the plane through the three inputs, at their true distances, in units of B. */
  drawTriangle({ weights, outputs }) {
    const { view, plane } = this;
    const [x_1, x_2, x_3] = this.inputs;
    const minus = (x, y) => x.map((value, i) => value - y[i]);
    const times = (x, factor) => x.map((value) => value * factor);
    const middle = times(minus(x_1, times(x_3, -1)), 0.5);
    const across = minus(x_3, x_1);
    const e_1 = times(across, 1 / Math.hypot(...across));
    const up = minus(minus(x_2, middle), times(e_1, dot(minus(x_2, middle), e_1)));
    const e_2 = times(up, 1 / Math.hypot(...up));
    const flat = (x) => [dot(minus(x, middle), e_1), dot(minus(x, middle), e_2)];
    const u_b = [0, 1, 0, 0];
    const [bx, by] = flat(u_b);
    const height = Math.sqrt(Math.max(0, distance(u_b, middle) ** 2 - bx * bx - by * by));
    const points = this.inputs.map(flat);
    plane.clearCanvas();
    plane.begin();
    plane.polygon("hull", points, { class: "hull" });
    weights[1].forEach((weight, i) => {
      const look = {
        class: "spring",
        "stroke-width": 0.6 + 5.4 * weight,
        "stroke-opacity": 0.12 + 0.88 * weight,
      };
      plane.line(`spring-${i}`, flat(outputs[1]), points[i], look).style.setProperty("--own", `var(--s${i})`);
    });
    points.forEach((point, i) => {
      const [x, y] = plane.toPixels(point);
      plane
        .shape(`input-${i}`, "rect", { x: x - 6.5, y: y - 6.5, width: 13, height: 13, class: "value-mark" })
        .style.setProperty("--own", `var(--s${i})`);
      plane.text(`name-${i}`, point, i === 1 ? [20, -8] : [0, 26], `x_${i + 1}`);
    });
    if (view.state.reveal === "yes") {
      plane.dot("u_b", [bx, by], 8, { class: "above" });
      plane.text("u_b-name", [bx, by], [0, 22], "u_b");
    }
    for (const i of [0, 2]) drawOutput(plane, `output-${i}`, flat(outputs[i]), `c_${i + 1}`, "output lesser");
    drawOutput(plane, "output-1", flat(outputs[1]), "c_2");
    plane.end();
    this.height = height;
  }

  describe() {
    const { view } = this;
    const { t, state } = view;
    const { outputs, weights } = this.drawn;
    const show = (coefficients) => asSum(coefficients, (value) => view.number(value));
    const c_2 = t("secondOutput", { sum: show(outputs[1]) });
    if (this.task === "1.6") {
      const self = t("onItself", { weight: view.number(weights[1][1], 3) });
      const above = t("above", { height: view.number(this.height) });
      return state.reveal === "yes" ? `${c_2} ${self} ${above} ${t("hullAnswer")}` : `${c_2} ${self}`;
    }
    const right = WANTED.filter((wanted, i) => distance(outputs[i], wanted) <= NEAR).length;
    return t("rightOutputs", { right });
  }
}
