"""Files of responses for the tests: where the real ones lie, and how to write small ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

FILES = Path(__file__).parent / "files"


@pytest.fixture
def files() -> Path:
    """Folder of what lm-eval, inspect_ai and a script in VLMEvalKit's manner wrote."""
    return FILES


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """`lines(rows, name)`: a file with one row a line, objects as JSON and texts as they are."""

    def write(rows: Sequence[Mapping[str, Any] | str], name: str = "responses.jsonl") -> Path:
        file = tmp_path / name
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return file

    return write
