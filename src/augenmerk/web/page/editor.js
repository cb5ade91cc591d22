/**
 * "Change what it attends to": the weights of one place as sliders. A context is the sum of the values
 * weighted so (equation 11), and the decoder's state does not look at the attention (equation 10). So what
 * is shown of the next word under changed weights is exact.
 */

import { isolate, make } from "./dom.js";
import { makeBars } from "./next.js";
import { showNumber, showPercent, showToken } from "./shown.js";

/** Returns weights with one of them set; the others share the rest in the proportions they had. */
function setWeight(weights, place, value) {
  const chosen = Math.min(1, Math.max(0, value));
  const others = weights.reduce((sum, weight, i) => (i === place ? sum : sum + weight), 0);
  const rest = 1 - chosen;
  return weights.map((weight, i) => {
    if (i === place) return weights.length === 1 ? 1 : chosen;
    return others > 1e-9 ? (weight / others) * rest : rest / (weights.length - 1);
  });
}

/** Returns the same weight for every source token. */
function evenWeights(count) {
  return Array(count).fill(1 / count);
}

/** Returns all of the weight on one source token. */
function oneWeight(count, place) {
  return Array.from({ length: count }, (_, i) => (i === place ? 1 : 0));
}

/** Returns weights with two of them exchanged. */
function swapWeights(weights, a, b) {
  return weights.map((weight, i) => (i === a ? weights[b] : i === b ? weights[a] : weight));
}

/** The controls for the weights of one place. It is made again for another position, and kept while one drags. */
export class Editor {
  /**
   * `tokens` are the source tokens as shown, and `isMultiHead` says whether all heads will get the weights.
   * `on` has change(weights), goOn(weights) and want(text, id); the id is there if the word was offered.
   */
  constructor({ tokens, own, weights, word, isBpe, isMultiHead }, t, on) {
    this.own = own;
    this.weights = weights;
    this.t = t;
    this.on = on;
    this.isBpe = isBpe;
    this.sliders = tokens.map((token, place) =>
      make("input", {
        type: "range",
        min: 0,
        max: 1,
        step: 0.01,
        "aria-label": t("weightOf", { word: token }),
        oninput: (event) => this.set(setWeight(this.weights, place, event.target.valueAsNumber), place),
      })
    );
    this.numbers = tokens.map((token, place) =>
      make("input", {
        type: "number",
        min: 0,
        max: 100,
        step: 1,
        "aria-label": t("percentOf", { word: token }),
        onchange: (event) =>
          this.set(setWeight(this.weights, place, (event.target.valueAsNumber || 0) / 100)),
      })
    );
    const rows = tokens.map((token, place) => {
      const ownMark = make("span", {
        class: "own",
        title: t("ownWeight", { weight: showNumber(own[place], t.language) }),
      });
      ownMark.style.setProperty("--own", own[place]);
      const all = {
        type: "button",
        class: "word",
        title: t("allOn", { word: token }),
        onclick: () => this.set(oneWeight(tokens.length, place)),
      };
      return make(
        "tr",
        {},
        make("th", { scope: "row" }, make("button", all, isolate(token))),
        make("td", { class: "slide" }, this.sliders[place], ownMark),
        make("td", {}, this.numbers[place], make("span", { class: "unit", "aria-hidden": "true" }, "%"))
      );
    });
    const choice = (label, start) => {
      const options = tokens.map((token, place) =>
        make("option", { value: place, selected: place === start }, token)
      );
      return make("select", { "aria-label": label }, ...options);
    };
    const [strongest, second] = [...own.keys()].sort((a, b) => own[b] - own[a]);
    this.first = choice(t("swapFirst"), strongest);
    this.second = choice(t("swapSecond"), second ?? strongest);
    const button = (text, onclick, attributes = {}) =>
      make("button", { type: "button", onclick, ...attributes }, text);
    this.wish = make("input", {
      type: "text",
      id: "wish",
      dir: "auto",
      autocomplete: "off",
      spellcheck: "false",
      list: "wishes",
    });
    this.wishes = make("datalist", { id: "wishes" });
    this.offered = new Map(); // the id of each word that is offered
    this.answer = make("p", { class: "answer", role: "status" });
    this.bars = make("div", { class: "prediction" });
    const form = make(
      "form",
      {
        class: "wanted",
        onsubmit: (event) => {
          event.preventDefault();
          const text = this.wish.value.trim();
          if (text) this.on.want(text, this.offered.get(text));
        },
      },
      make("label", { for: "wish" }, t("wanted")),
      make("span", { class: "together" }, this.wish, make("button", { type: "submit" }, t("find"))),
      this.wishes,
      this.answer
    );
    this.element = make(
      "div",
      { class: "editor" },
      make(
        "div",
        { class: "weights" },
        make(
          "div",
          { class: "buttons" },
          button(t("own"), () => this.set(this.own)),
          button(t("uniform"), () => this.set(evenWeights(tokens.length))),
          make(
            "span",
            { class: "together" },
            this.first,
            this.second,
            button(t("swap"), () => this.swap())
          )
        ),
        make(
          "table",
          {},
          make("caption", { class: "unseen" }, t("weightsCaption", { word })),
          make("tbody", {}, ...rows)
        ),
        make("p", { class: "hint" }, t("editorHint"), ...(isMultiHead ? [" ", t("allHeads")] : []))
      ),
      make(
        "div",
        { class: "effect" },
        make("h3", {}, t("nextNow")),
        this.bars,
        make(
          "p",
          { class: "buttons" },
          button(t("goOn"), () => this.on.goOn(this.weights), { class: "main" })
        ),
        form
      )
    );
    this.paint();
  }

  /** Takes new weights; the slider that is being dragged is left alone. */
  set(weights, dragged = -1) {
    this.weights = weights;
    this.paint(dragged);
    this.on.change(weights);
  }

  swap() {
    this.set(swapWeights(this.weights, Number(this.first.value), Number(this.second.value)));
  }

  paint(dragged = -1) {
    this.weights.forEach((weight, place) => {
      if (place !== dragged) this.sliders[place].value = weight;
      this.sliders[place].style.setProperty("--share", weight);
      this.numbers[place].value = String(Math.round(weight * 100));
    });
  }

  /** Shows the next words under the weights, with marks where they were under the model's own attention. */
  showPrediction(own, now) {
    const before = new Map(own.tokens.map((token) => [token.id, token.probability]));
    const tokens = now.tokens.slice(0, 7).map((token) => ({ ...token, own: before.get(token.id) ?? 0 }));
    this.bars.replaceChildren(makeBars(tokens, this.isBpe, this.t, null));
    this.offered.clear();
    for (const { id, text } of own.tokens) {
      const shown = showToken(text, this.isBpe);
      if (!this.offered.has(shown)) this.offered.set(shown, id);
    }
    this.wishes.replaceChildren(...[...this.offered.keys()].map((value) => make("option", { value })));
  }

  /** Shows an error where the next words would be. */
  showError(message) {
    this.bars.replaceChildren(make("p", { class: "error" }, message));
  }

  /**
   * Says what was found for a wish, and takes the weights: those under which the word comes first, or else
   * those under which it is as likely as it gets.
   */
  showWanted(text, { weights, winning_weights, probability, own_probability, wins, best }) {
    const { t } = this;
    const percent = (share) => showPercent(share, t.language);
    const leads = probability > best.probability;
    const key = wins === null ? "undecided" : !wins ? "losesTo" : leads ? "wins" : "winsElsewhere";
    this.answer.textContent = t(key, {
      word: `\u2068${text}\u2069`,
      probability: percent(probability),
      own: percent(own_probability),
      best: `\u2068${showToken(best.text, this.isBpe)}\u2069`,
      other: percent(best.probability),
    });
    this.set(wins && !leads ? winning_weights : weights);
  }

  /** Says why there is no answer to a wish. */
  refuse(message) {
    this.answer.textContent = message;
  }
}
