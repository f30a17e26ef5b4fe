// Sixth view: two sides (a run, a condition, a readout) on the same items, those that differ first.

const SIDE = ["run", "condition", "readout"];

function sideOf(state, letter) {
  return Object.fromEntries(SIDE.map((name) => [name, state.get(`${letter}.${name}`)]));
}

const readable = (row) => at("correct", row) !== null;

/** The side's choices filled in: what is not given, or not there, becomes the first that is. */
function completed(side, place, other) {
  const runs = DATA.runs.map((run) => run.name);
  const found = { run: runs.includes(side.run) ? side.run : runs[Math.min(place, runs.length - 1)] };
  let rows = [];
  for (let row = 0; row < N; row++) if (at("run", row) === found.run && readable(row)) rows.push(row);
  for (const name of ["condition", "readout"]) {
    const values = valuesOf(name, rows);
    // The same run on both sides: another condition; another run: the same one.
    const wanted = other && found.run === other.run && name === "condition" ? values.find((one) => one !== other.condition) : other?.[name];
    found[name] = values.includes(side[name]) ? side[name] : values.includes(wanted) ? wanted : values[0];
    found[`${name}s`] = values;
    rows = rows.filter((row) => at(name, row) === found[name]);
  }
  return { ...found, rows };
}

/** The way of showing items that is compared: what is asked for, else the source's order, else all. */
function onlyOf(state, first, second) {
  const shared = sharedPresentations(first, second);
  const asked = state.get("presentation");
  if (asked === "all" || shared.includes(asked)) return asked;
  return shared.includes("identity") ? "identity" : "all";
}

function sharedPresentations(first, second) {
  const there = new Set(valuesOf("presentation", second.rows));
  return valuesOf("presentation", first.rows).filter((one) => there.has(one));
}

function pairsOf(first, second, presentation) {
  const key = (row) => keyOf(at("dataset", row), at("item", row), at("presentation", row));
  const there = new Map(second.rows.map((row) => [key(row), row]));
  const wanted = first.rows.filter((row) => presentation === "all" || at("presentation", row) === presentation);
  return wanted.flatMap((row) => (there.has(key(row)) ? [[row, there.get(key(row))]] : []));
}

const KINDS = ["right, then wrong", "wrong, then right", "wrong, and another answer", "wrong both times", "right both times"];

function kindOf([a, b]) {
  const [first, second] = [at("correct", a), at("correct", b)];
  if (first !== second) return first ? 0 : 1;
  if (first) return 4;
  return answerOf(a) === answerOf(b) ? 3 : 2;
}

const answerOf = (row) => at("predicted", row) ?? at("pred_slot", row);

function compare(state) {
  const first = completed(sideOf(state, "a"), 0, null);
  const second = completed(sideOf(state, "b"), 1, first);
  const presentation = onlyOf(state, first, second);
  const sides = { a: first, b: second };
  const own = Object.fromEntries(state);
  const go = (change) => navigate({ ...own, view: "compare", ...change });
  const all = pairsOf(first, second, presentation).map((pair) => ({ pair, kind: kindOf(pair) }));
  all.sort((x, y) => x.kind - y.kind || x.pair[0] - y.pair[0]);
  const counts = KINDS.map((_, kind) => all.filter((one) => one.kind === kind).length);
  const chosen = state.get("kind") ?? "";
  const shown = chosen === "" ? all : all.filter((one) => String(one.kind) === chosen);
  return [
    h("h1", { tabindex: "-1" }, "Compare"),
    h("div", { class: "sides" }, ["a", "b"].map((letter) => sidePicker(letter, sides[letter], go)),
      choice("Presentation", [...sharedPresentations(first, second).map((one) => [one, one]), ["all", "all"]], presentation, (one) => go({ presentation: one }))),
    all.length ? comparison(all, counts, first, second, presentation) : h("p", { class: "nothing" }, "The two sides share no item and presentation."),
    all.length ? h("div", { class: "fields" }, choice("Show", [["", `all ${all.length.toLocaleString("en")} pairs`], ...KINDS.map((name, kind) => [String(kind), `${name} (${counts[kind]})`])], chosen, (kind) => go({ kind }))) : null,
    shown.length ? pairTable(shown) : null,
    first.run === second.run ? null : figuresOfBoth(first.run, second.run),
  ];
}

/** Every figure that two runs have, with intervals, and what differs between them: computed when the page was made. */
function figuresOfBoth(first, second) {
  const pair = DATA.pairs.find((one) => [one.a, one.b].includes(first) && [one.a, one.b].includes(second));
  const heading = fresh("both");
  if (!pair) {
    const left = DATA.runs.length * (DATA.runs.length - 1) / 2 > DATA.mostPairs;
    return h("p", { class: "nothing" }, left
      ? `No differences with intervals here: the page holds those of its first ${DATA.mostPairs} pairs of runs. python -m analysis.compare gives them.`
      : "The two runs have no figure with common items, so there are no differences with intervals.");
  }
  return h("section", { "aria-labelledby": heading },
    h("h2", { id: heading }, "All figures that both runs have"),
    h("p", { class: "small" }, "A is ", h("strong", {}, inline(pair.a)), ", B is ", h("strong", {}, inline(pair.b)), "; differences are B minus A, paired by item, whichever run was chosen first above."),
    pair.sheets.map(sheetNode));
}

function sidePicker(letter, side, go) {
  const clear = letter === "a" ? "First" : "Second";
  return h("fieldset", {}, h("legend", {}, clear),
    choice("Run", DATA.runs.map((run) => [run.name, run.name]), side.run, (run) => go({ [`${letter}.run`]: run })),
    choice("Condition", side.conditions.map((one) => [one, one]), side.condition ?? "", (one) => go({ [`${letter}.condition`]: one })),
    choice("Readout", side.readouts.map((one) => [one, one]), side.readout ?? "", (one) => go({ [`${letter}.readout`]: one })));
}

function comparison(all, counts, first, second, presentation) {
  const n = all.length;
  const right = (place) => all.filter((one) => at("correct", one.pair[place])).length;
  const share = (count) => `${count.toLocaleString("en")} (${((100 * count) / n).toFixed(1)} %)`;
  const moved = counts[0] + counts[1];
  return h("section", { class: "card", "aria-label": "Result" },
    h("p", {}, h("strong", {}, `${share(moved)} of ${n.toLocaleString("en")} pairs flip between right and wrong. `),
      `First right ${share(right(0))}, second right ${share(right(1))}.`),
    h("div", { class: "flips", "aria-hidden": "true" }, counts.map((count, kind) => {
      const part = h("span", { class: `kind-${kind}` });
      part.style.flexGrow = String(count);
      return count ? part : null;
    })),
    h("ul", { class: "legend" }, counts.map((count, kind) => h("li", {}, h("span", { class: `swatch kind-${kind}`, "aria-hidden": "true" }), ` ${KINDS[kind]}: ${share(count)}`))),
    h("p", { class: "small" }, `Pairs have item and presentation in common${presentation === "all" ? "" : ` (${visible(presentation)})`}; the first side has ${first.rows.length.toLocaleString("en")} rows in all, the second ${second.rows.length.toLocaleString("en")}. These are counts; differences with intervals are at the end of this page.`));
}

function pairTable(shown) {
  const narrow = isNarrow();
  const cell = (place) => (index) => {
    const row = shown[index].pair[place];
    const right = at("correct", row);
    return h("span", { class: right ? "right" : "wrong" }, right ? "\u2713 " : "\u2717 ", inline(at("predicted", row) === null ? `slot ${shownValue("pred_slot", row)}` : shownValue("predicted", row), { class: "clip" }));
  };
  const columns = [
    { name: "item", title: "item", width: narrow ? 150 : 230, node: (index) => listCell("item", shown[index].pair[0]) },
    { name: "kind", title: "change", width: narrow ? 130 : 200, node: (index) => KINDS[shown[index].kind] },
    { name: "first", title: "first", width: 100, node: cell(0) },
    { name: "second", title: "second", width: 100, node: cell(1) },
    { name: "gold", title: "right answer", width: 120, node: (index) => inline(at("gold", shown[index].pair[0]) ?? `slot ${shownValue("gold_slot", shown[index].pair[0])}`) },
    { name: "presentation", title: "presentation", width: 150, node: (index) => inline(at("presentation", shown[index].pair[0])) },
    { name: "question", title: "question", width: 380, node: (index) => inline(shownValue("question", shown[index].pair[0]).slice(0, 200), { class: "clip" }) },
  ];
  return virtualTable({ label: "Pairs", columns, rows: shown.map((_, index) => index), sorted: ["", false], onsort: null });
}
