/** Finds a word in the vocabulary of the target language. */

import { END, END_SIGN } from "./shown.js";

export const EOS_ID = 2;

/**
 * Returns the id of a text that is one entry of the vocabulary, or -1. Among subwords the entry that begins a
 * word is preferred to the one that continues it, unless it is written with a dot, `·er`, as it is shown.
 * `settings` are those of a bundle.
 */
export function findToken(settings, text) {
  if (text === END || text === END_SIGN) return EOS_ID;
  const tables = settings.tokenizers.target ?? settings.tokenizers.source;
  const wanted = tables.lowercase ? text.toLowerCase() : text;
  // The first four entries are no words: padding, the ends, and the unknown word.
  const place = (entry) => tables.tokens.indexOf(entry, EOS_ID + 2);
  if (tables.unit === "word") return place(wanted.normalize("NFC"));
  const continues = /^·./u.test(wanted);
  const bytes = new TextEncoder().encode(wanted.slice(continues ? 1 : 0).normalize("NFC"));
  const letters = String.fromCharCode(...bytes.slice(0, 200)); // each character of an entry is a byte
  const begins = continues ? -1 : place(` ${letters}`);
  return begins >= 0 ? begins : place(letters);
}
