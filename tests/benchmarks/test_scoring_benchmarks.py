"""The benchmarks run from end to end on tiny settings and write what they measured; how fast is not tested."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.efficiency import work_of
from benchmarks.harness import interleaved, to_table
from benchmarks.items import blocks, conditions, inventory, presented
from benchmarks.lm_eval import compare
from benchmarks.lm_eval_tasks import read_items, write_items, write_tasks
from benchmarks.protocol import Worker
from benchmarks.scoring import main
from tests.conftest import ROOT
from thinkgap.scoring.packed import Planned
from thinkgap.scoring.plan import LinearPrompt, build_trie
from thinkgap.types import Placement


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """`measured(name, model)`: the result of a quick run."""

    def run(name: str, model: Path, *arguments: str) -> dict[str, Any]:
        main([name, "--quick", "--threads", "1", "--model", str(model), "--out", str(tmp_path), *arguments])
        return json.loads((tmp_path / f"{name}-quick.json").read_text())

    return run


def test_vision(measured: Callable[..., dict[str, Any]], smollm2_folder: Path) -> None:
    result = measured("vision", smollm2_folder, "--items", "1")
    assert result["equal"]
    assert result["largest_logprob_difference"] < 1e-4
    assert result["prompts"] == 30
    packed, plain = result["sides"]["packed"], result["sides"]["plain"]
    assert (packed["images"]["encoded"], plain["images"]["encoded"]) == (1, 30)
    assert (packed["images"]["processed"], plain["images"]["processed"]) == (1, 1)
    assert plain["images"]["patches"] == 30 * packed["images"]["patches"] == 30 * 4 * result["image_tokens"]
    assert packed["computed_tokens"] < plain["computed_tokens"] / 5


def test_efficiency(measured: Callable[..., dict[str, Any]], tiny_model: Callable[[str], Path]) -> None:
    result = measured("efficiency", tiny_model("llama"), "--items", "1")
    assert [step["dtype"] for step in result["steps"]] == ["float32", "bfloat16"]
    for step in result["steps"]:
        assert step["limit_flops"] > 0
        assert set(step["share_of_limit"]) == {"passes", "passes with capture", "text to readings"}
        assert sum(step["shares_of_time"].values()) == pytest.approx(1.0)


def test_work_by_hand(tiny_backend: Callable[[str], Any]) -> None:
    """Two prompts of three tokens that share two: 4 nodes, 1 + 2 + 3 + 3 query-key pairs, 2 rows of logits."""
    backend = tiny_backend("llama")
    config = backend.model.config
    trie = build_trie([LinearPrompt((5, 6, 7)), LinearPrompt((5, 6, 8))])
    found = work_of(backend, [Planned(trie, ())])
    layer = backend.structure.layers[0]
    weights = sum(module.weight.numel() for module in layer.modules() if isinstance(module, torch.nn.Linear))
    width = config.num_attention_heads * layer.self_attn.head_dim
    assert found.linear == 2 * 4 * weights * config.num_hidden_layers
    assert found.attention == 4 * 9 * width * config.num_hidden_layers
    assert found.head == 2 * 2 * config.hidden_size * config.vocab_size


def test_growth(measured: Callable[..., dict[str, Any]], tiny_model: Callable[[str], Path]) -> None:
    result = measured("growth", tiny_model("llama"))
    steps = {(step["axis"], step["value"]): step for step in result["steps"]}
    assert {axis for axis, _ in steps} == {"sentences", "options", "permutations", "triggers", "items"}
    for axis, few, more in (("sentences", 1, 3), ("options", 2, 3), ("permutations", 1, 2), ("triggers", 1, 2)):
        assert steps[axis, few]["tokens/item"] < steps[axis, more]["tokens/item"]
    assert steps["triggers", 1]["context tokens"] == steps["triggers", 2]["context tokens"]


def test_gpu_script_on_whatever_is_here(measured: Callable[..., dict[str, Any]], smollm2_folder: Path) -> None:
    result = measured("gpu", smollm2_folder, "--items", "2")
    assert result["sides"]["packed"]["items"] == 2
    assert result["sides"]["packed"]["images"]["encoded"] == 2
    assert result["compared"]["plain, float32"]["prompts"] == 60
    assert result["compared"]["commonest_prediction_share"] < 0.9, "predictions too alike for flips to be seen"
    assert result["matmul_peak_tflops"] > 0


def test_a_time_limit_ends_the_run_early(measured: Callable[..., dict[str, Any]], smollm2_folder: Path) -> None:
    result = measured("gpu", smollm2_folder, "--items", "9", "--seconds", "0.01")
    assert result["sides"]["packed"]["items"] == 8, "one chunk"
    assert "packed, float32" not in result["compared"]


def test_results_name_no_host_and_no_folder(
    measured: Callable[..., dict[str, Any]], smollm2_folder: Path, tmp_path: Path
) -> None:
    text = json.dumps(measured("vision", smollm2_folder, "--items", "1"))
    for private in (os.uname().nodename, str(tmp_path), str(ROOT), str(smollm2_folder)):
        assert private not in text


def test_sides_take_turns() -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[], float]:
        return lambda: float(len(order.append(name) or order))

    assert interleaved({"a": side("a"), "b": side("b")}, 2) == {"a": [1.0, 3.0], "b": [2.0, 4.0]}
    assert order == ["a", "b", "a", "b"]


def test_tables_show_every_row() -> None:
    assert to_table([{"side": "a", "s": 0.12345}, {"side": "b", "s": None}]).splitlines() == [
        "| side | s     |",
        "|------|-------|",
        "| a    | 0.123 |",
        "| b    | -     |",
    ]


def test_items_are_the_same_everywhere_and_right() -> None:
    item = inventory(3, sentences=6, options=10)
    assert item == inventory(3, sentences=6, options=10)
    assert item.gold is not None
    shelf = item.question.split("shelf ")[1].rstrip("?")
    told = next(line for line in item.context.split(". ") if line.rstrip(".").endswith(f"shelf {shelf}"))
    assert f"counted {item.choices[item.gold]} in" in told
    assert len(set(item.choices)) == 10
    assert blocks(1, 56, 28).sha256 == blocks(1, 56, 28).sha256 != blocks(2, 56, 28).sha256


def test_the_study_s_triggers_are_read_from_the_configuration() -> None:
    names = ["direct", "let_me_think", "lets_think", "lets_solve", "lets_reason", "reasoning"]
    assert [condition.name for condition in conditions()] == names
    assert conditions(Placement.assistant)[1].text == "Let me think step by step."
    assert len(conditions(preset="endings")) >= 12


def test_both_programs_are_given_the_same_items(tmp_path: Path) -> None:
    items = presented([inventory(0), inventory(1)], 2)
    file = tmp_path / "items.jsonl"
    write_items(file, items)
    again = read_items(file)
    assert [[one.contents for one in item] for item in again] == [[one.contents for one in item] for item in items]
    assert [[one.gold_slot for one in item] for item in again] == [[one.gold_slot for one in item] for item in items]
    names = write_tasks(tmp_path, file, conditions()[:2], ["identity", "permutation_1"])
    direct, triggered = (json.loads((tmp_path / f"{name}.yaml").read_text()) for name in (names[0], names[2]))
    assert (direct["doc_to_choice"][0], direct.get("gen_prefix")) == (" A", None)
    assert (triggered["doc_to_choice"][0], triggered["gen_prefix"]) == ("A", "Let me think step by step.")


@pytest.mark.parametrize(
    ("change", "figure"),
    [
        ({"prompt": [1, 3]}, "other_token_ids"),
        ({"labels": [6, 5]}, "other_label_ids"),
        ({"logprobs": [-2.0, -1.0]}, "flips"),
        ({"logprobs": [-1.0, -2.001]}, "largest_logprob_difference"),
    ],
)
def test_any_difference_between_the_programs_is_found(change: dict[str, Any], figure: str) -> None:
    ours = {"task": {"item": {"prompt": [1, 2], "labels": [5, 6]}}}
    same = ours["task"]["item"] | {"logprobs": [-1.0, -2.0], "moved_tokens": 0}
    readings = {("task", "item"): [-1.0, -2.0]}
    assert compare(ours, {"task": {"item": same}}, readings)["equal"]
    found = compare(ours, {"task": {"item": same | change}}, readings)
    assert not found["equal"]
    assert found[figure]


def test_a_worker_that_dies_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no model here')"]
    with (
        pytest.raises(RuntimeError, match="no model here"),
        Worker(command, tmp_path / "log", os.environ, tmp_path) as worker,
    ):
        worker.ask("ready")


@pytest.mark.slow
def test_lm_eval_does_the_same_work(measured: Callable[..., dict[str, Any]], smollm2_folder: Path) -> None:
    equality = measured("lm_eval", smollm2_folder, "--items", "2")["equality"]
    assert equality["equal"]
    assert equality["prompts_compared"] == 60
