"""The comprehension check within runs: a local and a served model, resumed, refused, and shown in W&B."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.served.loopback import KEY, KEY_ENV, Answer, Loopback, chat
from tests.evaluation.no_thinking_runs import cell, items_file, settings, started
from tests.tracking.wandb_file import read as read_wandb
from thinkgap.errors import ConfigError
from thinkgap.evaluation import generate as generated
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.nothinking.comprehension import read_exchanges
from thinkgap.readouts.sheet import Missing
from thinkgap.schema import EvaluateConfig
from thinkgap.types import Thinking

ON = "evaluation.comprehension.enabled=true"
ALL = [
    ("strict", space, wording)
    for space in ("bool", "mcq", "open")
    for wording in ("allowed", "examples", "permits", "ruled_out")
]


def exchanges_of(folder: Path) -> dict[tuple[str, str, str], Any]:
    found = read_exchanges(folder / "comprehension.parquet")
    return {(one.question.mode, one.question.space, one.question.wording): one for one in found}


@pytest.fixture
def local(tiny_model: Callable[[str], Path], tmp_path: Path) -> Callable[..., EvaluateConfig]:
    """`local(*overrides, family=)`: settings of a tiny model on the three items, under `strict`."""
    items = items_file(tmp_path / "items.jsonl")

    def composed_with(*overrides: str, family: str = "llama", mode: str = "mode=strict") -> EvaluateConfig:
        model = ("model=local", f"model.path={tiny_model(family)}", f"model.name={family}")
        return settings(*model, *overrides, items=items, mode=mode)

    return composed_with


def test_a_local_model_is_asked_and_its_replies_are_found_again(
    local: Callable[..., EvaluateConfig],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keep, kept = generated._Keeper.keep, []
    monkeypatch.setattr(generated._Keeper, "keep", lambda self, reply: (kept.append(reply), keep(self, reply)))
    sheets, rows, _ = started(local(ON), tmp_path / "run")
    assert len(kept) == 3 + len(ALL)
    found = exchanges_of(tmp_path / "run")
    assert sorted(found) == ALL
    assert len(rows) == 3, "the check is no item and in no other table"
    for reply in kept[3:]:
        (one,) = [one for one in found.values() if one.question.id == reply.prompt.presentation.item.id]
        assert one.question.text in reply.prompt.text
        assert one.response.completion_tokens == len(reply.token_ids)
    assert "### What the model says that its instructions permit" in capsys.readouterr().out
    sheet = sheets["nothinking_comprehension"]
    rates = [cell(sheet, "etr_strict", space=space, wording="allowed").value for space in ("bool", "mcq", "open")]
    assert rates == [float(row["etr_strict"]) for row in rows], "items b, m and o, one of each answer space"
    first = (tmp_path / "run" / "comprehension.parquet").read_bytes()
    run_no_thinking(local(ON), tmp_path / "run")
    run_no_thinking(local(ON), tmp_path / "other")
    assert len(kept) == 3 + len(ALL), "nothing is generated again"
    assert {(tmp_path / name / "comprehension.parquet").read_bytes() for name in ("run", "other")} == {first}


def test_each_mode_is_asked_with_its_own_thinking_switch(local: Callable[..., EvaluateConfig], tmp_path: Path) -> None:
    given = [ON, "evaluation.comprehension.wordings=[allowed]", "mode.conditions.soft.thinking=enabled"]
    started(local(*given, family="qwen3", mode="mode=[think_on,strict,soft]"), tmp_path / "run")
    asked = [one.question for one in exchanges_of(tmp_path / "run").values()]
    assert {(one.mode, one.thinking) for one in asked} == {("strict", Thinking.disabled), ("soft", Thinking.enabled)}
    assert len(asked) == 6


def test_it_is_off_unless_asked_for_and_leaves_nothing(local: Callable[..., EvaluateConfig], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "comprehension.parquet").write_text("left by a run that never ended", encoding="utf-8")
    sheets, _, _ = started(local(), tmp_path / "run")
    assert "nothinking_comprehension" not in sheets
    assert not (tmp_path / "run" / "comprehension.parquet").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["evaluation.comprehension.wordings=[alowed]"], "did you mean 'allowed'"),
        ([ON, "responses=some.jsonl"], "evaluation.comprehension asks a model"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    local: Callable[..., EvaluateConfig], tmp_path: Path, overrides: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        run_no_thinking(local(*overrides), tmp_path / "run")


def said(body: dict[str, Any]) -> Answer:
    """No to each closed question, a box to each item; the reasoning of the check comes in a channel."""
    text = body["messages"][-1]["content"]
    if "ends with these lines" not in text:
        return Answer(chat("\\boxed{yes}" if "ice" in text else "I say \\boxed{B}"))
    if "which is which" in text:
        return Answer({"error": {"message": "not today"}}, status=400)
    return Answer(chat("No." if "single word" in text else "The label only.", reasoning="Hm."))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(lambda body, before: said(body)) as found:
        yield found


@pytest.fixture
def served(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., EvaluateConfig]:
    monkeypatch.setenv(KEY_ENV, KEY)
    monkeypatch.setenv("NO_PROXY", "*")
    items = items_file(tmp_path / "items.jsonl")
    model = ["model=qwen3_235b_a22b", "model.name=served", f"model.served.base_url={server.url}"]
    model += [f"model.served.api_key_env={KEY_ENV}", "model.served.max_retries=0"]
    return lambda *overrides: settings(*model, *overrides, items=items, mode="mode=strict")


def test_a_served_model_is_asked_and_shown_in_wandb_without_its_key(
    served: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path
) -> None:
    """Two data sets in one run; the three questions after examples fail and are told."""
    both = [f"+dataset@datasets.{name}=jsonl" for name in ("first", "second")]
    both += [f"datasets.{name}.path={tmp_path / 'items.jsonl'}" for name in ("first", "second")]
    given = [ON, *both, "logger=wandb", "logger.mode=offline"]
    folder = tmp_path / "run"
    sheets, rows, manifest = started(served(*given), folder)
    assert len(rows) == 6
    # The second data set's requests are those of the first.
    assert len(server.calls) == 3 + len(ALL)
    found = exchanges_of(folder)
    assert sorted(found) == [one for one in ALL if one[2] != "examples"]
    assert found["strict", "mcq", "permits"].response.channels == {"reasoning": "Hm."}
    assert any("3 of 12 questions of the comprehension check have no reply" in note for note in manifest["notes"])
    sheet = sheets["nothinking_comprehension"]
    assert cell(sheet, "etr_strict", space="bool", wording="allowed").value == 1
    assert cell(sheet, "etr_strict", space="mcq", wording="allowed").value == 0
    readings = {word: cell(sheet, "reading", space="mcq", wording=word) for word in ("allowed", "ruled_out", "permits")}
    assert (readings["allowed"], readings["ruled_out"]) == ("expected", "unexpected"), "it says no to both"
    assert isinstance(readings["permits"], Missing)

    logged = read_wandb(folder)
    tables = {"responses", "comprehension", *sheets}
    assert {"nothinking", "nothinking_spaces", "nothinking_models", "nothinking_subjects", "nothinking_areas"} <= tables
    assert {f"{name}.path" for name in tables} <= set(logged["history"])
    file = next(folder.glob(f"wandb/**/{logged['history']['responses.path']}"))
    stored = json.loads(file.read_text(encoding="utf-8"))
    flags = {"control_leak", "channel_swap", "truncated", "refused", "content_filtered", "empty", "status"}
    assert flags <= set(stored["columns"])
    assert {row[stored["columns"].index("dataset")] for row in stored["data"]} == {"first", "second"}
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 10
    assert not [file for file in files if KEY.encode() in file.read_bytes()]

    run_no_thinking(served(ON, *both), tmp_path / "again")
    assert len(server.calls) == 3 + len(ALL) + 3, "only what failed is asked again"


def test_an_estimate_counts_the_check(served: Callable[..., EvaluateConfig], server: Loopback, tmp_path: Path) -> None:
    (sheet,) = run_no_thinking(served(ON, "evaluation.estimate=true"), tmp_path / "run")
    assert [row[:2] for row in sheet.rows] == [("strict", 3), ("comprehension check", 12), ("all", 15)]
    assert not server.calls
