/**
 * Asks the server. What it refuses becomes an error whose message is the server's own sentence. While it does not
 * answer at all, a banner says so, and questions are asked again until it does. Requests that change something are sent
 * once (`postOnce`), because the server may have done it and only its answer was lost.
 */

import { find } from "../page/dom.js";
import { create, h } from "../page/view.js";
import { frameText } from "./frame.js";

const PAUSES = [500, 1000, 2000, 4000]; // milliseconds before asking again; the last one stays

/** The error of a question that nobody answered. */
class ServerAway extends Error {}

/** Has the browser's error of a connection tell that the server is away; all others stay what they are. */
function reach(promise) {
  return promise.catch((error) => {
    throw error instanceof TypeError ? new ServerAway(frameText("unsent")) : error;
  });
}

function showAway(isAway) {
  if (!find("away")) {
    if (!isAway) return;
    document.body.append(create(h("p", { id: "away", role: "alert" })));
  }
  find("away").textContent = isAway ? frameText("lost") : "";
  find("away").hidden = !isAway;
}

/**
 * Returns what `act` resolves to. If the server was away, it acts again, until it is there or the signal says that nobody
 * waits any more.
 */
async function persist(act, signal) {
  for (let tries = 0; ; tries++) {
    try {
      const found = await act();
      showAway(false);
      return found;
    } catch (error) {
      if (signal?.aborted || !(error instanceof ServerAway)) throw error;
    }
    showAway(true);
    await new Promise((resume) => setTimeout(resume, PAUSES[Math.min(tries, PAUSES.length - 1)]));
    signal?.throwIfAborted();
  }
}

async function request(address, signal, posted) {
  const headers = { accept: "application/json" };
  const body = posted && JSON.stringify(posted);
  const post = posted && {
    method: "POST",
    body,
    headers: { ...headers, "content-type": "application/json" },
  };
  const answer = await reach(fetch(address, { headers, signal, ...post }));
  if (answer.ok) return answer;
  const isJson = (answer.headers.get("content-type") ?? "").startsWith("application/json");
  const { error = `${answer.status} ${answer.statusText}`.trim() } = isJson ? await answer.json() : {};
  throw new Error(error);
}

export function getJson(address, signal = undefined) {
  return persist(async () => reach((await request(address, signal)).json()), signal);
}

/** Posts JSON to the server and returns its answer. */
export function postJson(address, question = {}, signal = undefined) {
  return persist(async () => reach((await request(address, signal, question)).json()), signal);
}

/** Posts JSON to the server once, whether or not it answers. */
export async function postOnce(address, question) {
  return (await request(address, undefined, question)).json();
}

/**
 * Posts JSON to the server and calls `take` for each line of its answer, which is JSON, as they arrive. If the server
 * goes away meanwhile, it begins again: `take(null)` says so.
 */
export function postForLines(address, question, signal, take) {
  return persist(async () => {
    const answer = await request(address, signal, question);
    showAway(false);
    take(null);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reach(reader.read());
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) take(JSON.parse(line));
    }
  }, signal);
}

/** Returns a function that posts JSON to an address of the server; only the newest call counts. */
export function newestPost(address) {
  return newestOf((question, signal) => postJson(address, question, signal));
}

/**
 * Returns a function like `ask` of which only the newest call counts: it cancels the one before, which then never
 * settles. `ask` takes a signal as its last argument.
 */
export function newestOf(ask) {
  let current = new AbortController();
  return async (...given) => {
    current.abort();
    const asking = new AbortController();
    current = asking;
    try {
      return await ask(...given, asking.signal);
    } catch (error) {
      if (asking.signal.aborted) return new Promise(() => {});
      throw error;
    }
  };
}
