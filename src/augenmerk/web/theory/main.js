/** The exported page: the theory pages with switches for colours and language, all in the address. */

import { choice, writeState } from "../page/address.js";
import { find, findAll } from "../page/dom.js";
import { applySwitches, THEMES } from "../page/switches.js";
import { chooseLanguage, LANGUAGES, makeTexts } from "../page/texts.js";
import { THEORY_TEXTS } from "./texts.js";
import { PLAY, TheoryView } from "./view.js";

const SWITCHES = { theme: choice(THEMES, "auto"), language: choice(LANGUAGES, "") };

/** Applies the colours and the language of a state, and returns the texts. */
function applyState({ theme, language }) {
  const t = makeTexts(chooseLanguage(language, navigator.languages), THEORY_TEXTS);
  applySwitches(theme, t.language, t);
  document.title = `Augenmerk: ${t("heading")}`;
  for (const node of findAll("[data-text]")) node.textContent = t(node.dataset.text);
  return t;
}

/** Returns the address of a task, with the colours and the language as they are. */
function linkTo(task) {
  const kept = writeState(view.state, SWITCHES);
  // A whole address: assistive software would take a bare fragment for a link within the page.
  return `${location.href.split("#")[0]}#task=${task}${kept && `&${kept}`}`;
}

const view = new TheoryView(find("theory"), JSON.parse(find("theory-data").textContent), {
  getTexts: applyState,
  task: PLAY,
  linkTo,
  more: SWITCHES,
});

for (const name of ["theme", "language"]) {
  find(name).addEventListener("change", () => {
    view.state[name] = find(name).value;
    view.writeAddress();
    view.restyle();
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.restyle());
