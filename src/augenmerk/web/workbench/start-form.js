/** The form in which a training is described; what is written is checked by the server while one writes. */

import { make } from "../page/dom.js";

const PAUSE = 300; // milliseconds without a key before the settings are checked

export class StartForm {
  /** `given` has presets, datasets and settings; `on` has check(question), start(question) and cancel(). */
  constructor(given, on) {
    this.on = on;
    this.given = given;
    this.timer = 0;
    this.number = 0; // of the newest check
    const options = (values) => values.map((value) => make("option", { value }, value));
    const changed = () => this.checkSoon();
    this.name = make("input", {
      type: "text",
      id: "start-name",
      required: true,
      maxlength: 100,
      autocomplete: "off",
      spellcheck: "false",
      oninput: changed,
    });
    this.preset = make("select", { id: "start-preset", onchange: changed }, ...options(given.presets));
    this.preset.value = "quick";
    this.data = make("select", { id: "start-data", onchange: changed }, ...options(given.datasets));
    this.epochs = make("input", {
      type: "number",
      id: "start-epochs",
      min: 1,
      max: 100000,
      oninput: changed,
    });
    this.settings = make("textarea", {
      id: "start-settings",
      rows: 3,
      spellcheck: "false",
      autocomplete: "off",
      oninput: changed,
    });
    this.add = make("select", { id: "start-add", onchange: () => this.addSetting() });
    this.keep = make("input", { type: "checkbox", id: "start-keep" });
    this.answer = make("p", { class: "checked hint", role: "status" });
    this.submit = make("button", { type: "submit", class: "main" });
    this.back = make("button", { type: "button", onclick: () => on.cancel() });
    this.texts = {}; // the labels, by the key of their text
    const text = (key, attributes) => {
      this.texts[key] = make("span", attributes);
      return this.texts[key];
    };
    const label = (key, field) => make("label", {}, text(key, { class: "label" }), field);
    this.hint = make("p", { class: "hint" });
    this.keepHint = make("p", { class: "hint" });
    this.element = make(
      "form",
      { class: "start", onsubmit: (event) => this.send(event) },
      make(
        "div",
        { class: "fields" },
        label("runName", this.name),
        label("startPreset", this.preset),
        label("startData", this.data),
        label("startEpochs", this.epochs)
      ),
      label("settingsChanged", this.settings),
      make("div", { class: "buttons" }, this.add, this.hint),
      make("label", { class: "check" }, this.keep, " ", text("keep")),
      this.keepHint,
      this.answer,
      make("div", { class: "buttons" }, this.submit, this.back)
    );
  }

  focus() {
    this.name.focus();
  }

  /** Writes the texts in the language of the page. */
  write(t) {
    if (this.t === t) return;
    this.t = t;
    for (const [key, node] of Object.entries(this.texts)) node.textContent = t(key);
    this.hint.textContent = t("settingsHint");
    this.keepHint.textContent = t("keepHint");
    this.submit.textContent = t("start");
    this.back.textContent = t("cancel");
    const option = ({ name, meaning }) => make("option", { value: name, title: meaning }, name);
    this.add.replaceChildren(
      make("option", { value: "" }, t("addSetting")),
      ...this.given.settings.map(option)
    );
    this.checkSoon();
  }

  /** Writes a setting that was chosen, with what it may be, which the user finishes. */
  addSetting() {
    const setting = this.given.settings.find(({ name }) => name === this.add.value);
    this.add.value = "";
    if (!setting) return;
    const lines = this.settings.value.trimEnd();
    this.settings.value = `${lines}${lines ? "\n" : ""}${setting.name}=`;
    this.settings.focus();
    this.show(`${setting.name}: ${setting.meaning} (${setting.type})`, "hint");
  }

  get question() {
    const own = this.settings.value
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
    const epochs = this.epochs.value ? [`train.epochs=${this.epochs.value}`] : [];
    return {
      run: this.name.value.trim(),
      preset: this.preset.value,
      settings: [`data.bitext=${this.data.value}`, ...epochs, ...own],
      keep: this.keep.checked,
    };
  }

  checkSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), PAUSE);
  }

  async check() {
    const number = ++this.number;
    const question = this.question;
    try {
      const { changed, problem } = await this.on.check({ ...question, run: question.run || "new" });
      if (number !== this.number) return;
      if (problem) throw new Error(problem);
      const settings = Object.entries(changed).map(([name, value]) => `${name} = ${value}`);
      const key = settings.length ? "willChange" : "asPreset";
      this.show(this.t(key, { preset: question.preset, settings: settings.join(", ") }), "hint");
    } catch (error) {
      if (number === this.number) this.show(error.message, "error");
    }
  }

  show(text, kind) {
    this.answer.textContent = text;
    this.answer.className = `checked ${kind}`;
  }

  async send(event) {
    event.preventDefault();
    clearTimeout(this.timer);
    this.number += 1;
    this.submit.disabled = true;
    try {
      await this.on.start(this.question);
    } catch (error) {
      this.show(error.message, "error");
    } finally {
      this.submit.disabled = false;
    }
  }
}
