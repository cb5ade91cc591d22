/** The exported page: the theory pages with switches for colours and language, all in the address. */

import { find, findAll } from "../page/dom.js";
import { LANGUAGES, THEMES } from "../page/state.js";
import { applySwitches } from "../page/switches.js";
import { chooseLanguage, makeTexts } from "../page/texts.js";
import { THEORY_TEXTS } from "./texts.js";
import { PLAY, TheoryView } from "./view.js";

const data = JSON.parse(find("theory-data").textContent);
const switches = {
  theme: { kind: "choice", choices: THEMES, otherwise: "auto" },
  language: { kind: "choice", choices: LANGUAGES, otherwise: "" },
};
let view = null;

/** Applies the colours and the language of a state, and returns the texts. */
function applyState(/** @type {any} */ { theme, language }) {
  const t = makeTexts(chooseLanguage(language, navigator.languages), THEORY_TEXTS);
  applySwitches(theme, t.language, t);
  for (const node of findAll("[data-text]")) node.textContent = t(node.dataset.text);
  return t;
}

/** Returns the address of a task, with the colours and the language as they are. */
function linkTo(task) {
  const kept = Object.keys(switches)
    .map((name) => [name, view?.state[name]])
    .filter(([name, value]) => value && value !== switches[name].otherwise);
  // A whole address: assistive software would take a bare fragment for a link within the page.
  return `${location.href.split("#")[0]}#${new URLSearchParams([["task", task], ...kept])}`;
}

class ExportedView extends TheoryView {
  /** The address may also have changed the colours and the language. */
  onaddress() {
    view = this;
    this.t = applyState(this.state);
  }
}

view = new ExportedView(find("theory"), data, {
  t: makeTexts("en", THEORY_TEXTS),
  task: PLAY,
  linkTo,
  grade: null,
  more: switches,
});

for (const name of ["theme", "language"]) {
  find(name).addEventListener("change", () => {
    view.state[name] = find(name).value;
    view.writeAddress();
    view.restyle(applyState(view.state));
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.restyle(view.t));
