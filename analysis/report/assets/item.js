// Fifth view: one item in every run, presentation and condition.

function itemAddress(row) {
  return address({ item: `${at("dataset", row)}|${at("item", row)}`, run: at("run", row), presentation: at("presentation", row) });
}

function itemKey(state) {
  const asked = state.get("item") ?? "";
  const bar = asked.indexOf("|");
  const key = keyOf(asked.slice(0, bar), asked.slice(bar + 1));
  if (rowsByItem().has(key)) return key;
  // A link by the id alone, or one whose id was no well-formed text.
  for (const own of rowsByItem().keys()) {
    const [dataset, item] = JSON.parse(own);
    if (item === asked || wellFormed(`${dataset}|${item}`) === asked) return own;
  }
  return null;
}

function itemView(state) {
  const key = itemKey(state);
  const back = h("a", { href: address(lastList) }, "\u2190 All items");
  if (!key) return [h("h1", { tabindex: "-1" }, "No such item"), h("p", {}, "None of these runs has the item ", inline(state.get("item") ?? ""), "."), h("p", {}, back)];
  const [dataset, id] = JSON.parse(key);
  const rows = rowsByItem().get(key);
  const runs = valuesOf("run", rows);
  const run = runs.includes(state.get("run")) ? state.get("run") : runs[0];
  const ofRun = rows.filter((row) => at("run", row) === run);
  const shown = valuesOf("presentation", ofRun);
  const presentation = shown.includes(state.get("presentation")) ? state.get("presentation") : shown.includes("identity") ? "identity" : shown[0];
  const own = ofRun.filter((row) => at("presentation", row) === presentation);
  const go = (change) => navigate({ item: `${dataset}|${id}`, run, presentation, ...change });
  const item = itemOf(own[0]);
  return [
    h("p", { class: "crumbs" }, back, neighbours(key)),
    h("h1", { tabindex: "-1", class: "item-name" }, inline(id)),
    h("p", { class: "small" }, inline(dataset), [item?.subject, item?.space].filter(Boolean).map((one) => [" \u00b7 ", inline(one)])),
    h("div", { class: "fields" },
      choice("Run", runs.map((one) => [one, one]), run, (name) => go({ run: name })),
      shown.length > 1 ? choice("Presentation", shown.map((one) => [one, one]), presentation, (name) => go({ presentation: name })) : null),
    questionNode(item, own),
    optionsNode(item, own),
    barsNode(own), tokensNode(own), lensNode(own), probesNode(own),
    repliesNode(own),
  ];
}

/** The items before and after this one in the list as it was filtered and sorted. */
function neighbours(key) {
  const list = shownList ?? Array.from({ length: N }, (_, row) => row);
  const keys = [];
  const seen = new Set();
  const [sets, ids] = [COLUMNS.dataset.codes, COLUMNS.item.codes];
  for (const row of list) {
    const code = sets[row] * 4294967296 + ids[row];
    if (!seen.has(code)) {
      seen.add(code);
      keys.push(row);
    }
  }
  const place = keys.findIndex((row) => keyOf(at("dataset", row), at("item", row)) === key);
  if (place < 0) return null;
  const link = (row, text, rel) => (row === undefined ? null : h("a", { href: itemAddress(row), rel }, text));
  return h("span", {}, link(keys[place - 1], "\u2190 previous", "prev"), ` ${place + 1} of ${keys.length.toLocaleString("en")} `, link(keys[place + 1], "next \u2192", "next"));
}

function questionNode(item, rows) {
  const problem = rows.map((row) => at("problem", row)).find((text) => text !== null) ?? null;
  if (!item && problem === null) return h("p", { class: "nothing" }, "The question is not in the run's files.");
  return h("section", { class: "card", "aria-label": "Question" },
    h("h2", {}, "Question"),
    item?.context ? [h("h3", {}, "Context"), said(item.context)] : null,
    item ? said(item.question, { class: "said question" }) : null,
    item ? picturesNode(item) : null,
    item ? h("p", {}, "Right answer: ", h("strong", {}, inline(item.answer || MISSING))) : null,
    problem !== null ? h("details", { open: !item }, h("summary", {}, "The problem as this presentation asks it"), said(problem)) : null,
    item?.meta?.length ? h("details", {}, h("summary", {}, "Further fields"), h("dl", { class: "facts" }, item.meta.map(([name, value]) => [h("dt", {}, inline(name)), h("dd", {}, inline(value))]))) : null);
}

function picturesNode(item) {
  return item.images.map((digest, place) => {
    const one = DATA.images[digest];
    const told = `Image ${place + 1} of the question`;
    if (!one) return h("p", { class: "nothing" }, `${told}: image not available (SHA-256 ${digest.slice(0, 12)}\u2026).`);
    return h("img", { src: one.url, alt: told, width: Math.max(one.width, 112), height: Math.round((one.height * Math.max(one.width, 112)) / one.width), class: one.width < 112 ? "pixels" : null });
  });
}

/** Options as this presentation shows them, and which condition chose which. */
function optionsNode(item, rows) {
  const lead = rows.find((row) => (at("labels", row) ?? []).length) ?? rows[0];
  const labels = at("labels", lead) ?? [];
  const order = at("order", lead) ?? [];
  const shown = at("shown", lead) ?? [];
  const texts = labels.map((_, slot) => (shown.length === labels.length ? shown[slot] : item?.choices?.[order[slot]]));
  const gold = at("gold_slot", lead) ?? labels.indexOf(at("gold", lead));
  if (!labels.length) return null;
  const native = rows.filter((row) => ["native", "response"].includes(at("readout", row)));
  return h("section", { class: "card", "aria-label": "Options" }, h("h2", {}, "Options as shown"),
    h("ol", { class: "options" }, labels.map((name, slot) => h("li", { class: slot === gold ? "gold" : null },
      h("span", { class: "letter" }, inline(name)),
      h("div", {}, texts[slot] === undefined ? h("span", { class: "nothing" }, "text not in the run's files") : said(texts[slot]),
        h("p", { class: "small" }, slot === gold ? h("span", { class: "right" }, "\u2713 right answer ") : null,
          native.filter((row) => at("pred_slot", row) === slot).map((row) => h("span", { class: "chip" }, inline(at("condition", row))))))))),
    native.length ? h("p", { class: "small" }, "Boxes: conditions under which this option was the answer.") : null);
}
