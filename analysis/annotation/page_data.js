"use strict";
// What is known of each text, where it is kept, and how it leaves and comes back. Touches nothing that is shown.

const DATA = JSON.parse(document.getElementById("data").textContent);
const ITEMS = DATA.items;
const PREFIX = `thinkgap-annotation:${DATA.sample}:`;
const BLANK = Object.freeze({ label: "", relevance: 0, note: "" });
const UNDONE_STEPS = 500;

const isEmpty = (item) => item.trace === "";
const TO_LABEL = ITEMS.filter((item) => !isEmpty(item));

// Of one annotator. `seconds` stands apart from `marks`, so that undoing a label does not undo the time it took.
let annotator = "";
let marks = new Map();
let seconds = new Map();
let place = 0;
let unexported = 0;
let steps = [];

const markOf = (item) => marks.get(item.id) ?? BLANK;
const isDone = (item) => isEmpty(item) || (markOf(item).label !== "" && markOf(item).relevance > 0);

function change(changed) {
  // `changed`: id -> the whole new mark. One step back undoes all of it.
  steps.push({ place, before: [...changed.keys()].map((id) => [id, marks.get(id)]) });
  if (steps.length > UNDONE_STEPS) steps.shift();
  for (const [id, mark] of changed) marks.set(id, mark);
  unexported += changed.size;
}

function undoStep() {
  const step = steps.pop();
  if (!step) return false;
  for (const [id, mark] of step.before) {
    if (mark) marks.set(id, mark);
    else marks.delete(id);
  }
  unexported += step.before.length;
  place = step.place;
  return true;
}

// Saving. Returns the reason why it failed, or an empty text.

function save() {
  try {
    const kept = { marks: [...marks], seconds: [...seconds], place, unexported };
    localStorage.setItem(PREFIX + annotator, JSON.stringify(kept));
    return "";
  } catch (error) {
    return String(error.message || error);
  }
}

function load(name) {
  annotator = name;
  [marks, seconds, place, unexported, steps] = [new Map(), new Map(), 0, 0, []];
  const kept = peek(name);
  if (!kept) return;
  marks = new Map(kept.marks);
  seconds = new Map(kept.seconds);
  place = Math.min(Math.max(0, kept.place), ITEMS.length - 1);
  unexported = kept.unexported;
}

function peek(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

function knownNames() {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX)).map((key) => key.slice(PREFIX.length)).sort();
  } catch {
    return [];
  }
}

// CSV. Cells that a spreadsheet would take for a formula get an apostrophe, as in `annotation.page.guarded`.

const guarded = (text) => (/^[=+\-@\t\r]/.test(text) ? "'" + text : text);
const unguarded = (text) => (/^'[=+\-@\t\r]/.test(text) ? text.slice(1) : text);

function toCsv() {
  const rows = [DATA.columns];
  for (const item of ITEMS) {
    const mark = isEmpty(item) ? { ...DATA.empty, note: "" } : markOf(item);
    if (!mark.label && !mark.relevance && !mark.note) continue;
    const cells = {
      id: item.id, annotator: guarded(annotator), label: mark.label, relevance: mark.relevance || "",
      note: guarded(mark.note), seconds: isEmpty(item) ? "" : Math.round(seconds.get(item.id) ?? 0), sample: DATA.sample,
    };
    rows.push(DATA.columns.map((name) => cells[name]));
  }
  const cell = (value) => (/[",;\r\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
  return "\ufeff" + rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function fromCsv(text) {
  // Spreadsheets of other languages save with semicolons or tabs, and some say so in a first line.
  const body = text.replace(/^\ufeff/, "").replace(/^"?sep=.[^\n]*\n/i, "");
  const head = body.split("\n", 1)[0];
  const mark = [",", ";", "\t"].reduce((a, b) => (head.split(b).length > head.split(a).length ? b : a));
  const rows = [];
  let [row, cell, quoted] = [[], "", false];
  for (let i = 0; i < body.length; i++) {
    const c = body[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (body[i + 1] === '"') { cell += c; i++; }
      else quoted = false;
    } else if (c === '"' && cell === "") quoted = true;
    else if (c === mark) { row.push(cell); cell = ""; }
    else if (c === "\n") { rows.push([...row, cell.replace(/\r$/, "")]); [row, cell] = [[], ""]; }
    else cell += c;
  }
  if (cell !== "" || row.length) rows.push([...row, cell]);
  const names = (rows.shift() ?? []).map((name) => name.trim().toLowerCase());
  return rows.map((cells) => Object.fromEntries(names.map((name, i) => [name, (cells[i] ?? "").trim()])));
}

function merge(text) {
  // Takes over what is not labelled here yet; returns what to say about it.
  const rows = fromCsv(text);
  if (!rows.length || !("id" in rows[0]) || !("sample" in rows[0])) return "That file holds no annotations of this page.";
  const ours = rows.filter((row) => row.sample === DATA.sample);
  if (!ours.length) return "That file belongs to another sample. Nothing was imported.";
  const others = new Set(ours.map((row) => unguarded(row.annotator)).filter((name) => name && name !== annotator));
  if (others.size) return `That file is by ${[...others].join(", ")}, not by ${annotator}. Nothing was imported.`;
  const items = new Map(TO_LABEL.map((item) => [item.id, item]));
  const labels = new Set(DATA.choices.map((choice) => choice.label));
  const changed = new Map();
  let [kept, unread] = [0, rows.length - ours.length];
  for (const row of ours) {
    const item = items.get(row.id);
    if (!item) {
      if (!ITEMS.some((one) => one.id === row.id)) unread++;
      continue;
    }
    const relevance = /^[1-5]$/.test(row.relevance) ? Number(row.relevance) : 0;
    const mark = { label: labels.has(row.label) ? row.label : "", relevance, note: unguarded(row.note ?? "") };
    if ((row.label && !mark.label) || (row.relevance && !relevance)) unread++;
    if (!mark.label && !mark.relevance && !mark.note) continue;
    const here = markOf(item);
    if (here.label || here.relevance || here.note) {
      if (here.label !== mark.label || here.relevance !== mark.relevance || here.note !== mark.note) kept++;
      continue;
    }
    changed.set(row.id, mark);
    if (Number(row.seconds) > 0) seconds.set(row.id, Number(row.seconds));
  }
  if (changed.size) change(changed);
  return `${changed.size} texts imported.` + (kept ? ` ${kept} differ from what is here, which was kept.` : "")
    + (unread ? ` ${unread} rows could not be read.` : "");
}
