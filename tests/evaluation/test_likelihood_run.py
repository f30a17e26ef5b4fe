"""The likelihoods of a run: records with their side table, resumed, reused, and apart from what the engine captures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.items import mcq
from tests.test_config import composed
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError, PromptError
from thinkgap.evaluation import likelihood_run
from thinkgap.evaluation.likelihood_run import run_likelihoods
from thinkgap.evaluation.prepare import prepare
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.readouts.likelihood import READOUTS, normalised
from thinkgap.scoring.engine import Engine
from thinkgap.store import RunFolder
from thinkgap.store.likelihoods import LIKELIHOODS_FILE, read_likelihoods
from thinkgap.store.records import read_records

N = 4


@pytest.fixture
def read(tiny_model: Callable[[str], Path], tmp_path: Path) -> Callable[..., dict[str, PromptError]]:
    """`read(*overrides, folder=)`: likelihoods of a tiny model on generated items, merged into records."""

    def started(*overrides: str, folder: str = "run") -> dict[str, PromptError]:
        defaults = ["model=local", f"model.path={tiny_model('llama')}", "dataset=toy_facts", "evaluation=likelihood"]
        cfg = composed(*defaults, f"dataset.limit={N}", "trigger=let_me_think", "logger=none", *overrides)
        prepared = prepare(cfg)
        run = RunFolder(tmp_path / folder)
        run.open({"a": 1})
        excluded = run_likelihoods(cfg, prepared.local, prepared.builder, prepared.presentations, run)
        run.merge(prepared.names)
        return excluded

    return started


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Prompts of each call that reached the engine."""
    calls: list[int] = []
    original = Engine.score

    def counting(self: Engine, groups: Sequence[Sequence[PreparedPrompt]]) -> Any:
        calls.append(sum(map(len, groups)))
        return original(self, groups)

    monkeypatch.setattr(Engine, "score", counting)
    return calls


def test_records_and_their_side_table(read: Callable[..., Any], tmp_path: Path, computed: list[int]) -> None:
    assert read("evaluation.permutations=3") == {}
    records = {record.key: record for record in read_records(tmp_path / "run")}
    scores = read_likelihoods(tmp_path / "run")
    assert len(scores) == N * 2, "items in the source's order only"
    assert len(records) == N * 2 * len(READOUTS)
    for one in scores:
        for readout, own in normalised(one).items():
            record = records.pop((*one.key, readout))
            assert record.label_logprobs == own
            assert record.pred_slot == own.index(max(own))
            assert record.correct == (record.pred_slot == record.gold_slot)
    assert not records
    # Every token of every option is read once at most, after the prompt and after the premise.
    assert 0 < sum(computed) <= 2 * sum(sum(one.n_tokens) for one in scores)


def test_a_finished_run_computes_nothing_and_another_reuses_its_cells(
    read: Callable[..., Any], tmp_path: Path, computed: list[int]
) -> None:
    read()
    first = [(tmp_path / "run" / name).read_bytes() for name in ("records.parquet", LIKELIHOODS_FILE)]
    computed.clear()
    read()
    assert computed == []
    read(folder="other")
    assert sum(computed) == 0
    for folder in ("run", "other"):
        assert [(tmp_path / folder / name).read_bytes() for name in ("records.parquet", LIKELIHOODS_FILE)] == first


def test_a_killed_run_resumes_to_the_same_files(
    read: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ["evaluation.reuse=false"]
    read(*settings, folder="whole")
    monkeypatch.setattr(likelihood_run, "_KEEP_SECONDS", -1.0)
    monkeypatch.setattr(likelihood_run, "MOST_READS", 1)
    original = likelihood_run.likelihood_records
    done: list[str] = []

    def dying(prompt: Any, scores: Any) -> Any:
        done.append(scores.item_id)
        if len(done) == 6:
            raise KeyboardInterrupt
        return original(prompt, scores)

    with monkeypatch.context() as patch:
        patch.setattr(likelihood_run, "likelihood_records", dying)
        with pytest.raises(KeyboardInterrupt):
            read(*settings, folder="killed")
    # Killed in the second condition of the third item, whose first condition was kept.
    kept = RunFolder(tmp_path / "killed").finished_keys()
    assert len(kept) == 5 * len(READOUTS)
    assert len(read_likelihoods(tmp_path / "killed")) == 6, "the side table is never behind the records"
    read(*settings, folder="killed")
    whole, resumed = (read_records(tmp_path / name) for name in ("whole", "killed"))
    assert [record.key for record in resumed] == [record.key for record in whole]
    for own, other in zip(resumed, whole, strict=True):
        assert own.label_logprobs == pytest.approx(other.label_logprobs, abs=1e-4)
        assert own.pred_slot == other.pred_slot
    assert len(read_likelihoods(tmp_path / "killed")) == N * 2


def test_a_lost_side_table_is_made_again(read: Callable[..., Any], tmp_path: Path) -> None:
    read()
    before = read_likelihoods(tmp_path / "run")
    (tmp_path / "run" / LIKELIHOODS_FILE).unlink()
    read()
    assert read_likelihoods(tmp_path / "run") == before
    assert len(read_records(tmp_path / "run")) == N * 2 * len(READOUTS)


def test_states_and_lens_are_not_taken_of_option_strings(read: Callable[..., Any], tmp_path: Path) -> None:
    read("evaluation.lens=true", "evaluation.capture.enabled=true")
    assert not list((tmp_path / "cells").glob("*/*.safetensors"))
    assert all(record.lens_label_logprobs == () for record in read_records(tmp_path / "run"))


def test_items_with_the_same_images_stand_side_by_side(picture: Callable[..., Any]) -> None:
    one, other = picture(10, 10, 1), picture(10, 10, 2)
    pictures = {"a": (one,), "b": (), "c": (other,), "d": (one,), "e": (), "f": (other, one), "g": (other,)}
    asked = [identity(mcq(item_id, images=images)) for item_id, images in pictures.items()]
    assert [one.item.id for one in likelihood_run._by_images(asked)] == list("adbcgef")


def test_a_control_token_in_the_premise_is_refused(read: Callable[..., Any]) -> None:
    with pytest.raises(ConfigError, match=r"evaluation.likelihood.premise: its text contains '<\|im_end\|>'"):
        read("evaluation.likelihood.premise='<|im_end|>'")
