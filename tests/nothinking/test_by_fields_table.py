"""Responses by fields of the items: every level by hand, at the start of a run, and in replays of runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.table import main
from tests.evaluation.no_thinking_runs import cell, items_file, settings, started
from tests.nothinking.scripted_models import frames, knows, numbers
from thinkgap.errors import ConfigError
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.nothinking.by_fields import by_fields_sheet, values_of_responses
from thinkgap.nothinking.run_sheets import as_given, nothinking_sheets
from thinkgap.nothinking.variants import Variants
from thinkgap.schema import VariantsConfig
from thinkgap.store.items import read_items
from thinkgap.types import Presentation

ITEMS = (
    {"id": "m", "question": "Which is largest?", "choices": ["2", "7", "3"], "answer": "B", "subject": "numbers",
     "meta": {"area": "sums", "level": "Level 10"}},
    {"id": "n", "question": "Which is smallest?", "choices": ["2", "7"], "answer": "A", "meta": {"level": "Level 2"}},
    {"id": "b", "question": "Does ice float?", "answer": True},
    {"id": "o", "question": "What is 3 + 4?", "answer": "7"},
)  # fmt: skip


def thinks(shown: Presentation) -> str:
    """Reasons over q0 in three words and over q1 after its answer; wrong on q2."""
    reply = knows(shown)
    return {"q0": f"Because it adds. {reply}", "q1": f"{reply} Just so.", "q2": r"\boxed{C}"}.get(shown.item.id, reply)


def test_all_levels_by_hand() -> None:
    # Right options of q0 to q3 are A, B, C, D; q2 is said to be A.
    def says(shown: Presentation) -> str:
        return r"\boxed{A}" if shown.item.id == "q2" else thinks(shown)

    responses, relevance, judgements = frames(
        [replace(item, subject="even" if place % 2 == 0 else "odd") for place, item in enumerate(numbers(4))],
        says,
        VariantsConfig(surface=["shuffle"], rewrites=["verification"]),
        explicit="Because",
    )
    given = as_given(responses)
    variants = Variants.of(given, as_given(relevance), as_given(judgements))
    sheet = by_fields_sheet(variants, values_of_responses(given, ["subject", "k"]), ["subject", "k"])
    assert sheet.name == "by_subject_k"
    assert [row[:6] for row in sheet.rows] == [("m", "d", one, "4", "strict", 2) for one in ("even", "odd")]

    def figure(column: str, subject: str) -> float:
        return cell(sheet, column, subject=subject).value

    # even: q0 reasons first, q2 is wrong and bare. odd: q1 adds words after its answer, q3 is bare.
    assert (figure("accuracy", "even"), figure("accuracy", "odd")) == (0.5, 1)
    assert (figure("etr_prefix", "even"), figure("etr_prefix", "odd")) == (0.5, 1)
    assert (figure("etr_strict", "even"), figure("etr_strict", "odd")) == (0.5, 0.5)
    names = [column.name for column in sheet.columns]
    relevances = [name for name in names if name.startswith("qrel")]
    explicit = [name for name in names if name.startswith("explicit")]
    assert len(relevances) == len(explicit) == 1
    # Cosine 0.5 and explicit on q0 alone, over all responses.
    assert (figure(relevances[0], "even"), figure(relevances[0], "odd")) == (0.25, 0)
    assert (figure(explicit[0], "even"), figure(explicit[0], "odd")) == (0.5, 0)
    assert (figure("visible_words", "even"), figure("visible_words", "odd")) == (1.5, 0)


def test_a_run_groups_by_what_it_was_asked_and_refuses_what_no_item_has(
    tiny_model: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = items_file(tmp_path / "items.jsonl", ITEMS)

    def config(*overrides: str) -> Any:
        return settings("model=local", "model.path=nowhere", *overrides, items=file, mode="mode=[strict,think_off]")

    with pytest.raises(ConfigError, match="no item has a field 'levels'; did you mean 'level'"):
        run_no_thinking(config("evaluation.by=[levels]"), tmp_path / "refused")
    model = f"model.path={tiny_model('llama')}"
    sheets, _, _ = started(config(model, "evaluation.by=[level,k]"), tmp_path / "run")
    assert "No-thinking by level, k" in capsys.readouterr().out
    assert (tmp_path / "run" / "by_level_k.csv").exists()
    assert [row[2:6] for row in sheets["by_level_k"].rows] == [
        *(("Level 2", "2", mode, 1) for mode in ("strict", "think_off")),
        *(("Level 10", "3", mode, 1) for mode in ("strict", "think_off")),
        *(("(none)", "0", mode, 1) for mode in ("strict", "think_off")),
        *(("(none)", "2", mode, 1) for mode in ("strict", "think_off")),
    ]
    assert main([str(tmp_path / "run"), "--by", "area"]) == 0
    assert "No-thinking by area" in capsys.readouterr().out

    # Further judges and encoders read the same responses; the items come along, so that fields are known.
    replay = config(f"responses={tmp_path / 'run'}", "evaluation.by=[level]", "judge=rules")
    sheets, _, _ = started(replay, tmp_path / "replay")
    assert [row[2] for row in sheets["by_level"].rows[::2]] == ["Level 2", "Level 10", "(none)"]
    kept, own = read_items(tmp_path / "replay"), read_items(tmp_path / "run")
    assert kept is not None
    assert own is not None
    assert kept.equals(own)
    with pytest.raises(ConfigError, match="no item has a field 'grade'"):
        run_no_thinking(config(f"responses={tmp_path / 'run'}", "evaluation.by=[grade]"), tmp_path / "other")

    # Without the file, responses know some fields themselves.
    (tmp_path / "run" / "items.parquet").unlink()
    sheet = next(one for one in nothinking_sheets(tmp_path / "run", ["space", "k"]) if one.name == "by_space_k")
    assert [row[2:4] for row in sheet.rows[::2]] == [("bool", "2"), ("mcq", "2"), ("mcq", "3"), ("open", "0")]
    with pytest.raises(ConfigError, match="no item has a field 'level'.*area, group, k, space, split, subject"):
        run_no_thinking(config(f"responses={tmp_path / 'run'}", "evaluation.by=[level]"), tmp_path / "late")
