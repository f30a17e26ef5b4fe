// What is shown, and what keys and buttons do. All texts are set as text, never as markup.

const $ = (id) => document.getElementById(id);
const IDLE_AFTER = 60_000;
const KEYS = [
  ...DATA.choices.map((choice) => [choice.key, choice.title]),
  ["1 to 5", "Relevance"],
  ["→ ←", "Next, previous text"],
  ["Enter", "Next text that is not empty (with Shift: previous)"],
  ["u", "Next text that is not labelled yet"],
  ["n", "Write a note; Esc leaves it"],
  ["z", "Undo the last change"],
  ["?", "This help"],
];
let started = false;
let lastActivity = Date.now();
let noteBefore = null;

function element(tag, text = "", ...children) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...children);
  return made;
}

function choice(key, title, text, choose) {
  const button = element("button", "", element("kbd", key), element("strong", title), element("span", text));
  button.type = "button";
  button.addEventListener("click", choose);
  return button;
}

for (const one of DATA.choices) {
  const button = choice(one.key, one.title, one.text, () => mark({ label: one.label }));
  button.dataset.value = one.label;
  $("labels").append(button);
}
DATA.relevance.forEach((text, i) => {
  const button = choice(String(i + 1), "", text, () => mark({ relevance: i + 1 }));
  button.dataset.value = String(i + 1);
  $("relevance").append(button);
});
for (const list of document.querySelectorAll(".rules")) list.append(...DATA.rules.map((rule) => element("li", rule)));
for (const [key, text] of KEYS) {
  const name = element("th", "", element("kbd", key));
  name.scope = "row";
  $("keys").tBodies[0].append(element("tr", "", name, element("td", text)));
}
$("sample-name").textContent = DATA.sample;
$("progress").max = Math.max(1, TO_LABEL.length);

// Showing.

function show() {
  const item = ITEMS[place];
  const own = markOf(item);
  $("heading").textContent = `Text ${place + 1} of ${ITEMS.length}`;
  $("problem").textContent = item.problem.trim() ? item.problem : "No problem text was given.";
  $("trace").textContent = isEmpty(item) ? "(empty)" : item.trace;
  $("trace").classList.toggle("nothing", isEmpty(item));
  $("is-empty").hidden = !isEmpty(item);
  $("asked").hidden = isEmpty(item);
  for (const [group, chosen] of [["labels", own.label], ["relevance", String(own.relevance)]]) {
    for (const button of $(group).children) button.setAttribute("aria-pressed", String(button.dataset.value === chosen));
  }
  if ($("note").value !== own.note) $("note").value = own.note;
  $("previous").disabled = place === 0;
  $("next").disabled = place === ITEMS.length - 1;
  $("undo").disabled = !steps.length;
  showProgress();
}

function showProgress() {
  const done = TO_LABEL.filter(isDone);
  const empty = ITEMS.length - TO_LABEL.length;
  $("progress").value = done.length;
  $("count").textContent = `${done.length} of ${TO_LABEL.length} labelled` + (empty ? ` (${empty} more are empty)` : "");
  const left = TO_LABEL.length - done.length;
  const pace = done.reduce((sum, item) => sum + (seconds.get(item.id) ?? 0), 0) / Math.max(1, done.length);
  $("pace").textContent = left === 0 ? "All done: export the CSV and send it back."
    : done.length >= 3 && pace > 0 ? `${Math.round(pace)} s a text, about ${duration(left * pace)} left` : "";
  $("unexported").textContent = unexported ? "Changed since the last export" : "";
  $("unlabelled").disabled = left === 0;
}

function duration(total) {
  const minutes = Math.max(1, Math.round(total / 60));
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function say(text) {
  $("status").textContent = text;
}

function keep() {
  const reason = save();
  $("warning").hidden = reason === "";
  $("warning").textContent = reason && `This browser does not keep your work (${reason}). Export the CSV before you close the page.`;
  return reason === "";
}

// Doing.

function mark(fields) {
  const item = ITEMS[place];
  const before = markOf(item);
  if (isEmpty(item) || Object.entries(fields).every(([name, value]) => before[name] === value)) return;
  change(new Map([[item.id, { ...before, ...fields }]]));
  keep();
  show();
  const chosen = DATA.choices.find((one) => one.label === fields.label);
  say(chosen ? chosen.title : `Relevance ${fields.relevance}`);
}

function endNote() {
  // A note is one step back, however it was typed.
  if (noteBefore === null) return;
  const [item, before] = noteBefore;
  noteBefore = null;
  if (before === $("note").value) return;
  marks.set(item.id, { ...markOf(item), note: before });
  change(new Map([[item.id, { ...markOf(item), note: $("note").value.trim() }]]));
  keep();
  show();
}

function go(to, focus = true) {
  endNote();
  if (to < 0 || to >= ITEMS.length) return say(to < 0 ? "This is the first text." : "This is the last text.");
  place = to;
  keep();
  show();
  say("");
  window.scrollTo(0, 0);
  $("form").scrollTop = 0;
  if (focus) $("heading").focus({ preventScroll: true });
}

function goTo(wanted, step, none, focus) {
  // The nearest place in that direction that is wanted; `u` goes round.
  for (let i = 1; i < ITEMS.length; i++) {
    const to = place + i * step;
    const round = ((to % ITEMS.length) + ITEMS.length) % ITEMS.length;
    if (to !== round && wanted !== unlabelled) break;
    if (wanted(ITEMS[round])) return go(round, focus);
  }
  say(none);
}

const unlabelled = (item) => !isDone(item);
const written = (item) => !isEmpty(item);
const goUnlabelled = (focus) => goTo(unlabelled, 1, "No other text is without a label.", focus);

function undo() {
  endNote();
  if (!undoStep()) return say("Nothing to undo.");
  keep();
  show();
  say("Undone.");
}

function exportCsv() {
  endNote();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([toCsv()], { type: "text/csv;charset=utf-8" }));
  const name = annotator.replace(/[^\p{L}\p{N}]+/gu, "_");
  link.download = `annotations-${name}-${DATA.sample}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  unexported = 0;
  keep();
  show();
  say(`Exported ${TO_LABEL.filter(isDone).length} of ${TO_LABEL.length} texts.`);
}

async function importCsv() {
  endNote();
  const [file] = $("file").files;
  if (!file) return;
  const said = merge(await file.text());
  $("file").value = "";
  keep();
  show();
  say(said);
}

function open(dialog, focused = null) {
  // Small screens begin with what there is to read, not with a keyboard over it.
  $(dialog).showModal();
  (focused ?? $(`${dialog}-title`)).focus({ preventScroll: true });
  $(dialog).scrollTop = 0;
}

function begin(name) {
  load(name);
  started = true;
  $("who").textContent = `Annotator: ${name}`;
  $("start").close();
  lastActivity = Date.now();
  if (keep()) say("");
  show();
  $("heading").focus({ preventScroll: true });
}

function ask() {
  started = false;
  const known = knownNames();
  $("known").hidden = !known.length;
  $("known").replaceChildren(...known.map((name) => {
    const kept = new Map(peek(name)?.marks ?? []);
    const done = TO_LABEL.filter((item) => kept.get(item.id)?.label && kept.get(item.id)?.relevance).length;
    const button = element("button", `Go on as ${name} (${done} of ${TO_LABEL.length})`);
    button.type = "button";
    button.addEventListener("click", () => begin(name));
    return button;
  }));
  $("name").value = "";
  open("start", matchMedia("(pointer: fine)").matches ? $("known").querySelector("button") ?? $("name") : null);
}

// Keys and buttons.

const ACTIONS = {
  arrowright: () => go(place + 1),
  arrowleft: () => go(place - 1),
  enter: (event) => goTo(written, event.shiftKey ? -1 : 1, "No further text in this direction."),
  u: () => goUnlabelled(),
  z: undo,
  n: () => isEmpty(ITEMS[place]) || $("note").focus(),
  "?": () => open("help"),
};
for (const one of DATA.choices) ACTIONS[one.key] = () => mark({ label: one.label });
DATA.relevance.forEach((_, i) => { ACTIONS[String(i + 1)] = () => mark({ relevance: i + 1 }); });

document.addEventListener("keydown", (event) => {
  if (!started || document.querySelector("dialog[open]")) return;
  const target = event.target;
  if (target === $("note")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const key = event.key.toLowerCase();
  const isUndo = key === "z" && (event.ctrlKey || event.metaKey);
  if ((event.ctrlKey || event.metaKey || event.altKey) && !isUndo) return;
  // Enter presses the button or link that has the focus, unless that has been chosen already.
  if (key === "enter" && target.closest("button, a") && target.getAttribute("aria-pressed") !== "true") return;
  const action = Object.hasOwn(ACTIONS, key) ? ACTIONS[key] : null;
  if (!action) return;
  event.preventDefault();
  action(event);
});
$("previous").addEventListener("click", () => go(place - 1, false));
$("next").addEventListener("click", () => go(place + 1, false));
$("unlabelled").addEventListener("click", () => goUnlabelled(false));
$("undo").addEventListener("click", undo);
$("export").addEventListener("click", exportCsv);
$("import").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", importCsv);
$("rename").addEventListener("click", () => { endNote(); keep(); ask(); });
$("help-button").addEventListener("click", () => open("help"));
$("close-help").addEventListener("click", () => $("help").close());
$("note").addEventListener("input", () => {
  // Kept at each stroke, as the page may be closed while one writes.
  noteBefore ??= [ITEMS[place], markOf(ITEMS[place]).note];
  marks.set(ITEMS[place].id, { ...markOf(ITEMS[place]), note: $("note").value });
  keep();
});
$("note").addEventListener("blur", endNote);
$("start").addEventListener("cancel", (event) => event.preventDefault());
$("start-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("name").value.trim().replace(/\s+/g, " ");
  if (name) begin(name);
});

// Time counts while the page is seen and somebody is at it.
for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "touchstart"]) {
  window.addEventListener(kind, () => { lastActivity = Date.now(); }, { passive: true });
}
setInterval(() => {
  const item = ITEMS[place];
  if (!started || document.hidden || isEmpty(item) || Date.now() - lastActivity > IDLE_AFTER) return;
  seconds.set(item.id, (seconds.get(item.id) ?? 0) + 1);
}, 1000);
window.addEventListener("pagehide", () => { if (started) save(); });
window.addEventListener("storage", (event) => {
  // The same annotator in a second tab: what is newer counts, so that neither overwrites the other.
  if (!started || event.key !== PREFIX + annotator) return;
  const here = place;
  load(annotator);
  place = here;
  show();
});
window.addEventListener("beforeunload", (event) => {
  if (started && unexported && save() !== "") event.preventDefault();
});
ask();
