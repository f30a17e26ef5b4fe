"""responses.parquet: there and back, sorted and checked, and enough to make every reading again."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import ROOT
from tests.nothinking.examples import answered
from thinkgap.errors import StoreError
from thinkgap.nothinking.analyse import Analysed, analyse, analyse_all
from thinkgap.nothinking.columns import KEY, SCHEMA
from thinkgap.nothinking.store import RESPONSES_FILE, read_responses, to_analysed, to_table, write_responses
from thinkgap.nothinking.tables import audit_sheets, response_sheets
from thinkgap.types import Thinking

PARTS = ("a b c d e f g h", "Which?")


def rows() -> list[Analysed]:
    made = [
        answered(r"\boxed{B}", item="q2", mode="strict", model="served-1", parts=PARTS),
        answered(r"So \boxed{B} it is, I think", item="q2", mode="soft", parts=PARTS),
        answered(
            "", item="q1", mode="strict", reasoning=r"\boxed{B}", reasoning_tokens=4, options=("w", "x", "y", "z")
        ),
        answered(r"\boxed{72}", "open", item="q3", channels={"reasoning": "Hm ½", "b": "\n"}, completion_tokens=2**40),
        answered("No: 3", "open", item="q4", mode="", thinking=Thinking.default, finish_reason="length"),
        answered("<b>no</b>\x00é\u2028", "bool", item="q5", dataset="other", gold="", prompt_tokens=0, refusal="x"),
    ]
    found = analyse_all(made[:-1], model="m", decide=lambda pairs: [None for _ in pairs], count_tokens=len)
    return [*found, analyse(made[-1])]


def test_there_and_back(tmp_path: Path) -> None:
    written = rows()
    write_responses(tmp_path / RESPONSES_FILE, written)
    table = read_responses(tmp_path / RESPONSES_FILE)
    assert table.schema.equals(SCHEMA)
    assert to_analysed(table) == sorted(written, key=lambda row: row.key)
    assert [row.key for row in to_analysed(table)] == [
        ("made_up", "q1", "identity", "strict", "m"),
        ("made_up", "q2", "identity", "soft", "m"),
        ("made_up", "q2", "identity", "strict", "m"),
        ("made_up", "q3", "identity", "think_off", "m"),
        ("made_up", "q4", "identity", "", "m"),
        ("other", "q5", "identity", "think_off", ""),
    ]
    assert table.column("served_model").to_pylist() == ["", "", "served-1", "", "", ""]
    assert table.column("correct").to_pylist() == [False, True, True, None, False, None]
    assert table.column("undecided").to_pylist() == [False, False, False, True, False, False]
    assert table.column("copy_components").to_pylist() == [None, 1, 1, None, None, None]


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    written = rows()
    write_responses(tmp_path / "a.parquet", written)
    random.Random(0).shuffle(written)
    write_responses(tmp_path / "b.parquet", iter(written))
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]


def test_readings_and_tables_can_be_made_again(tmp_path: Path) -> None:
    write_responses(tmp_path / RESPONSES_FILE, rows())
    table = read_responses(tmp_path / RESPONSES_FILE)
    stored = to_analysed(table)
    again = [
        analyse_all(
            [row.answered],
            model=row.model,
            decide=(lambda pairs: [None for _ in pairs]) if row.model else None,
            count_tokens=len if row.model else None,
        )[0]
        for row in stored
    ]
    assert again == stored
    frame, other = table.to_pandas(), to_table(again).to_pandas()
    sheets = [*response_sheets(frame), *audit_sheets(frame)]
    assert len(sheets) > 5
    assert repr(sheets) == repr([*response_sheets(other), *audit_sheets(other)])


def test_whether_a_box_was_open_is_kept_so_that_the_reading_is_the_same(tmp_path: Path) -> None:
    """One reply under five modes: who says that the box was open decides, and the name only where nobody says."""
    cases = {
        ("mine", True): "forced_prefix",
        ("mine_too", False): "",
        ("other", None): "",
        ("prefix", None): "forced_prefix",
        ("prefix_assistant", False): "",
    }
    made = [answered("B} since", mode=mode, open_box=given) for mode, given in cases]
    write_responses(tmp_path / RESPONSES_FILE, [analyse(one, model="m") for one in made])
    again = to_analysed(read_responses(tmp_path / RESPONSES_FILE))
    assert {(row.answered.mode, row.answered.open_box): row.reading.rule for row in again} == cases
    assert [analyse(row.answered, model="m") for row in again] == again


def test_an_empty_table() -> None:
    assert (to_table([]).num_rows, to_table([]).schema) == (0, SCHEMA)
    assert response_sheets(to_table([]).to_pandas()) == audit_sheets(to_table([]).to_pandas()) == []


def test_two_responses_with_one_key(tmp_path: Path) -> None:
    twice = [analyse(answered(text, model="m")) for text in (r"\boxed{A}", r"\boxed{B}")]
    with pytest.raises(StoreError, match="'item_id': 'q1', 'presentation': 'identity', 'mode': 'think_off'"):
        write_responses(tmp_path / RESPONSES_FILE, twice)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_stored_names_its_column() -> None:
    with pytest.raises(StoreError, match="column 'content'"):
        to_table([analyse(answered("\ud83d"))])
    with pytest.raises(StoreError, match="column 'prompt_tokens'"):
        to_table([analyse(answered("B", prompt_tokens=2**70))])
    row = analyse(answered("B"))
    row = dataclasses.replace(row, reading=dataclasses.replace(row.reading, post=None))  # pyright: ignore
    with pytest.raises(StoreError, match=r"column 'post' of the response \('made_up', 'q1'"):
        to_table([row])


def test_a_file_that_is_not_what_was_written(tmp_path: Path) -> None:
    table, path = to_table(rows()), tmp_path / RESPONSES_FILE

    def refused(changed: pa.Table, said: str) -> None:
        pq.write_table(changed, path)
        with pytest.raises(StoreError, match=said):
            read_responses(path)

    def with_values(name: str, values: list) -> pa.Table:
        place = table.schema.get_field_index(name)
        field = pa.field(name, table.schema.field(name).type)
        return table.set_column(place, field, pa.array(values, type=field.type))

    refused(table.drop_columns(["trace"]), "no column 'trace' of type string")
    refused(table.set_column(0, "dataset", pa.array([1] * 6)), "no column 'dataset' of type string")
    refused(table.take([1, 0, 2, 3, 4, 5]), "not sorted by dataset, item_id, presentation, mode, model")
    refused(table.take([0, 0, 1, 2, 3, 4]), "two responses have the key")
    refused(with_values("trace", [None, *"abcde"]), "column 'trace' has missing values")
    refused(with_values("status", ["fine"] * 6), r"column 'status' holds \['fine'\]")
    refused(with_values("space", ["mcq"] * 5 + ["essay"]), r"column 'space' holds \['essay'\]; known: mcq, bool, open")
    refused(with_values("thinking", ["on"] * 6), "column 'thinking'")
    refused(with_values("answer", [None] * 6), "status 'ok' and answer None, which contradict")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(StoreError, match="is damaged"):
        read_responses(path)
    with pytest.raises(StoreError, match="does not exist"):
        read_responses(tmp_path / "other.parquet")


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / RESPONSES_FILE
    write_responses(path, rows())
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(StoreError, match="is damaged"):
        read_responses(path)


def test_a_further_column_does_no_harm(tmp_path: Path) -> None:
    table = to_table(rows())
    pq.write_table(table.append_column("mine", pa.array(range(6))), tmp_path / "more.parquet")
    assert read_responses(tmp_path / "more.parquet").equals(table)


def test_every_column_is_explained() -> None:
    page = (ROOT / "docs" / "responses_table.md").read_text(encoding="utf-8")
    explained = [
        name.strip().strip("`")
        for line in page.splitlines()
        if line.startswith("| `")
        for name in line.split("|")[1].split(",")
    ]
    assert explained == SCHEMA.names
    assert SCHEMA.names[: len(KEY)] == list(KEY)
