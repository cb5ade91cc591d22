/** The list of sentences: those of the kinds that are shown, and within the box that is selected. */

import { button, headings, isolate, scroll, table } from "../page/parts.js";
import { h } from "../page/view.js";
import { showValue, sign } from "./patterns-kinds.js";

const ORDER = ["inversion", "spread", "stuck", "shifted", "monotone"]; // what stands out comes first
export const ROWS = 40; // that are added at a time

/** Returns the sentences that are shown and selected, the clearest of each kind in turn. */
export function listChosen({ sentences, state, scatter }) {
  const inside = scatter.listInside();
  const chosen = sentences.filter(
    ({ kind, index }) => !state.hidden.includes(kind) && (!inside || inside.has(index))
  );
  const ranks = new Map();
  const rank = new Map();
  for (const { kind, index } of [...chosen].sort((a, b) => b.strength - a.strength)) {
    ranks.set(kind, (ranks.get(kind) ?? -1) + 1);
    rank.set(index, ranks.get(kind));
  }
  const place = ({ kind }) => ORDER.indexOf(kind);
  return chosen.sort((a, b) => rank.get(a.index) - rank.get(b.index) || place(a) - place(b));
}

/** Describes the list. */
export function describeList(view, t) {
  const { state, scatter, measures, opened, rows, open, draw, colours } = view;
  const chosen = listChosen(view);
  const count = chosen.length.toLocaleString(t.language);
  const axes = [state.y, state.x];
  const describeRow = (each) =>
    h(
      "tr",
      { key: each.index, class: opened?.index === each.index ? "chosen" : null, "data-index": each.index },
      h("td", { class: "kind" }, sign(each.kind, colours), t(`kind ${each.kind}`)),
      h(
        "th",
        { scope: "row" },
        button(isolate(each.source), () => open(each.index), {
          ...{ class: "word", dir: "auto", "data-index": each.index },
        })
      ),
      axes.map((name) => {
        const value = showValue(each, name, measures, t.language);
        return h("td", { class: "number", "data-name": t(`measure ${name}`) }, value);
      })
    );
  const shown = chosen.slice(0, rows).map(describeRow);
  const nothing = h("tr", {}, h("td", { colspan: 4, class: "hint" }, t("nothing")));
  const head = headings([t("kind"), t("source"), ...axes.map((name) => t(`measure ${name}`))], 2);
  const clear = () => {
    scatter.select(null);
    scatter.over.focus();
  };
  const showMore = () => {
    view.rows += ROWS;
    draw();
  };
  const left = chosen.length - rows;
  const more = left > 0 && t("more", { count: Math.min(left, ROWS) });
  return h(
    "section",
    { key: "list", class: "card list-card" },
    h(
      "div",
      { class: "list-head" },
      h("h2", {}, t("listTitle")),
      h(
        "span",
        { id: "chosen", class: "hint", role: "status" },
        t(scatter.box ? "selected" : "shown", { count })
      ),
      scatter.box && button(t("clear"), clear, { id: "clear" })
    ),
    scroll(table("sentences", t("listTitle"), head, shown.length ? shown : nothing), {
      ...{ id: "table", translate: "no" },
    }),
    more && button(more, showMore, { id: "more" })
  );
}
