// Which rows of the list are shown, and in which order. Kept in the page's address, so that a view can be shared.

const SEARCHED = ["reply", "reasoning", "problem", "trace", "item", "condition", "subject", "predicted", "status"];
const ROW_FIELDS = Object.keys(DATA.fields).filter((name) => has(name) && ["text", "flag", "int", "float"].includes(formOf(name)));
const MOST_VALUES = 300;

/** Fields that can be chosen from by value: of texts those with few values. */
const byValue = (name) => formOf(name) === "flag" || (formOf(name) === "text" && COLUMNS[name].values.length <= MOST_VALUES);
const FILTERED = ROW_FIELDS.filter((name) => !["reply", "reasoning", "problem", "trace"].includes(name));

/** Numbers of the rows that fit: `state` holds q, and a value or lower and upper bounds (from..to) for each field. */
function filteredRows(state) {
  const tests = [];
  for (const name of FILTERED) {
    const wanted = state.get(name);
    if (wanted === undefined || wanted === "") continue;
    tests.push(testOf(name, wanted));
  }
  const search = searchTest(state.get("q") ?? "");
  if (search) tests.push(search);
  const found = [];
  for (let row = 0; row < N; row++) if (tests.every((test) => test(row))) found.push(row);
  return found;
}

function testOf(name, wanted) {
  const column = COLUMNS[name];
  if (formOf(name) === "flag") {
    const value = { yes: true, no: false }[wanted] ?? null;
    return (row) => column.get(row) === value;
  }
  if (formOf(name) === "text") {
    const code = wanted === MISSING ? 0 : column.values.indexOf(wanted) + 1 || (byValue(name) ? -1 : null);
    if (code !== null) return (row) => column.codes[row] === code;
    const part = wanted.toLowerCase();
    const fitting = new Set(column.values.flatMap((value, place) => (value.toLowerCase().includes(part) ? [place + 1] : [])));
    return (row) => fitting.has(column.codes[row]);
  }
  const shift = SLOTS.has(name) ? 1 : 0;
  const [low, high] = (wanted.includes("..") ? wanted.split("..") : [wanted, wanted]).map((one) => (one.trim() === "" ? null : Number(one) - shift));
  return (row) => {
    const value = column.get(row);
    return value !== null && (low === null || value >= low) && (high === null || value <= high);
  };
}

/** Whether a row, or its question, holds the text somewhere. */
function searchTest(text) {
  const part = text.trim().toLowerCase();
  if (!part) return null;
  const columns = SEARCHED.filter(has).map((name) => {
    const fitting = new Uint8Array(COLUMNS[name].values.length + 1);
    COLUMNS[name].values.forEach((value, place) => { fitting[place + 1] = Number(value.toLowerCase().includes(part)); });
    return [COLUMNS[name].codes, fitting];
  });
  const items = DATA.items.map((item) => [item.question, item.context, item.answer, ...item.choices].some((own) => (own ?? "").toLowerCase().includes(part)));
  const places = itemPlaces();
  return (row) => (places[row] >= 0 && items[places[row]]) || columns.some(([codes, fitting]) => fitting[codes[row]]);
}

/** Sorts row numbers by a field, in place; missing values come last, equal ones stay as they stood. */
function sortRows(rows, name, down) {
  const keys = sortKeys(name);
  const sign = down ? -1 : 1;
  rows.sort((a, b) => {
    const [x, y] = [keys(a), keys(b)];
    if (x === y) return a - b;
    if (x === null) return 1;
    if (y === null) return -1;
    return sign * (x - y);
  });
  return rows;
}

const ranked = new Map();
const collator = new Intl.Collator("en", { numeric: true });

/** A number of each row by which a field sorts. */
function sortKeys(name) {
  if (name === "question") {
    const places = itemPlaces();
    if (!ranked.has(name)) ranked.set(name, ranksOf(DATA.items.map((item) => item.question)));
    const ranks = ranked.get(name);
    return (row) => (places[row] < 0 ? null : ranks[places[row]]);
  }
  const column = COLUMNS[name];
  if (column.values) {
    if (!ranked.has(name)) ranked.set(name, ranksOf(column.values));
    const ranks = ranked.get(name);
    return (row) => (column.codes[row] ? ranks[column.codes[row] - 1] : null);
  }
  return (row) => {
    const value = column.get(row);
    return value === null ? null : Number(value);
  };
}

function ranksOf(values) {
  const order = values.map((_, place) => place).sort((a, b) => collator.compare(values[a], values[b]));
  const ranks = new Float64Array(values.length);
  order.forEach((place, rank) => { ranks[place] = rank; });
  return ranks;
}
