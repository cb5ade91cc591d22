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

/** Posts JSON to the server and returns its answer. */
export async function postJson(address, question = {}, signal) {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return readAnswer(
    await fetch(address, { method: "POST", headers, body: JSON.stringify(question), signal })
  );
}
