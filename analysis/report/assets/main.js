// Which view is shown follows from the page's address alone.

const VIEWS = [["overview", "Overview", overview], ["conditions", "Tables", tables], ["plots", "Plots", plots], ["items", "Items", items], ["compare", "Compare", compare]];
let lastList = { view: "items" };
let lastView = null;

/** The address of a view; empty values are left out. */
function address(state) {
  const parts = Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${parts.map(([name, value]) => `${name}=${encodeURIComponent(wellFormed(String(value)))}`).join("&")}`;
}

function navigate(state) {
  const next = address(state);
  if (location.hash === next) return show();
  // Choices within a view replace each other, so that Back leads to the view before.
  history.replaceState(null, "", next);
  show();
}

function stateOf() {
  const state = new Map();
  for (const part of location.hash.slice(1).split("&")) {
    const [name, ...value] = part.split("=");
    if (!name) continue;
    let text = value.join("=");
    try {
      text = decodeURIComponent(text);
    } catch {
      // Half an escape sequence: taken as it stands.
    }
    state.set(name, text);
  }
  return state;
}

function show() {
  const state = stateOf();
  const name = state.has("item") && !state.has("view") ? "item" : state.get("view") ?? VIEWS.find(([own]) => state.has(own))?.[0] ?? "overview";
  const draw = name === "item" ? itemView : (VIEWS.find(([own]) => own === name) ?? VIEWS[0])[2];
  if (name === "items") lastList = Object.fromEntries(state);
  const main = document.getElementById("main");
  const before = document.activeElement;
  const kept = main.contains(before) && name === lastView ? focusPath(main, before) : null;
  const caret = kept && before.selectionStart !== undefined && before.type === "search" ? before.selectionStart : null;
  const open = [...main.querySelectorAll("details.columns[open]")].length && name === lastView;
  const scrolled = scrollY;
  main.replaceChildren(...[draw(state)].flat(Infinity).filter((one) => one instanceof Node));
  if (open) main.querySelector("details.columns")?.setAttribute("open", "");
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === (name === "item" ? "items" : name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (kept !== null) {
    const node = main.querySelectorAll(FOCUSABLE)[kept];
    node?.focus({ preventScroll: true });
    if (caret !== null) node?.setSelectionRange?.(caret, caret);
  } else if (lastView !== null) {
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
  scrollTo(0, name === lastView && kept !== null ? scrolled : 0);
  document.title = `${main.querySelector("h1")?.textContent ?? "thinkgap"} \u2013 thinkgap report`;
  lastView = name;
}

const FOCUSABLE = "a, button, input, select, summary";
const focusPath = (main, node) => {
  const place = [...main.querySelectorAll(FOCUSABLE)].indexOf(node);
  return place < 0 ? null : place;
};

const THEMES = ["auto", "light", "dark"];

function theme(next) {
  const root = document.documentElement;
  if (next === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", next);
  document.getElementById("theme").textContent = `Theme: ${next}`;
  try {
    localStorage.setItem("thinkgap-report-theme", next);
  } catch {
    // A browser that keeps nothing: the choice holds until the page is closed.
  }
}

function start() {
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("thinkgap-report-theme") ?? "auto";
  } catch {
    // As above.
  }
  theme(THEMES.includes(chosen) ? chosen : "auto");
  document.getElementById("theme").addEventListener("click", () => {
    const current = document.documentElement.getAttribute("data-theme") ?? "auto";
    theme(THEMES[(THEMES.indexOf(current) + 1) % THEMES.length]);
  });
  document.getElementById("brand").textContent = "thinkgap report";
  document.getElementById("views").append(...VIEWS.map(([name, title]) => h("a", { href: address({ view: name }), "data-view": name }, title)));
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  if (DATA.problems.length) {
    const box = document.getElementById("problems");
    box.append(h("details", { class: "alarm", open: true }, h("summary", {}, `${plural(DATA.problems.length, "message")} about these runs`),
      h("ul", {}, DATA.problems.map((text) => h("li", {}, visible(text))))));
    box.hidden = false;
  }
  addEventListener("hashchange", show);
  show();
  performance.mark("ready");
}

start();
