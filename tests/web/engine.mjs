/** What tests/process/test_web_engine.py asks of the engine. */

import { decodeHalves } from "../../src/augenmerk/web/engine/arrays.js";
import { buildModel, Translator } from "../../src/augenmerk/web/engine/translator.js";
import { maximiseWanted } from "../../src/augenmerk/web/engine/wanted.js";

function decodeBase64(text) {
  return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)).buffer;
}

function load({ settings, weights }) {
  return Translator.load(settings, decodeBase64(weights));
}

function finish(generator) {
  for (let steps = 0; ; steps++) {
    const { done, value } = generator.next();
    if (done) return value;
    if (steps > 1000) throw new Error("it does not end");
  }
}

/** Returns what a function returns, or the reason why it refuses. */
function reasonOr(answer) {
  try {
    return answer();
  } catch (error) {
    if (error.code === undefined) throw error;
    return { code: error.code, values: error.values };
  }
}

/** Calls methods of a translator, each given as [name, ...arguments], one after the other. */
export function call({ bundle, calls }) {
  const translator = load(bundle);
  return calls.map(([method, ...given]) =>
    reasonOr(() => {
      const found = translator[method](...given);
      return found.next instanceof Function ? finish(found) : found;
    })
  );
}

export function refuseBundle(bundle) {
  return reasonOr(() => void load(bundle));
}

/** What a model computes on the way: keys and values of a source, log-probabilities and weights of steps. */
export function computeSteps({ bundle, src, tokens }) {
  const model = buildModel(bundle.settings, decodeBase64(bundle.weights));
  const { memory, start } = model.encode(src);
  const memories = Array.isArray(memory) ? memory : [memory];
  const steps = [];
  let states = tokens[0].map(() => start);
  for (const row of tokens) {
    const found = model.step(row, states, memory);
    states = found.states;
    steps.push({ log_probs: [...found.logProbs], weights: [...found.weights] });
  }
  return {
    keys: memories.map(({ keys }) => [...keys]),
    values: memories.map(({ values }) => [...values]),
    steps,
  };
}

/** What is found for wanted tokens, and what they get under other attention. */
export function want({ bundle, text, prefix, tokens }) {
  const translator = load(bundle);
  return tokens.map((token) => {
    const found = translator.wanted(text, prefix, token);
    const probabilityUnder = (weights) => {
      const { tokens } = translator.predict(text, prefix, weights, translator.target.size);
      return tokens.find(({ id }) => id === token).probability;
    };
    const alone = found.weights.map((_, t) => found.weights.map((_, place) => Number(place === t)));
    const near = alone.map((one) => one.map((weight, place) => 0.05 * weight + 0.95 * found.weights[place]));
    return {
      ...found,
      again: probabilityUnder(found.weights),
      own: probabilityUnder(null),
      others: [...alone, ...near].map(probabilityUnder),
      winner: found.wins ? translator.predict(text, prefix, found.winning_weights, 1).tokens[0].id : null,
    };
  });
}

export function maximise([base, contributions, wanted, never]) {
  const rows = contributions.map((row) => Float32Array.from(row));
  return maximiseWanted(Float32Array.from(base), rows, wanted, never);
}

export function judge({ bundle, texts }) {
  const translator = load(bundle);
  return texts.map((text) => translator.familiarity.judge(translator.encode(text).ids));
}

/** JSON has no -0. */
export function decode(halves) {
  return [...decodeHalves(decodeBase64(halves))].map((number) => (Object.is(number, -0) ? "-0" : number));
}
