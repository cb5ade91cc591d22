/** Finds a word in the vocabulary of the target language. */

/**
 * Returns the id of a text that is one entry of the vocabulary, or -1. Among subwords the entry that begins a
 * word is preferred to the one that continues it. `settings` are those of a bundle.
 */
export function findToken(settings, text) {
  const tables = settings.tokenizers.target ?? settings.tokenizers.source;
  const wanted = tables.lowercase ? text.toLowerCase() : text;
  if (tables.unit === "word") return tables.tokens.indexOf(wanted.normalize("NFC"));
  const bytes = new TextEncoder().encode(wanted.normalize("NFC"));
  const letters = String.fromCharCode(...bytes); // each character of an entry is a byte
  return [` ${letters}`, letters].reduce((found, entry) => (found >= 0 ? found : tables.tokens.indexOf(entry)), -1);
}
