/** Addresses: of other views, and of what this one shows. */

/** Returns the address of the Translate view with a run and, if there is one, a sentence. */
export function linkToTranslate(model, text = "", more = {}) {
  const models = model.replace(/[%,;]/g, encodeURIComponent); // signs that stand between names there
  return `/#${new URLSearchParams({ ...(text ? { text } : {}), models, ...more })}`;
}

/** Writes a view's state into the address, so that a link shows the same; not what is as at the start. */
export function writeAddress(path, state, untouched) {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (value !== untouched[name] && value !== "" && value !== null) written.set(name, value);
  }
  history.replaceState(null, "", `${path}?${written}`);
}
