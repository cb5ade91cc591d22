/** Asks the server. What it refuses becomes an error whose message is the server's own sentence. */

async function readAnswer(answer) {
  const isJson = (answer.headers.get("content-type") ?? "").startsWith("application/json");
  const content = isJson ? await answer.json() : null;
  if (!answer.ok) throw new Error(content?.error ?? `${answer.status} ${answer.statusText}`.trim());
  return content;
}

/** Gets JSON from the server. */
export async function getJson(address, signal) {
  return readAnswer(await fetch(address, { headers: { accept: "application/json" }, signal }));
}

function post(address, question, signal) {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return fetch(address, { method: "POST", headers, body: JSON.stringify(question), signal });
}

/** Posts JSON to the server and returns its answer. */
export async function postJson(address, question = {}, signal) {
  return readAnswer(await post(address, question, signal));
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
