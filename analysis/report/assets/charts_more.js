// Plots as SVG: shares of slots, shifts by slot, strips of orders, heat maps.

/** Panels side by side, each with its heading above it. */
function panels(drawn) {
  return h("div", { class: "panels" }, drawn.map(([name, node]) => h("div", { class: "panel" }, h("h3", {}, inline(name)), node)));
}

function drawBars(chart) {
  const gold = chart.series.find((one) => one.gold);
  const [width, height, top, bottom] = [Math.max(150, 34 * chart.categories.length + 20), 130, 16, 20];
  const y = scale(0, 1, height - bottom, top);
  const step = (width - 8) / chart.categories.length;
  return panels(chart.series.filter((one) => !one.gold).map((one, series) => {
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.title}: ${visible(one.name)}` });
    root.append(line(0, y(0), width, y(0), "axis"));
    one.counts.forEach((count, slot) => {
      const share = one.n ? count / one.n : 0;
      const target = gold?.n ? gold.counts[slot] / gold.n : 0;
      const from = 4 + slot * step;
      root.append(svg("rect", { class: "target", x: from + 1, width: step - 2, y: y(target), height: y(0) - y(target) }));
      root.append(titled(svg("rect", { class: `bar s${series % SERIES}`, x: from + step * 0.22, width: step * 0.56, y: y(share), height: y(0) - y(share) }),
        `${one.name}, slot ${slot + 1}: read ${count} of ${one.n}, right ${gold?.counts[slot] ?? 0}`));
      root.append(label(from + step / 2, Math.min(y(share), y(target)) - 4, String(Math.round(100 * share)), { "text-anchor": "middle" }));
      root.append(label(from + step / 2, height - 5, String(slot + 1), { "text-anchor": "middle" }));
    });
    return [`${one.name} (n ${one.n})`, root];
  }));
}

function drawShift(chart, conditions) {
  return panels(chart.panels.map((panel, place) => {
    const series = Math.max(0, conditions.indexOf(panel.name) < 0 ? place : conditions.indexOf(panel.name));
    const [width, height, left, top, bottom] = [Math.max(170, 44 * panel.rows.length + 40), 170, 32, 10, 34];
    const onto = scale(0, 1, height - bottom, top);
    // An interval of a mean over few items may leave the range of a probability.
    const y = (value) => onto(Math.max(0, Math.min(1, value)));
    const step = (width - left - 6) / panel.rows.length;
    const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${chart.title}: ${visible(panel.name)}` });
    for (const value of [0, 0.25, 0.5, 0.75, 1]) {
      root.append(line(left, y(value), width, y(value), "grid"));
      root.append(label(left - 5, y(value) + 4, String(value), { "text-anchor": "end" }));
    }
    panel.rows.forEach(([slot, n, before, after, shift], index) => {
      const x = left + step * (index + 0.5);
      if (!isNumber(before?.[0]) || !isNumber(after?.[0])) return;
      if (isNumber(before[1])) root.append(line(x - 5, y(before[1]), x - 5, y(before[2]), "whisker reference"));
      if (isNumber(after[1])) root.append(line(x + 5, y(after[1]), x + 5, y(after[2]), `whisker s${series % SERIES}`));
      root.append(line(x - 5, y(before[0]), x + 5, y(after[0]), `move s${series % SERIES}`));
      const told = `${slot}, ${n} items: ${cellText(before, "mass")} before, ${cellText(after, "mass")} after; shift ${cellText(shift, "points")} points`;
      root.append(titled(svg("circle", { class: "mark hollow reference", cx: x - 5, cy: y(before[0]), r: 4.5 }), told));
      root.append(titled(mark(series, x + 5, y(after[0])), told));
      root.append(label(x, height - bottom + 15, slot.replace("slot ", ""), { "text-anchor": "middle" }));
      root.append(label(x, height - 4, `n ${n}`, { "text-anchor": "middle", class: "fine" }));
    });
    return [panel.name, root];
  }));
}

function drawStrips(chart, width) {
  const most = Math.max(0, ...chart.panels.flatMap((panel) => panel.slots.flat()));
  const cellWidth = Math.max(2, Math.min(14, (width - 4) / chart.items.length));
  const rowHeight = 13;
  const nodes = chart.panels.map((panel) => {
    const [own, height] = [cellWidth * chart.items.length, rowHeight * chart.orders.length];
    const root = svg("svg", { width: own, height, viewBox: `0 0 ${own} ${height}`, role: "img", "aria-label": `${chart.title}: ${visible(panel.name)}` });
    panel.slots.forEach((slots, order) => slots.forEach((slot, item) => {
      const [x, y] = [item * cellWidth, order * rowHeight];
      const told = slot < 0 ? "no answer" : `slot ${slot + 1}, ${panel.right[order][item] ? "right" : "wrong"}`;
      root.append(titled(svg("rect", { class: slot < 0 ? "cell none" : `cell s${slot % SERIES}`, x, y, width: cellWidth - 0.6, height: rowHeight - 1 }),
        `${chart.items[item]}, ${chart.orders[order]}: ${told}`));
      if (panel.right[order][item]) root.append(svg("rect", { class: "tick", x: x + cellWidth * 0.3, y: y + 4, width: Math.max(1, cellWidth * 0.3), height: 4 }));
    }));
    return h("div", {}, h("h3", {}, inline(panel.name)), root);
  });
  const slots = Array.from({ length: most + 1 }, (_, slot) => h("li", {},
    svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, svg("rect", { class: `cell s${slot % SERIES}`, width: 14, height: 14 })), `slot ${slot + 1}`));
  return h("div", { class: "strips" }, h("ul", { class: "legend" }, slots), nodes);
}

/** Lightness of a heat map's cell, and a text colour that can be read on it. */
function heatColour(share) {
  // From near white to dark blue; told by lightness alone.
  const stops = [[244, 248, 252], [158, 197, 229], [55, 122, 184], [8, 48, 107]];
  const place = Math.max(0, Math.min(0.9999, share)) * (stops.length - 1);
  const [from, to, part] = [stops[Math.floor(place)], stops[Math.floor(place) + 1], place % 1];
  const mixed = from.map((value, channel) => Math.round(value + (to[channel] - value) * part));
  const light = (0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2]) / 255;
  return [`rgb(${mixed.join(",")})`, light > 0.52 ? "#10131a" : "#ffffff"];
}

/** A matrix of shares. `text` says what stands in a cell; null leaves it empty. */
function drawHeat(chart, width, { text = (value) => (100 * value).toFixed(1), cellHeight = 34, told = null, least = 44 } = {}) {
  const longest = Math.max(...chart.rows.map((name) => name.length));
  const left = Math.min(width * 0.36, 12 + 7.2 * longest);
  const cell = Math.max(least, Math.min(110, (width - left - 4) / chart.columns.length));
  const [full, height] = [left + cell * chart.columns.length + 2, 40 + cellHeight * chart.rows.length];
  const root = svg("svg", { width: full, height, viewBox: `0 0 ${full} ${height}`, role: "img", "aria-label": chart.title });
  root.append(label(left, 12, chart.columnLabel ?? "", { class: "fine" }));
  const every = Math.ceil(26 / cell);
  const fitting = (name, space) => (name.length * 7 > space ? `${name.slice(0, Math.max(3, Math.floor(space / 7) - 1))}\u2026` : name);
  chart.columns.forEach((name, column) => {
    if (column % every) return;
    root.append(titled(label(left + cell * (column + 0.5), 30, fitting(name, cell * every), { "text-anchor": "middle" }), name));
  });
  chart.rows.forEach((name, row) => {
    root.append(titled(label(left - 6, 40 + cellHeight * (row + 0.5) + 4, fitting(name, left - 8), { "text-anchor": "end" }), name));
    chart.values[row].forEach((value, column) => {
      const [x, y] = [left + cell * column, 38 + cellHeight * row];
      const box = svg("rect", { x, y, width: cell - 1, height: cellHeight - 1, class: isNumber(value) ? "heat" : "cell none" });
      const [fillColour, ink] = heatColour(value ?? 0);
      if (isNumber(value)) box.setAttribute("fill", fillColour);
      root.append(titled(box, `${name}, ${chart.columns[column]}: ${isNumber(value) ? (told ?? text)(value, row, column) : "missing"}`));
      const written = isNumber(value) ? text(value, row, column) : MISSING;
      if (written !== null) root.append(label(x + cell / 2, y + cellHeight / 2 + 4, written, { "text-anchor": "middle", class: "in-heat", fill: isNumber(value) ? ink : null }));
    });
  });
  return scrolling(chart.title, root);
}
