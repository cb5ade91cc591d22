import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { PAGE_TEXTS } from "../../src/augenmerk/web/page/texts.js";
import { THEORY_TEXTS } from "../../src/augenmerk/web/theory/texts.js";
import { PATTERNS_TEXTS } from "../../src/augenmerk/web/workbench/patterns-texts.js";
import { RUNS_TEXTS } from "../../src/augenmerk/web/workbench/runs-texts.js";
import { STUDIES_TEXTS } from "../../src/augenmerk/web/workbench/studies-texts.js";

const root = new URL("../..", import.meta.url).pathname;
const read = (pattern) =>
  globSync(pattern, { cwd: root }).map((path) => [path, readFileSync(root + path, "utf8")]);
const modules = read("src/augenmerk/web/**/*.js");
const pages = read("src/augenmerk/web/**/*.html");
const tests = read("tests/{web,browser,process}/*.{mjs,py}");
const tables = { PAGE_TEXTS, THEORY_TEXTS, PATTERNS_TEXTS, RUNS_TEXTS, STUDIES_TEXTS };

test("every export is imported", () => {
  const unused = [];
  for (const [path, text] of modules) {
    for (const [, name] of text.matchAll(/^export (?:async )?(?:function\*?|class|const) (\w+)/gm)) {
      const isUsed = ([other, code]) =>
        other !== path &&
        (tests.some(([each]) => each === other) ? code : imports(code)).match(`\\b${name}\\b`);
      if (![...modules, ...tests].some(isUsed)) unused.push(`${path}: ${name}`);
    }
  }
  assert.deepEqual(unused, []);
});

function imports(code) {
  return [...code.matchAll(/^import \{[^}]*\}/gm)].join();
}

test("every text says the same in both languages, and is used", () => {
  const code = [...modules, ...pages].map(([, text]) => text).join("\n");
  const places = (text) => [...new Set(text.match(/\{\w+\}/g))].sort();
  const unused = [];
  for (const [table, texts] of Object.entries(tables)) {
    for (const [key, [english, german]] of Object.entries(texts)) {
      assert.deepEqual(places(english), places(german), `${table}: ${key}`);
      // A key is written as a text, or made of a group and a name: `kind ${kind}`.
      const written = [`"${key}"`, `"${key.replace("Unknown", "")}"`, `\`${key.split(" ")[0]} \${`];
      if (!written.some((each) => code.replaceAll(`\n  ${each}:`, "").includes(each)))
        unused.push(`${table}: ${key}`);
    }
  }
  assert.deepEqual(unused, []);
});

test("every text that is asked for is there", () => {
  const own = modules.flatMap(([, code]) => [...code.matchAll(/^ {2}(\w+): \[/gm)].map(([, key]) => key));
  const known = new Set([...own, ...Object.values(tables).flatMap((texts) => Object.keys(texts))]);
  const asked = modules.flatMap(([, code]) => [...code.matchAll(/\bt\("(\w+)"/g)].map(([, key]) => key));
  assert.deepEqual(
    asked.filter((key) => !known.has(key)),
    []
  );
});

test("every error of the engine has a sentence with its values", () => {
  const engine = modules.filter(([path]) => path.includes("/engine/")).map(([, code]) => code);
  const errors = [...engine.join("\n").matchAll(/new EngineError\((?:"(\w+)"(?:, \{ (.*?) \})?\))?/g)];
  assert.ok(errors.length > 10);
  for (const [whole, code, values = ""] of errors) {
    assert.ok(code in PAGE_TEXTS, whole);
    const given = [...values.matchAll(/(?:^|, )(\w+)/g)].map(([, name]) => `{${name}}`);
    const missing = (PAGE_TEXTS[code][0].match(/\{\w+\}/g) ?? []).filter((place) => !given.includes(place));
    assert.deepEqual(missing, [], whole);
  }
});
