/** Starts an exported page: its models answer in the browser. */

import { find } from "./dom.js";
import { startPage } from "./main.js";
import { inNotebook, Model } from "./models.js";

const pageData = JSON.parse(find("page-data").textContent);
let told = []; // the translations that the notebook has

/** Tells the notebook around the page what is shown, once all models have answered. */
function tellNotebook({ state, answers }) {
  const translations = answers.map(({ translation }) => translation);
  if (answers.some(({ waiting }) => waiting) || translations.every((each, n) => each === told[n])) return;
  told = translations;
  const data = translations.map((each) => each && { ...each, tree: undefined });
  parent.postMessage({ sentence: state.text, translations: JSON.parse(JSON.stringify(data)) }, "*");
}

const pageApp = startPage(pageData, {
  makeModel: (data, number) => new Model(data, number, pageData.engine),
  ...(inNotebook && { draw: tellNotebook }),
});
if (inNotebook) {
  window.addEventListener("message", ({ source, data }) => {
    if (source === parent && typeof data?.sentence === "string") {
      pageApp.choose(data.sentence, { sentence: 0 });
    }
  });
  new ResizeObserver(() =>
    parent.postMessage({ height: Math.ceil(document.body.getBoundingClientRect().height) }, "*")
  ).observe(document.body);
}
