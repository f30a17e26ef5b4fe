// Plots as SVG, drawn at the width that is there: lines over layers, and figures with intervals.

const SERIES = 8;
const DASHES = ["", "6 3", "2 3", "9 3 2 3", "4 4", "1 4", "12 4", "7 2"];

/** A mark of its own shape for each series, so that colour is not needed to tell them apart. */
function mark(series, x, y, size = 4.5, hollow = false) {
  const place = series % SERIES;
  const shapes = [
    () => svg("circle", { cx: x, cy: y, r: size }),
    () => svg("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size }),
    () => path([[0, -1.3], [1.2, 0.9], [-1.2, 0.9]]),
    () => path([[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]]),
    () => path([[0, 1.3], [1.2, -0.9], [-1.2, -0.9]]),
    () => path([[-1.1, -0.4], [-0.4, -0.4], [-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4]]),
    () => svg("rect", { x: x - size * 1.3, y: y - size * 0.6, width: size * 2.6, height: size * 1.2 }),
    () => svg("rect", { x: x - size * 0.6, y: y - size * 1.3, width: size * 1.2, height: size * 2.6 }),
  ];
  const path = (points) => svg("path", { d: `M${points.map(([a, b]) => `${x + a * size} ${y + b * size}`).join("L")}Z` });
  const node = shapes[place]();
  node.setAttribute("class", `mark s${place}${hollow ? " hollow" : ""}`);
  return node;
}

const titled = (node, text) => {
  node.append(svg("title", {}, visible(text)));
  return node;
};

const scale = (from, to, start, end) => (value) => start + ((value - from) / (to - from || 1)) * (end - start);

function niceTicks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) ticks.push(value);
  return ticks;
}

const tickText = (value, form) => (form === "percent" ? `${+(100 * value).toFixed(1)}` : `${+value.toPrecision(3)}`);
const unit = (form) => ({ percent: "%", points: "points", mass: "probability", number: "" })[form] ?? "";
const line = (x1, y1, x2, y2, name) => svg("line", { x1, y1, x2, y2, class: name });
const label = (x, y, text, attributes = {}) => svg("text", { x, y, ...attributes }, visible(text));

function extent(values, form) {
  const there = values.filter(isNumber);
  if (form === "percent" || form === "mass") return [0, 1];
  return there.length ? [Math.min(0, ...there), Math.max(...there, 0.0001)] : [0, 1];
}

/** A key to the series; `toggle` makes its entries switch series on and off. */
function legend(names, hidden = null, toggle = null) {
  return h("ul", { class: "legend" }, names.map((name, place) => {
    const sign = svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, mark(place, 8, 8));
    const inner = [sign, inline(name)];
    return h("li", {}, toggle
      ? h("button", { type: "button", "aria-pressed": String(!hidden.has(place)), onclick: () => toggle(place) }, inner)
      : inner);
  }));
}

function drawLines(chart, width, hidden) {
  const height = Math.max(220, Math.min(340, width * 0.5));
  const [left, right, top, bottom] = [46, 12, 10, 40];
  const points = chart.series.flatMap((one) => one.points);
  const xs = points.map(([x]) => x);
  const [low, high] = extent(points.flatMap(([, ...values]) => values), chart.format);
  const x = scale(Math.min(...xs), Math.max(...xs), left, width - right);
  const onto = scale(low, high, height - bottom, top);
  const y = (value) => onto(Math.max(low, Math.min(high, value)));
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title });
  for (const value of niceTicks(low, high)) {
    root.append(line(left, y(value), width - right, y(value), "grid"));
    root.append(label(left - 6, y(value) + 4, tickText(value, chart.format), { "text-anchor": "end" }));
  }
  const places = [...new Set(xs)].sort((a, b) => a - b);
  const every = Math.ceil((places.length * (chart.ticks ? 104 : 30)) / (width - left - right));
  places.forEach((place, index) => {
    if (index % every && index !== places.length - 1) return;
    if (index !== places.length - 1 && places.length - 1 - index < every) return;
    root.append(label(x(place), height - bottom + 17, chart.ticks?.[place] ?? String(place),
      { "text-anchor": index === places.length - 1 && places.length > 1 ? "end" : index ? "middle" : "start" }));
  });
  root.append(label((left + width - right) / 2, height - 4, chart.xLabel ?? "", { "text-anchor": "middle" }));
  chart.series.forEach((one, series) => {
    if (hidden.has(series)) return;
    const there = one.points.filter(([, value]) => isNumber(value));
    const banded = there.filter(([, , a, b]) => isNumber(a) && isNumber(b));
    if (banded.length > 1) {
      const edge = [...banded.map(([at, , a]) => [at, a]), ...banded.toReversed().map(([at, , , b]) => [at, b])];
      root.append(svg("path", { class: `band s${series % SERIES}`, d: `M${edge.map(([a, b]) => `${x(a)} ${y(b)}`).join("L")}Z` }));
    }
    root.append(svg("path", { class: `curve s${series % SERIES}`, "stroke-dasharray": DASHES[series % SERIES],
      d: `M${there.map(([a, b]) => `${x(a)} ${y(b)}`).join("L")}` }));
    for (const [at, ...figure] of there) {
      root.append(titled(mark(series, x(at), y(figure[0]), 3.2), `${one.name}, ${chart.ticks?.[at] ?? `layer ${at}`}: ${cellText(figure, chart.format)}`));
    }
  });
  return root;
}

function drawDots(chart, width, hidden) {
  const shown = chart.series.map((_, place) => place).filter((place) => !hidden.has(place));
  const step = 15;
  const band = 26 + step * Math.max(shown.length, 1);
  const [left, right, bottom] = [8, 12, 30];
  const height = band * chart.groups.length + bottom;
  const figures = chart.values.flat().filter(Array.isArray);
  const [low, high] = extent(figures.flatMap((one) => one.slice(0, 3)), chart.format);
  const x = scale(low, high, left, width - right);
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title });
  for (const value of niceTicks(low, high)) {
    root.append(line(x(value), 4, x(value), height - bottom + 4, "grid"));
    root.append(label(x(value), height - bottom + 18, `${tickText(value, chart.format)}${chart.format === "percent" && width > 480 ? " %" : ""}`,
      { "text-anchor": value === low ? "start" : value >= high ? "end" : "middle" }));
  }
  chart.groups.forEach((group, row) => {
    const start = row * band;
    if (row) root.append(line(0, start + 2, width, start + 2, "rule"));
    root.append(label(left, start + 18, group, { class: "group" }));
    shown.forEach((series, place) => {
      const figure = chart.values[row][series];
      const y = start + 28 + place * step;
      if (!Array.isArray(figure) || !isNumber(figure[0])) return;
      if (isNumber(figure[1])) root.append(line(x(figure[1]), y, x(figure[2]), y, `whisker s${series % SERIES}`));
      root.append(titled(mark(series, x(figure[0]), y), `${group}, ${chart.series[series]}: ${cellText(figure, chart.format)} (n ${figure[3]})`));
    });
  });
  return root;
}
