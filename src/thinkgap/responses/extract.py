r"""The one way from a reply's text to its answer, and to the text before and after it.

Rules in their order: box, completion of a forced prefix, last anchored statement, the whole reply. The first rule that
applies decides; nothing is guessed. `docs/extraction.md` gives the rules with examples. It does not know whether an
answer is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thinkgap.responses.boxes import Boxes, find_answer_box, find_completion
from thinkgap.responses.choice import choice_reader
from thinkgap.responses.noise import clean, is_answer_first, is_lead_in, post_after, trace_before
from thinkgap.responses.normalise import normalise, split_reasoning
from thinkgap.responses.open_answer import OpenReader
from thinkgap.responses.polarity import PolarityReader
from thinkgap.responses.reading import Read, Reader
from thinkgap.responses.statements import find_statements
from thinkgap.types import AnswerSpace, ResponseStatus

Rule = Literal["box", "forced_prefix", "statement", "whole", ""]

FORCED_PREFIX_MODES = ("prefix", "prefix_assistant")
"""Modes whose prompt or prefill ends inside an open box (M6 of arXiv 2610.11765, and M6p), if nothing but the name of
the mode is known."""
THINKING_MODE = "think_on"
"""The mode in which a reasoning channel is asked for (M1)."""


_LONGEST_WHOLE = 4000
"""A reply of more characters is no bare answer."""


@dataclass(frozen=True)
class Extraction:
    """What a reply says, and where."""

    status: ResponseStatus
    """`ok` with an answer; else `truncated` (cut by the token limit), `empty` (nothing visible) or `unparsed`."""
    answer: str | None
    """The label as it was given (mcq), `yes` or `no` (bool), or the answer's own text (open); None without one."""
    slot: int | None
    """Index of the answer's label, 0 the first; None without one and for open answers."""
    rule: Rule
    """Which rule found the answer; empty without one."""
    span: tuple[int, int] | None
    """`text[start:end]` is the answer, with its box if it has one."""
    n_candidates: int
    """How many boxes with content, or anchored statements, the rule chose the last from."""
    trace: str
    """Visible text before the answer, formatting removed; all visible text where there is no answer."""
    post: str
    """Visible text after the answer, formatting removed."""
    flags: tuple[str, ...]
    """What a reader of tables may want to count; each is explained in `docs/extraction.md`."""
    text: str
    """The normalised reply, to which `span` refers."""
    reasoning: str
    """Reasoning that stood inside the reply between tags."""


def extract(
    content: str,
    space: AnswerSpace,
    *,
    labels: Sequence[str] = (),
    options: Sequence[str] = (),
    mode: str | None = None,
    truncated: bool = False,
    reasoning: str = "",
    open_box: bool | None = None,
) -> Extraction:
    """Reads the answer out of one reply.

    Args:
        content: the reply's visible channel; empty if nothing came back.
        space: what kind of answer was asked for.
        labels: the labels that were shown, one per slot (mcq; none of bullets); for bool, how Yes and No were
            shown, if they were.
        options: the options' texts in slot order (mcq); without them only labels are read.
        mode: name of the mode that the prompt was built for.
        truncated: whether the reply was cut by the limit on new tokens.
        reasoning: the reply's separate reasoning channel, which is looked at only to notice that a server put the
            whole reply there.
        open_box: whether the reply begins inside a box that its prompt opened; None takes it from the mode's name.

    Raises:
        ConfigError: an mcq reply without labels and options, with labels (of bullets, options) that cannot be told
            apart, or with another number of options. No text raises anything.
    """
    parts = split_reasoning(normalise(content))
    reader = reader_of(space, labels, options)
    boxes = find_answer_box(parts.visible)
    inside = mode in FORCED_PREFIX_MODES if open_box is None else open_box
    found = _found(parts.visible, parts.unclosed, boxes, reader, space, inside, truncated)
    flags = list(found.read.flags)
    if truncated:
        flags.append("truncated")
    visible, answer = parts.visible, found.read.answer
    if boxes.first is not None and is_answer_first(visible[: boxes.first[0]], visible[boxes.first[1] :]):
        flags.append("answer_first")
    if boxes.empty:
        flags.append("box_empty")
    if answer is None:
        nothing = not clean(visible) and not parts.unclosed and not boxes.unclosed
        alone = bool(reasoning.strip()) and not clean(parts.reasoning)
        if nothing and alone and not truncated and mode not in (None, THINKING_MODE):
            flags.append("channel_swap")
        status: ResponseStatus = "truncated" if truncated else "empty" if nothing else "unparsed"
        return Extraction(
            status, None, None, "", None, found.n, clean(visible), "", tuple(flags), parts.text, parts.reasoning
        )
    start, end = found.span
    trace = trace_before(visible[:start])
    if trace and is_lead_in(trace):
        flags.append("leadin_only")
    return Extraction(
        "ok",
        answer,
        found.read.slot,
        found.rule,
        found.span,
        found.n,
        trace,
        post_after(visible[end:]),
        tuple(flags),
        parts.text,
        parts.reasoning,
    )


def reader_of(space: AnswerSpace, labels: Sequence[str] = (), options: Sequence[str] = ()) -> Reader:
    """The reader of one answer space.

    Raises:
        ConfigError: see `extract`.
    """
    if space == "mcq":
        return choice_reader(tuple(labels), tuple(options))
    return PolarityReader(tuple(labels)) if space == "bool" else OpenReader()


@dataclass(frozen=True)
class _Found:
    read: Read
    rule: Rule = ""
    span: tuple[int, int] = (0, 0)
    n: int = 0


def _found(
    visible: str, unclosed: bool, boxes: Boxes, reader: Reader, space: AnswerSpace, inside: bool, truncated: bool
) -> _Found:
    """The first rule that applies; its answer is None where it applies and fails."""
    if unclosed:
        return _failure("think_unclosed")
    if boxes.unclosed:
        return _failure("box_unclosed")
    if boxes.final is not None:
        read = reader.boxed(boxes.final.content) or Read(None, flags=("box_unread",))
        return _Found(read, "box", (boxes.final.start, boxes.final.end), boxes.n)
    if inside and (completion := find_completion(visible)) is not None:
        anchored = find_statements(completion.content, reader)
        read = None if anchored else reader.boxed(completion.content)
        if read is not None:
            return _Found(read, "forced_prefix", (completion.start, completion.end), 1)
    statements = find_statements(visible, reader)
    if statements:
        last = ([read for read in statements if not read.weak] or statements)[-1]
        if truncated and last.answer is not None and _may_be_cut(visible, last.end):
            return _failure("cut_at_answer", len(statements))
        return _Found(last, "statement", (last.start, last.end), len(statements))
    read = _whole(visible, reader)
    if read is None:
        return _failure()
    if truncated and not (space != "open" and len(visible.strip()) <= len(read.answer or "")):
        return _failure("cut_at_answer", 1)
    start = len(visible) - len(visible.lstrip())
    return _Found(read, "whole", (start, len(visible.rstrip())), 1)


def _whole(visible: str, reader: Reader) -> Read | None:
    if len(visible) - visible.count(" ") > _LONGEST_WHOLE:
        return None
    # As it stands first: a label such as `#` is not noise.
    return reader.whole(visible) or reader.whole("\n".join(filter(None, map(clean, visible.splitlines()))))


def _failure(flag: str = "", n: int = 0) -> _Found:
    return _Found(Read(None, flags=(flag,) if flag else ()), n=n)


def _may_be_cut(text: str, end: int) -> bool:
    """Whether an answer may have gone on beyond the end of a truncated text: "7" may have become "75" or "7.5"."""
    rest = text[end:].strip()
    return not rest or (rest in (".", ",") and text[end - 1].isdigit())
