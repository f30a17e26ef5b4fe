"""Judgements on disk: found again under what they depend on, and under nothing else."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

from thinkgap.errors import StoreError
from thinkgap.judging.store import JudgementStore
from thinkgap.types import Judgement

CONTEXT = {"rubric": {"version": "1"}, "settings": {"seed": 0}}
ONE = Judgement("explicit_reasoning", evidence="é \ud83d", asked=2)
TWO = Judgement(None, "refused", verbatim=False, reason="the judge refused")


def test_what_was_put_is_found_again_under_its_context(tmp_path: Path) -> None:
    with JudgementStore.open(tmp_path / "made", "a/judge") as store:
        store.put(CONTEXT, {"aa": ONE, "bb": TWO})
        store.put(CONTEXT, {})
    with JudgementStore.open(tmp_path / "made", "a/judge") as store:
        assert store.path.name == "a_judge.judgements.sqlite"
        assert store.get({"settings": {"seed": 0}, "rubric": {"version": "1"}}, ["aa", "bb", "cc"]) == {
            "aa": ONE,
            "bb": TWO,
        }
        assert store.get({**CONTEXT, "settings": {"seed": 1}}, ["aa"]) == {}
        assert len(store) == 2


def test_the_first_judgement_stays(tmp_path: Path) -> None:
    with JudgementStore.open(tmp_path, "judge") as one, JudgementStore.open(tmp_path, "judge") as other:
        one.put(CONTEXT, {"aa": ONE})
        other.put(CONTEXT, {"aa": TWO, "bb": TWO})
        assert one.get(CONTEXT, ["aa", "bb"]) == {"aa": ONE, "bb": TWO}


def test_a_damaged_judgement_is_asked_for_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with JudgementStore.open(tmp_path, "judge") as store:
        store.put(CONTEXT, {"aa": ONE, "bb": TWO})
        with sqlite3.connect(store.path) as raw:
            raw.execute("UPDATE judgements SET judgement = replace(judgement, 'explicit', 'implicit')")
        with caplog.at_level(logging.WARNING):
            assert store.get(CONTEXT, ["aa", "bb"]) == {"bb": TWO}
        assert "damaged" in caplog.text
        assert len(store) == 1


def test_a_file_of_another_form_or_of_no_form(tmp_path: Path) -> None:
    with JudgementStore.open(tmp_path, "judge") as store, sqlite3.connect(store.path) as raw:
        raw.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="another version"):
        JudgementStore.open(tmp_path, "judge")
    (tmp_path / "other.judgements.sqlite").write_bytes(b"no database at all " * 100)
    with pytest.raises(StoreError, match="is damaged"):
        JudgementStore.open(tmp_path, "other")


def test_nothing_of_a_batch_is_written_if_some_of_it_cannot_be(tmp_path: Path) -> None:
    with JudgementStore.open(tmp_path, "judge") as store:
        with sqlite3.connect(store.path) as raw:
            raw.execute("CREATE TRIGGER full BEFORE INSERT ON judgements WHEN new.pair = 'bb' "
                        "BEGIN SELECT RAISE(ABORT, 'disk full'); END")  # fmt: skip
        with pytest.raises(StoreError, match="disk full"):
            store.put(CONTEXT, {"aa": ONE, "bb": TWO})
        assert len(store) == 0
        store.put(CONTEXT, {"aa": ONE})
        assert len(store) == 1
