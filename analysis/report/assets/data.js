// The page's data and its columns; see encode.py, which writes them.

const DATA = JSON.parse(document.getElementById("data").textContent);
const N = DATA.n;

function bytes(text) {
  const raw = atob(text);
  const found = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) found[at] = raw.charCodeAt(at);
  return found;
}

const UNSIGNED = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };
const unsigned = (text, width) => new UNSIGNED[width](bytes(text).buffer);

function startsOf(column) {
  const lengths = unsigned(column.n, column.nw);
  const starts = new Uint32Array(lengths.length + 1);
  for (let at = 0; at < lengths.length; at++) starts[at + 1] = starts[at] + lengths[at];
  return starts;
}

const DECODERS = {
  text(column) {
    const codes = unsigned(column.c, column.w);
    return { codes, values: column.d, get: (row) => (codes[row] ? column.d[codes[row] - 1] : null) };
  },
  value(column) {
    return DECODERS.text(column);
  },
  flag(column) {
    const own = bytes(column.v);
    return { get: (row) => (own[row] === 2 ? null : own[row] === 1) };
  },
  int(column) {
    const own = unsigned(column.v, column.w);
    return { get: (row) => (own[row] ? own[row] + column.low - 1 : null) };
  },
  float(column) {
    const own = new Float32Array(bytes(column.v).buffer);
    return { get: (row) => (Number.isNaN(own[row]) ? null : own[row]) };
  },
  floats(column) {
    const starts = startsOf(column);
    const own = new Float32Array(bytes(column.v).buffer);
    return { get: (row) => Array.from(own.subarray(starts[row], starts[row + 1])) };
  },
  texts(column) {
    const starts = startsOf(column);
    const codes = unsigned(column.c, column.w);
    return { get: (row) => Array.from(codes.subarray(starts[row], starts[row + 1]), (code) => (code ? column.d[code - 1] : "")) };
  },
  lens(column) {
    const starts = startsOf(column);
    const own = bytes(column.v);
    const log = (byte) => (byte === 255 ? NaN : -((byte / column.steps) ** 2) * column.deepest);
    return { get: (row) => Array.from(own.subarray(starts[row], starts[row + 1]), log) };
  },
};

const COLUMNS = {};
const decoded = {};
for (const name of Object.keys(DATA.columns)) {
  // Decoded when first looked at: the page opens before all of it is.
  Object.defineProperty(COLUMNS, name, {
    enumerable: true,
    get() {
      return (decoded[name] ??= DECODERS[DATA.columns[name].t](DATA.columns[name]));
    },
  });
}

const has = (name) => name in DATA.columns;
const at = (name, row) => (has(name) ? COLUMNS[name].get(row) : null);
const formOf = (name) => DATA.columns[name]?.t;

const RUNS = new Map(DATA.runs.map((run) => [run.name, run]));
const keyOf = (...parts) => JSON.stringify(parts);
const ITEM_PLACES = new Map(DATA.itemOf.map(([run, dataset, item, place]) => [keyOf(run, dataset, item), place]));

/** What was asked in a row; null if its run keeps no items. */
function itemOf(row) {
  const place = ITEM_PLACES.get(keyOf(at("run", row), at("dataset", row), at("item", row)));
  return place === undefined ? null : DATA.items[place];
}

/** Place of each row's item, -1 without one. */
const itemPlaces = (() => {
  let places = null;
  return () => {
    if (places) return places;
    const known = new Map();
    places = new Int32Array(N);
    const [runs, sets, items] = ["run", "dataset", "item"].map((name) => COLUMNS[name].codes);
    for (let row = 0; row < N; row++) {
      const code = `${runs[row]} ${sets[row]} ${items[row]}`;
      if (!known.has(code)) {
        known.set(code, ITEM_PLACES.get(keyOf(at("run", row), at("dataset", row), at("item", row))) ?? -1);
      }
      places[row] = known.get(code);
    }
    return places;
  };
})();

/** Rows of each item: key of (data set, item) -> row numbers. */
const rowsByItem = (() => {
  let found = null;
  return () => {
    if (found) return found;
    found = new Map();
    for (let row = 0; row < N; row++) {
      const key = keyOf(at("dataset", row), at("item", row));
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(row);
    }
    return found;
  };
})();

/** Distinct values of a text column in the order in which they first stand. */
function valuesOf(name, rows = null) {
  if (!has(name)) return [];
  const column = COLUMNS[name];
  if (!rows) return column.values;
  const seen = new Set();
  for (const row of rows) if (column.codes[row]) seen.add(column.codes[row]);
  return Array.from(seen, (code) => column.values[code - 1]);
}
