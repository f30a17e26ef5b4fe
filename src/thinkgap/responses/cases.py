"""Cases for the extractor: a reply, and what has to be read from it; `docs/extraction.md` gives the format.

It does not know files, and it does not decide whether two open answers are equal: that is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from thinkgap.errors import ConfigError, RowError, nearest
from thinkgap.responses.answered import read_answered, shown_labels
from thinkgap.responses.permissive import permissive_of
from thinkgap.types import Answered, AnswerSpace, Question, Response, ResponseStatus, Thinking

Equal = Callable[[str, str], bool]
"""Whether an open answer equals the right one; called with the answer first."""

FLAGS = (
    "answer_first",
    "box_empty",
    "box_unclosed",
    "box_unread",
    "channel_swap",
    "cut_at_answer",
    "label_is_option",
    "label_text_conflict",
    "leadin_only",
    "think_unclosed",
    "truncated",
    "two_labels",
)
"""What `expect` may ask of `Extraction.flags`, by true or false."""

_TEXTS = ("trace", "post", "trace_visible", "rule")
_SWITCHES = ("trace_nonempty", "post_nonempty", "reasoning_nonempty", "equal", *FLAGS)
_EXPECTED = ("status", "answer", "permissive", "note", *_TEXTS, *_SWITCHES)
_KEYS = (
    "id",
    "space",
    "content",
    "labels",
    "options",
    "mode",
    "reasoning",
    "finish_reason",
    "gold",
    "expect",
    "note",
)
_LABELS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class Case:
    """One reply with the reading that is required of it."""

    id: str
    answered: Answered
    """The reply; the right answer is empty where the case needs none."""
    expect: Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A field that is not as the case requires."""

    field: str
    expected: object
    found: object


def parse_case(values: Mapping[str, object]) -> Case:
    """A case from its JSON object.

    Raises:
        RowError: a key that is missing, unknown or of the wrong kind. A misspelt expectation would never fail, so
            unknown keys are refused.
    """
    _known(values, _KEYS, "key")
    space = _text(values, "space", None)
    if space not in get_args(AnswerSpace):
        raise RowError(f"space {space!r} is unknown{nearest(space, get_args(AnswerSpace))}")
    expect = values.get("expect")
    if not isinstance(expect, dict):
        raise RowError("'expect' is missing, or no object")
    _check_expect(expect)
    gold = _text(values, "gold", "")
    if "equal" in expect and not gold:
        raise RowError("'equal' needs a 'gold' to compare the answer with")
    name = _text(values, "id", None)
    question = Question(
        item_id=name,
        group_id=name,
        dataset="",
        space=cast(AnswerSpace, space),
        problem="",
        answer=gold,
        labels=_texts(values, "labels", _LABELS if space == "mcq" else ()),
        options=_texts(values, "options", ()),
    )
    response = Response(
        content=_text(values, "content", ""),
        reasoning=_text(values, "reasoning", ""),
        finish_reason=_text(values, "finish_reason", "stop"),
    )
    return Case(name, Answered(question, _text(values, "mode", ""), Thinking.default, response), expect)


def run_case(case: Case, equal: Equal) -> list[Difference]:
    """What the extractor reads otherwise than `case` requires; empty if it passes.

    Args:
        case: the reply and its right reading.
        equal: decides `equal`; asked only if there is an answer.

    Raises:
        RowError: labels or options that the extractor refuses.
    """
    question = case.answered.question
    try:
        read = read_answered(case.answered)
    except ConfigError as error:
        raise RowError(str(error)) from None
    found: dict[str, object] = {
        "status": read.status,
        "answer": read.answer,
        "trace": read.trace,
        "post": read.post,
        "trace_visible": read.trace,
        "rule": read.rule,
        "trace_nonempty": bool(read.trace),
        "post_nonempty": bool(read.post),
        "reasoning_nonempty": bool(read.reasoning),
        "permissive": permissive_of(read, question.space, shown_labels(question), question.options),
    }
    found.update((flag, flag in read.flags) for flag in FLAGS)
    if "equal" in case.expect:
        found["equal"] = read.answer is not None and equal(read.answer, question.answer)
    return [
        Difference(field, expected, found[field])
        for field, expected in case.expect.items()
        if field != "note" and not (field in _TEXTS and expected is None) and found[field] != expected
    ]


def _check_expect(expect: Mapping[str, object]) -> None:
    _known(expect, _EXPECTED, "expectation")
    status = _text(expect, "status", None)
    if status not in get_args(ResponseStatus):
        raise RowError(f"status {status!r} is unknown{nearest(status, get_args(ResponseStatus))}")
    if "answer" not in expect:
        raise RowError("'expect' has no 'answer'; it is null where there is none")
    for field in ("answer", "permissive", *_TEXTS):
        if not isinstance(expect.get(field), str | None):
            raise RowError(f"expectation {field!r} is no text and not null")
    for field in _SWITCHES:
        if field in expect and not isinstance(expect[field], bool):
            raise RowError(f"expectation {field!r} is neither true nor false")


def _known(values: Mapping[str, object], names: tuple[str, ...], kind: str) -> None:
    for name in values:
        if name not in names:
            raise RowError(f"{kind} {name!r} is unknown{nearest(name, names)}")


def _text(values: Mapping[str, object], key: str, default: str | None) -> str:
    value = values.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise RowError(f"{key!r} is missing" if value is None else f"{key!r} is {type(value).__name__}, not text")
    return value


def _texts(values: Mapping[str, object], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    value = values.get(key)
    if value is None:
        return default
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise RowError(f"{key!r} is no list of texts")
    return tuple(value)
