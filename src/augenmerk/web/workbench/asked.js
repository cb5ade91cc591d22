/**
 * A model that the server asks: the second implementation of what `page/models.js` has. The server translates;
 * questions about changed attention are answered by the model itself, which is fetched when one first comes.
 */

import { Model } from "../page/models.js";
import { restoreExample } from "../page/stored.js";
import { newestOf, postJson } from "./server.js";

const SERVER = "/workbench/translate";

/** One run, or several that translate together. `data` is as the server describes it, with `runs`, names. */
export class ServerModel {
  constructor(data, number) {
    this.data = data;
    this.number = number;
    this._local = null; // a promise of the model in the browser
    this._settings = null;
    this._askNewest = newestOf((question, signal) => postJson(`${SERVER}/ask`, question, signal));
  }

  get isBpe() {
    return this.data.unit === "bpe";
  }

  /** The settings of the model in the browser; null until it was asked something. */
  get settings() {
    return this._settings;
  }

  /** There is nothing to wait for. */
  async load() {
    return this;
  }

  /** Answers a question as `Model.ask` does: the newest of each kind is the only one that is answered. */
  ask(call, question) {
    if (call === "translate" && !question.changed) return this._askServer(question);
    return this._loadLocal().then((model) => model.ask(call, question));
  }

  async _askServer({ text, sentence = 0, beam, prefix = [], tree = false, heads = null }) {
    const question = { models: this.data.runs, text, sentence, beam, prefix, tree, heads };
    return restoreExample(await this._askNewest(question));
  }

  _loadLocal() {
    if (this._local === null) {
      const name = this.data.runs[0].split("/").map(encodeURIComponent).join("/");
      const files = { settings: `${SERVER}/model/${name}.json`, weights: `${SERVER}/model/${name}.bin` };
      this._local = new Model({ ...this.data, ...files }, this.number, `${SERVER}/engine.js`)
        .load()
        .then((model) => {
          this._settings = model.settings;
          return model;
        });
      this._local.catch(() => (this._local = null)); // so that it can be tried again
    }
    return this._local;
  }
}
