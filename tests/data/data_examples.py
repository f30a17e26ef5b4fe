"""Hand-made rows, images and files for the tests of `thinkgap.data`."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgap.data.adapter import Draft, Row
from thinkgap.data.load import LoadedDataset, load_dataset_items
from thinkgap.data.registry import ADAPTERS
from thinkgap.data.rows import BadRow, parse_rows
from thinkgap.schema import DatasetConfig
from thinkgap.types import ImageRef, Item


def png(shade: int = 0, size: tuple[int, int] = (4, 3), kind: str = "PNG") -> bytes:
    """Encoded image of one shade of grey."""
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(stream, kind)
    return stream.getvalue()


def picture(shade: int = 0) -> dict[str, Any]:
    """An image as Parquet holds it."""
    return {"bytes": png(shade), "path": None}


def make_item(**fields: Any) -> Item:
    """A sound mcq item, with some fields of the caller's."""
    values: dict[str, Any] = {
        "id": "i",
        "group_id": "g",
        "question": "Which one?",
        "choices": ("red", "green", "blue"),
        "gold": 1,
        "answer_space": "mcq",
        "split": "test",
    }
    return Item(**(values | fields))


def image_stub(name: str) -> ImageRef:
    """An image that is only its name."""
    return ImageRef(name, name.encode)


def draft(adapter: str, values: Mapping[str, object]) -> Draft:
    """What an adapter makes of one row."""
    result = ADAPTERS[adapter].parse(Row(values))
    assert isinstance(result, Draft)
    return result


def one(adapter: str, values: Mapping[str, object], folder: Path | None = None) -> Item | BadRow | str:
    """What the loader makes of one row: the item, the bad row, or why it is filtered."""
    parsed = parse_rows([Row(values, folder)], ADAPTERS[adapter], "test")
    if parsed.items:
        return parsed.items[0]
    return parsed.bad[0] if parsed.bad else next(iter(parsed.n_filtered))


def item(adapter: str, values: Mapping[str, object], folder: Path | None = None) -> Item:
    """The item that one row becomes."""
    result = one(adapter, values, folder)
    assert isinstance(result, Item), result
    return result


def reason(adapter: str, values: Mapping[str, object], folder: Path | None = None) -> str:
    """Why one row is bad."""
    result = one(adapter, values, folder)
    assert isinstance(result, BadRow), result
    return result.reason


def groups(adapter: str, *rows: Mapping[str, object]) -> list[str]:
    """Group of each of several sound rows, read together."""
    parsed = parse_rows([Row(values) for values in rows], ADAPTERS[adapter], "test")
    assert len(parsed.items) == len(rows), parsed.bad
    return [made.group_id for made in parsed.items]


def write_jsonl(file: Path, rows: Sequence[Mapping[str, object] | str]) -> Path:
    """A JSONL file; a text is written as it stands."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def write_parquet(file: Path, columns: Mapping[str, Any]) -> Path:
    """A Parquet file of lists or Arrow arrays."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(dict(columns)), file)
    return file


def load(name: str, path: Path | str, **settings: Any) -> LoadedDataset:
    """Load with the defaults of `DatasetConfig`."""
    return load_dataset_items(DatasetConfig(name=name, path=str(path), **settings))


BOOLQ = {"question": "is ice cold", "passage": "Ice is frozen water.", "answer": True}
STRATEGYQA = {"qid": "q7", "question": "Can a fish drown?", "answer": False}
GSM8K = {"question": "How far?", "answer": "1,000 + 234 = 1,234\n#### 1,234"}
MATH = {"problem": "Solve.", "level": "Level 1", "type": "Algebra", "solution": r"So $\boxed{\frac{1}{2}}$."}
MMLU = {"question": "Which bone?", "subject": "anatomy", "choices": ["a", "b", "c", "d"], "answer": 2}
MMLU_PRO = {
    "question_id": 12,
    "question": "Which law?",
    "options": ["x", "y", "z"],
    "answer": "C",
    "answer_index": 2,
    "category": "law",
    "src": "made",
}
SCIENCEQA = {
    "image": None,
    "question": "Which animal?",
    "choices": ["cat", "dog"],
    "answer": 1,
    "hint": "It barks.",
    "task": "closed choice",
    "grade": "grade2",
    "subject": "natural science",
    "topic": "biology",
    "category": "Animals",
    "skill": "Name animals",
}
AI2D = {"question": "What is A?", "options": ["leaf", "stem", "root", "bud"], "answer": "3", "image": picture()}
MMBENCH = {
    "index": 3_000_021,
    "question": "What colour?",
    "hint": None,
    "answer": "B",
    "A": "red",
    "B": "blue",
    "C": None,
    "D": float("nan"),
    "category": "colour",
    "L2-category": "perception",
    "image": picture(),
}
MMMU = {
    "id": "validation_Energy_and_Power_7",
    "question": "What does <image 1> show?",
    "options": "['a pump', \"a turbine's blade\", 'a valve ']",
    "answer": "B",
    "question_type": "multiple-choice",
    **{f"image_{number}": None for number in range(1, 8)},
    "image_1": picture(),
    "topic_difficulty": "Easy",
    "img_type": "['Diagrams']",
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "boolq": BOOLQ,
    "strategyqa": STRATEGYQA,
    "gsm8k": GSM8K,
    "math": MATH,
    "mmlu": MMLU,
    "mmlu_pro": MMLU_PRO,
    "scienceqa": SCIENCEQA,
    "ai2d": AI2D,
    "mmbench": MMBENCH,
    "mmmu": MMMU,
    "jsonl": {"question": "Which?", "choices": ["p", "q"], "answer": 0},
}
