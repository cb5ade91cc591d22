/** Errors that users see. */

/**
 * Says by a code what cannot be done, and with which values. The page has a sentence for each code in each of
 * its languages (`page/texts.js`), in which the values have their places.
 */
export class EngineError extends Error {
  constructor(code, values = {}) {
    super(`${code} ${JSON.stringify(values)}`);
    this.code = code;
    this.values = values;
  }
}
