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

export function describeList(view, t) {
  const { state, scatter, measures, opened, rows, open, draw, colours } = view;
  const chosen = listChosen(view);
  const count = chosen.length.toLocaleString(t.language);
  const axes = [state.y, state.x];
  const describeRow = (each) => {
    const attributes = { class: "word", dir: "auto", "data-index": each.index };
    const source = button(isolate(each.source), () => open(each.index), attributes);
    const cells = axes.map((name) => {
      const value = showValue(each, name, measures, t.language);
      return h("td.number", { "data-name": t(`measure ${name}`) }, value);
    });
    const kind = h("td.kind", sign(each.kind, colours), t(`kind ${each.kind}`));
    const row = {
      key: each.index,
      class: opened?.index === each.index && "chosen",
      "data-index": each.index,
    };
    return h("tr", row, kind, h("th", { scope: "row" }, source), cells);
  };
  const shown = chosen.slice(0, rows).map(describeRow);
  const nothing = h("tr", h("td", { colspan: 4, class: "hint" }, t("nothing")));
  const head = headings([t("kind"), t("source"), ...axes.map((name) => t(`measure ${name}`))], 2);
  const clear = () => {
    scatter.select(null);
    scatter.focus();
  };
  const showMore = () => {
    view.rows += ROWS;
    draw();
  };
  const left = chosen.length - rows;
  const more = left > 0 && t("more", { count: Math.min(left, ROWS) });
  const said = t(scatter.box ? "selected" : "shown", { count });
  const listed = table("sentences", t("listTitle"), head, shown.length ? shown : nothing);
  return h(
    "section.card.list-card",
    { key: "list" },
    h(
      "div.list-head",
      h("h2", t("listTitle")),
      h("span.hint", { id: "chosen", role: "status" }, said),
      scatter.box && button(t("clear"), clear, { id: "clear" })
    ),
    scroll(listed, { id: "table", translate: "no" }),
    more && button(more, showMore, { id: "more" })
  );
}
