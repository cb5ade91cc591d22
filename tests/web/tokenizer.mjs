/** What tests/process/test_web_tokenizer.py asks of words, sentences and tokenizers. */

import { SentenceSplitter } from "../../src/augenmerk/web/engine/sentences.js";
import { normalise, Tokenizer } from "../../src/augenmerk/web/engine/tokenizer.js";
import { Characters, detokenise, splitWords, wordSpans } from "../../src/augenmerk/web/engine/words.js";

let characters = null;
const tokenizers = {};
const splitters = {};

export function takeTables(tables) {
  characters = new Characters(tables);
}

export function takeRules([language, rules]) {
  splitters[language] = new SentenceSplitter(rules, characters);
}

export function takeTokenizer([name, tables]) {
  tokenizers[name] = new Tokenizer(tables, characters);
}

/** Returns the code points that a method of `Characters` is true of. */
export function findPoints(method) {
  return [...characters.bits.keys()].filter((point) => characters[method](point));
}

export function normaliseAll([texts, lowercase]) {
  return texts.map((text) => normalise(text, characters, lowercase));
}

export function findSpans(texts) {
  return texts.map((text) => wordSpans(text, characters));
}

export function splitAll(texts) {
  return texts.map((text) => ({
    words: splitWords(text, characters),
    spans: wordSpans(text, characters),
    text: detokenise(splitWords(text, characters), characters),
    normal: normalise(text, characters),
    lower: normalise(text, characters, true),
  }));
}

export function joinAll(texts) {
  return texts.map((words) => detokenise(words, characters));
}

export function splitSentences(texts) {
  return texts.map(([language, text]) => {
    const splitter = splitters[language];
    const [spans, sentences] = [splitter.spans(text), splitter.split(text)];
    return { spans, sentences, replaced: splitter.replace(text, spans, sentences) };
  });
}

export function encodeAll([name, texts]) {
  return texts.map((text) => tokenizers[name].encode(text));
}

export function decodeAll([name, rows]) {
  return rows.map((ids) => ({ text: tokenizers[name].decode(ids), ...tokenizers[name].wordsOfIds(ids) }));
}

export function readTokens([name, ids]) {
  return ids.map((id) => tokenizers[name].token(id));
}
