/** The switches that every page has: colours and language. */

import { fillSelect, find } from "./dom.js";
import { LANGUAGES, nameLanguage } from "./texts.js";

export const THEMES = ["auto", "light", "dark", "projector"];

/** Gives the page colours and a language, and fills the switches; `nameTheme(theme)` is what is shown of colours. */
export function applySwitches(theme, language, nameTheme) {
  const root = document.documentElement;
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  root.lang = language;
  fillSelect(find("theme"), THEMES, nameTheme, theme);
  fillSelect(find("language"), LANGUAGES, (code) => nameLanguage(code, code), language);
}
