// What fields and verdicts are called.

const FIELDS = {
  run: "run", dataset: "data set", item: "item", presentation: "presentation", condition: "condition",
  readout: "readout", correct: "right", predicted: "answer", gold: "right answer", p_gold: "p(right answer)",
  label_mass: "label probability", status: "status", rule: "rule", finish: "finish", judge_label: "judge",
  relevance: "relevance", trace_words: "words before answer", etr_strict: "empty (strict)",
  etr_prefix: "empty (lead-in)", control_leak: "thinking leaked", model: "model", subject: "subject", area: "area",
  space: "answer space", split: "split", k: "options", gold_slot: "slot of right answer", pred_slot: "slot of answer",
  native_slot: "slot read natively", gold_rank: "rank of right label", gold_logprob: "probe log p(right)",
  entropy: "entropy", reasoning_mass: "p(reasoning opens)", top_token: "top token", tied: "tied",
  n_tokens: "prompt tokens", n_image_tokens: "image tokens", reply: "reply", reasoning: "reasoning",
  problem: "problem as asked", trace: "text before answer", question: "question",
};
const fieldName = (name) => FIELDS[name] ?? name;

/** Slots count from 1 on the page. */
const SLOTS = new Set(["gold_slot", "pred_slot", "native_slot"]);
const SHARES = new Set(["p_gold", "label_mass", "reasoning_mass"]);

const LEVELS = {
  ok: { icon: "\u2713", meaning: "the readout holds" },
  warn: { icon: "!", meaning: "use with care" },
  bad: { icon: "\u2717", meaning: "the readout is broken" },
  unknown: { icon: "?", meaning: "not measured" },
  info: { icon: "i", meaning: "for information" },
};

const badge = (level) => h("span", { class: `badge ${level}`, "aria-hidden": "true" }, LEVELS[level].icon);

/** A field of a row as text. */
function shownValue(name, row) {
  if (name === "question") return itemOf(row)?.question ?? MISSING;
  const value = at(name, row);
  if (value === null || value === undefined) return MISSING;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (SLOTS.has(name)) return String(value + 1);
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return value < 0 ? "-\u221e" : MISSING;
    return formOf(name) === "int" ? value.toLocaleString("en") : SHARES.has(name) ? FORMATS.mass(value) : value.toFixed(3);
  }
  return String(value);
}

const LABELS = {
  explicit_reasoning: "explicit reasoning", paraphrase_only: "paraphrase only",
  relevant_non_inferential: "relevant, no inference", generic_or_off_topic: "generic or off topic",
  unclear: "unclear", empty: "empty",
};
const labelName = (label) => (label === null || label === undefined ? "no label" : LABELS[label] ?? label);
