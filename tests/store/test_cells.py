"""The store of cells: exact round trips, many writers, kills, damage, other contexts, a full disk, overflow."""

from __future__ import annotations

import errno
import logging
import math
import os
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from tests.store.cell_examples import CONTEXT, NAMES, STATES, cells, open_prompt, prompt, prompts, reading
from thinkgap.errors import StoreError
from thinkgap.scoring.engine import Scored
from thinkgap.store import shards
from thinkgap.store.cell_rows import SCHEMA
from thinkgap.store.cells import CellContents, CellStore
from thinkgap.store.states import DTYPES

READINGS = CellContents()
ITEMS = tuple(f"q{number}" for number in range(6))


class Killed(BaseException):
    """Stands for SIGKILL."""


def same(found: list[Scored | None], expected: list[Scored]) -> None:
    """Every field equal, NaN to NaN, states to the last bit."""
    for cell, other in zip(found, expected, strict=True):
        assert cell is not None
        assert cell.prompt is other.prompt
        assert repr((cell.reading, cell.lens)) == repr((other.reading, other.lens))
        assert (cell.states is None) == (other.states is None)
        if cell.states is not None and other.states is not None:
            assert cell.states.dtype == other.states.dtype
            assert torch.equal(cell.states, other.states)


def held(folder: Path, scored: list[Scored], wanted: CellContents = STATES) -> list[bool]:
    """Which cells a new start finds, after checking that they are right."""
    found = CellStore.open(folder, CONTEXT, wanted).get(prompts(scored))
    same([cell for cell in found if cell], [made for cell, made in zip(found, scored, strict=True) if cell])
    return [cell is not None for cell in found]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def make_old(path: Path, hours: float) -> None:
    moment = time.time() - 3600 * hours
    os.utime(path, (moment, moment))


@pytest.mark.parametrize("dtype", DTYPES)
def test_cells_come_back_as_they_were(tmp_path: Path, dtype: str):
    wanted = CellContents(NAMES, dtype, lens=True, top_k=2)
    scored = [
        replace(cell, states=cell.states.to(DTYPES[dtype].torch)) if cell.states is not None else cell
        for cell in cells(ITEMS, contents=wanted)
    ]
    odd = replace(
        reading(top_k=1),
        label_logprobs=(-math.inf, -0.0, 5e-324),
        entropy=math.nan,
        gold_rank=None,
        reasoning_mass=None,
        reasoning_mass_strict=None,
    )
    scored[2] = replace(scored[2], reading=odd, lens=(odd, replace(odd, top_tokens=()), odd))
    scored.append(replace(scored[0], prompt=open_prompt(), reading=replace(odd, label_logprobs=())))
    store = CellStore.open(tmp_path, CONTEXT, wanted)
    store.write(scored)
    same(store.get(prompts(scored)), scored)
    again = CellStore.open(tmp_path, CONTEXT, wanted)
    assert len(again) == len(scored)
    backwards = [scored[5], scored[2], scored[6], scored[2]]
    same(again.get(prompts(backwards)), backwards)


def test_files_are_named_by_their_content(tmp_path: Path):
    store = CellStore.open(tmp_path / "new" / "cells", CONTEXT, STATES)
    path = store.write(cells(ITEMS))
    assert path is not None
    assert files(store.folder) == ["fingerprint.json", path.name, path.with_suffix(".safetensors").name]
    other = CellStore.open(tmp_path / "other", CONTEXT, STATES).write(cells(ITEMS))
    assert other is not None
    assert other.name == path.name


def test_what_is_not_there_is_none(tmp_path: Path):
    store = CellStore.open(tmp_path, CONTEXT, READINGS)
    scored = cells(ITEMS, contents=READINGS)
    store.write(scored[:2])
    assert [cell is not None for cell in store.get(prompts(scored[::-1]))] == [False] * 4 + [True] * 2
    assert prompt("q1") in store
    assert prompt("q1", "think") not in store
    assert store.get([]) == []


def test_cells_that_are_there_are_not_written_again(tmp_path: Path):
    store = CellStore.open(tmp_path, CONTEXT, STATES)
    first = cells(ITEMS[:3])
    store.write(first)
    later = cells(ITEMS, seed=1)  # other numbers for the same prompts
    store.write([*later, *cells(ITEMS, seed=2)])
    expected = [*first, *later[3:]]
    same(store.get(prompts(expected)), expected)
    assert len(store) == 6
    before = files(tmp_path)
    assert store.write(later) is None
    assert store.write([]) is None
    assert files(tmp_path) == before


def test_a_condition_can_be_added_later(tmp_path: Path):
    direct, think = cells(ITEMS), cells(ITEMS, "think")
    CellStore.open(tmp_path, CONTEXT, STATES).write(direct)
    store = CellStore.open(tmp_path, CONTEXT, STATES)
    store.write(think)
    same(store.get(prompts([*think, *direct])), [*think, *direct])
    assert held(tmp_path, [*direct, *think]) == [True] * 12


def test_two_writers_share_a_folder(tmp_path: Path):
    one, two = (CellStore.open(tmp_path, CONTEXT, STATES) for _ in range(2))
    mine, other = cells(ITEMS[:4]), cells(ITEMS[2:], seed=1)
    one.write(mine)
    two.write(other)  # two cells twice, with other numbers
    one.write(cells(ITEMS[:2], "think"))
    two.write(cells(ITEMS[:2], "think"))  # the very same shard
    same(one.get(prompts(mine)), mine)
    same(two.get(prompts(other)), other)
    merged = CellStore.open(tmp_path, CONTEXT, STATES)
    assert len(merged) == 8
    same(merged.get(prompts([*mine[:2], *other[2:]])), [*mine[:2], *other[2:]])
    assert len(files(tmp_path)) == 1 + 3 * 2


@pytest.mark.parametrize("step", range(5))
def test_killed_at_any_step_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int):
    """Dies before the `step`-th rename and lets nothing more happen, not even clean-up."""
    left = [step]

    def deadly(name: str) -> None:
        original = getattr(Path, name)

        def call(self: Path, *arguments: object, **more: object) -> object:
            if left[0] == 0:
                raise Killed
            left[0] -= name == "replace"
            return original(self, *arguments, **more)

        monkeypatch.setattr(Path, name, call)

    deadly("replace")
    deadly("unlink")
    scored = cells(ITEMS)
    with pytest.raises(Killed):
        run(tmp_path, scored)
    monkeypatch.undo()
    # fingerprint; then states and readings of each half
    n_shards = max(0, step - 1) // 2
    assert sum(held(tmp_path, scored)) == 3 * n_shards
    run(tmp_path, scored)
    assert held(tmp_path, scored) == [True] * 6


def run(folder: Path, scored: list[Scored]) -> None:
    """What an evaluation does: compute and write what is missing, in halves."""
    store = CellStore.open(folder, CONTEXT, STATES)
    for half in (scored[:3], scored[3:]):
        if None in store.get(prompts(half)):
            store.write(half)


def test_leftovers_of_killed_writers_go_after_an_hour(tmp_path: Path):
    scored = cells(ITEMS)
    store = CellStore.open(tmp_path, CONTEXT, STATES)
    orphan, kept = store.write(scored[:3]), store.write(scored[3:])
    assert orphan is not None
    assert kept is not None
    orphan.unlink()
    temporary = tmp_path / f".{kept.name}.0123456789ab.tmp"
    temporary.touch()
    for path in (orphan.with_suffix(".safetensors"), temporary):
        make_old(path, 0.9)
    for path in (kept, kept.with_suffix(".safetensors")):
        make_old(path, 100)
    before = files(tmp_path)
    assert held(tmp_path, scored) == [False] * 3 + [True] * 3
    assert files(tmp_path) == before
    for path in (orphan.with_suffix(".safetensors"), temporary):
        make_old(path, 1.1)
    CellStore.open(tmp_path, CONTEXT, STATES)
    assert files(tmp_path) == ["fingerprint.json", kept.name, kept.with_suffix(".safetensors").name]


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    if how == "flip":
        data[-5] ^= 1
    elif how == "truncate":
        del data[len(data) // 2 :]
    elif how == "empty":
        data.clear()
    path.unlink()
    if how != "missing":
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("ending", "how", "when"),
    [
        *((".parquet", how, when) for how in ("flip", "truncate", "empty") for when in ("before", "after")),
        *((".safetensors", how, when) for how in ("truncate", "empty", "missing") for when in ("before", "after")),
        (".safetensors", "flip", "before"),
    ],
)
def test_damage_is_found_and_computed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ending: str, how: str, when: str
):
    """Damage done before a start, or while a run goes."""
    scored = cells(ITEMS)
    first, second = scored[:3], scored[3:]
    store = CellStore.open(tmp_path, CONTEXT, STATES)
    bad, good = store.write(first), store.write(second)
    assert bad is not None
    assert good is not None
    damage(bad.with_suffix(ending), how)
    if when == "before":
        store = CellStore.open(tmp_path, CONTEXT, STATES)
    assert store.get(prompts(first)) == [None] * 3
    same(store.get(prompts(second)), second)
    assert files(tmp_path) == ["fingerprint.json", good.name, good.with_suffix(".safetensors").name]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert bad.stem in caplog.text
    assert "computed again" in caplog.text
    store.write(first)
    assert held(tmp_path, [*first, *second]) == [True] * 6


def test_readings_do_not_need_the_state_file(tmp_path: Path):
    path = CellStore.open(tmp_path, CONTEXT, STATES).write(cells(ITEMS))
    assert path is not None
    path.with_suffix(".safetensors").unlink()
    assert held(tmp_path, cells(ITEMS, contents=READINGS), READINGS) == [True] * 6
    assert held(tmp_path, cells(ITEMS)) == [False] * 6


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (READINGS, True),
        (CellContents(NAMES, "float16", lens=True, top_k=3), True),
        (CellContents(("final_norm", "layer_0"), "float16", top_k=1), True),
        (CellContents((), "float32", lens=True), True),
        (CellContents(NAMES, "bfloat16"), False),
        (CellContents((*NAMES, "layer_2"), "float16"), False),
        (CellContents(NAMES, "float16", top_k=4), False),
    ],
)
def test_cells_serve_whoever_wants_no_more(tmp_path: Path, wanted: CellContents, found: bool):
    stored = CellContents(NAMES, "float16", lens=True, top_k=3)
    scored = cells(ITEMS, contents=stored)
    CellStore.open(tmp_path, CONTEXT, stored).write(scored)
    before = files(tmp_path)
    store = CellStore.open(tmp_path, CONTEXT, wanted)
    assert files(tmp_path) == before
    assert [cell is not None for cell in store.get(prompts(scored))] == [found] * 6
    if found:
        expected = [narrowed(cell, wanted) for cell in scored]
        same(store.get(prompts(scored)), expected)
    else:
        assert len(store) == 0


def narrowed(cell: Scored, wanted: CellContents) -> Scored:
    """What a run that wants only this would have computed."""
    assert cell.states is not None
    states = cell.states[[NAMES.index(name) for name in wanted.names]].half() if wanted.names else None
    first, *lens = (replace(one, top_tokens=one.top_tokens[: wanted.top_k]) for one in (cell.reading, *cell.lens))
    return Scored(cell.prompt, first, states, tuple(lens) if wanted.lens else ())


def test_the_lens_is_computed_if_it_is_not_there(tmp_path: Path):
    CellStore.open(tmp_path, CONTEXT, READINGS).write(cells(ITEMS, contents=READINGS))
    wanted = CellContents(lens=True)
    store = CellStore.open(tmp_path, CONTEXT, wanted)
    assert len(store) == 0
    store.write(cells(ITEMS, contents=wanted))
    assert held(tmp_path, cells(ITEMS, contents=wanted), wanted) == [True] * 6
    assert held(tmp_path, cells(ITEMS, contents=READINGS), READINGS) == [True] * 6


def test_other_contexts_are_refused_by_name(tmp_path: Path):
    CellStore.open(tmp_path, CONTEXT, READINGS).write(cells(ITEMS, contents=READINGS))
    before = files(tmp_path)
    with pytest.raises(StoreError) as caught:
        CellStore.open(tmp_path, {"model": {"path": "m", "dtype": "float16"}, "libraries": {"torch": "3"}}, READINGS)
    text = str(caught.value)
    assert "cells with other settings" in text
    assert 'model.dtype: "float32" in the folder, "float16" now' in text
    assert 'libraries.torch: "2" in the folder, "3" now' in text
    assert "another folder for its cells" in text
    assert "model.path" not in text
    assert files(tmp_path) == before
    (tmp_path / "fingerprint.json").unlink()
    with pytest.raises(StoreError, match="unknown settings"):
        CellStore.open(tmp_path, CONTEXT, READINGS)


def test_a_folder_without_cells_belongs_to_nobody(tmp_path: Path):
    CellStore.open(tmp_path, {"a": 1})
    store = CellStore.open(tmp_path, CONTEXT)
    store.write(cells(ITEMS, contents=READINGS))
    assert held(tmp_path, cells(ITEMS, contents=READINGS), READINGS) == [True] * 6


def test_cells_of_a_context_that_lost_the_race_are_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Two processes begin the same folder at once, each with its own context; one fingerprint remains."""
    loser = CellStore.open(tmp_path, {"a": 1, "b": (1, 2)})
    winner = CellStore.open(tmp_path, CONTEXT)
    made = loser.write(cells(ITEMS, contents=READINGS))
    winner.write(cells(ITEMS[:2], "think", READINGS))
    store = CellStore.open(tmp_path, CONTEXT)
    assert len(store) == 2
    assert "1 shards" in caplog.text
    assert "another context" in caplog.text
    assert made is not None
    assert made.exists()


def test_cells_with_other_columns_are_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(shards, "SCHEMA", SCHEMA.append(pa.field("more", pa.int32())))
        CellStore.open(tmp_path, CONTEXT).write(cells(ITEMS, contents=READINGS))
    assert len(CellStore.open(tmp_path, CONTEXT)) == 0
    assert "are left alone" in caplog.text


@pytest.mark.parametrize("file", ["states", "readings"])
def test_a_full_disk_leaves_earlier_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str):
    store = CellStore.open(tmp_path, CONTEXT, STATES)
    scored = cells(ITEMS)
    first, second = scored[:3], scored[3:]
    store.write(first)
    before = files(tmp_path)
    with monkeypatch.context() as patch:
        original, calls = os.fsync, []

        def full(descriptor: int) -> None:
            calls.append(descriptor)
            # The file, its folder, the next file.
            if len(calls) == {"states": 1, "readings": 3}[file]:
                raise OSError(errno.ENOSPC, "No space left on device")
            original(descriptor)

        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match=r"no space left.*intact") as caught:
            store.write(second)
    assert str(tmp_path) in str(caught.value)
    assert files(tmp_path) == before
    assert store.get(prompts(second)) == [None] * 3
    same(store.get(prompts(first)), first)
    assert held(tmp_path, [*first, *second]) == [True] * 3 + [False] * 3
    store.write(second)
    assert held(tmp_path, [*first, *second]) == [True] * 6


def test_a_failed_write_leaves_the_same_shard_of_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one, two = (CellStore.open(tmp_path, CONTEXT, STATES) for _ in range(2))
    path = one.write(cells(ITEMS))
    with monkeypatch.context() as patch:
        original = Path.replace

        def full(self: Path, target: Path) -> Path:
            if target == path:
                raise OSError(errno.ENOSPC, "No space left on device")
            return original(self, target)

        patch.setattr(Path, "replace", full)
        with pytest.raises(StoreError, match="no space left"):
            two.write(cells(ITEMS))
    assert held(tmp_path, cells(ITEMS)) == [True] * 6


@pytest.mark.parametrize(("dtype", "way_out"), [("float16", "bfloat16 or float32"), ("bfloat16", "float32")])
def test_states_beyond_the_number_type_are_refused(tmp_path: Path, dtype: str, way_out: str):
    wanted = CellContents(NAMES, dtype)
    store = CellStore.open(tmp_path, CONTEXT, wanted)
    scored = cells(ITEMS, "think", wanted)
    states = scored[4].states
    assert states is not None
    states[2, 1] = {"float16": -65520.0, "bfloat16": 3.4e38}[dtype]
    with pytest.raises(StoreError) as caught:
        store.write(scored)
    text = str(caught.value)
    assert text.startswith(f"item q4, condition think: the state layer_1 is beyond the range of {dtype};")
    assert text.endswith(f"capture.dtype={way_out}")
    assert files(tmp_path) == ["fingerprint.json"]
    states[2, 1] = math.inf  # no number was lost: the model said so
    store.write(scored)
    (found,) = store.get([scored[4].prompt])
    assert found is not None
    assert found.states is not None
    assert found.states[2, 1] == math.inf


def test_cells_without_what_was_asked_for_are_defects(tmp_path: Path):
    (plain,) = cells(["q1"], contents=READINGS)
    (full,) = cells(["q1"], contents=CellContents(NAMES, "float32", lens=True, top_k=2))
    for wanted, cell, message in [
        (READINGS, replace(plain, states=torch.zeros(4, 2)), "4 states"),
        (STATES, plain, "0 states"),
        (STATES, replace(plain, states=torch.zeros(3, 2)), "3 states"),
        (READINGS, replace(plain, lens=(plain.reading,)), "1 lens readings"),
        (CellContents(NAMES, "float32", lens=True, top_k=1), full, "more top tokens"),
    ]:
        store = CellStore.open(tmp_path, CONTEXT, wanted)
        with pytest.raises(ValueError, match=f"item q1, condition direct: {message}"):
            store.write([cell])
    assert files(tmp_path) == ["fingerprint.json"]


def test_contents_that_cannot_be_kept_are_refused():
    with pytest.raises(ValueError, match="float64; known: float16, bfloat16, float32"):
        CellContents(dtype="float64")
    with pytest.raises(ValueError, match="not unique"):
        CellContents(("layer_0", "layer_0"))


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreError, match="cannot write in"):
        CellStore.open(tmp_path / "new", CONTEXT)
