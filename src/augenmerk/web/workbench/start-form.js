/** The form in which a training is described. The server checks the settings as you type. */

import { find } from "../page/dom.js";
import { button, hint } from "../page/parts.js";
import { h } from "../page/view.js";
import { newestOf } from "./server.js";

const PAUSE = 300; // milliseconds without a key before the settings are checked

/**
 * Returns the form as {describe(t)}. `given` has presets, datasets and settings; `on` has check(question, signal),
 * start(question), cancel() and draw().
 */
export function makeStartForm(given, on) {
  const form = { answer: null, isError: false, isSending: false };
  const check = newestOf((question, signal) => on.check(question, signal));
  let timer = 0;

  function say(answer, isError) {
    Object.assign(form, { answer, isError });
    on.draw();
  }

  function readQuestion() {
    const { value: written } = find("start-settings");
    const lines = written.split("\n").map((line) => line.trim());
    const epochs = find("start-epochs").value;
    const data = [`data.bitext=${find("start-data").value}`, ...(epochs ? [`train.epochs=${epochs}`] : [])];
    return {
      run: find("start-name").value.trim(),
      preset: find("start-preset").value,
      settings: [...data, ...lines.filter(Boolean)],
      keep: find("start-keep").checked,
    };
  }

  async function checkNow() {
    const { run, ...question } = readQuestion();
    try {
      const { changed, problem } = await check({ ...question, run: run || "new" });
      if (problem) throw new Error(problem);
      const settings = Object.entries(changed).map(([name, value]) => `${name} = ${value}`);
      const key = settings.length ? "willChange" : "asPreset";
      say((t) => t(key, { preset: question.preset, settings: settings.join(", ") }), false);
    } catch (error) {
      say(() => error.message, true);
    }
  }

  function checkSoon() {
    clearTimeout(timer);
    timer = setTimeout(checkNow, PAUSE);
  }

  /** Writes a setting that was chosen, and says what it may be; the user finishes it. */
  function addSetting({ target }) {
    const setting = given.settings.find(({ name }) => name === target.value);
    target.value = "";
    if (!setting) return;
    const field = find("start-settings");
    const lines = field.value.trimEnd();
    field.value = `${lines}${lines ? "\n" : ""}${setting.name}=`;
    field.focus();
    say(() => `${setting.name}: ${setting.meaning} (${setting.type})`, false);
  }

  async function send(event) {
    event.preventDefault();
    clearTimeout(timer);
    form.isSending = true;
    on.draw();
    try {
      await on.start(readQuestion());
    } catch (error) {
      say(() => error.message, true);
    } finally {
      form.isSending = false;
      on.draw();
    }
  }

  function describe(t) {
    const typed = { autocomplete: "off", spellcheck: "false", oninput: checkSoon };
    const label = (key, field) => h("label", h("span.label", t(key)), field);
    const choose = (id, values, first) => {
      const option = (value) => h("option", { value, selected: value === first }, value);
      return h("select", { id, onchange: checkSoon }, values.map(option));
    };
    const name = { type: "text", id: "start-name", required: true, maxlength: 100, ...typed };
    const epochs = { type: "number", id: "start-epochs", min: 1, max: 100000, ...typed };
    const options = given.settings.map(({ name, meaning }) =>
      h("option", { value: name, title: meaning }, name)
    );
    const add = { id: "start-add", "aria-label": t("addSetting"), onchange: addSetting };
    const submit = h("button.main", { type: "submit", disabled: form.isSending }, t("start"));
    const fields = [
      label("runName", h("input", name)),
      label("startPreset", choose("start-preset", given.presets, "quick")),
      label("startData", choose("start-data", given.datasets, null)),
      label("startEpochs", h("input", epochs)),
    ];
    const adding = h("select", add, h("option", { value: "" }, t("addSetting")), options);
    return h(
      "form.start",
      { onsubmit: send },
      h("div.fields", fields),
      label("settingsChanged", h("textarea", { id: "start-settings", rows: 3, ...typed })),
      h("div.buttons", adding, hint(t("settingsHint"))),
      h("label.check", h("input", { type: "checkbox", id: "start-keep" }), " ", h("span", t("keep"))),
      hint(t("keepHint")),
      h("p.checked", { class: form.isError ? "error" : "hint", role: "status" }, form.answer?.(t)),
      h("div.buttons", submit, button(t("cancel"), on.cancel))
    );
  }

  checkSoon();
  return { describe };
}
