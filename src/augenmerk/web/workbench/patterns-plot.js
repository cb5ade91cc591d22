/** The plot of the patterns: its axes, its points and their kinds, and what all of them say together. */

import { fillSelect, find, findFocused, make } from "../page/dom.js";
import { showNumber } from "../page/shown.js";
import { isWhole, KIND_COLOURS, KINDS, makeSign, readValue } from "./patterns-kinds.js";

const RANGES = {
  monotonicity: [undefined, 1],
  crossing_rate: [0, undefined],
  sharpness: [undefined, 1],
  coverage: [undefined, 1],
};

/** Fills the choices of the axes, and says what they mean. */
export function drawAxes(view) {
  const { state } = view;
  const { t } = view.frame;
  const names = [...view.measures, "words"];
  if (!names.includes(state.x)) state.x = "entropy_normalised";
  if (!names.includes(state.y)) state.y = "monotonicity";
  for (const axis of ["x", "y"]) fillSelect(find(axis), names, (name) => t(`measure ${name}`), state[axis]);
  const about = [state.y, state.x].map((name) =>
    make("span", {}, make("b", {}, t(`measure ${name}`)), ` ${t(`about ${name}`)}`)
  );
  find("axes").replaceChildren(about[0], " ", about[1]);
}

/** Draws all sentences as points. */
export function drawPlot(view, scatter) {
  const { state } = view;
  const { t } = view.frame;
  const axis = (name) => {
    const [low, high] = RANGES[name] ?? [];
    return { name: t(`measure ${name}`), whole: isWhole(name), low, high };
  };
  const points = view.sentences.map((each) => ({
    index: each.index,
    sign: KINDS.indexOf(each.kind),
    colour: `--c${KIND_COLOURS[each.kind]}`,
    x: readValue(each, state.x, view.measures),
    y: readValue(each, state.y, view.measures),
    shown: !view.hidden.has(each.kind),
  }));
  const axes = { x: axis(state.x), y: axis(state.y) };
  scatter.show(
    points,
    axes,
    t.language,
    t("plotLabel", { count: points.length, x: axes.x.name, y: axes.y.name })
  );
}

/** Draws the kinds with the number of their sentences; `show()` is called when others are to be shown. */
export function drawKinds(view, show) {
  const { t } = view.frame;
  const found = new Map(KINDS.map((kind) => [kind, 0]));
  for (const { kind } of view.sentences) found.set(kind, found.get(kind) + 1);
  const focused = findFocused()?.dataset?.kind;
  const buttons = KINDS.map((kind) =>
    make(
      "button",
      {
        type: "button",
        "data-kind": kind,
        title: t(`rule ${kind}`),
        "aria-pressed": String(!view.hidden.has(kind)),
        onclick: () => {
          if (!view.hidden.delete(kind)) view.hidden.add(kind);
          show();
        },
        ondblclick: () => {
          view.hidden = new Set(KINDS.filter((each) => each !== kind));
          show();
        },
      },
      makeSign(kind),
      `${t(`kind ${kind}`)} `,
      make("b", {}, found.get(kind).toLocaleString(t.language))
    )
  );
  find("kinds").setAttribute("aria-label", t("kinds"));
  find("kinds").replaceChildren(...buttons);
  if (focused) find("kinds").querySelector(`[data-kind="${focused}"]`)?.focus();
}

/** Says how what was found agrees with gold links, and what was left out. */
export function drawSummary(view) {
  const { t } = view.frame;
  const parts = [];
  if (view.summary?.agreement) {
    const share = (value) => (value === null ? "–" : showNumber(value, t.language, 3));
    const { gold_inversions: gold, found, precision, recall } = view.summary.agreement;
    parts.push(t("agreement", { gold, found, precision: share(precision), recall: share(recall) }));
  }
  if (view.summary?.without_words) parts.push(t("without", { count: view.summary.without_words }));
  find("agreement").textContent = parts.join(" ");
}
