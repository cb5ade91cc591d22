/**
 * Greedy and beam search over a step function; knows no model: the JavaScript of `search/` for one sentence.
 *
 * K hypotheses, V ids, S source positions; B is the width of a beam. Sums of log-probabilities are rounded to
 * single precision (`Math.fround`), as Python's are, so that equals are equals here, too. Among equals the
 * better hypothesis comes first, then the lower id.
 *
 * A decoder has
 *   vocabulary                    the number of ids, V
 *   start()                       the state of a hypothesis before BOS is read
 *   step(tokens, states, place)   log-probabilities (K, V) of the next tokens, which will be number `place`
 *                                 of the target, attention weights (K, S), and the new states
 *
 * Searches are generators that yield after every step, so that the caller can do something else or give up.
 */

import { EngineError } from "./errors.js";
import { BOS, EOS, UNK } from "./tokenizer.js";

/** Returns the maximum length of a translation, its end included, given the tokens of its source. */
export function lengthLimit(settings, sourceLength) {
  if (!settings.max_ratio) return settings.max_length;
  return Math.min(settings.max_length, Math.trunc(settings.max_ratio * sourceLength) + 10);
}

/**
 * Finds the `nBest` translations of a sentence, best score first.
 *
 * At each step the best `beam` continuations of all live hypotheses are chosen. Those that end in EOS are
 * finished, the others stay alive. So a beam of 1 is greedy search. The best of all finished hypotheses are
 * returned; if they are fewer than `nBest`, they are followed by hypotheses that reached the maximum length
 * (which includes EOS) unfinished.
 *
 * The search is done when no live hypothesis can change the result: log-probabilities only fall and lengths
 * only grow, so log_probability / max_length**length_penalty is the best score that a live hypothesis can
 * still reach.
 *
 * The hypotheses begin with the ids of `prefix`. With `next`, each of them has the likeliest ids at each
 * place. `onStep` is called after each step.
 */
export function* search(
  decoder,
  { beam, nBest = 1, lengthPenalty = 0, maxLength, allowUnknown = true, prefix = [], next = 0, onStep = null }
) {
  if (!Number.isInteger(beam) || beam < 1) throw new EngineError("badBeam", { beam });
  if (!Number.isInteger(nBest) || nBest < 1 || nBest > beam) {
    throw new EngineError("badNBest", { n_best: nBest, beam });
  }
  if (!(lengthPenalty >= 0)) throw new EngineError("badLengthPenalty", { length_penalty: lengthPenalty });
  const limit = Math.max(maxLength, prefix.length + 1); // a caller that gives a prefix wants to see what follows
  const greedy = beam === 1 && onStep === null;
  const norms = Array.from({ length: limit + 1 }, (_, length) => Math.fround(length ** lengthPenalty));
  const history = [];
  let states = [decoder.start()];
  let tokens = [BOS];
  let totals = [0];
  let slots = [0]; // which of the continuations chosen at the step before these hypotheses are
  let best = []; // {score, step, slot} of the best that finished: at most nBest, best first
  let ends = [];
  for (let step = 0; step < limit; step++) {
    const { logProbs, weights, states: newStates } = decoder.step(tokens, states, step);
    const forced = step < prefix.length;
    let chosen;
    if (forced) {
      chosen = [continuation(totals, logProbs, 0, prefix[step])];
    } else if (greedy) {
      // The sums are not compared: in single precision, they may be equal where the last terms are not.
      const [{ token }] = bestContinuations([0], logProbs, allowUnknown, 1);
      chosen = [continuation(totals, logProbs, 0, token)];
    } else {
      chosen = bestContinuations(totals, logProbs, allowUnknown, beam);
    }
    history.push({
      tokens: chosen.map(({ token }) => token),
      parents: chosen.map(({ parent }) => slots[parent]),
      logProbs: chosen.map(({ parent, token }) => logProbs[parent * decoder.vocabulary + token]),
      weights: chosen.map(({ parent }) => rowOf(weights, parent, totals.length)),
      next: chosen.map(({ parent }) =>
        next > 0 ? likeliestTokens(rowOf(logProbs, parent, totals.length), allowUnknown, next) : []
      ),
    });
    if (onStep !== null) {
      onStep({
        considered: forced ? chosen : continuationsOfEach(totals, logProbs, allowUnknown, beam),
        chosen,
      });
    }

    const finished = chosen
      .map(({ token, total }, slot) => ({ score: Math.fround(total / norms[step + 1]), step, slot, token }))
      .filter(({ token }) => token === EOS);
    best = [...best, ...finished].sort((a, b) => b.score - a.score).slice(0, nBest); // stable: earlier first
    slots = chosen.map((_, slot) => slot).filter((slot) => chosen[slot].token !== EOS);
    const live = slots.map((slot) => chosen[slot]);
    ends = step + 1 < limit ? best : [...best, ...slots.map((slot) => ({ step, slot }))].slice(0, nBest);
    yield;
    tokens = live.map(({ token }) => token);
    totals = live.map(({ total }) => total);
    states = live.map(({ parent }) => newStates[parent]); // each continues from its parent's state
    const bound = Math.fround(Math.max(...totals) / norms[limit]);
    if (!(bound > (best.length === nBest ? best[nBest - 1].score : -Infinity))) break;
  }
  // The sums above are in single precision, so the final order is decided by the exact scores.
  return ends
    .map(({ step, slot }) => readBack(history, step, slot, lengthPenalty))
    .sort((a, b) => Number(b.finished) - Number(a.finished) || b.score - a.score);
}

/** Follows the back-pointers and returns the hypothesis that ends in a slot of a step. */
function readBack(history, lastStep, lastSlot, lengthPenalty) {
  const [ids, logProbs, weights, next] = [[], [], [], []];
  for (let step = lastStep, slot = lastSlot; step >= 0; step--) {
    const record = history[step];
    ids.unshift(record.tokens[slot]);
    logProbs.unshift(record.logProbs[slot]);
    weights.unshift(record.weights[slot]);
    next.unshift(record.next[slot]);
    slot = record.parents[slot];
  }
  const finished = ids[ids.length - 1] === EOS;
  const logProbability = logProbs.reduce((sum, logProb) => sum + logProb, 0);
  return {
    ids: finished ? ids.slice(0, -1) : ids,
    finished,
    logProbability,
    score: logProbability / ids.length ** lengthPenalty,
    tokenLogProbabilities: logProbs, // the last is that of EOS, if it finished
    weights, // a row of S for each of them
    next, // likewise, if they were asked for: [{token, logProb}]
  };
}

function rowOf(array, row, rows) {
  const size = array.length / rows;
  return array.subarray(row * size, (row + 1) * size);
}

function continuation(totals, logProbs, parent, token) {
  const place = parent * (logProbs.length / totals.length) + token;
  return { parent, token, total: Math.fround(totals[parent] + logProbs[place]) };
}

/**
 * Returns the `count` best continuations of hypotheses with the log-probabilities `totals`: {total, parent,
 * token}, best first; fewer if there are no more.
 */
function bestContinuations(totals, logProbs, allowUnknown, count) {
  const V = logProbs.length / totals.length;
  const best = [];
  let worst = -Infinity;
  totals.forEach((before, parent) => {
    const start = parent * V;
    for (let token = EOS; token < V; token++) {
      const total = Math.fround(before + logProbs[start + token]);
      if (total <= worst || (token === UNK && !allowUnknown)) continue;
      if (best.length === count) best.pop();
      let place = best.length;
      while (place > 0 && best[place - 1].total < total) {
        place--; // after its equals, which come first
      }
      best.splice(place, 0, { total, parent, token });
      worst = best.length === count ? best[count - 1].total : -Infinity;
    }
  });
  return best;
}

/** Returns the best continuations of each hypothesis, those of the first one first. */
function continuationsOfEach(totals, logProbs, allowUnknown, count) {
  return totals.flatMap((total, parent) =>
    bestContinuations([total], rowOf(logProbs, parent, totals.length), allowUnknown, count).map((each) => ({
      ...each,
      parent,
    }))
  );
}

/** Returns the likeliest ids that may be chosen, best first: {token, logProb}. */
export function likeliestTokens(logProbs, allowUnknown, count) {
  return bestContinuations([0], logProbs, allowUnknown, count).map(({ token, total }) => ({
    token,
    logProb: total,
  }));
}

/**
 * Builds the tree of a beam search step by step: what was considered, kept and pruned (`search/tree.py`).
 *
 * Each live hypothesis of a step offers its best `beam` continuations; the best `beam` of all of these are
 * kept or finished, the others pruned. Kept nodes without children were still alive when the search stopped.
 */
export class BeamTrace {
  constructor(beam, lengthPenalty) {
    this.beam = beam;
    this.lengthPenalty = lengthPenalty;
    this.nodes = [];
    this.children = new Map();
    this.live = [this.add(null, BOS, 0, "kept")]; // the node of each live hypothesis
  }

  /** Takes one step of a search, as its `onStep` gives it. */
  record({ considered, chosen }) {
    const amongTheBest = new Set(chosen.map(({ parent, token }) => `${parent} ${token}`));
    for (const { total, parent, token } of considered) {
      const status = token === EOS ? "finished" : "kept";
      this.add(this.live[parent], token, total, amongTheBest.has(`${parent} ${token}`) ? status : "pruned");
    }
    this.live = chosen
      .filter(({ token }) => token !== EOS)
      .map(({ parent, token }) => this.children.get(`${this.live[parent]} ${token}`));
  }

  /** Returns the tree as plain data, with the hypotheses that the search found. */
  finish(hypotheses) {
    return {
      beam: this.beam,
      length_penalty: this.lengthPenalty,
      nodes: this.nodes,
      hypotheses: hypotheses.map((hypothesis) => ({
        node: this.leafOf(hypothesis),
        ids: hypothesis.ids,
        finished: hypothesis.finished,
        log_probability: hypothesis.logProbability,
        score: hypothesis.score,
      })),
    };
  }

  leafOf({ ids, finished }) {
    const tokens = finished ? [...ids, EOS] : ids;
    return tokens.reduce((node, token) => this.children.get(`${node} ${token}`), 0);
  }

  add(parent, token, total, status) {
    const before = parent === null ? { step: -1, log_probability: 0 } : this.nodes[parent];
    const step = before.step + 1;
    const node = {
      id: this.nodes.length,
      parent,
      step,
      token,
      token_log_probability: total - before.log_probability,
      log_probability: total,
      score: total / Math.max(step, 1) ** this.lengthPenalty,
      status,
    };
    this.nodes.push(node);
    this.children.set(`${parent} ${token}`, node.id);
    return node.id;
  }
}
