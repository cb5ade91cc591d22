/**
 * Asks the server. What it refuses becomes an error whose message is the server's own sentence. While it does not
 * answer at all, a banner says so, and questions are asked again until it does. Requests that change something are sent
 * once (`once`), because the server may have done it and only its answer was lost.
 */

import { find, make } from "../page/dom.js";
import { frameText } from "./frame.js";

const PAUSES = [500, 1000, 2000, 4000]; // milliseconds before asking again; the last one stays

function showAway(isAway) {
  let banner = find("away");
  if (!banner && isAway) {
    banner = make("p", { id: "away", role: "alert" });
    document.body.append(banner);
  }
  if (!banner) return;
  banner.textContent = isAway ? frameText("lost") : "";
  banner.hidden = !isAway;
}

/** Fetches as the browser does, but waits for a server that is away. */
async function request(address, { once = false, ...options }) {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await fetch(address, options);
      showAway(false);
      return answer;
    } catch (error) {
      if (once || options.signal?.aborted || !(error instanceof TypeError)) throw error;
    }
    showAway(true);
    await new Promise((resume) => setTimeout(resume, PAUSES[Math.min(tries, PAUSES.length - 1)]));
    options.signal?.throwIfAborted();
  }
}

async function readAnswer(answer) {
  const isJson = (answer.headers.get("content-type") ?? "").startsWith("application/json");
  const content = isJson ? await answer.json() : null;
  if (!answer.ok) throw new Error(content?.error ?? `${answer.status} ${answer.statusText}`.trim());
  return content;
}

/** Gets JSON from the server. */
export async function getJson(address, signal) {
  return readAnswer(await request(address, { headers: { accept: "application/json" }, signal }));
}

function post(address, question, signal, once = false) {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return request(address, { method: "POST", headers, body: JSON.stringify(question), signal, once });
}

/** Posts JSON to the server and returns its answer. */
export async function postJson(address, question = {}, signal = undefined) {
  return readAnswer(await post(address, question, signal));
}

/** Posts JSON to the server once, whether or not it answers. */
export async function postOnce(address, question = {}, signal = undefined) {
  return readAnswer(await post(address, question, signal, true));
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

/** Posts JSON to the server and yields its answer line by line, each of them JSON, as they arrive. */
export async function* postForLines(address, question, signal) {
  const answer = await post(address, question, signal);
  if (!answer.ok) await readAnswer(answer);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}
