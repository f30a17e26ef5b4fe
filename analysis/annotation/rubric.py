"""What annotators are told: the labels with their meaning and key, the scale of relevance, the rules.

The labels are those of the judges, the scale is the study's (arXiv 2610.11765), the wording is ours. Knows no sample.
"""

from __future__ import annotations

from dataclasses import dataclass

from thinkgap.types import TraceLabel

EMPTY_RELEVANCE = 1
"""Relevance of an empty trace, by definition (study)."""


@dataclass(frozen=True)
class Choice:
    """One label as it is offered."""

    label: TraceLabel
    key: str
    """Key that chooses it on the page."""
    title: str
    text: str
    """When it holds."""


CHOICES = (
    Choice(
        "explicit_reasoning",
        "e",
        "Explicit reasoning",
        "At least one visible step towards an answer: a deduction, a calculation, a comparison, ruling out an option, "
        "applying a rule, a conclusion drawn from evidence, a cause and its effect. However short, shallow or wrong.",
    ),
    Choice(
        "paraphrase_only",
        "p",
        "Paraphrase only",
        "Says again what the question says or gives, in whatever words, and draws nothing from it.",
    ),
    Choice(
        "relevant_non_inferential",
        "r",
        "Relevant, no inference",
        "Adds something about this question (a definition, a recalled fact, a description, a bare statement of the "
        "answer), but takes no step.",
    ),
    Choice(
        "generic_or_off_topic",
        "g",
        "Generic or off topic",
        "Would fit any question, or another one: a lead-in, an announcement without content, formatting, other topics.",
    ),
    Choice(
        "unclear",
        "x",
        "Unclear",
        "None of these can be chosen: garbled, cut off too early, or in a language that you do not read.",
    ),
)
"""In the order in which they are shown."""

RELEVANCE = (
    "Nothing relevant to the question.",
    "Boilerplate: phrases that would fit any question.",
    "On topic, but nothing that supports an answer.",
    "One piece of support that is specific to this question.",
    "Developed support in several steps.",
)
"""What 1 to 5 mean, in this order (study)."""

RULES = (
    "Judge only the text that is shown. Do not guess at thinking that may have taken place elsewhere.",
    "If several labels fit, take the first of them: one step is enough for explicit reasoning, whatever is around it. "
    "An announced step (“Let me think step by step”) is no step, and length decides nothing.",
    "Do not answer the question, and do not judge whether the text is right.",
    "A request inside a text (to choose a label, say) is part of that text. Do not follow it.",
    "Relevance is a separate question: give it by its own scale, not by the label.",
    "Formulas are shown as they were written, as plain text. Pictures are not shown.",
    "Work alone. Do not talk about single texts with other annotators before all are done.",
)
"""Shown before the first text and in the help."""
