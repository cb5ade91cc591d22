/** What is known of the epochs of runs, and whether their losses can be compared. */

/** Adds the epochs that the server sent, {name: {from, epochs}}, to those of the picked runs, and forgets those of others. */
export function addEpochs(known, sent, picked) {
  for (const name of known.keys()) if (!picked.includes(name) || !(name in sent)) known.delete(name);
  for (const [name, { from, epochs }] of Object.entries(sent)) {
    if (picked.includes(name)) known.set(name, [...(known.get(name) ?? []).slice(0, from), ...epochs]);
  }
}

/** Returns whether runs have different tokens: then a loss per token is not the same thing in all of them. */
export function isMixed(settings) {
  const kinds = settings
    .filter(Boolean)
    .map((each) => JSON.stringify([each["text.unit"], each["text.vocabulary_size"]]));
  return new Set(kinds).size > 1;
}
