// Fourth view: every row, of which only those on screen are in the page.

const ROW_HEIGHT = 36;
const WIDTHS = { question: 300, item: 210, reply: 300, problem: 300, trace: 260, reasoning: 260, presentation: 150, condition: 140, readout: 130, run: 140, correct: 76, predicted: 90, gold: 110, k: 80 };
const isNarrow = () => matchMedia("(max-width: 40rem)").matches;
const widthOf = (name) => (isNarrow() ? { item: 136, condition: 112, correct: 74 }[name] : null) ?? WIDTHS[name] ?? 120;

/**
 * A table of many rows. `columns` are {name, title, node(row), sort}, `rows` row numbers, `sorted` [name, down].
 * Only the rows on screen exist; the header stays in view.
 */
function virtualTable({ label: told, columns, rows, sorted, onsort }) {
  const template = columns.map((one) => `${one.width}px`).join(" ");
  const full = columns.reduce((sum, one) => sum + one.width, 0);
  const head = h("div", { class: "v-row v-head", role: "row", "aria-rowindex": "1" }, columns.map((one) => {
    const [by, down] = sorted;
    const mine = by === one.name;
    const arrow = mine ? (down ? " \u25bc" : " \u25b2") : "";
    return h("div", { role: "columnheader", "aria-sort": mine ? (down ? "descending" : "ascending") : "none" },
      onsort ? h("button", { type: "button", onclick: () => onsort(one.name, mine && !down) }, one.title, h("span", { "aria-hidden": "true" }, arrow)) : one.title);
  }));
  head.style.gridTemplateColumns = template;
  const body = h("div", { class: "v-body", role: "rowgroup" });
  body.style.height = `${rows.length * ROW_HEIGHT}px`;
  const inner = h("div", { class: "v-inner" }, h("div", { role: "rowgroup", class: "v-top" }, head), body);
  inner.style.width = `${full}px`;
  const box = h("div", { class: "v-table", role: "table", "aria-label": told, "aria-rowcount": String(rows.length + 1), tabindex: "0" }, inner);
  let [from, to] = [0, 0];
  const draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / ROW_HEIGHT) - 8);
    const last = Math.min(rows.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW_HEIGHT) + 8);
    if (first === from && last === to) return;
    [from, to] = [first, last];
    // A row with the focus stays as it is, or the keyboard would lose its place.
    const focused = body.contains(document.activeElement) ? document.activeElement.closest(".v-row")?.dataset.place : undefined;
    body.replaceChildren(...rows.slice(from, to).map((row, index) => {
      const place = from + index;
      const node = h("div", { class: "v-row", role: "row", "aria-rowindex": String(place + 2), "data-place": String(place) },
        columns.map((one) => h("div", { role: "cell", class: one.figure ? "figure" : null }, one.node(row))));
      node.style.gridTemplateColumns = template;
      node.style.top = `${place * ROW_HEIGHT}px`;
      return node;
    }));
    if (focused !== undefined) body.querySelector(`[data-place="${focused}"] a`)?.focus({ preventScroll: true });
  };
  box.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  drawnAt(box, () => { to = -1; draw(); });
  return box;
}

function shownFields(state) {
  const asked = (state.get("columns") ?? "").split(",").filter((name) => name === "question" || ROW_FIELDS.includes(name));
  if (asked.length) return asked;
  if (isNarrow()) return ["item", "condition", "correct"].filter((name) => ROW_FIELDS.includes(name));
  const several = (name) => has(name) && COLUMNS[name].values.length > 1;
  const wanted = ["item", DATA.items.length ? "question" : "", several("run") ? "run" : "", "condition", several("presentation") ? "presentation" : "",
    several("readout") ? "readout" : "", "predicted", "gold", "correct", "p_gold", "label_mass", "judge_label", "relevance", "k"];
  return wanted.filter((name) => name === "question" || ROW_FIELDS.includes(name));
}

/** The id of an item without the name of its data set before it, which many have. */
function shortItem(row) {
  const [item, dataset] = [at("item", row) ?? MISSING, at("dataset", row)];
  return dataset && item.startsWith(`${dataset}/`) && item.length > dataset.length + 1 ? item.slice(dataset.length + 1) : item;
}

/** A cell of the list: the item is a link, right and wrong have signs. */
function listCell(name, row) {
  if (name === "item") return h("a", { href: itemAddress(row), class: "clip", title: visible(at("item", row) ?? "") }, inline(shortItem(row)));
  if (name === "correct") {
    const value = at("correct", row);
    if (value === null) return MISSING;
    return h("span", { class: value ? "right" : "wrong" }, value ? "\u2713 yes" : "\u2717 no");
  }
  if (name === "judge_label" && at(name, row)) return h("span", { class: "clip" }, labelName(at(name, row)));
  return inline(shownValue(name, row).slice(0, 200), { class: "clip" });
}

function items(state) {
  const rows = filteredRows(state);
  const [by, direction] = (state.get("sort") ?? "").split(":");
  const down = direction === "down";
  if (by && (by === "question" || ROW_FIELDS.includes(by))) sortRows(rows, by, down);
  shownList = rows;
  const own = Object.fromEntries(state);
  const go = (change) => navigate({ ...own, view: "items", ...change });
  const fields = shownFields(state);
  const columns = fields.map((name) => ({
    name, title: fieldName(name), width: widthOf(name), node: (row) => listCell(name, row),
    figure: ["int", "float"].includes(formOf(name)),
  }));
  const search = h("input", { type: "search", id: "search", value: state.get("q") ?? "", autocomplete: "off", spellcheck: "false", dir: "auto" });
  const find = debounced(() => search.isConnected && go({ q: search.value }), 200);
  // While a character is being composed, the field must stay as it is.
  search.addEventListener("input", (event) => event.isComposing || find());
  search.addEventListener("compositionend", find);
  return [
    h("h1", { tabindex: "-1" }, "Items"),
    h("div", { class: "fields" },
      h("div", { class: "field wide" }, h("label", { for: "search" }, "Search questions, replies and names"), search),
      ["run", "condition", "presentation", "readout", "correct"].filter((name) => has(name) && (formOf(name) === "flag" || COLUMNS[name].values.length > 1)).map((name) => valueChoice(name, state, go)),
      FILTERED.filter((name) => state.get(name) && !["run", "condition", "presentation", "readout", "correct"].includes(name)).map((name) => valueChoice(name, state, go)),
      choice("Add a filter", [["", "field\u2026"], ...FILTERED.map((name) => [name, fieldName(name)])], "", (name) => name && addFilter(name, state, go))),
    columnChoice(fields, go),
    h("p", { role: "status", id: "count" }, `${plural(rows.length, "row")} of ${N.toLocaleString("en")}`,
      [...state.keys()].some((name) => name === "q" || FILTERED.includes(name)) ? [" \u00b7 ", h("a", { href: address({ view: "items" }) }, "clear filters")] : null),
    rows.length ? virtualTable({ label: "Rows", columns, rows, sorted: [by, down], onsort: (name, toDown) => go({ sort: `${name}:${toDown ? "down" : "up"}` }) })
      : h("p", { class: "nothing" }, "No row fits. Take a filter away."),
  ];
}

let shownList = null;

function valueChoice(name, state, go) {
  const value = state.get(name) ?? "";
  if (!byValue(name)) {
    const id = fresh("filter");
    const input = h("input", { id, value, size: "12", dir: "auto", onchange: () => go({ [name]: input.value }) });
    return h("div", { class: "field" }, h("label", { for: id }, formOf(name) === "text" ? `${fieldName(name)} holds` : `${fieldName(name)} (from..to)`), input);
  }
  const values = formOf(name) === "flag" ? ["yes", "no"] : [...COLUMNS[name].values].sort(collator.compare);
  return choice(fieldName(name), [["", "all"], ...values.map((one) => [one, name === "judge_label" ? labelName(one) : one]), [MISSING, "(missing)"]], value, (one) => go({ [name]: one }));
}

function addFilter(name, state, go) {
  if (byValue(name)) {
    const first = formOf(name) === "flag" ? "yes" : COLUMNS[name].values[0];
    go({ [name]: state.get(name) || first });
  } else go({ [name]: state.get(name) || (formOf(name) === "text" ? COLUMNS[name].values[0] : "..") });
}

function columnChoice(fields, go) {
  const toggle = (name, on) => go({ columns: (on ? [...fields, name] : fields.filter((one) => one !== name)).join(",") });
  return h("details", { class: "columns" }, h("summary", {}, "Columns"),
    h("div", { class: "checks" }, ["question", ...ROW_FIELDS].map((name) => {
      const id = fresh("column");
      return h("div", {}, h("input", { type: "checkbox", id, checked: fields.includes(name), onchange: (event) => toggle(name, event.target.checked) }), h("label", { for: id }, fieldName(name)));
    })));
}
