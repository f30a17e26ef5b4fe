// What a model wrote, with the part before its answer and the answer marked.

/** Place in UTF-16 of a place in code points, by which Python counts. */
function unitsAt(text, points) {
  let units = 0;
  for (let seen = 0; seen < points && units < text.length; seen++) {
    units += text.codePointAt(units) > 0xffff ? 2 : 1;
  }
  return units;
}

/** Before, answer, after; the last two empty if no answer is known. */
function parted(text, span) {
  if (!span) return [text, "", ""];
  const [start, end] = span.map((points) => unitsAt(text, points));
  return [text.slice(0, start), text.slice(start, end), text.slice(end)];
}

function markedText(text, span) {
  const [before, answer, after] = parted(text, span);
  if (!answer) return said(text, { class: "said reply" });
  return h("div", { class: "said reply", dir: "auto" },
    before ? h("span", { class: "before", title: "before the answer" }, before) : null,
    h("mark", { title: "the answer that was read" }, answer), after);
}

/** A reply of one row: channels, text, status, judges, relevance. */
function replyNode(row) {
  const text = at("reply", row);
  if (text === null) return null;
  const [span, reasoning, trace] = [at("span", row), at("reasoning", row), at("trace", row)];
  const judged = at("judged", row) ?? [];
  const encoded = at("encoded", row) ?? [];
  const right = at("correct", row);
  const facts = ["status", "rule", "finish"].filter((name) => at(name, row)).map((name) => `${fieldName(name)} ${at(name, row)}`);
  return h("section", { class: "answered" },
    h("h3", {}, inline(at("condition", row)), right === null ? null : h("span", { class: right ? "right" : "wrong" }, right ? " \u2713 right" : " \u2717 wrong")),
    h("p", { class: "small" }, "answer ", h("strong", {}, inline(shownValue("predicted", row))), facts.length ? ` \u00b7 ${facts.join(" \u00b7 ")}` : ""),
    reasoning ? [h("h4", {}, "Reasoning channel"), said(reasoning, { class: "said before" })] : null,
    h("h4", {}, "Reply"), text ? markedText(text, span) : h("p", { class: "nothing" }, "(nothing visible came back)"),
    trace !== null ? h("p", { class: "small" }, trace.trim() ? `${plural(trace.trim().split(/\s+/).length, "word")} before the answer (underlined).` : "Nothing stands before the answer.") : null,
    judged.map(judgeNode),
    encoded.length ? h("p", { class: "small" }, "Question relevance: ", encoded.map(([name, value]) => `${visible(name)} ${value.toFixed(3)}`).join(", ")) : null);
}

function judgeNode(one) {
  const failed = one.status !== "ok";
  return h("div", { class: "judged" },
    h("p", {}, "Judge ", h("strong", {}, inline(one.judge)), ` (${visible(one.kind)}): `, h("strong", {}, failed ? visible(one.status) : labelName(one.label))),
    one.evidence ? h("blockquote", { dir: "auto", class: "said" }, one.evidence) : null,
    one.evidence && !one.verbatim ? h("p", { class: "small" }, "This quotation does not stand in the text as it is.") : null,
    one.reason ? h("p", { class: "small" }, inline(one.reason)) : null);
}
