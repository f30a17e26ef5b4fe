"""Features that cannot be used are refused with the way out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from probes.compare import require_same_prompts
from probes.lm_head_lora import run_lm_head_lora
from tests.test_config import composed
from thinkgap.errors import DataError, StoreError, ThinkgapError
from thinkgap.evaluation.native import run_native
from thinkgap.schema import TrainConfig


def test_a_data_set_without_a_train_split_names_the_way_out(config: Callable[..., TrainConfig], tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    row = {"question": "What is 2 and 2?", "choices": ["4", "3"], "answer": 0}
    (folder / "test.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError) as caught:
        run_lm_head_lora(config("dataset=jsonl", f"dataset.path={folder}"), tmp_path / "run")
    message = str(caught.value)
    assert "has no split 'train'" in message
    assert "probe.fit=validation" in message
    assert "probe.fit_features=RUN_FOLDER" in message


def test_folders_that_are_no_features(config: Callable[..., TrainConfig], tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="probe.fit_features: .*give the folder of a run"):
        run_lm_head_lora(config(f"probe.fit_features={tmp_path}"), tmp_path / "run")
    common = ["model=local", f"model.path={config().model.path}", "dataset=toy_facts", "dataset.limit=6", "logger=none"]
    run_native(composed(*common, "trigger=direct"), tmp_path / "plain")
    with pytest.raises(StoreError, match=r"kept no state 'final_norm' .*evaluation.capture.final_norm=true"):
        run_lm_head_lora(config(f"probe.test_features={tmp_path / 'plain'}"), tmp_path / "run")


def test_features_of_another_model_are_refused(
    config: Callable[..., TrainConfig], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    run_lm_head_lora(config("probe.conditions=[direct]", "probe.epochs=1"), tmp_path / "llama")
    features = tmp_path / "llama" / "features" / "eval"
    with pytest.raises(StoreError, match=r"another model than model=qwen3 \(class: LlamaForCausalLM there"):
        run_lm_head_lora(config(f"probe.test_features={features}", family="qwen3"), tmp_path / "qwen3")


def manifest(**changes: object) -> dict[str, object]:
    one = {"name": "think", "text": "Hm.", "placement": "user", "thinking": "disabled", "label_ids": {"A": [1]}}
    return {"conditions": [one | changes], "config": {"prompt": {"instruction": changes.get("instruction", "")}}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": "Ah."}, "condition think: text is 'Hm.' in a and 'Ah.' in b"),
        ({"placement": "assistant"}, "condition think: placement is 'user' in a"),
        ({"label_ids": {"A": [2]}}, r"the token of label A is \[1\] in a and \[2\] in b"),
        ({"instruction": "Answer."}, "prompt.instruction is '' in a and 'Answer.' in b"),
    ],
)
def test_one_name_for_two_prompts_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ThinkgapError, match=message):
        require_same_prompts(Path("a"), manifest(), Path("b"), manifest(**changes))


def test_other_conditions_and_labels_beside_the_shared_ones_are_no_difference() -> None:
    require_same_prompts(Path("a"), manifest(), Path("b"), manifest(name="other", text="Ah."))
    require_same_prompts(Path("a"), manifest(), Path("b"), manifest(label_ids={"A": [1], "B": [5]}))
