/** Words with bars: candidates with their probabilities, or source words with their weights. */

import { isolate } from "./parts.js";
import { showPercent, showToken } from "./shown.js";
import { h } from "./view.js";
import { EOS_ID } from "./vocabulary.js";

/**
 * Describes a list of tokens with bars. Each is `{text, probability, own?}`; `own` is the probability under the
 * model's own attention, which is marked on the bar. With `onChoose` each is a button.
 */
export function describeBars(tokens, isBpe, t, onChoose = null, spoken = -1) {
  const rows = tokens.map((token) => {
    const word = showToken(token.text, isBpe);
    const { id, probability, own } = token;
    const bar = { class: own === undefined ? "bar" : "bar marked", style: { "--share": probability } };
    if (own !== undefined) bar.style["--own"] = own;
    const content = [
      h("span.token", isolate(word)),
      h("span", bar),
      h("span.percent", showPercent(probability, t.language)),
    ];
    const look = id === spoken ? "candidate said" : "candidate";
    const choose = { type: "button", title: t("goOnWith", { word }), onclick: () => onChoose(token) };
    // Nothing continues after the end.
    const row = onChoose && id !== EOS_ID ? h("button", { class: look, ...choose }, content) : null;
    return h("li", row ?? h("span", { class: look }, content));
  });
  return h("ol.bars", rows);
}
