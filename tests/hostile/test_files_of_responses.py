"""Bombs, pickles and damage in files of responses and of data: refused by name, and no good row is lost."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from thinkgap.data.jsonlines import json_row, read_jsonl
from thinkgap.data.load import load_dataset_items
from thinkgap.errors import DataError
from thinkgap.importers import inspect_log, load_responses, own, zipped
from thinkgap.schema import DatasetConfig

GOOD = {"id": "good", "question": "1 + 1?", "gold": "2", "space": "open", "response": "2"}
HEADER = {"eval": {"task": "t"}, "plan": {"steps": []}}


def sample(name: str) -> bytes:
    choice = {"message": {"content": "2"}, "stop_reason": "stop"}
    content = {"id": name, "epoch": 1, "input": "1 + 1?", "target": "2", "output": {"choices": [choice]}}
    return json.dumps(content).encode()


def log(file: Path, samples: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(HEADER))
        for name, data in samples.items():
            archive.writestr(f"samples/{name}_epoch_1.json", data)
    return file


def test_a_member_that_unpacks_to_too_much_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "LARGEST", 100_000)
    found = load_responses(log(tmp_path / "x.eval", {"a": sample("a"), "bomb": b" " * 200_000, "b": sample("b")}))
    assert [one.question.item_id for one in found.answered] == ["a", "b"]
    assert "would be 200,000 bytes unpacked, more than 100,000" in found.bad[0].reason


def test_a_member_whose_size_lies_is_damaged(tmp_path: Path) -> None:
    file = log(tmp_path / "x.eval", {"bomb": b" " * 200_000, "a": sample("a")})
    data = file.read_bytes()
    file.write_bytes(data.replace((200_000).to_bytes(4, "little"), (50).to_bytes(4, "little")))
    found = load_responses(file)
    assert [one.question.item_id for one in found.answered] == ["a"]
    assert "cannot be unpacked" in found.bad[0].reason or "damaged" in found.bad[0].reason


def test_a_log_of_many_members_has_a_limit_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_log, "_LARGEST_LOG", 2 * len(sample("a")))
    found = load_responses(log(tmp_path / "x.eval", {name: sample(name) for name in "abc"}))
    assert len(found.answered) == 2
    assert "with it the log would be more than" in found.bad[0].reason


def test_a_sample_that_is_nested_too_deeply(tmp_path: Path) -> None:
    found = load_responses(log(tmp_path / "x.eval", {"a": sample("a"), "deep": b"[" * 100_000}))
    assert len(found.answered) == 1
    assert "its JSON is nested too deeply" in found.bad[0].reason


def test_a_parquet_file_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 2000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array(["x" * 10_000]))
    columns: dict[str, Any] = {key: [value] * n for key, value in GOOD.items()}
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table(columns | {"id": list(map(str, range(n))), "response": texts}), file)
    assert file.stat().st_size < 50_000
    monkeypatch.setattr(own, "_LARGEST", 1_000_000)
    with pytest.raises(DataError, match="more than 1,000,000 bytes unpacked"):
        load_responses(file)


def _invalid(good: str, n: int) -> pa.Array:
    """Texts of which the second is no UTF-8, as a careless writer leaves them."""
    binary = pa.array([good.encode() if row != 1 else b"\xff\xfe" for row in range(n)], pa.binary())
    return pa.Array.from_buffers(pa.string(), n, binary.buffers())


def test_texts_in_parquet_that_are_no_utf8_cost_their_row(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    table = pa.Table.from_pylist([GOOD | {"id": name} for name in "abc"])
    pq.write_table(table.set_column(table.column_names.index("response"), "response", _invalid("2", 3)), file)
    found = load_responses(file)
    assert [one.question.item_id for one in found.answered] == ["a", "c"]
    assert [bad.id for bad in found.bad] == ["b"]
    pq.write_table(pa.table({"question": _invalid("Is it?", 3), "answer": [True] * 3, "passage": ["p"] * 3}), file)
    items = load_dataset_items(DatasetConfig(name="boolq", path=str(file), max_bad=1))
    assert len(items.items) == 2
    assert items.bad[0].reason.startswith("row 1 holds a text that is not UTF-8")


class _Ran:
    """Notes that it was unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("a pickle was read",)


def pickled(protocol: int) -> bytes:
    return pickle.dumps(_Ran(), protocol)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_are_refused_by_name(tmp_path: Path, protocol: int) -> None:
    file = tmp_path / "responses.jsonl"
    file.write_bytes(pickled(protocol))
    with pytest.raises(DataError, match=r"is a pickle, which can run any program.*JSON Lines or Parquet"):
        load_responses(file)
    file.rename(tmp_path / "items.pkl")
    with pytest.raises(DataError, match="a data file is"):
        load_dataset_items(DatasetConfig(name="jsonl", path=str(tmp_path / "items.pkl")))


def test_arrays_and_tensors_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "f"
    sink = io.BytesIO()
    np.save(sink, np.array([_Ran()], dtype=object), allow_pickle=True)
    file.write_bytes(sink.getvalue())
    with pytest.raises(DataError, match="is a NumPy array"):
        load_responses(file)
    sink = io.BytesIO()
    np.savez(sink, a=np.zeros(2))
    file.write_bytes(sink.getvalue())
    with pytest.raises(DataError, match="file of PyTorch or NumPy"):
        load_responses(file)
    torch.save({"a": torch.zeros(2)}, file)
    with pytest.raises(DataError, match="file of PyTorch or NumPy"):
        load_responses(file)


def test_pickles_in_the_metadata_of_parquet_are_not_read(tmp_path: Path) -> None:
    field = pa.field("response", pa.string(), metadata={
        b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickled(4)})  # fmt: skip
    others = [pa.field(key, pa.string()) for key in GOOD if key != "response"]
    schema = pa.schema([*others, field], metadata={b"pandas": pickled(4)})
    pq.write_table(pa.Table.from_pylist([GOOD], schema=schema), tmp_path / "x.parquet")
    assert load_responses(tmp_path / "x.parquet").answered[0].response.content == "2"


def test_a_stray_zero_byte_costs_its_line(tmp_path: Path) -> None:
    good, file = json.dumps(GOOD).encode(), tmp_path / "f"
    file.write_bytes(good + b"\nab\0c\n" + good.replace(b"good", b"next"))
    found = load_responses(file)
    assert [one.question.item_id for one in found.answered] == ["good", "next"]
    assert found.bad[0].reason.startswith("line 2 is not JSON")
    file.write_bytes(b"index\tquestion\tanswer\tprediction\n1\tq\t2\t2\n2\tq\0\t2\t2\n3\tr\t2\t2\n")
    found = load_responses(file)
    assert [one.question.item_id for one in found.answered] == ["1", "3"]
    assert "zero byte" in found.bad[0].reason


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("NaN", "'answer' is nan, which is no number"),
        ("-Infinity", "'answer' is -inf, which is no number"),
        ("1e999", "'answer' is inf, which is no number"),
        ("9" * 5000, "line 2 is not usable JSON: Exceeds the limit"),
        ("[" * 100_000, "line 2 is not usable JSON: maximum recursion depth"),
        ('{"a": 1, "a": 2}', "line 2 is not usable JSON: key 'a' stands twice"),
        ("[]", "'answer' is list"),
        ('"\\ud800"', "holds a lone surrogate"),
        ('"\x00"', "line 2 is not JSON: Invalid control character"),
    ],
    ids=["nan", "inf", "1e999", "huge", "deep", "twice", "list", "surrogate", "zero"],
)
def test_odd_values_of_json_cost_their_row(tmp_path: Path, value: str, complaint: str) -> None:
    good = '{"id": "%s", "question": "1 + 1?", "answer": "2"}'
    file = tmp_path / "mine.jsonl"
    odd = '{"id": "odd", "question": "?", "answer": ' + value + "}"
    file.write_text("\n".join([good % "a", odd, good % "b"]), encoding="utf-8")
    found = load_dataset_items(DatasetConfig(name="jsonl", path=str(file), max_bad=1))
    assert [item.id for item in found.items] == ["a", "b"]
    assert complaint in found.bad[0].reason


def test_a_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    row = b'{"question": "1 + 1?", "answer": "2", "note": "' + b"x" * (100 << 20) + b'"}'
    assert json_row(row, 1, tmp_path).problem == ""
    assert json_row(row[:-2], 7, tmp_path).problem.startswith("line 7 is not JSON: Unterminated string")


def test_marks_and_other_encodings_beside_each_other(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    text = '{"question": "Größe?", "answer": "1"}\n'
    parts = [b"\xef\xbb\xbf", text.encode(), text.encode("latin-1"), text.encode(), text.encode("utf-16")]
    file.write_bytes(b"".join(parts))
    rows = read_jsonl(file)
    assert [row.values.get("question") for row in rows[:4]] == ["Größe?", None, "Größe?", None]
    assert all("not UTF-8" in row.problem for row in (rows[1], rows[3]))
