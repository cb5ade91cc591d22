/**
 * A model in its own worker, so that the page never freezes. In a single file the worker's script, the
 * settings and the weights stand in the page; in a folder they are fetched.
 */

import { find } from "./dom.js";

function decodeBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
  const characters = atob(text.trim());
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes.buffer;
}

/** Whether the page is the text of a frame, as in a notebook. */
export const inNotebook = location.protocol === "about:";

/** Starts the engine in a worker: from the page itself, or from the file beside it. */
function startWorker(engine) {
  if (engine) return new Worker(engine);
  const text = find("engine").textContent;
  // The policy of a notebook counts too, and that of VS Code permits no address of a Blob.
  if (inNotebook) return new Worker(`data:text/javascript;charset=utf-8,${encodeURIComponent(text)}`);
  const script = new Blob([text], { type: "text/javascript" });
  const address = URL.createObjectURL(script);
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
}

async function fetchFile(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer;
}

/** A model that answers questions. One that a newer question of the same kind replaces is never answered. */
export class Model {
  constructor(data, number, engine) {
    this.data = data;
    this.number = number;
    this.settings = null;
    this._engine = engine;
    this._waiting = new Map();
    this._next = 1;
  }

  /** Whether its tokens are subwords rather than words; known before the model is read. */
  get isBpe() {
    return this.data.unit === "bpe";
  }

  /** Reads settings and weights and gives them to the worker; resolves when the model is ready. */
  async load() {
    let weights;
    if (this.data.settings) {
      const [settings, file] = await Promise.all([
        fetchFile(this.data.settings),
        fetchFile(this.data.weights),
      ]);
      this.settings = await settings.json();
      weights = await file.arrayBuffer();
    } else {
      this.settings = JSON.parse(find(`model-${this.number}`).textContent);
      const block = find(`weights-${this.number}`);
      weights = decodeBase64(block.textContent);
      block.remove(); // nobody needs the text any more, and it is as large as the model
    }
    this._worker = startWorker(this._engine);
    this._worker.onmessage = (event) => this._answer(event.data);
    this._worker.onerror = (event) => {
      for (const { reject } of this._waiting.values()) reject(new Error(event.message || "worker"));
      this._waiting.clear();
    };
    await this.ask("load", { settings: this.settings, weights }, [weights]);
    return this;
  }

  close() {
    this._worker?.terminate();
  }

  /** Sends a question; the newest of each `call` is the only one that is answered. */
  ask(call, question, moved = []) {
    const id = this._next++;
    for (const [older, waiting] of this._waiting) {
      if (waiting.call === call) this._waiting.delete(older);
    }
    return new Promise((resolve, reject) => {
      this._waiting.set(id, { call, resolve, reject });
      this._worker.postMessage({ id, call, key: call, ...question }, moved);
    });
  }

  _answer({ id, result, error }) {
    const waiting = this._waiting.get(id);
    if (waiting === undefined) return;
    this._waiting.delete(id);
    if (error === undefined) waiting.resolve(result);
    else waiting.reject(Object.assign(new Error(error.code), error));
  }
}
