// First view: does any condition break the readout, and of which runs.

function headline() {
  const told = DATA.runs.filter((run) => run.kind === "native").flatMap((run) => run.verdicts.map((one) => ({ run, ...one })));
  const count = (level) => told.filter((one) => one.level === level).length;
  if (!told.length) {
    const state = DATA.runs.flatMap((run) => run.verdicts).filter((one) => one.level === "bad");
    if (state.length) return ["bad", "The state holds answers that the readout misses", `Under ${names(state)}, a linear probe reads more right answers than the model's own readout.`];
    return ["info", "No label readout among these runs", "Nothing here says whether a trigger breaks it; see the runs below."];
  }
  const broken = told.filter((one) => one.level === "bad");
  if (broken.length) {
    return ["bad", `The label readout is broken under ${broken.length} of ${plural(told.length, "condition")}`,
      `Under ${names(broken)} the figure that is usually reported is not the model's accuracy: what was read is not what the prompt asks for.`];
  }
  if (count("warn")) return ["warn", `The label readout needs care under ${count("warn")} of ${plural(told.length, "condition")}`, "No condition clearly breaks it, but read the findings below before you report a figure."];
  if (count("unknown")) return ["unknown", `Not measured for ${count("unknown")} of ${plural(told.length, "condition")}`, "These runs hold nothing to compare the readout with: add evaluation=generation."];
  return ["ok", `The label readout holds under ${told.length === 1 ? "the one condition" : `all ${told.length} conditions`}`, "What was read is what the prompts ask for."];
}

function names(found) {
  const own = [...new Set(found.map((one) => one.condition))];
  return own.length <= 4 ? own.join(", ") : `${own.slice(0, 3).join(", ")} and ${own.length - 3} more`;
}

function overview() {
  const [level, head, text] = headline();
  return [
    h("h1", { tabindex: "-1" }, visible(DATA.title)),
    h("section", { class: `headline ${level}`, "aria-label": "Result" }, badge(level),
      h("div", {}, h("h2", {}, head), h("p", {}, visible(text)))),
    h("p", { class: "key" }, Object.entries(LEVELS).map(([name, one]) => h("span", {}, badge(name), ` ${one.meaning}`))),
    DATA.runs.map(runCard),
  ];
}

function runCard(run) {
  const heading = fresh("run");
  return h("section", { class: "card", "aria-labelledby": heading },
    h("h2", { id: heading }, inline(run.name)),
    h("p", { class: "small" }, run.kindName, " \u00b7 model ", h("strong", {}, inline(run.model)), " \u00b7 data ",
      h("strong", {}, inline(run.datasets.join(", "))), ` \u00b7 ${plural(run.nItems, "item")}, ${plural(run.nRows, "row")}`),
    run.title ? h("p", { class: "small" }, inline(run.title)) : null,
    h("div", { class: "verdicts" }, run.verdicts.map((one) => verdictRow(run, one))),
    run.said ? h("p", {}, inline(run.said)) : null,
    run.notes.map((note) => h("p", { class: "small note" }, visible(note))),
    h("details", {}, h("summary", {}, "About this run"),
      h("dl", { class: "facts" }, run.facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, inline(value))]))));
}

function verdictRow(run, one) {
  return h("details", { class: `verdict ${one.level}`, open: run.verdicts.length === 1 },
    h("summary", {}, badge(one.level),
      h("span", { class: "what" }, h("strong", {}, inline(one.condition)), h("span", {}, one.word)),
      h("span", { class: "figures" }, one.figures.slice(0, 2).map(([name, cell]) => figureOf(name, cell, true)))),
    h("div", { class: "why" },
      h("p", {}, visible(one.text)),
      h("p", { class: "figures" }, one.figures.map(([name, cell]) => figureOf(name, cell, false))),
      h("p", { class: "small" }, h("a", { href: address({ view: "items", run: run.name, condition: one.condition }) }, "The items of this condition"))));
}

function figureForm(name) {
  if (name.startsWith("relevance")) return "number";
  if (name === "label probability") return "mass";
  return name === "gap" || name.startsWith("gap ") ? "points" : "percent";
}

function figureOf(name, cell, short) {
  const form = figureForm(name);
  const value = short && Array.isArray(cell) ? cell[0] : cell;
  const text = cellText(value, form);
  return h("span", { class: "figure" }, h("span", { class: "small" }, name), " ", h("b", {}, form === "percent" && text !== MISSING ? `${text} %` : text));
}
