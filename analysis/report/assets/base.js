// Elements, formats and small helpers. Whatever a model or a data set wrote becomes text nodes only.

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

/** h("p", {class: "small"}, "text", node, [more]) */
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** What somebody else wrote, as a block of its own direction. */
const said = (text, attributes = {}) => h("div", { class: "said", dir: "auto", ...attributes }, String(text ?? ""));

/** What somebody else wrote, within a line: kept apart from the direction of what stands around it. */
const inline = (text, attributes = {}) => h("bdi", { dir: "auto", ...attributes }, visible(String(text)));

const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** Control characters and marks of direction by number, a line break as an arrow: for names and tokens. */
function visible(text) {
  return text.replace(HIDDEN, (one) =>
    one === "\n" ? "\u21b5" : one === "\t" ? "\u21e5" : `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);
}

/** Text that may stand in an address: lone surrogates would make encodeURIComponent throw. */
const wellFormed = (text) => text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");

const MISSING = "\u2013";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const FORMATS = {
  percent: (value) => (100 * value).toFixed(1),
  points: (value) => signed(100 * value),
  mass: (value) => (value === 0 || Math.abs(value) >= 0.001 ? value.toFixed(3) : value.toExponential(1)),
  number: (value) => value.toFixed(3),
  count: (value) => value.toLocaleString("en", { maximumFractionDigits: 1 }),
  p: (value) => (value < 0.001 ? "<0.001" : value.toFixed(3)),
};

function signed(value) {
  const text = value.toFixed(1);
  return text === "-0.0" || text === "0.0" ? "0.0" : value > 0 ? `+${text}` : text;
}

function formatted(value, form) {
  return isNumber(value) ? (FORMATS[form] ?? FORMATS.number)(value) : MISSING;
}

/** A cell of a table as text: a figure with its interval, a text, or a dash. */
function cellText(cell, form) {
  if (Array.isArray(cell)) {
    const [value, low, high] = cell;
    if (!isNumber(value)) return MISSING;
    return isNumber(low) ? `${formatted(value, form)} [${formatted(low, form)}, ${formatted(high, form)}]` : formatted(value, form);
  }
  if (typeof cell === "string") return visible(cell);
  return formatted(cell, form);
}

const cellReason = (cell) => (cell && typeof cell === "object" && !Array.isArray(cell) ? cell.missing : "");

const plural = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;

const debounced = (action, wait = 120) => {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
};

let counter = 0;
const fresh = (start) => `${start}-${++counter}`;

/** A select with its label. `options` are [value, text]. */
function choice(label, options, value, onchange, extra = {}) {
  const id = fresh("choice");
  const select = h("select", { id, onchange: () => onchange(select.value), ...extra },
    options.map(([own, text]) => h("option", { value: own }, visible(text))));
  select.value = value;
  return h("div", { class: "field" }, h("label", { for: id }, label), select);
}

/** A table that scrolls on its own if it is wider than the page. */
function scrolling(label, table) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
}
