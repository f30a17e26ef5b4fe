"""A judge's reply -> a label and evidence for each item, or why it cannot be used.

Strict whatever the server promised: a reply is used as a whole or not at all. Knows no server and no ladder.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from thinkgap.errors import ThinkgapError
from thinkgap.judging.request import JudgeItem
from thinkgap.judging.rubric import LABELS
from thinkgap.types import TraceLabel

_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_THOUGHT = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
"""What a local model may write before its reply; a span that a judge copies has no such tags."""
_FIELDS = ("id", "evidence", "label")
_SHOWN = 60


class InvalidReply(ThinkgapError):
    """A reply that cannot be used; its message is fit to be told to the judge."""


@dataclass(frozen=True)
class Verdict:
    """What a valid reply says of one item."""

    label: TraceLabel
    evidence: str
    verbatim: bool
    """Whether the evidence stands in the trace, white space and case apart; nothing at all does not."""


def read_reply(content: str, items: Sequence[JudgeItem]) -> dict[str, Verdict]:
    """What a reply says, by id.

    Args:
        content: visible text of the reply: the JSON object alone, or in a code fence.
        items: what was asked about.

    Raises:
        InvalidReply: no JSON object of the form that was asked for, other ids than were sent, an id twice, or a label
            that is none of the five.
    """
    entries = _entries(_parsed(content))
    by_id = {item.id: item for item in items}
    counts = Counter(entry["id"] for entry in entries)
    if unknown := sorted(set(counts) - set(by_id)):
        raise InvalidReply(f"it has an entry for {_short(unknown[0])}, which is no id of these items")
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise InvalidReply(f"it has more than one entry for {twice[0]}")
    if missing := [name for name in by_id if name not in counts]:
        raise InvalidReply(f"it has no entry for {', '.join(missing)}")
    return {entry["id"]: _verdict(entry, by_id[entry["id"]]) for entry in entries}


def is_verbatim(evidence: str, text: str) -> bool:
    """Whether `evidence` stands in `text`, white space and case apart."""
    span = _folded(evidence)
    return bool(span) and span in _folded(text)


def _parsed(content: str) -> Any:
    text = _THOUGHT.sub("", content, count=1).strip() if content.lstrip().startswith("<think>") else content.strip()
    if not text:
        raise InvalidReply("it is empty")
    if fenced := _FENCE.fullmatch(text):
        text = fenced.group(1)
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        # Its own words hold positions, which say little to a judge.
        why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise InvalidReply(f"it is no JSON object ({why})") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field stands twice in one object")
    return found


def _entries(value: Any) -> list[Mapping[str, str]]:
    if not isinstance(value, dict) or set(value) != {"labels"} or not isinstance(value["labels"], list):
        raise InvalidReply('it must be one object with the field "labels" alone, which is a list')
    for entry in value["labels"]:
        if not isinstance(entry, dict) or set(entry) != set(_FIELDS):
            raise InvalidReply(f"each entry must have the fields {', '.join(_FIELDS)}, and no others")
        for name in _FIELDS:
            text = entry[name]
            if not isinstance(text, str):
                raise InvalidReply(f"the field {name} must be a text")
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise InvalidReply(f"the field {name} holds half of a surrogate pair")
        if entry["label"] not in LABELS:
            raise InvalidReply(f"{_short(entry['label'])} is none of the labels {', '.join(LABELS)}")
    return value["labels"]


def _verdict(entry: Mapping[str, str], item: JudgeItem) -> Verdict:
    evidence = entry["evidence"].strip()
    return Verdict(cast(TraceLabel, entry["label"]), evidence, is_verbatim(evidence, item.text))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _short(text: str) -> str:
    return json.dumps(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
