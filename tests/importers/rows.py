"""Rows of our own schema, one of each answer space, for the tests of what they are read as."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from thinkgap.importers import load_responses
from thinkgap.types import Answered

MCQ = {
    "id": "q1",
    "question": "Which gas do plants take in?",
    "options": ["oxygen", "carbon dioxide"],
    "gold": "B",
    "space": "mcq",
    "response": "\\boxed{B}",
}
OPEN = {"id": "q2", "question": "How many legs do three spiders have?", "gold": "24", "space": "open", "response": "24"}
GOOD = {"id": "good", "question": "Is ice cold?", "gold": True, "space": "bool", "response": "yes"}


def one(lines: Callable[..., Path], row: dict[str, Any], **settings: Any) -> Answered:
    """What `row` is read as, in a file of its own."""
    (answered,) = load_responses(lines([row]), **settings).answered
    return answered
