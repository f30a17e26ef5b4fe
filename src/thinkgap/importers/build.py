"""A row of our own schema -> `Answered`, checked: space, labels, options, right answer, channels.

An answer that could mean two things is refused, never guessed, by the rules of `data.jsonl`. It does not know formats,
or the other rows of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast, get_args

from thinkgap.data.adapter import question_key, text_key
from thinkgap.data.checks import normalise, option_index, readable
from thinkgap.data.jsonl import plain_text
from thinkgap.errors import ConfigError, RowError, nearest
from thinkgap.importers.channels import response_of
from thinkgap.importers.found import Found
from thinkgap.presentation_names import BULLETS, IDENTITY
from thinkgap.responses.extract import reader_of
from thinkgap.types import LETTERS, Answered, AnswerSpace, Question, Thinking

SPACES: tuple[AnswerSpace, ...] = get_args(AnswerSpace)
_POLARITY = {"yes": "yes", "true": "yes", "no": "no", "false": "no"}


@dataclass(frozen=True)
class Defaults:
    """What holds for rows that do not say it themselves."""

    space: AnswerSpace | None = None
    mode: str = ""
    model: str = ""
    dataset: str = ""
    labels: tuple[str, ...] = ()
    thinking: Thinking = Thinking.default


@dataclass(frozen=True)
class Built:
    """A row that can be used."""

    where: str
    answered: Answered
    """Its `group_id` is empty where the row gives none."""
    keys: tuple[str, ...]
    """Rows that share any of these are one group."""
    own_id: bool


def build(found: Found, defaults: Defaults) -> Built:
    """One row as `Answered`.

    Raises:
        RowError: the reason why it cannot be used.
    """
    row = found.row
    if row.problem:
        raise RowError(row.problem)
    for key in ("question", "response") if not found.prompt else ("response",):
        if key not in row.values:
            raise RowError(f"{key!r} is missing" + (" (null stands for no visible text)" if key == "response" else ""))
    stem, context = _text(found, "question"), _text(found, "context")
    if not (stem or found.prompt):
        raise RowError("the question is empty")
    space = _space(row.text("space"), defaults)
    shown = _text(found, "presentation") or IDENTITY
    labels, options = _choices(found, space, defaults, shown)
    name = _id(row.values.get("id"))
    dataset = _text(found, "dataset") or defaults.dataset
    item_id = name or question_key(stem or found.prompt, options, context).partition(":")[2][:16]
    group = "" if row.values.get("group_id") is None else plain_text(row.values["group_id"], "group_id")
    question = Question(
        item_id=item_id if found.repeat == 1 else f"{item_id}#{found.repeat}",
        group_id=readable(group, "'group_id'"),
        dataset=dataset,
        space=space,
        problem=problem_text(context, stem, () if shown == BULLETS else labels, options) if stem else found.prompt,
        answer=readable(right_answer(row.values.get("gold"), space, labels, options), "'gold'"),
        labels=labels,
        options=options,
        parts=tuple(part for part in (context, stem, *options) if part) if stem and (options or space != "mcq") else (),
        subject=_text(found, "subject"),
        presentation=shown,
        contents=_contents(found, space, len(labels), shown),
    )
    mode = _text(found, "mode") or defaults.mode
    response = response_of(row, defaults.model)
    answered = Answered(question, mode, _thinking(found, defaults), response, _open_box(found))
    keys = [question_key(stem or found.prompt, options), f"item:{dataset}:{item_id}"]
    if context:
        keys.append(text_key("passage", context))
    return Built(found.where, answered, (f"group:{group}",) if group else tuple(keys), bool(name))


def problem_text(context: str, question: str, labels: Sequence[str], options: Sequence[str]) -> str:
    """Context, question and options as one text, in the layout of the inertia study (arXiv 2610.11765).

    Options without labels are bullets.
    """
    lines = [f"Context: {context}"] if context else []
    lines.append(f"Question: {question}")
    if options:
        marks = [f"{label}." for label in labels] or ["-"] * len(options)
        lines += ["Options:", *(f"{mark} {option}" for mark, option in zip(marks, options, strict=True))]
    return "\n".join(lines)


def right_answer(gold: object, space: AnswerSpace, labels: Sequence[str], options: Sequence[str]) -> str:
    """The right answer as `Question.answer` has it; empty if it is not known.

    For mcq a number is an index from 0, a text is a label or the exact text of one option; for bool yes, no, true or
    false in any case.

    Raises:
        RowError: it does not fit the space.
    """
    if gold is None or gold != gold or (isinstance(gold, str) and not gold.strip()):
        return ""
    if space == "open":
        return plain_text(gold, "gold")
    if space == "bool":
        word = str(gold).strip().lower() if isinstance(gold, bool | str) else ""
        if word not in _POLARITY:
            raise RowError(f"gold {gold!r:.40} does not fit space bool: it is none of yes, no, true, false")
        return _POLARITY[word]
    if isinstance(gold, int) and not isinstance(gold, bool):
        return labels[option_index(gold, len(labels))]
    if not isinstance(gold, str):
        raise RowError(f"gold {gold!r:.40} does not fit space mcq: give a label, an index from 0, or an option's text")
    wanted = normalise(gold)
    meant = {slot for slot, label in enumerate(labels) if normalise(label) == wanted}
    meant |= {slot for slot, option in enumerate(options) if normalise(option) == wanted}
    if len(meant) > 1:
        raise RowError(f"gold {wanted[:40]!r} names several options by label or text; give the index from 0")
    if not meant:
        texts = " and no option's text" if options else ""
        raise RowError(f"gold {wanted[:40]!r} does not fit space mcq: it is none of {', '.join(labels)}{texts}")
    return labels[meant.pop()]


def is_polarity(gold: object) -> bool:
    """Whether a right answer is one of yes, no, true, false."""
    return isinstance(gold, bool | str) and str(gold).strip().lower() in _POLARITY


def _space(said: str, defaults: Defaults) -> AnswerSpace:
    space = said or defaults.space
    if not space:
        raise RowError("'space' is missing: mcq, bool or open")
    if space not in SPACES:
        raise RowError(f"space {space!r} is unknown{nearest(space, SPACES)}")
    return cast(AnswerSpace, space)


def _choices(
    found: Found, space: AnswerSpace, defaults: Defaults, shown: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels and options; options without labels are lettered, and bullets are their own labels."""
    labels, options = _texts(found, "labels"), _texts(found, "options")
    if space != "mcq":
        if options:
            raise RowError(f"space {space} has no 'options'; is it mcq?")
        labels = labels if space == "bool" else ()
    elif shown == BULLETS:
        if labels or len(options) < 2:
            raise RowError(f"presentation {BULLETS} has two or more 'options' and no 'labels'")
    else:
        labels = labels or defaults.labels[: len(options) or None] or tuple(LETTERS[: len(options)])
        if not labels:
            raise RowError("space mcq needs 'labels' or 'options' (or labels for the whole file)")
        if len(labels) < 2 or len(labels) < len(options):
            raise RowError(f"space mcq needs a label for each of two or more options; it has {len(labels)}")
        for label, option in zip(labels, options, strict=False):
            if not normalise(option):
                raise RowError(f"option {label} is empty")
    try:
        reader_of(space, labels, options)
    except ConfigError as error:
        raise RowError(str(error)) from None
    return (options if shown == BULLETS else labels), options


def _contents(found: Found, space: AnswerSpace, k: int, shown: str) -> tuple[int, ...]:
    """Content of the source in each slot; of an item as its source gives it the slots themselves."""
    values = found.row.values.get("contents")
    if values is None:
        return tuple(range(k)) if space == "mcq" and shown == IDENTITY else ()
    listed: list[object] = list(values) if isinstance(values, list | tuple) else [None]
    given = [one for one in listed if isinstance(one, int) and not isinstance(one, bool) and one >= 0]
    if len(given) < len(listed):
        raise RowError(f"contents {values!r:.40} is no list of indices from 0")
    if space == "mcq" and sorted(given) != list(range(k)):
        raise RowError(f"contents {given} does not name each of the {k} options of the source once, from 0")
    if space != "mcq" and (len(given) > 1 or space == "open"):
        raise RowError(f"contents {given} does not fit space {space}: bool has the index of the proposed option alone")
    return tuple(given)


def _thinking(found: Found, defaults: Defaults) -> Thinking:
    value = found.row.values.get("thinking")
    if isinstance(value, bool):
        return Thinking.enabled if value else Thinking.disabled
    said = found.row.text("thinking")
    known = [thinking.value for thinking in Thinking]
    if said and said not in known:
        raise RowError(f"thinking {said!r} is unknown{nearest(said, known)}")
    return Thinking(said) if said else defaults.thinking


def _open_box(found: Found) -> bool | None:
    value = found.row.values.get("open_box")
    if value is None or value != value:
        return None
    if not isinstance(value, bool):
        raise RowError(f"open_box {value!r:.40} is neither true nor false")
    return value


def _id(value: object) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise RowError(f"its id is {type(value).__name__}, not text or a whole number")
    return readable(str(value).strip(), "its id")


def _text(found: Found, key: str) -> str:
    return readable(found.row.text(key), repr(key))


def _texts(found: Found, key: str) -> tuple[str, ...]:
    if found.row.values.get(key) is None:
        return ()
    return tuple(readable(text, repr(key)) for text in found.row.texts(key))
