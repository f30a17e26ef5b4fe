"""One response read: its answer, the pre-answer trace, what followed, and all that may have gone wrong on the way.

The trace is that of the inertia study (arXiv 2610.11765): the reasoning channels, the thinking inside the content, and
the visible text before the answer, each text once. Knows no model and no server; the answer is `responses.extract`'s.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from thinkgap.nothinking.correct import Equal, is_correct
from thinkgap.nothinking.finish import is_cut, is_filtered, is_refusal
from thinkgap.responses import Extraction, Rule, extract, normalise, permissive, split_reasoning
from thinkgap.responses.boxes import find_answer_box
from thinkgap.responses.extract import THINKING_MODE
from thinkgap.responses.noise import clean
from thinkgap.types import Answered, Response, ResponseStatus, Thinking


@dataclass(frozen=True)
class ResponseReading:
    """What one response says and shows. All texts are normalised (`responses.normalise`)."""

    status: ResponseStatus
    """`ok` with an answer; else why there is none, the first of `content_filtered`, `refused`, `truncated`, `empty`
    and `unparsed` that holds."""
    answer: str | None
    slot: int | None
    """Index of the answer's label (mcq), 0 the first."""
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
    """Thinking was asked to be off, and reasoning text or counted reasoning tokens came back."""
    hidden_reasoning: bool
    """Reasoning tokens were counted and none of their text came back, so that the trace does not hold it."""
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
    question, response = answered.question, answered.response
    cut, filtered = is_cut(response.finish_reason), is_filtered(response.finish_reason)
    refused = bool(response.refusal.strip()) or is_refusal(response.finish_reason)
    # What a filter cut may have been longer, as what the limit cut.
    stopped = cut or filtered
    content, channels = response.content, _channels(response)
    found = _extracted(answered, content, stopped)
    inline = _texts(found.reasoning)
    empty = found.answer is None and not found.trace
    shown, counted = bool(channels or inline), bool(response.reasoning_tokens)
    swapped = empty and bool(channels) and not (inline or stopped or refused) and _asked_for_none(answered)
    if swapped and read_swapped:
        content, channels = "\n".join(channels), []
        found = _extracted(answered, content, stopped)
    reasoning = _once([*channels, *inline])
    loose = found.answer
    if loose is None:
        labels, mode = _labels(answered), answered.mode or None
        loose = permissive(
            content, question.space, labels=labels, options=question.options, mode=mode, truncated=stopped
        )
    correct, correct_loose, undecided, undecided_loose = _judged(answered, found.answer, loose, equal)
    status = found.status
    if found.answer is None and (filtered or refused):
        status = "content_filtered" if filtered else "refused"
    return ResponseReading(
        status=status,
        answer=found.answer,
        slot=found.slot,
        rule=found.rule,
        span=found.span,
        n_candidates=found.n_candidates,
        permissive=loose,
        trace="\n".join(_once([*reasoning, *filter(None, [found.trace])])),
        visible_trace=found.trace,
        reasoning="\n".join(reasoning),
        post=found.post,
        control_leak=(shown or counted) and answered.thinking is Thinking.disabled,
        hidden_reasoning=counted and not shown,
        channel_swap=swapped,
        swap_read=swapped and read_swapped,
        truncated=cut,
        refused=refused,
        content_filtered=filtered,
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
    return dataclasses.replace(
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


def _labels(answered: Answered) -> tuple[str, ...]:
    return answered.question.labels if answered.question.space == "mcq" else ()


def _extracted(answered: Answered, content: str, stopped: bool) -> Extraction:
    return extract(
        content,
        answered.question.space,
        labels=_labels(answered),
        options=answered.question.options,
        mode=answered.mode or None,
        truncated=stopped,
    )


def _asked_for_none(answered: Answered) -> bool:
    """Whether no thinking was asked for; unknown, and so no, for a file that says neither mode nor switch."""
    if answered.thinking is Thinking.enabled or answered.mode == THINKING_MODE:
        return False
    return bool(answered.mode) or answered.thinking is Thinking.disabled


def _channels(response: Response) -> list[str]:
    """Text of the reasoning channels, each once, without tags; channels that hold formatting only are left out."""
    texts = [response.reasoning] if response.reasoning.strip() else list(response.channels.values())
    return _once([said for text in texts for said in _texts(_untagged(normalise(text)))])


def _untagged(text: str) -> str:
    if "think" not in text:
        return text
    parts = split_reasoning(text)
    return "\n".join(filter(None, (parts.reasoning, parts.visible.strip())))


def _texts(text: str) -> list[str]:
    """`text` as a list of one; of none if it is nothing but formatting, which its first lines mostly tell."""
    return [text.strip()] if any(clean(line) for line in text.splitlines()) else []


def _once(texts: list[str]) -> list[str]:
    """`texts` without those that were there before, white space apart."""
    if len(texts) < 2:
        return texts
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(" ".join(text.split()), text)
    return list(first.values())


def _is_boxed(found: Extraction) -> bool:
    if found.answer is not None:
        return found.rule == "box"
    return find_answer_box(split_reasoning(found.text).visible).first is not None
