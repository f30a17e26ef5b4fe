"""Fit, select and test of a training: who has which rows, with which states, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import probes.captures
from probes.captured import Captured, parts, unread_notes, write_roles
from probes.part import Part
from probes.random_weights import with_random_weights
from probes.reader import reader_of
from probes.runs import require_states
from tests.test_config import composed
from thinkgap.errors import ConfigError, DataError, StoreError
from thinkgap.evaluation.native import run_native
from thinkgap.schema import EvaluateConfig, TrainConfig
from thinkgap.store.features import features_of_run
from thinkgap.store.records import read_records

Linear = Callable[..., TrainConfig]


def rows(part: Part) -> list[tuple[str, str]]:
    return list(zip(part.item_id.tolist(), part.presentation.tolist(), strict=True))


def check_against_runs(made: Sequence[Part], *names: str) -> None:
    """Every value of every part is what the records and states of its run say of that row."""
    for part in made:
        for run in reader_of(part).runs:
            records = {record.key[:3]: record for record in read_records(run.folder)}
            for condition in part.conditions:
                stored = features_of_run(run.folder, names, condition)
                keys = zip(*(stored.rows[name].to_pylist() for name in ("item_id", "presentation")), strict=True)
                at = {key: row for row, key in enumerate(keys)}
                places = [row for row, key in enumerate(rows(part)) if key in at]
                own = part.chosen(places)
                picked = [at[key] for key in rows(own)]
                assert torch.equal(own.states(condition, names), stored.states[picked].float())
                for row, key in enumerate(rows(own)):
                    record = records[(*key, condition)]
                    assert (own.gold[row], own.k[row]) == (record.gold_slot, record.k)
                    assert own.native[condition][row] == record.pred_slot
                    assert own.group_id[row] == record.group_id


def test_each_role_reads_its_split(linear: Linear, tmp_path: Path) -> None:
    captured = parts(linear("probe.permutations=2"))
    for part, split in zip(captured.parts, ("train", "validation", "test"), strict=True):
        assert (part.n_questions, len(part)) == (12, 24)
        assert all(f"/{split}/" in item for item in part.item_id)
        assert Counter(part.presentation.tolist()) == {"identity": 12, "permutation_1": 12}
        assert part.conditions == ("direct", "let_me_think")
        assert part.names == ("embeddings", "layer_0", "layer_1", "layer_2", "final_norm")
    check_against_runs(captured.parts, "layer_1", "final_norm")
    assert captured.text_only is None
    assert (captured.notes, captured.dropped) == ((), {})
    assert [one["name"] for one in captured.conditions] == ["direct", "let_me_think"]
    assert captured.model["class"] == "LlamaForCausalLM"
    counts = captured.splits["fit"]
    assert (counts.source, counts.items, counts.rows) == ("train", 12, 24)
    assert sum(counts.gold_slots.values()) == 24
    assert counts.gold_slots[0] == int((captured.fit.gold == 0).sum())
    write_roles(tmp_path, captured.parts)
    roles = pd.read_csv(tmp_path / "roles.csv")
    assert Counter(roles["role"]) == {"fit": 12, "select": 12, "test": 12}
    assert set(roles[roles["role"] == "test"]["item_id"]) == set(captured.test.item_id.tolist())


def test_states_come_in_any_order_and_stored_type(linear: Linear, tmp_path: Path) -> None:
    fit = parts(linear("probe.fit=train+validation", "probe.select=test", "model.dtype=bfloat16")).fit
    assert fit.n_questions == 24, "12 of each split of the sum"
    mixed = fit.chosen([20, 3, 13, 3])
    stored = fit.reader(mixed.source, "direct", ["final_norm", "layer_0"])
    assert stored.dtype is torch.bfloat16
    every = fit.states("direct", ["layer_0", "final_norm"])
    assert torch.equal(stored.float(), every[[20, 3, 13, 3]].flip(1))


def jsonl(folder: Path, **splits: list[dict[str, Any]]) -> list[str]:
    """Overrides for a data set with these rows by split."""
    folder.mkdir(exist_ok=True)
    for split, made in splits.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    return ["dataset=jsonl", f"dataset.path={folder}", "dataset.limit=null"]


def question(n: int) -> dict[str, Any]:
    return {"question": f"What is {n} and {n}?", "choices": [str(2 * n), str(n), "7"], "answer": n % 3}


def test_a_pool_is_shared_out_by_group(linear: Linear, tmp_path: Path) -> None:
    # Two questions to a group, as those of one passage are.
    made = [question(n) | {"group_id": f"passage {n // 2}"} for n in range(20, 60)]
    overrides = jsonl(tmp_path / "set", test=made)
    captured = parts(linear(*overrides, "probe.examples=null", "probe.select_examples=null"))
    owner = {item: part.role for part in captured.parts for item in part.item_id}
    assert len(owner) == 40
    of_group: dict[str, set[str]] = {}
    for part in captured.parts:
        for group, item in zip(part.group_id.tolist(), part.item_id.tolist(), strict=True):
            of_group.setdefault(group, set()).add(owner[item])
    assert len(of_group) == 20
    assert all(len(roles) == 1 for roles in of_group.values())
    assert all(len(part) for part in captured.parts)
    check_against_runs(captured.parts, "layer_1", "final_norm")
    (folder,) = captured.manifests
    cut = parts(linear(*overrides, "probe.examples=5", "probe.select_examples=3"))
    assert [part.n_questions for part in cut.parts] == [5, 3, captured.test.n_questions]
    assert set(cut.fit.item_id.tolist()) < set(captured.fit.item_id.tolist())
    assert set(cut.manifests) == {folder}, "the pool is read once, and cut afterwards"
    other = parts(linear(*overrides, "dataset.seed=1", "probe.examples=null"))
    assert set(other.fit.item_id.tolist()) != set(captured.fit.item_id.tolist())


def leaking(folder: Path) -> list[str]:
    """2 of 8 fit questions are asked again in test, one of them in select too, and 1 select question in test."""
    return jsonl(
        folder,
        train=[question(n) for n in range(20, 28)],
        validation=[question(n) for n in (27, 40, 41, 42, 50)],
        test=[question(n) for n in (26, 27, 50, 60, 61, 62)],
    )


def test_shared_items_are_refused_with_the_way_out(
    linear: Linear, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And before the model, which may take hours, reads anything."""

    def refuse(*_given: Any, **_named: Any) -> Any:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr("probes.captures.load_model", refuse)
    with pytest.raises(DataError) as caught:
        parts(linear(*leaking(tmp_path / "set")))
    message = str(caught.value)
    assert "2 fit items share something with test items (2 by group): jsonl/train/000006, jsonl/train/000007" in message
    assert "1 fit items share something with select items (1 by group): jsonl/train/000007" in message
    assert "2 select items share something with test items (2 by group)" in message
    assert "probe.shared=drop, or name other splits" in message


def test_shared_items_are_left_out(linear: Linear, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    captured = parts(linear(*leaking(tmp_path / "set"), "probe.shared=drop"))
    assert [part.n_questions for part in captured.parts] == [6, 3, 6]
    assert captured.dropped == {
        "fit": {"jsonl/train/000006": "group of a test item", "jsonl/train/000007": "group of a test item"},
        "select": {
            "jsonl/validation/000000": "group of a test item",
            "jsonl/validation/000004": "group of a test item",
        },
    }
    assert "2 of 8 fit items were left out: 2 by group of a test item." in captured.notes
    assert "2 of 5 select items were left out" in caplog.text


@pytest.fixture(scope="module")
def evaluations() -> dict[tuple[str, ...], Path]:
    """Folders of finished evaluations, by their settings."""
    return {}


@pytest.fixture
def finished(
    linear: Linear, evaluations: dict[tuple[str, ...], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """`finished(*overrides)`: a finished evaluation with all states, one for all tests, which leave it as it is."""

    def made(*overrides: str, family: str = "llama") -> Path:
        key = (family, *overrides)
        if key not in evaluations:
            path = linear(family=family).model.path
            defaults = ["model=local", f"model.path={path}", "dataset=toy_facts", "dataset.limit=12", "logger=none"]
            defaults += [
                "trigger=let_me_think",
                "evaluation.capture.enabled=true",
                "evaluation.capture.embeddings=true",
            ]
            folder = tmp_path_factory.mktemp("evaluations") / "run"
            run_native(composed(*defaults, "evaluation.capture.final_norm=true", *overrides), folder)
            evaluations[key] = folder
        return evaluations[key]

    return made


def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes.captures, "load_model", lambda _cfg: pytest.fail("a model was loaded"))


def test_runs_by_hand_need_no_model(
    linear: Linear, finished: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {
        role: finished(f"dataset.split={split}")
        for role, split in (("fit", "train"), ("select", "validation"), ("test", "test"))
    }
    no_model(monkeypatch)
    cfg = linear(*(f"probe.{role}_features={folder}" for role, folder in folders.items()), "probe.examples=7")
    captured = parts(cfg)
    assert [part.n_questions for part in captured.parts] == [7, 12, 12]
    assert set(captured.manifests) == {str(folder) for folder in folders.values()}
    assert captured.head_rows is None
    assert captured.notes == ("The model's own rows for labels were not kept beside these runs.",)
    check_against_runs(captured.parts, "layer_1", "final_norm")


def test_items_that_could_not_be_read_are_counted() -> None:
    def run(*excluded: str) -> Any:
        return SimpleNamespace(manifest={"excluded": [{"item": item, "reason": "too long"} for item in excluded]})

    train: Any = SimpleNamespace(pool=SimpleNamespace(source="dev+train"), runs=(run("a"), run("b", "c")))
    test: Any = SimpleNamespace(pool=SimpleNamespace(source="test"), runs=(run(),))
    said = "3 items of dev+train could not be read and are in no role (the first is a: too long)."
    assert unread_notes([train, test]) == [said]


def test_a_run_alone_to_fit_on(linear: Linear, finished: Callable[..., Path], tmp_path: Path) -> None:
    folder = finished("dataset.split=train", "dataset.limit=40", "evaluation.permutations=2")
    captured = parts(linear(f"probe.fit_features={folder}", "probe.examples=null"))
    assert captured.fit.n_questions + captured.select.n_questions == 40
    assert captured.select.n_questions > 0
    assert not set(captured.fit.group_id.tolist()) & set(captured.select.group_id.tolist())
    assert len(captured.fit) == 2 * captured.fit.n_questions, "all orders that the run shows"
    assert captured.test.n_questions == 12
    assert captured.head_rows is not None, "of the capture of the test split"
    assert captured.splits["fit"].source == str(folder)
    check_against_runs(captured.parts, "layer_1", "final_norm")


def test_rewritten_items_are_in_no_role(linear: Linear, finished: Callable[..., Path]) -> None:
    rewritten = ["evaluation.variants.rewrites=[verification]", "evaluation.variants.surface=[shuffle]"]
    with_rewrites = finished("dataset.split=train", *rewritten)
    assert {record.presentation for record in read_records(with_rewrites)} == {
        *("identity", "surface_shuffle", "verification_positive", "verification_negative")
    }
    given = [f"probe.{role}_features={finished(f'dataset.split={split}')}"
             for role, split in (("select", "validation"), ("test", "test"))]  # fmt: skip
    given.append("probe.examples=null")
    made = parts(linear(f"probe.fit_features={with_rewrites}", *given)).fit
    assert set(made.presentation.tolist()) == {"identity"}
    plain = parts(linear(f"probe.fit_features={finished('dataset.split=train')}", *given)).fit
    assert rows(made) == rows(plain)
    # Batches differ, and with them the last bits.
    for condition in made.conditions:
        torch.testing.assert_close(made.states(condition, ["final_norm"]), plain.states(condition, ["final_norm"]))


def test_runs_that_do_not_belong_together(linear: Linear, finished: Callable[..., Path], tmp_path: Path) -> None:
    fit = finished("dataset.split=train")
    given = [f"probe.fit_features={fit}", "probe.examples=null"]
    with pytest.raises(StoreError, match=r"another model than model=qwen3 \(class: LlamaForCausalLM there"):
        parts(linear(*given, family="qwen3"))
    other = finished(family="gemma3")
    with pytest.raises(StoreError, match="was computed by another model than model=gemma3"):
        parts(linear(*given, f"probe.test_features={other}"))
    with pytest.raises(StoreError, match=r"has no condition reasoning \(it has direct, let_me_think\), and"):
        parts(linear(*given, "trigger=reasoning"))
    with pytest.raises(StoreError, match="prompt.instruction is '' in .* and 'Answer.' in"):
        parts(linear(*given, "prompt.instruction=Answer."))
    few = finished("evaluation.capture.layers=[0]", "evaluation.capture.embeddings=false")
    with pytest.raises(StoreError, match=r"kept no state 'embeddings' \(it has layer_0, final_norm\); run that"):
        parts(linear(*given, f"probe.test_features={few}"))
    named = parts(linear(*given, f"probe.test_features={few}", "probe.states=[layer_0]"))
    assert named.fit.names == named.test.names == ("layer_0", "final_norm"), "and the headline's"
    with pytest.raises(StoreError, match="probe.test_features: .*give the folder of a run"):
        parts(linear(f"probe.test_features={tmp_path / 'nothing'}"))
    run_folder = tmp_path / "stateless"
    run_native(
        composed(
            "model=local", f"model.path={linear().model.path}", "dataset=toy_facts", "dataset.limit=6", "logger=none"
        ),
        run_folder,
    )
    with pytest.raises(StoreError, match="probe.test_features: .* kept no states; run that evaluation with"):
        parts(linear(f"probe.test_features={run_folder}"))


def test_further_conditions_of_a_run_are_left_out_with_a_note(
    linear: Linear, finished: Callable[..., Path], tmp_path: Path
) -> None:
    fit = finished("dataset.split=train", "trigger=[let_me_think,reasoning]")
    captured = parts(linear(f"probe.fit_features={fit}"))
    assert captured.fit.conditions == captured.test.conditions == ("direct", "let_me_think")
    assert any(note.startswith(f"Conditions reasoning of {fit} are not used") for note in captured.notes)


def test_a_width_of_its_own_is_refused(linear: Linear, tmp_path: Path) -> None:
    captured = parts(linear("probe.select=train"))
    (run,) = reader_of(captured.fit).runs
    (other,) = reader_of(captured.test).runs
    other.features.d = 128
    with pytest.raises(StoreError, match=r"have width 64, in .* 128"):
        require_states([run, other], ["final_norm"])


def test_the_hash_of_a_prompt_is_of_no_item(linear: Linear, tmp_path: Path) -> None:
    shared = ["probe.fit=test", "probe.select=test", "dataset.limit=30", "probe.states=[layer_0]"]
    first = parts(linear(*shared)).prompt_hash
    assert set(first) == {"direct", "let_me_think"}
    assert len(set(first.values())) == 2
    assert parts(linear(*shared, "dataset.limit=31", "dataset.seed=3")).prompt_hash == first
    changed = parts(linear(*shared, "prompt.instruction=Answer.")).prompt_hash
    assert all(changed[name] != first[name] for name in first)
    placed = parts(linear(*shared, "trigger.placement=assistant")).prompt_hash
    assert placed["let_me_think"] != first["let_me_think"]


@pytest.mark.parametrize(
    ("overrides", "error", "message"),
    [
        (["probe.conditions=[direct,let_me_thnk]"], ConfigError, "did you mean 'let_me_think'"),
        (["probe.conditions=[]"], ConfigError, "probe.conditions is empty"),
        (["probe.permutations=0"], ConfigError, "probe.permutations=0: must be at least 1"),
        (["probe.shares=[0.6,0.4]"], ConfigError, "give three shares from 0 to 1"),
        (["probe.examples=0"], ConfigError, "probe.examples=0: must be at least 1"),
        (["probe.examples=4"], DataError, "4 fit questions are fewer than the 5 slots"),
        (["probe.fit=dev"], ConfigError, r"probe.fit \(dev\): toy_facts has no split 'dev'"),
        (
            ["probe.fit=test", "probe.select=test", "dataset.limit=1"],
            DataError,
            r"no (fit|select|test) item is left in the source's own order .* probe.shares",
        ),
    ],
)
def test_what_is_refused(
    linear: Linear, tmp_path: Path, overrides: list[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        parts(linear(*overrides))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("probe.conditions=[let_me_thnk]", "did you mean 'let_me_think'"),
        ("probe.state=layer_7", "has no layer_7; it has layer_0 to layer_2"),
    ],
)
def test_names_that_are_not_there_are_refused_before_the_model_reads(
    linear: Linear, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, override: str, message: str
) -> None:
    def read(*_: Any, **__: Any) -> None:
        raise AssertionError("the model read something")

    monkeypatch.setattr("probes.captures.run_quietly", read)
    with pytest.raises(ConfigError, match=message):
        parts(linear(override))


def test_prompts_without_their_images(linear: Linear, tmp_path: Path) -> None:
    scenes = ["dataset=digit_scenes", "dataset.limit=16", "dataset.generation.size=60", "probe.examples=16"]
    wanted = ["probe.controls.text_only=true", "probe.states=[layer_0]", "probe.permutations=2"]
    captured = parts(linear(*scenes, *wanted, family="qwen25vl"))
    assert captured.text_only is not None
    for part, shown in zip(captured.text_only, captured.parts, strict=True):
        assert set(part.presentation.tolist()) == {"control_text_only"}
        assert set(part.item_id.tolist()) < set(shown.item_id.tolist()), "those with an image"
        assert set(shown.presentation.tolist()) == {"identity", "permutation_1"}
        same = shown.shown("identity").chosen(np.isin(shown.shown("identity").item_id, part.item_id))
        assert same.item_id.tolist() == part.item_id.tolist()
        assert torch.equal(same.gold, part.gold)
        assert not torch.equal(same.state("direct", "layer_0"), part.state("direct", "layer_0"))
    without = parts(linear("probe.controls.text_only=true"))
    assert without.text_only is None
    assert any("too few fit items are shown so" in note for note in without.notes)


def test_the_same_parts_under_random_weights(
    linear: Linear, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: Callable[..., Path]
) -> None:
    load = probes.captures.load_model
    seeds: list[int | None] = []

    def load_random(cfg: EvaluateConfig) -> Any:
        backend = load(replace(cfg, model=replace(cfg.model, random_weights=None)))
        seeds.append(cfg.model.random_weights)
        if cfg.model.random_weights is not None:
            torch.manual_seed(cfg.model.random_weights)
            for parameter in backend.model.parameters():
                torch.nn.init.normal_(parameter, std=0.1)
            backend.revision = f"random:{cfg.model.random_weights}"
        return backend

    monkeypatch.setattr(probes.captures, "load_model", load_random)
    fit = finished("dataset.split=train", "evaluation.controls=[options_only]")
    cfg = linear(f"probe.fit_features={fit}", "probe.examples=null", "probe.permutations=2")
    captured = parts(cfg)
    other = with_random_weights(cfg, captured, 5)
    assert seeds == [None, 5], "one load for all captures of a model"
    for own, same in zip(other, captured.parts, strict=True):
        assert rows(own) == rows(same)
        assert torch.equal(own.gold, same.gold)
        assert own.names == ("final_norm",), "what the control reads"
        assert not torch.allclose(own.state("direct", "final_norm"), same.state("direct", "final_norm"), atol=1e-2)
    check_against_runs(other, "final_norm")
    runs = {run.folder: run for part in other for run in reader_of(part).runs}
    assert set(map(str, runs)).isdisjoint(captured.manifests)
    assert all(run.states == ("final_norm",) for run in runs.values())
    no_model(monkeypatch)
    again = with_random_weights(cfg, captured, 5)
    assert torch.equal(again[2].state("direct", "final_norm"), other[2].state("direct", "final_norm"))


def test_random_weights_of_another_model_than_a_given_run_are_refused(
    linear: Linear, finished: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [f"probe.{role}_features={finished(f'dataset.split={split}')}"
             for role, split in (("fit", "train"), ("select", "validation"), ("test", "test"))]  # fmt: skip
    cfg = linear(*given, "probe.examples=null", family="qwen3")
    load = probes.captures.load_model
    monkeypatch.setattr(
        probes.captures, "load_model", lambda one: load(replace(one, model=replace(one.model, random_weights=None)))
    )
    with pytest.raises(ConfigError, match="is of another model than model=qwen3 .*probe.controls.random_weights=false"):
        with_random_weights(cfg, parts(cfg), 5)


def overlap(captured: Captured) -> Mapping[str, int]:
    return {role: len(items) for role, items in captured.dropped.items()}


@pytest.fixture
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf_datasets")


@pytest.mark.usefixtures("_own_cache")
def test_mmlu_has_no_train_split(linear: Linear, shared_data: Path, tmp_path: Path) -> None:
    real = ["dataset=mmlu", f"dataset.path={shared_data / 'mmlu'}", "probe.shared=drop", "trigger=direct"]
    captured = parts(linear(*real, "dataset.limit=40"))
    assert [captured.splits[role].source for role in ("fit", "select", "test")] == ["test", "validation", "test"]
    assert captured.fit.n_questions <= 12
    assert captured.fit.n_questions + captured.test.n_questions <= 40
    summed = parts(linear(*real, "probe.fit=dev+validation", "dataset.limit=15"))
    assert captured.splits["select"].source == "validation"
    assert {item.split("/")[1] for item in summed.fit.item_id} == {"dev", "validation"}
    assert summed.splits["select"].source == "dev+validation", "validation is taken, so select is a share of fit"
    assert summed.fit.n_questions + summed.select.n_questions == 2 * 15 - sum(overlap(summed).values())


@pytest.mark.usefixtures("_own_cache")
def test_scienceqa_items_without_images(linear: Linear, shared_data: Path, tmp_path: Path) -> None:
    real = ["dataset=scienceqa", f"dataset.path={shared_data / 'scienceqa'}", "probe.shared=drop"]
    texts = [
        "probe.fit=train[text]",
        "probe.select=validation[text]",
        "probe.test=test[text]",
        "probe.states=[layer_0]",
    ]
    captured = parts(linear(*real, *texts))
    assert captured.splits["fit"].source == "train[text]"
    assert [part.n_questions for part in captured.parts] == [
        12 - overlap(captured).get(role, 0) for role in ("fit", "select", "test")
    ]
