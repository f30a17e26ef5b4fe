"""One response read: its answer, the pre-answer trace, what followed, and all that may have gone wrong on the way.

The trace is that of the inertia study (arXiv 2610.11765): the reasoning channels, the thinking inside the content, and
the visible text before the answer, each text once. Knows no model and no server; the answer is `responses.extract`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thinkgap.nothinking.correct import Equal, is_correct
from thinkgap.responses import Extraction, Rule, split_reasoning
from thinkgap.responses.answered import is_refused, read_answered, shown_labels
from thinkgap.responses.boxes import find_answer_box
from thinkgap.responses.channels import as_list, each_once, is_encrypted, reasoning_texts
from thinkgap.responses.finish import is_cut, is_filtered
from thinkgap.responses.permissive import permissive_of
from thinkgap.types import Answered, ResponseStatus, Thinking


@dataclass(frozen=True)
class ResponseReading:
    """What one response says and shows. All texts are normalised (`responses.normalise`)."""

    status: ResponseStatus
    """`ok` with an answer; else why there is none, the first of `content_filtered`, `refused`, `truncated`, `empty`
    and `unparsed` that holds."""
    answer: str | None
    slot: int | None
    """Index of the answer's label among those that were shown, 0 the first."""
    rule: Rule
    """Which rule found the answer; empty without one."""
    span: tuple[int, int] | None
    """Where the answer stands in the normalised content (or reasoning, if `swap_read`)."""
    n_candidates: int
    permissive: str | None
    """The answer, or the last thing that could pass for one: a second column, never the main one."""
    trace: str
    """T: `reasoning` and `visible_trace`, one to a line, each text once; empty if nothing but formatting is there."""
    visible_trace: str
    """T_vis: visible text before the answer, formatting removed; all visible text where there is no answer."""
    reasoning: str
    """Text of the reasoning channels and of the thinking inside the content."""
    post: str
    """Visible text after the answer, formatting removed."""
    control_leak: bool
    """Thinking was asked to be off, and reasoning came back: text, counted tokens, or an encrypted channel."""
    hidden_reasoning: bool
    """Reasoning was counted, or came encrypted, and none of its text came, so that the trace does not hold it."""
    channel_swap: bool
    """Nothing visible came, but reasoning did, where none was asked for: a server's parser took the answer for it."""
    swap_read: bool
    """The reasoning was read as if it were the content, because of `channel_swap`."""
    truncated: bool
    """The limit on tokens ended the response, whether or not it holds an answer; so for the next two."""
    refused: bool
    content_filtered: bool
    empty: bool
    """No visible text came, for whatever reason."""
    boxed: bool
    """Some box with content stands in the visible text, and the last box closes."""
    box_unclosed: bool
    box_empty: bool
    box_unread: bool
    answer_first: bool
    """At most 3 words before the first box and at least 3 after it."""
    leadin_only: bool
    """The visible trace is no more than a lead-in ("The answer is")."""
    think_unclosed: bool
    two_labels: bool
    label_text_conflict: bool
    label_is_option: bool
    cut_at_answer: bool
    """The response was cut right at what may have been a longer answer."""
    correct: bool | None
    """Whether the answer is right, no answer being wrong; None if the right answer is not known or not compared."""
    correct_permissive: bool | None
    undecided: bool
    """The comparison of open answers came to no result; `correct` is None then."""
    undecided_permissive: bool


_FLAGS = (
    "box_unclosed",
    "box_empty",
    "box_unread",
    "answer_first",
    "leadin_only",
    "think_unclosed",
    "two_labels",
    "label_text_conflict",
    "label_is_option",
    "cut_at_answer",
)
"""Flags of `responses.extract` that are fields here under the same name."""


def read(answered: Answered, *, equal: Equal | None = None, read_swapped: bool = False) -> ResponseReading:
    """Reads one response.

    Args:
        answered: the question, the mode, and what came back.
        equal: compares open answers; without it `correct` is None for them.
        read_swapped: whether the reasoning channel is read as the content where `channel_swap` holds.

    Raises:
        ConfigError: an mcq question without labels, or with labels that cannot be told apart.
        DataError: a right answer that the question cannot have. No text of a response raises anything.
    """
    response = answered.response
    found, channels = read_answered(answered), reasoning_texts(response)
    inline = as_list(found.reasoning)
    empty = found.answer is None and not found.trace
    shown = bool(channels or inline)
    unseen = bool(response.reasoning_tokens) or is_encrypted(response)
    swapped = "channel_swap" in found.flags
    if swapped and read_swapped:
        content = replace(response, content="\n".join(channels), reasoning="", channels={})
        found, channels = read_answered(replace(answered, response=content)), []
    reasoning = each_once([*channels, *inline])
    visible = [found.trace] if found.trace and not _is_among(found.trace, reasoning) else []
    question = answered.question
    loose = permissive_of(found, question.space, shown_labels(question), question.options)
    correct, correct_loose, undecided, undecided_loose = _judged(answered, found.answer, loose, equal)
    return ResponseReading(
        status=found.status,
        answer=found.answer,
        slot=found.slot,
        rule=found.rule,
        span=found.span,
        n_candidates=found.n_candidates,
        permissive=loose,
        trace="\n".join([*reasoning, *visible]),
        visible_trace=found.trace,
        reasoning="\n".join(reasoning),
        post=found.post,
        control_leak=(shown or unseen) and answered.thinking is Thinking.disabled,
        hidden_reasoning=unseen and not shown,
        channel_swap=swapped,
        swap_read=swapped and read_swapped,
        truncated=is_cut(response.finish_reason),
        refused=is_refused(response),
        content_filtered=is_filtered(response.finish_reason),
        empty=empty,
        boxed=_is_boxed(found),
        correct=correct,
        correct_permissive=correct_loose,
        undecided=undecided,
        undecided_permissive=undecided_loose,
        **{name: name in found.flags for name in _FLAGS},
    )


def judged(answered: Answered, reading: ResponseReading, equal: Equal | None) -> ResponseReading:
    """`reading` with its answers judged anew."""
    correct, loose, undecided, undecided_loose = _judged(answered, reading.answer, reading.permissive, equal)
    return replace(
        reading,
        correct=correct,
        correct_permissive=loose,
        undecided=undecided,
        undecided_permissive=undecided_loose,
    )


def _judged(
    answered: Answered, answer: str | None, loose: str | None, equal: Equal | None
) -> tuple[bool | None, bool | None, bool, bool]:
    correct = is_correct(answered.question, answer, equal)
    correct_loose = correct if loose == answer else is_correct(answered.question, loose, equal)
    asked = equal is not None and bool(answered.question.answer.strip())
    return correct, correct_loose, asked and correct is None, asked and correct_loose is None


def _is_among(text: str, others: Sequence[str]) -> bool:
    """Whether `text` is one of `others`, white space apart. A part of one is a text of its own."""
    return text.split() in [other.split() for other in others]


def _is_boxed(found: Extraction) -> bool:
    if found.answer is not None:
        return found.rule == "box"
    return find_answer_box(split_reasoning(found.text).visible).first is not None
