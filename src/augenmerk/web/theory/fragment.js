/**
 * Everything that the user has set is in the fragment of the address, so that a link shows what they see. A fragment
 * is not trusted: what cannot be is left out. A specification says for each name what it may be:
 *
 *     {kind: "number", least, most, otherwise}       {kind: "point", otherwise}
 *     {kind: "points", least, most, otherwise}       {kind: "choice", choices, otherwise}
 *     {kind: "text", most, otherwise}
 */

const MAX_COORDINATE = 10;

function readNumber(text, least, most) {
  const number = /^-?\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : NaN;
  return number >= least && number <= most ? number : null;
}

function readPoint(text) {
  const point = text.split(",").map((each) => readNumber(each, -MAX_COORDINATE, MAX_COORDINATE));
  return point.length === 2 && !point.includes(null) ? point : null;
}

function readPoints(text, least, most) {
  const points = text.split(";", most + 1).map(readPoint);
  return points.length >= least && points.length <= most && !points.includes(null) ? points : null;
}

function readOne(text, { kind, least, most, choices }) {
  if (kind === "number") return readNumber(text, least, most);
  if (kind === "point") return readPoint(text);
  if (kind === "points") return readPoints(text, least, most);
  if (kind === "choice") return choices.includes(text) ? text : null;
  return text.slice(0, most);
}

function writeOne(value, { kind }) {
  const short = (number) => String(Number(number.toFixed(4)));
  if (kind === "number") return short(value);
  if (kind === "point") return value.map(short).join(",");
  if (kind === "points") return value.map((point) => point.map(short).join(",")).join(";");
  return String(value);
}

/** Returns the state that a fragment says, as far as the specification allows. */
export function readFragment(fragment, specification) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = {};
  for (const [name, one] of Object.entries(specification)) {
    const text = given.get(name);
    state[name] = structuredClone((text === null ? null : readOne(text, one)) ?? one.otherwise);
  }
  return state;
}

/** Returns the fragment for a state, without what is as it was at the beginning. */
export function writeFragment(state, specification) {
  const written = new URLSearchParams();
  for (const [name, one] of Object.entries(specification)) {
    const text = writeOne(state[name], one);
    if (text !== writeOne(one.otherwise, one)) written.set(name, text);
  }
  // Commas and semicolons are allowed in a fragment, and links stay readable.
  return `#${written.toString().replaceAll("%2C", ",").replaceAll("%3B", ";")}`;
}
