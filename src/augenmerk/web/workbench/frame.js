/**
 * What all views of the workbench share: the switches for colours and language, which are remembered, and the
 * texts. A view calls `startFrame` once with its own texts.
 */

import { find, findAll } from "../page/dom.js";
import { applySwitches, THEMES } from "../page/switches.js";
import { chooseLanguage, LANGUAGES, makeTexts } from "../page/texts.js";

const TEXTS = {
  skip: ["Skip to content", "Zum Inhalt"],
  lost: ["The server does not answer. Retrying …", "Der Server antwortet nicht. Neuer Versuch …"],
  unsent: [
    "The server does not answer. Try again later.",
    "Der Server antwortet nicht. Bitte später noch einmal versuchen.",
  ],
  views: ["Views", "Ansichten"],
  translate: ["Translate", "Übersetzen"],
  runs: ["Runs", "Läufe"],
  studies: ["Studies", "Studien"],
  theory: ["Theory", "Theorie"],
  patterns: ["Patterns", "Muster"],
  api: ["API", "API"],
  asTable: ["Show as a table", "Als Tabelle zeigen"],
  chartKeys: [
    "Use the arrow keys to read it point by point.",
    "Mit den Pfeiltasten liest du Punkt für Punkt.",
  ],
};

/** Reads what is kept under a name, in this tab or in all, "" for nothing; or writes it. A browser may refuse both. */
function keep(where, name, value = null) {
  try {
    const storage = where === "tab" ? sessionStorage : localStorage;
    if (value !== null) storage.setItem(`augenmerk-${name}`, value);
    return storage.getItem(`augenmerk-${name}`) ?? "";
  } catch {
    return "";
  }
}

/** Remembers a choice, "theme" or "language", for all views. */
export function rememberSwitch(name, value) {
  keep("all", name, value);
}

/** Returns the colours and the language that were last chosen; "" is the language of the browser. */
export function recallSwitches() {
  const [theme, language] = [keep("all", "theme"), keep("all", "language")];
  return {
    theme: THEMES.includes(theme) ? theme : "auto",
    language: LANGUAGES.includes(language) ? language : "",
  };
}

/** Returns a text of the frame in the language of the page. */
export function frameText(key) {
  return makeTexts(document.documentElement.lang, TEXTS)(key);
}

export function writeFrame(language) {
  document.documentElement.lang = language;
  const t = makeTexts(language, TEXTS);
  for (const node of findAll("[data-frame]")) node.textContent = t(node.dataset.frame);
  find("views").setAttribute("aria-label", t("views"));
}

/** Has the links to the other views lead to what was last shown there, while this tab is open. */
export function keepViews() {
  const [here] = findAll("#views a[aria-current]");
  const link = () => {
    for (const other of findAll("#views a:not([aria-current])")) {
      const kept = keep("tab", `view-${other.dataset.frame}`);
      if (kept) other.setAttribute("href", kept);
    }
  };
  link();
  addEventListener("pageshow", link); // also when "Back" leads here
  addEventListener("pagehide", () => {
    const address = `${location.pathname}${location.search}${location.hash}`;
    keep("tab", `view-${here.dataset.frame}`, address);
  });
}

/**
 * Starts the frame of a view. `texts` has the view's own texts, which are written where
 * `data-text` names them. `onChange(t)` is called when the language or the colours have changed, by a switch or by the
 * system, and after that everything that depends on them has to be drawn again; it is not called at the start.
 *
 * Returns {t, theme, language}, which change with the switches.
 * @param {{texts?: object, onChange?: (t: any) => void}} given
 */
export function startFrame({ texts = {}, onChange = () => {} } = {}) {
  const chosen = recallSwitches();
  const frame = { theme: chosen.theme, language: "", t: null };

  function apply() {
    frame.theme = chosen.theme;
    frame.language = chooseLanguage(chosen.language, navigator.languages);
    frame.t = makeTexts(frame.language, TEXTS, texts);
    writeFrame(frame.language);
    for (const node of findAll("[data-text]")) node.textContent = frame.t(node.dataset.text);
    applySwitches(frame.theme, frame.language, frame.t);
  }

  for (const name of ["theme", "language"]) {
    find(name).addEventListener("change", () => {
      chosen[name] = find(name).value;
      rememberSwitch(name, chosen[name]);
      apply();
      onChange(frame.t);
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => onChange(frame.t));
  apply();
  keepViews();
  return frame;
}
