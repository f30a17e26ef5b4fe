// Second view: the tables of each run, as the run printed them.

function tables(state) {
  const run = RUNS.get(state.get("run")) ?? DATA.runs[0];
  const sheets = run.sheets;
  const chosen = sheets.find((one) => one.name === state.get("table")) ?? sheets[0];
  const go = (change) => navigate({ view: "conditions", run: run.name, table: chosen?.name, ...change });
  return [
    h("h1", { tabindex: "-1" }, "Tables"),
    h("div", { class: "fields" },
      choice("Run", DATA.runs.map((one) => [one.name, one.name]), run.name, (name) => go({ run: name, table: "" })),
      choice("Table", sheets.map((one) => [one.name, one.title]), chosen?.name ?? "", (name) => go({ table: name }))),
    chosen ? sheetNode(chosen) : h("p", {}, "This run has no tables."),
  ];
}

/** A table with its notes; missing figures are dashes, with the reason at hand and below. */
function sheetNode(sheet) {
  const lead = sheet.columns.findIndex(([, form]) => form !== "text");
  const names = lead < 0 ? sheet.columns.length : lead;
  const reasons = new Map();
  const noted = (reason) => {
    if (!reasons.has(reason)) reasons.set(reason, reasons.size + 1);
    return reasons.get(reason);
  };
  const body = sheet.rows.map((row) => h("tr", {}, row.map((cell, column) => {
    const form = sheet.columns[column][1];
    const reason = cellReason(cell);
    const text = reason ? [MISSING, h("sup", {}, String(noted(reason)))] : form === "text" ? inline(cell) : figureCell(cell, form);
    return h(column === 0 ? "th" : "td", { class: column < names ? "name" : "figure", scope: column === 0 ? "row" : null, title: reason || null }, text);
  })));
  return h("section", { class: "card" },
    h("h2", {}, visible(sheet.title)),
    scrolling(sheet.title, h("table", {},
      h("thead", {}, h("tr", {}, sheet.columns.map(([heading], column) =>
        h("th", { scope: "col", class: column < names ? "name" : "figure" }, inline(heading))))),
      h("tbody", {}, body))),
    h("ul", { class: "small notes" },
      sheet.notes.map((note) => h("li", {}, visible(note))),
      Array.from(reasons, ([reason, number]) => h("li", {}, `${MISSING}`, h("sup", {}, String(number)), ` ${visible(reason)}`)),
      sheet.columns.some(([, form]) => form === "percent") ? h("li", {}, "Square brackets: 95% intervals.") : null));
}

/** The figure, and its interval below it. */
function figureCell(cell, form) {
  if (!Array.isArray(cell) || !isNumber(cell[1])) return cellText(cell, form);
  return [h("span", {}, formatted(cell[0], form)), h("span", { class: "interval" }, ` [${formatted(cell[1], form)}, ${formatted(cell[2], form)}]`)];
}
