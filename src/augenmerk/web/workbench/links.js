/** Addresses of other views. */

/** Returns the address of the Translate view with a run and, if there is one, a sentence. */
export function linkToTranslate(model, text = "", more = {}) {
  const models = model.replace(/[%,;]/g, encodeURIComponent); // signs that stand between names there
  return `/#${new URLSearchParams({ ...(text ? { text } : {}), models, ...more })}`;
}
