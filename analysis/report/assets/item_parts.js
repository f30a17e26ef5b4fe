// Parts of an item's view: scores of options as bars, the most probable tokens, the layers, probes, replies.

const LOGS = ["native", "aligned"];

/** Share of each slot among the options; null where a score is missing. */
function shares(scores) {
  const top = Math.max(...scores);
  if (!Number.isFinite(top)) return scores.map(() => null);
  const weights = scores.map((one) => Math.exp(one - top));
  const sum = weights.reduce((a, b) => a + b, 0);
  return weights.map((one) => one / sum);
}

function barsNode(rows) {
  const scored = rows.filter((row) => (at("scores", row) ?? []).length);
  if (!scored.length) return null;
  const found = valuesOf("readout", scored);
  const readouts = [...found.filter((one) => one === "native"), ...found.filter((one) => one !== "native")];
  const box = h("div", { class: "panels wide" });
  const draw = (readout) => box.replaceChildren(...scored.filter((row) => at("readout", row) === readout).map((row) => barPanel(row, LOGS.includes(readout))));
  draw(readouts[0]);
  return h("section", { class: "card", "aria-label": "Scores of the options" },
    h("h2", {}, "Scores of the options by condition"),
    h("p", { class: "small" }, "Bar: share of the option among all options. Number: log probability (natural), over the whole vocabulary for labels."),
    readouts.length > 1 ? choice("Readout", readouts.map((one) => [one, one]), readouts[0], draw) : null, box);
}

function barPanel(row, isLabel) {
  const scores = at("scores", row);
  const labels = at("labels", row) ?? [];
  const parts = shares(scores);
  const [gold, read] = [at("gold_slot", row), at("pred_slot", row)];
  const right = at("correct", row);
  const mass = at("label_mass", row);
  return h("div", { class: "panel" },
    h("h3", {}, inline(at("condition", row)), right === null ? null : h("span", { class: right ? "right" : "wrong" }, right ? " \u2713" : " \u2717")),
    h("div", { class: "score-bars" }, scores.map((score, slot) => {
      const bar = h("span", { class: `fill${slot === gold ? " gold" : ""}` });
      bar.style.width = `${100 * (parts[slot] ?? 0)}%`;
      const marks = [slot === gold ? "right answer" : "", slot === read ? "read" : ""].filter(Boolean).join(", ");
      return h("div", { class: "score" }, h("span", { class: "letter" }, inline(labels[slot] ?? String(slot + 1))),
        h("span", { class: "track" }, bar, h("span", { class: "on-track" }, marks)),
        h("span", { class: "value" }, Number.isFinite(score) ? score.toFixed(2).replace(/^-(0\.00)$/, "$1") : score < 0 ? "-\u221e" : MISSING));
    })),
    isLabel && mass !== null ? h("p", { class: "small" }, `The labels hold ${FORMATS.mass(mass)} of the next token's probability.`) : null);
}

function tokensNode(rows) {
  const own = rows.filter((row) => at("readout", row) === "native" && (at("top_tokens", row) ?? []).length);
  if (!own.length) return null;
  return h("section", { class: "card", "aria-label": "Next token" }, h("h2", {}, "What the model is about to say"),
    scrolling("Most probable next tokens", h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "name" }, "condition"), h("th", { scope: "col", class: "name" }, "most probable next tokens"))),
      h("tbody", {}, own.map((row) => h("tr", {}, h("th", { scope: "row", class: "name" }, inline(at("condition", row))),
        h("td", {}, at("top_tokens", row).map((token, place) => {
          const p = Math.exp(at("top_logprobs", row)[place]);
          return h("span", { class: "token" }, h("code", {}, inline(token || "(empty)")), h("span", { class: "small" }, ` ${isNumber(p) ? p.toFixed(3) : MISSING}`));
        }))))))));
}

function lensNode(rows) {
  const own = rows.filter((row) => at("readout", row) === "native" && (at("lens", row) ?? []).length);
  if (!own.length) return null;
  const box = h("div", {});
  drawnAt(box, () => box.replaceChildren(...own.map((row) => lensMap(row, Math.max(260, box.clientWidth)))));
  return h("section", { class: "card", "aria-label": "Layers" }, h("h2", {}, "Layers"),
    h("p", { class: "small" }, "Share of each option's label when the state after a layer is read through the model's own norm and head. Dark is much. Rows are options, columns are layers; the last one is the native readout. \u2713 right answer, \u25cf read in the end."),
    box);
}

function lensMap(row, width) {
  const flat = at("lens", row);
  const labels = at("labels", row) ?? [];
  const k = labels.length || 1;
  const layers = Math.floor(flat.length / k);
  const [gold, read] = [at("gold_slot", row), at("pred_slot", row)];
  const byLayer = Array.from({ length: layers }, (_, layer) => shares(flat.slice(layer * k, (layer + 1) * k)));
  const name = (label_, slot) => `${label_}${slot === gold ? " \u2713" : ""}${slot === read ? " \u25cf" : ""}`;
  const chart = {
    title: `Layers under ${visible(at("condition", row))}`, rows: labels.map(name), columns: Array.from({ length: layers }, (_, layer) => String(layer)),
    values: labels.map((_, slot) => byLayer.map((parts) => parts[slot])), columnLabel: "layer",
  };
  const cell = (width - 110) / layers;
  const told = (value, slot, layer) => `${(100 * value).toFixed(0)} % of the labels, log probability ${flat[layer * k + slot].toFixed(1)}`;
  return h("div", {}, h("h3", {}, inline(at("condition", row))),
    drawHeat(chart, width, { cellHeight: 22, least: 9, told, text: (value) => (cell >= 30 ? String(Math.round(100 * value)) : null) }));
}

function probesNode(rows) {
  const own = rows.filter((row) => String(at("readout", row)).startsWith("probe"));
  if (!own.length) return null;
  const slot = (value) => (value === null ? MISSING : `slot ${value + 1}`);
  return h("section", { class: "card", "aria-label": "Probes" }, h("h2", {}, "Linear probes"),
    scrolling("Linear probes", h("table", {},
      h("thead", {}, h("tr", {}, ["read under", "probe", "probe says", "native readout", "right answer", "probe is right", "log p(right)"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, own.map((row) => h("tr", {},
        h("th", { scope: "row", class: "name" }, inline(at("condition", row))), h("td", {}, inline(at("readout", row))), h("td", {}, slot(at("pred_slot", row))),
        h("td", {}, slot(at("native_slot", row))), h("td", {}, slot(at("gold_slot", row))), h("td", {}, listCell("correct", row)), h("td", {}, shownValue("gold_logprob", row))))))));
}

function repliesNode(rows) {
  const own = rows.filter((row) => at("reply", row) !== null);
  if (!own.length) return null;
  return h("section", { class: "card", "aria-label": "Replies" }, h("h2", {}, "What the model wrote"),
    h("p", { class: "small key" }, h("span", { class: "before" }, "before the answer"), " ", h("mark", {}, "the answer that was read"), " after it"),
    own.map(replyNode));
}
