/**
 * Answers questions about a module, which tests/support/node.py asks: each is a line of JSON, {call, argument}, and
 * gets one, {result} or {error}.
 */

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const asked = await import(pathToFileURL(process.argv[2]).href);
for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const { call, argument } = JSON.parse(line);
    answer = { result: asked[call](argument) ?? null };
  } catch (error) {
    answer = { error: error.stack };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
