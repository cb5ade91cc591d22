/**
 * What all views of the workbench share: the switches for colours and language, which are remembered, and the
 * texts. A view calls `startFrame` once with its own texts.
 */

import { find, findAll } from "../page/dom.js";
import { LANGUAGES, THEMES } from "../page/state.js";
import { applySwitches } from "../page/switches.js";
import { chooseLanguage, makeTexts } from "../page/texts.js";

const TEXTS = {
  en: {
    skip: "Skip to content",
    lost: "The server does not answer. Retrying …",
    views: "Views",
    translate: "Translate",
    runs: "Runs",
    studies: "Studies",
    theory: "Theory",
    patterns: "Patterns",
    api: "API",
    language: "Language",
    theme: "Colours",
    auto: "System",
    light: "Light",
    dark: "Dark",
    projector: "Projector",
    asTable: "Show as a table",
    chartKeys: "Use the arrow keys to read it point by point.",
  },
  de: {
    skip: "Zum Inhalt",
    lost: "Der Server antwortet nicht. Neuer Versuch …",
    views: "Ansichten",
    translate: "Übersetzen",
    runs: "Läufe",
    studies: "Studien",
    theory: "Theorie",
    patterns: "Muster",
    api: "API",
    language: "Sprache",
    theme: "Farben",
    auto: "System",
    light: "Hell",
    dark: "Dunkel",
    projector: "Projektor",
    asTable: "Als Tabelle zeigen",
    chartKeys: "Pfeiltasten lesen Punkt für Punkt.",
  },
};

/** Returns what was remembered under a name, "" for nothing. */
function recall(name) {
  try {
    return localStorage.getItem(`augenmerk-${name}`) ?? "";
  } catch {
    return "";
  }
}

/** Remembers a choice, "theme" or "language", for all views; a browser may refuse. */
export function rememberSwitch(name, value) {
  try {
    localStorage.setItem(`augenmerk-${name}`, value);
  } catch {
    // Then it lasts as long as the page.
  }
}

/** Returns the colours that were last chosen. */
export function recallTheme() {
  const theme = recall("theme");
  return THEMES.includes(theme) ? theme : "auto";
}

/** Returns the language that was last chosen, "" if none was. */
export function recallLanguage() {
  const language = recall("language");
  return LANGUAGES.includes(language) ? language : "";
}

/** Returns a text of the frame in the language of the page. */
export function frameText(key) {
  return TEXTS[document.documentElement.lang === "de" ? "de" : "en"][key];
}

/** Returns the texts of a view and of the frame, in a language. */
export function makeViewTexts(texts, language) {
  return makeTexts(language, TEXTS, texts);
}

/** Writes the texts of the frame and, where `data-text`, `data-label` and `data-hint` name them, of the view. */
export function writeTexts(t, names = ["text", "label", "hint"]) {
  document.documentElement.lang = t.language;
  for (const node of findAll("[data-frame]")) {
    node.textContent = TEXTS[t.language][node.dataset.frame];
  }
  find("views").setAttribute("aria-label", TEXTS[t.language].views);
  if (names.includes("text")) {
    for (const node of findAll("[data-text]")) node.textContent = t(node.dataset.text);
  }
  if (names.includes("label")) {
    for (const node of findAll("[data-label]")) {
      node.setAttribute("aria-label", t(node.dataset.label));
    }
  }
  if (names.includes("hint")) {
    for (const node of findAll("[data-hint]")) node.title = t(node.dataset.hint);
  }
}

/** Has the links to the other views lead to what was last shown there, while this tab is open. */
export function keepViews() {
  try {
    for (const link of findAll("#views a:not([aria-current])")) {
      const kept = sessionStorage.getItem(`augenmerk-view-${link.dataset.frame}`);
      if (kept) link.setAttribute("href", kept);
    }
    const [view] = findAll("#views a[aria-current]");
    addEventListener("pagehide", () =>
      sessionStorage.setItem(
        `augenmerk-view-${view.dataset.frame}`,
        `${location.pathname}${location.search}${location.hash}`
      )
    );
  } catch {
    // A browser that stores nothing leads to the views as they are at the start.
  }
}

/**
 * Starts the frame of a view. `texts` has the view's own texts, {en: {...}, de: {...}}. `onChange(t)` is
 * called when the language or the colours have changed, by a switch or by the system, and after that
 * everything that depends on them has to be drawn again; it is not called at the start.
 *
 * Returns {t, theme, language}, which change with the switches.
 * @param {{texts?: object, onChange?: (t: any) => void}} given
 */
export function startFrame({ texts = { en: {}, de: {} }, onChange = () => {} } = {}) {
  const frame = { theme: recallTheme(), language: "", t: null };

  function apply() {
    frame.language = chooseLanguage(recallLanguage(), navigator.languages);
    frame.t = makeViewTexts(texts, frame.language);
    writeTexts(frame.t);
    applySwitches(frame.theme, frame.language, (theme) => TEXTS[frame.language][theme]);
  }

  find("theme").addEventListener("change", () => {
    frame.theme = find("theme").value;
    rememberSwitch("theme", frame.theme);
    apply();
    onChange(frame.t);
  });
  find("language").addEventListener("change", () => {
    rememberSwitch("language", find("language").value);
    apply();
    onChange(frame.t);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => onChange(frame.t));
  apply();
  keepViews();
  return frame;
}
