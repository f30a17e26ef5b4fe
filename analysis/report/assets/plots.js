// Third view: the plots of each run, and of several runs side by side.

const TOGETHER = "*";

function plots(state) {
  const shared = sharedCharts();
  const whole = state.get("run") === TOGETHER && shared.length > 0;
  const run = RUNS.get(state.get("run")) ?? DATA.runs.find((one) => one.charts.length) ?? DATA.runs[0];
  const charts = whole ? shared : run.charts;
  const named = DATA.runs.map((one) => [one.name, one.name]);
  return [
    h("h1", { tabindex: "-1" }, "Plots"),
    h("div", { class: "fields" },
      choice("Run", shared.length ? [[TOGETHER, "all runs, side by side"], ...named] : named, whole ? TOGETHER : run.name, (name) => navigate({ view: "plots", run: name }))),
    whole ? h("p", { class: "small" }, "Plots that several runs have, on common axes. Whether a difference between runs is more than chance, Compare says: intervals here are of each run alone.") : null,
    charts.length ? charts.map((chart) => figureNode(chart, run.conditions)) : h("p", {}, "This run has nothing to plot."),
  ];
}

/** The plots that two runs or more have, each with all of them in it. */
function sharedCharts() {
  const found = new Map();
  for (const run of DATA.runs) {
    for (const chart of run.charts) {
      // Bars of slots stand before those of one run's own right answers, so they stay with their run.
      if (!["lines", "dots"].includes(chart.kind)) continue;
      // What must agree for one pair of axes: marks of a band, or states.
      const axes = chart.kind === "lines" ? chart.ticks : chart.series;
      const key = JSON.stringify([chart.kind, chart.name, chart.format, axes ?? null]);
      if (!found.has(key)) found.set(key, []);
      found.get(key).push({ run: run.name, chart });
    }
  }
  return [...found.values()].filter((parts) => parts.length > 1).flatMap(joinedCharts);
}

function joinedCharts(parts) {
  const [{ chart }] = parts;
  const called = (name, run) => `${name} \u00b7 ${run}`;
  if (chart.kind === "dots") {
    const groups = [...new Set(parts.flatMap((part) => part.chart.groups))];
    const own = groups.flatMap((group) => parts.filter((part) => part.chart.groups.includes(group)).map((part) => [called(group, part.run), part.chart.values[part.chart.groups.indexOf(group)]]));
    return [{ ...chart, groups: own.map(([name]) => name), values: own.map(([, values]) => values) }];
  }
  const names = [...new Set(parts.flatMap((part) => part.chart.series.map((one) => one.name)))];
  const ofRuns = (name) => parts.flatMap((part) => part.chart.series.filter((one) => one.name === name).map((one) => ({ ...one, name: part.run })));
  // Lines cross: a plot for each of them, with a line for each run.
  return names.map((name) => ({ ...chart, title: `${chart.title}: ${name}`, series: ofRuns(name) }));
}

function figureNode(chart, conditions) {
  const plot = h("div", { class: "plot" });
  const key = h("div", {});
  const hidden = new Set();
  const series = chart.kind === "lines" ? chart.series.map((one) => one.name) : chart.kind === "dots" ? chart.series : null;
  const draw = () => {
    const width = Math.max(260, plot.clientWidth || 600);
    if (series) {
      key.replaceChildren(legend(series, hidden, (place) => {
        if (!hidden.delete(place)) hidden.add(place);
        draw();
        key.querySelectorAll("button")[place]?.focus();
      }));
    }
    const drawers = { lines: () => drawLines(chart, width, hidden), dots: () => drawDots(chart, width, hidden), bars: () => drawBars(chart),
      shift: () => drawShift(chart, conditions), strips: () => drawStrips(chart, width), heat: () => drawHeat(chart, width) };
    plot.replaceChildren(drawers[chart.kind]());
  };
  drawnAt(plot, draw);
  const head = fresh("chart");
  return h("figure", { class: "card", "aria-labelledby": head },
    h("figcaption", {}, h("h2", { id: head }, visible(chart.title)), h("p", { class: "small" }, visible(chart.note))),
    key, chart.kind === "lines" && unit(chart.format) ? h("p", { class: "fine" }, unit(chart.format)) : null, plot,
    h("details", { ontoggle: (event) => fillTable(event.currentTarget, chart) }, h("summary", {}, "The figures as a table")));
}

/** Draws once the node has a width, and again when it has another. */
function drawnAt(node, draw) {
  let last = 0;
  const observer = new ResizeObserver(() => {
    if (!node.isConnected) return observer.disconnect();
    if (Math.abs(node.clientWidth - last) < 2) return;
    last = node.clientWidth;
    draw();
  });
  observer.observe(node);
}

function fillTable(details, chart) {
  if (!details.open || details.querySelector("table")) return;
  const [head, rows] = chartRows(chart);
  details.append(scrolling(chart.title, h("table", {},
    h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, inline(name))))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value) => h("td", {}, inline(value ?? MISSING)))))))));
}

function chartRows(chart) {
  const form = chart.format ?? "mass";
  switch (chart.kind) {
    case "lines":
      return [["condition", chart.xLabel, "figure"], chart.series.flatMap((one) =>
        one.points.map(([at, ...figure]) => [one.name, chart.ticks?.[at] ?? String(at), cellText(figure, form)]))];
    case "dots":
      return [["", ...chart.series], chart.groups.map((group, row) => [group, ...chart.values[row].map((cell) => cellText(cell, form))])];
    case "bars":
      return [["", ...chart.categories, "n"], chart.series.map((one) => [one.name, ...one.counts.map(String), String(one.n)])];
    case "shift":
      return [["condition", "slot", "items", "before", "after", "shift, points"], chart.panels.flatMap((panel) =>
        panel.rows.map(([slot, n, before, after, shift]) => [panel.name, slot, String(n), cellText(before, form), cellText(after, form), cellText(shift, "points")]))];
    case "strips":
      return [["condition", "order", "items right", "items"], chart.panels.flatMap((panel) =>
        chart.orders.map((order, row) => [panel.name, order, String(panel.right[row].reduce((sum, one) => sum + one, 0)), String(panel.slots[row].filter((slot) => slot >= 0).length)]))];
    default:
      return [[chart.rowLabel ?? "", ...chart.columns], chart.rows.map((name, row) => [name, ...chart.values[row].map((value) => formatted(value, "percent"))])];
  }
}
