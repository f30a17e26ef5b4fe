"""A user's own JSONL file; `docs/datasets.md` gives the schema.

An answer that could mean two options is refused, never guessed: a number is an index from 0; a text is an option's
exact text or its letter, and if these name different options the row is bad.
"""

from __future__ import annotations

import json
import math

from thinkgap.data.adapter import Adapter, Draft, Row, image_keys, question_key, text_key
from thinkgap.data.checks import YES_NO, normalise, option_index
from thinkgap.data.images import image_ref
from thinkgap.errors import RowError, nearest
from thinkgap.types import LETTERS, ImageRef

_KEYS = (
    "id",
    "question",
    "choices",
    "answer",
    "context",
    "image",
    "images",
    "subject",
    "group_id",
    "answer_space",
    "meta",
)
_BOOLEANS = {"true": 0, "yes": 0, "false": 1, "no": 1}


def parse(row: Row) -> Draft:
    """An mcq item if there are choices; else a bool item if the answer is one of true, false, yes, no; else open."""
    question, context = row.text("question"), row.text("context")
    choices: tuple[str, ...] = () if row.values.get("choices") is None else row.texts("choices")
    space = row.text("answer_space") or _space(row)
    gold, answer, remarks = None, "", []
    if space == "mcq":
        gold = _option(row.values.get("answer"), choices)
        if _also_text(row.values.get("answer"), gold, choices):
            remarks.append("'answer' is a number that is also another option's text; it was read as an index")
    elif space in ("bool", "open") and choices:
        raise RowError(f"a {space} item has no 'choices'")
    elif space == "bool":
        choices, gold = YES_NO, _boolean(row)
    elif space == "open":
        answer = plain_text(row.values.get("answer"), "answer")
    else:
        raise RowError(f"answer_space {space!r} is unknown{nearest(space, ('mcq', 'bool', 'open'))}")
    images = _images(row)
    meta, unused = _meta(row)
    return Draft(
        question=question,
        choices=choices,
        gold=gold,
        answer_space=space,
        answer=answer,
        context=context,
        images=images,
        subject=row.text("subject"),
        meta=meta,
        group_keys=_group_keys(row, question, choices, context, images),
        remarks=(*remarks, *unused),
    )


def _space(row: Row) -> str:
    if row.values.get("choices") is not None:
        return "mcq"
    answer = row.values.get("answer")
    is_bool = isinstance(answer, bool) or (isinstance(answer, str) and answer.strip().lower() in _BOOLEANS)
    return "bool" if is_bool else "open"


def _option(answer: object, choices: tuple[str, ...]) -> int:
    if answer is None:
        raise RowError("'answer' is missing")
    if len(choices) < 2:
        return 0  # no answer can be right; the loader's check says that options are missing
    if isinstance(answer, int) and not isinstance(answer, bool):
        return option_index(answer, len(choices))
    if not isinstance(answer, str):
        raise RowError(f"'answer' is {type(answer).__name__}, not an index, a letter or an option's text")
    wanted = normalise(answer)
    texts = [index for index, choice in enumerate(choices) if normalise(choice) == wanted]
    letters = [index for index, letter in enumerate(LETTERS[: len(choices)]) if letter == wanted]
    meant = set(texts + letters)
    if len(meant) > 1:
        raise RowError(f"answer {wanted[:40]!r} names several options by letter or text; give the index from 0")
    if not meant:
        hint = "; an index is a number, not a text" if wanted.lstrip("-").isdigit() else ""
        raise RowError(
            f"answer {wanted[:40]!r} is neither a letter nor the text of one of {len(choices)} options{hint}"
        )
    return meant.pop()


def _also_text(answer: object, gold: int, choices: tuple[str, ...]) -> bool:
    return isinstance(answer, int) and str(answer) in choices and choices[gold] != str(answer)


def _boolean(row: Row) -> int:
    answer = row.values.get("answer")
    word = str(answer).strip().lower() if isinstance(answer, bool | str) else ""
    if word not in _BOOLEANS:
        raise RowError(f"answer {answer!r:.40} of a bool item is none of true, false, yes, no")
    return _BOOLEANS[word]


def plain_text(value: object, key: str) -> str:
    """A text without outer whitespace, or a number or truth value as JSON writes it."""
    if isinstance(value, str):
        return value.strip()
    if value is None:
        raise RowError(f"{key!r} is missing")
    if isinstance(value, float) and not math.isfinite(value):
        raise RowError(f"{key!r} is {value}, which is no number")
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise RowError(f"{key!r} is {type(value).__name__}, not text or a number")


def _images(row: Row) -> tuple[ImageRef, ...]:
    one, several = row.values.get("image"), row.values.get("images")
    if one is not None and several is not None:
        raise RowError("'image' and 'images' are both given")
    values = several if several is not None else [] if one is None else [one]
    if not isinstance(values, list) or not all(isinstance(value, str) and value for value in values):
        raise RowError("an image is the path of a file or a data URI; 'images' is a list of these")
    return tuple(image_ref(value, row.folder, root=row.image_root) for value in values)


def _meta(row: Row) -> tuple[dict[str, str], list[str]]:
    given = row.values.get("meta")
    if given is not None and not isinstance(given, dict):
        raise RowError(f"'meta' is {type(given).__name__}, not an object")
    meta, unused = {}, []
    for key, value in row.values.items():
        if key in _KEYS or value is None:
            continue
        if isinstance(value, str | int | float):
            meta[key] = plain_text(value, key)
        else:
            unused.append(f"key {key!r} holds a {type(value).__name__} and is not used{nearest(key, _KEYS)}")
    for key, value in (given or {}).items():
        meta[str(key)] = plain_text(value, f"meta.{key}")
    return meta, unused


def _group_keys(
    row: Row, question: str, choices: tuple[str, ...], context: str, images: tuple[ImageRef, ...]
) -> tuple[str, ...]:
    """The user's own group alone, where one is given: only they know what belongs together."""
    group = row.values.get("group_id")
    if group is not None:
        return (f"group:{plain_text(group, 'group_id')}",)
    passage = (text_key("passage", context),) if context else ()
    return (question_key(question, choices), *passage, *image_keys(images))


ADAPTER = Adapter(
    name="jsonl",
    parse=parse,
    columns={"question": "text", "answer": "any"},
    optional=dict.fromkeys(_KEYS, "any"),
    all_columns=True,
    id_column="id",
    placeholders=True,
)
