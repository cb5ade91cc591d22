/**
 * Everything that the user has chosen is in the address, so that a link shows what they see. An address is not trusted:
 * what cannot be is left out. A specification says for each name of the state what it may be:
 *
 *     {read: text => value or null, write: value => text, otherwise}
 *
 * The functions below make the common ones; a view may have kinds of its own.
 */

const READABLE = { "%2C": ",", "%3A": ":", "%3B": ";", "%2F": "/" }; // allowed as they are, and links stay readable

/** One of a few words. */
export function choice(choices, otherwise) {
  return { read: (text) => (choices.includes(text) ? text : null), write: String, otherwise };
}

/** A whole number within limits. */
export function whole(least, most, otherwise) {
  return { ...decimal(least, most, otherwise), read: (text) => readNumber(text, least, most, /^-?\d{1,9}$/) };
}

/** A number within limits, with up to four decimals. */
export function decimal(least, most, otherwise) {
  return {
    read: (text) => readNumber(text, least, most, /^-?\d{1,9}(\.\d{1,9})?$/),
    write: (value) => (value === null ? "" : String(Number(value.toFixed(4)))),
    otherwise,
  };
}

function readNumber(text, least, most, pattern) {
  const number = pattern.test(text) ? Number(text) : NaN;
  return number >= least && number <= most ? number : null;
}

/** Any text, cut after a number of characters. */
export function text(most, otherwise = "") {
  return { read: (given) => given.slice(0, most), write: String, otherwise };
}

/** Several of one kind, between commas: those that can be, each once, at most so many. */
export function list(one, most, otherwise = []) {
  const read = (given) => [...new Set(given.split(",").map(one.read))].filter((each) => each !== null);
  return {
    read: (given) => read(given).slice(0, most),
    write: (values) => values.map(one.write).join(","),
    otherwise,
  };
}

/** A name inside a list: commas in it are written so that they do not end it. */
export const name = {
  read: (given) => {
    try {
      return decodeURIComponent(given) || null;
    } catch {
      return null;
    }
  },
  write: (value) => value.replace(/[%,]/g, encodeURIComponent),
};

/** Returns the state that a fragment or query (`#...`, `?...`) says, as far as the specification allows. */
export function readState(address, specification) {
  const given = new URLSearchParams(address.replace(/^[#?]/, ""));
  const state = {};
  for (const [key, { read, otherwise }] of Object.entries(specification)) {
    const found = given.getAll(key); // of a list, each may have been written alone
    state[key] = (found.length ? read(found.join(",")) : null) ?? structuredClone(otherwise);
  }
  return state;
}

/** Puts a fragment (`#`) or query (`?`) into the address; with `isStep`, "Back" leads to the one before. */
export function putAddress(written, sign = "#", isStep = false) {
  const whole = location.pathname + (sign === "#" ? location.search : "");
  try {
    history[isStep ? "pushState" : "replaceState"](null, "", written ? sign + written : whole);
  } catch {
    // Some browsers refuse if it happens too often, as while a slider is dragged.
  }
}

/** Returns the query for a state, without `#` or `?`; what is as in an untouched view is left out. */
export function writeState(state, specification) {
  const written = new URLSearchParams();
  for (const [key, { write, otherwise }] of Object.entries(specification)) {
    const value = state[key] === null ? "" : write(state[key]);
    if (value !== (otherwise === null ? "" : write(otherwise))) written.set(key, value);
  }
  return String(written).replace(/%(2C|3A|3B|2F)/g, (code) => READABLE[code]);
}
