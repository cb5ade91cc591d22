/** Addresses: of other views, and of what this one shows. */

/** Returns the address of the Translate view with a run and, if there is one, a sentence. */
export function linkToTranslate(model, text = "", more = {}) {
  const models = model.replace(/[%,;]/g, encodeURIComponent); // signs that stand between names there
  return `/#${new URLSearchParams({ ...(text ? { text } : {}), models, ...more })}`;
}

/** Writes a view's state into the address, as a fragment. */
export function writeFragment(written) {
  history.replaceState(null, "", written ? `#${written}` : location.pathname + location.search);
}

/** Writes a view's state into the address, as a query. */
export function writeQuery(written) {
  history.replaceState(null, "", written ? `?${written}` : location.pathname);
}
