/** What the model says at one place: its next-best words with their probabilities, and where it looks. */

import { isolate, make } from "./dom.js";
import { showPercent, showToken } from "./shown.js";
import { EOS_ID } from "./vocabulary.js";

/**
 * Returns a list of tokens with bars. Each is `{text, probability, own?}`; `own` is the probability under the
 * model's own attention, which is marked on the bar. With `onChoose` each is a button.
 */
export function makeBars(tokens, isBpe, t, onChoose, spoken = -1) {
  const items = tokens.map((token, number) => {
    const text = showToken(token.text, isBpe);
    const bar = make("span", { class: "bar" });
    bar.style.setProperty("--share", token.probability);
    if (token.own !== undefined) {
      bar.style.setProperty("--own", token.own);
      bar.classList.add("marked");
    }
    const percent = make("span", { class: "percent" }, showPercent(token.probability, t.language));
    const content = [make("span", { class: "token" }, isolate(text)), bar, percent];
    const classes = token.id === spoken ? "candidate said" : "candidate";
    const row =
      onChoose && token.id !== EOS_ID // nothing continues after the end
        ? make(
            "button",
            {
              type: "button",
              class: classes,
              "data-key": `next-${number}`,
              title: t("goOnWith", { word: text }),
              onclick: () => onChoose(token),
            },
            ...content
          )
        : make("span", { class: classes }, ...content);
    return make("li", {}, row);
  });
  return make("ol", { class: "bars" }, ...items);
}
