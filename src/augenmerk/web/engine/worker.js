/**
 * A translator in a worker, so that the page never freezes. There is one worker for each model.
 *
 * Messages are {id, call, key, ...arguments}; `id` is the caller's, and each gets one answer: {id, result},
 * {id, error: {code, values}} (see `errors.js`), or {id, cancelled: true}.
 *
 *   load       settings, weights (an ArrayBuffer)
 *   translate  text, and the options of `Translator.translateText`
 *   predict    text, prefix, weights (or null), count
 *   wanted     text, prefix, token
 *   cancel     key, or none for all
 *
 * A newer message with the same key cancels an older one that is still being computed.
 */

import { EngineError } from "./errors.js";
import { Translator } from "./translator.js";

/** Milliseconds to compute before newer messages are looked for. */
const SLICE = 8;

/** Answers the messages of a worker's scope. */
function serveTranslator(scope) {
  const running = new Map(); // by id: {key, cancelled}
  let translator = null;
  const pauses = new MessageChannel();
  const waiting = [];
  pauses.port1.onmessage = () => waiting.shift()();

  /** Lets messages that have arrived be handled first. Unlike a timer, it takes no milliseconds. */
  function pause() {
    return new Promise((resolve) => {
      waiting.push(resolve);
      pauses.port2.postMessage(null);
    });
  }

  function cancel(key) {
    for (const call of running.values()) call.cancelled ||= key === undefined || call.key === key;
  }

  /** Returns the answer to a message, or a generator that computes it. */
  function begin(call, /** @type {any} */ { settings, weights, text, prefix, token, count, ...options }) {
    if (call === "load") {
      translator = Translator.load(settings, weights);
      return {};
    }
    if (translator === null) throw new EngineError("notLoaded");
    switch (call) {
      case "translate":
        return translator.translateText(text, { prefix, ...options });
      case "predict":
        return translator.predict(text, prefix, weights, count);
      case "wanted":
        return translator.wanted(text, prefix, token);
      default:
        throw new EngineError("noCall", { call });
    }
  }

  async function answer(/** @type {any} */ { id, call, key, ...args }) {
    if (call === "cancel" || key !== undefined) cancel(key);
    if (call === "cancel") {
      scope.postMessage({ id, result: {} });
      return;
    }
    const state = { key, cancelled: false };
    running.set(id, state);
    try {
      await pause(); // a newer message may be here already
      const found = state.cancelled ? null : begin(call, args);
      const result = found?.next === undefined ? found : await advance(found, state);
      scope.postMessage(state.cancelled ? { id, cancelled: true } : { id, result });
    } catch (error) {
      const { code, values } =
        error instanceof EngineError ? error : { code: "unexpected", values: { message: error.message } };
      scope.postMessage({ id, error: { code, values } });
    } finally {
      running.delete(id);
    }
  }

  /** Runs a generator to its end, in slices; stops if the call was cancelled. */
  async function advance(generator, state) {
    let sliceEnds = performance.now() + SLICE;
    for (;;) {
      const { done, value } = generator.next();
      if (done) return value;
      if (performance.now() > sliceEnds) {
        await pause();
        if (state.cancelled) {
          generator.return();
          return null;
        }
        sliceEnds = performance.now() + SLICE;
      }
    }
  }

  scope.onmessage = (event) => answer(event.data);
}

// The page also has this code where all modules are one script.
if ("WorkerGlobalScope" in self) serveTranslator(self);
