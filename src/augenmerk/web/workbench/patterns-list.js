/** The list of sentences: those of the kinds that are shown, and within the box that is selected. */

import { find, findFocused, isolate, make } from "../page/dom.js";
import { makeSign, showValue } from "./patterns-kinds.js";

export const ROWS = 40; // that are added at a time

/** Returns the sentences that are shown and selected, the clearest of each kind in turn. */
export function listChosen(view, scatter) {
  const places = view.box ? new Map(scatter.points.map((point) => [point.index, point])) : null;
  const chosen = view.sentences.filter(
    (each) => !view.hidden.has(each.kind) && (!view.box || scatter.isInside(places.get(each.index), view.box))
  );
  const ranks = new Map();
  const rank = new Map();
  for (const each of [...chosen].sort((a, b) => b.strength - a.strength)) {
    ranks.set(each.kind, (ranks.get(each.kind) ?? -1) + 1);
    rank.set(each.index, ranks.get(each.kind));
  }
  // What stands out comes before what is as expected.
  const order = ["inversion", "spread", "stuck", "shifted", "monotone"];
  return chosen.sort(
    (a, b) => rank.get(a.index) - rank.get(b.index) || order.indexOf(a.kind) - order.indexOf(b.kind)
  );
}

/** Draws the list; `open(index)` is called for a sentence that is clicked. */
export function drawList(view, scatter, open) {
  const { state } = view;
  const { t } = view.frame;
  const chosen = listChosen(view, scatter);
  find("chosen").textContent = t(view.box ? "selected" : "shown", {
    count: chosen.length.toLocaleString(t.language),
  });
  find("clear").hidden = !view.box;
  const head = make(
    "tr",
    {},
    ...[t("kind"), t("source"), t(`measure ${state.y}`), t(`measure ${state.x}`)].map((text, place) =>
      make("th", { scope: "col", class: place > 1 ? "number" : null }, text)
    )
  );
  const value = (each, name) => showValue(each, name, view.measures, t.language);
  const body = chosen.slice(0, view.rows).map((each) =>
    make(
      "tr",
      { class: view.opened?.index === each.index ? "chosen" : null, "data-index": each.index },
      make("td", { class: "kind" }, makeSign(each.kind), t(`kind ${each.kind}`)),
      make(
        "th",
        { scope: "row" },
        make(
          "button",
          {
            type: "button",
            class: "word",
            dir: "auto",
            "data-index": each.index,
            onclick: () => open(each.index),
          },
          isolate(each.source)
        )
      ),
      ...[state.y, state.x].map((name) =>
        make("td", { class: "number", "data-name": t(`measure ${name}`) }, value(each, name))
      )
    )
  );
  const focused = findFocused()?.closest("#table") ? findFocused().dataset.index : undefined;
  find("table").replaceChildren(
    make("caption", { class: "unseen" }, t("listTitle")),
    make("thead", {}, head),
    make(
      "tbody",
      {},
      ...(body.length ? body : [make("tr", {}, make("td", { colspan: 4, class: "hint" }, t("nothing")))])
    )
  );
  if (focused) find("table").querySelector(`button[data-index="${focused}"]`)?.focus();
  const left = chosen.length - view.rows;
  find("more").hidden = left <= 0;
  find("more").textContent = left > 0 ? t("more", { count: Math.min(left, ROWS) }) : "";
}
