"""Adapters from stored states against training through the whole frozen model; resume; what is left on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from probes import lm_head_lora
from probes.lm_head_lora import run_lm_head_lora
from probes.targets import adapter_loss, label_table
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import load_backend
from thinkgap.data import load_dataset_items
from thinkgap.data.present import identity
from thinkgap.errors import ConfigError, StoreError
from thinkgap.evaluation.native import run_native
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.prompts.conditions import all_conditions
from thinkgap.schema import AdapterLoss, ModeConfig, ModelConfig, TrainConfig
from thinkgap.store.records import read_records

FILES = ("records.parquet", "lm_head_lora.md", "lm_head_lora.csv", "losses.csv")


def prompts(cfg: TrainConfig, backend: HFBackend, split: str, n: int, condition: str) -> dict[str, PreparedPrompt]:
    """By item id, the prompts of a split under one condition, built as for any model."""
    from dataclasses import replace

    conditions = [one for one in all_conditions(cfg.trigger, ModeConfig(), cfg.prompt) if one.name == condition]
    direct = all_conditions(cfg.trigger, ModeConfig(), cfg.prompt)[0]
    builder = PromptBuilder(backend.fmt, [direct, *conditions], cfg.labels, cfg.label_ids)
    items = load_dataset_items(replace(cfg.dataset, split=split, limit=n)).items
    return {item.id: builder.build(identity(item))[1] for item in items}


def test_it_equals_training_through_the_whole_frozen_model(
    config: Callable[..., TrainConfig], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    """Two steps of AdamW on all rows: weights from stored states against peft on the model's own head."""
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import load_file

    cfg = config(
        "probe.batch_size=16", "probe.lora.rank=4", "probe.lora.learning_rate=0.02", "probe.conditions=[let_me_think]"
    )
    run_lm_head_lora(cfg, tmp_path / "run")
    stored = load_file(tmp_path / "run" / "adapters" / "let_me_think" / "adapter_model.safetensors")

    backend = load_backend(ModelConfig(name="plain", path=str(tiny_model("llama"))), on_accelerator=False)
    records = [one for one in read_records(tmp_path / "run" / "features" / "train") if one.condition == "let_me_think"]
    built = prompts(cfg, backend, "train", 16, "let_me_think")
    inputs = backend.model_inputs([built[record.item_id] for record in records])
    last = inputs["attention_mask"].sum(-1) - 1
    _, gold = label_table(records)
    torch.manual_seed(cfg.seed)
    whole: Any = get_peft_model(backend.model, LoraConfig(r=4, lora_alpha=64, target_modules=["lm_head"]))
    optimizer = torch.optim.AdamW(
        [one for one in whole.parameters() if one.requires_grad], lr=0.02, weight_decay=cfg.probe.lora.weight_decay
    )
    start = {name: tensor.clone() for name, tensor in whole.state_dict().items() if "lora" in name}
    for _ in range(2):
        optimizer.zero_grad()
        logits = whole(**inputs, use_cache=False).logits[torch.arange(len(records)), last]
        loss = torch.nn.functional.cross_entropy(logits, gold[:, 0])
        loss.backward()
        optimizer.step()
    assert set(stored) == {name.replace(".default", "") for name in start}
    for name, tensor in whole.state_dict().items():
        if "lora" not in name:
            continue
        # AdamW divides by the gradient's size: where contributions cancel to rounding, its sign is chance.
        apart = (stored[name.replace(".default", "")] - tensor).abs()
        assert float((apart > 1e-4).float().mean()) < 1e-5, name
        assert float((start[name] - tensor).abs().mean()) > 5e-3, "both were trained"


def test_the_saved_adapter_fits_the_whole_model(
    config: Callable[..., TrainConfig], tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    """Loaded by peft onto the model, it gives on real prompts what the records say."""
    from peft import PeftModel

    cfg = config("probe.lora.learning_rate=0.02", "probe.lora.rank=4")
    run_lm_head_lora(cfg, tmp_path / "run")
    folder = tmp_path / "run" / "adapters" / "let_me_think"
    assert {file.name for file in folder.iterdir()} == {
        "adapter_config.json",
        "adapter_model.safetensors",
        "training.json",
    }
    settings = json.loads((folder / "adapter_config.json").read_text())
    assert (settings["r"], settings["target_modules"]) == (4, ["lm_head"])
    assert settings["base_model_name_or_path"] == str(tiny_model("llama"))
    backend = load_backend(ModelConfig(name="plain", path=str(tiny_model("llama"))), on_accelerator=False)
    backend.model = PeftModel.from_pretrained(backend.model, str(folder))
    records = {one.key: one for one in read_records(tmp_path / "run")}
    moved = 0.0
    for item_id, prepared in prompts(cfg, backend, "test", 12, "let_me_think").items():
        with torch.inference_mode():
            logits = backend.model(input_ids=torch.tensor([prepared.prompt.input_ids])).logits[0, -1]
        logprobs = torch.log_softmax(logits, -1)
        record = records[item_id, "identity", "let_me_think", "lm_head_lora:let_me_think"]
        expected = [float(logprobs[ids[0]]) for ids in prepared.prompt.label_ids]
        assert list(record.label_logprobs) == pytest.approx(expected, abs=1e-3)
        assert record.pred_slot == expected.index(max(expected))
        own = records[item_id, "identity", "let_me_think", "native"]
        moved = max(moved, abs(own.label_logprobs[0] - record.label_logprobs[0]))
    assert moved > 0.1, "the adapter does something"


def test_what_a_run_leaves(
    config: Callable[..., TrainConfig], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    sheet = run_lm_head_lora(config("trigger=[let_me_think,reasoning]"), folder)
    names = ("direct", "let_me_think", "reasoning")
    records = read_records(folder)
    readouts = {"native", *(f"lm_head_lora:{name}" for name in names)}
    assert {one.readout for one in records} == readouts
    assert len(records) == 12 * 3 * 4, "items, conditions, the own head and three adapters"
    assert {one.key for one in read_records(folder / "features" / "eval")} <= {one.key for one in records}
    assert len({one.prompt_sha256 for one in records}) == 36, "all readouts of a row are of one prompt"
    assert [(row[0], row[1]) for row in sheet.rows] == [
        (read, trained) for read in names for trained in ("none (the model's own head)", *names)
    ]
    printed = capsys.readouterr().out
    assert (folder / "lm_head_lora.md").read_text() in printed
    assert "In short: " in printed.splitlines()[-3]
    assert printed.count("| read under") == 1, "tables of the features are in their folders"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["n_train_items"], manifest["n_eval_items"], manifest["dropped_train_items"]) == (16, 12, {})
    assert manifest["head_check_error"] < 1e-3
    assert manifest["libraries"]["peft"]
    assert set(manifest["adapters"]) == set(names)
    assert {one["rows"] for one in manifest["adapters"].values()} == {16}
    losses = (folder / "losses.csv").read_text().splitlines()
    assert losses[0] == "condition,epoch,loss"
    assert len(losses) == 1 + 3 * 2
    from thinkgap.readouts.table import tables_of_run

    assert {table.readout for table in tables_of_run(folder)} == readouts, "analysis.table prints them as well"


def test_a_killed_run_resumes_to_the_same_files(
    config: Callable[..., TrainConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cfg = config()
    run_lm_head_lora(cfg, tmp_path / "whole")
    fitted: list[str] = []
    original = lm_head_lora.fit

    def dies_later(*arguments: Any) -> list[float]:
        fitted.append(arguments[6])
        if len(fitted) == 2:
            raise RuntimeError("killed")
        return original(*arguments)

    monkeypatch.setattr(lm_head_lora, "fit", dies_later)
    with pytest.raises(RuntimeError, match="killed"):
        run_lm_head_lora(cfg, tmp_path / "killed")
    assert not (tmp_path / "killed" / "records.parquet").exists()
    run_lm_head_lora(cfg, tmp_path / "killed")
    assert fitted == ["direct", "let_me_think", "let_me_think"], "the finished adapter was kept"
    for name in FILES:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    stands = (tmp_path / "killed" / "manifest.json").read_bytes()
    run_lm_head_lora(cfg, tmp_path / "killed")
    assert len(fitted) == 3, "a finished run trains nothing"
    assert (tmp_path / "killed" / "manifest.json").read_bytes() == stands
    with pytest.raises(StoreError, match=r"probe.epochs: 2 in the folder, 3 now"):
        run_lm_head_lora(config("probe.epochs=3"), tmp_path / "killed")


def test_states_of_finished_runs_give_the_same_records(config: Callable[..., TrainConfig], tmp_path: Path) -> None:
    run_lm_head_lora(config(), tmp_path / "own")
    features = tmp_path / "own" / "features"
    given = [f"probe.fit_features={features / 'train'}", f"probe.test_features={features / 'eval'}"]
    run_lm_head_lora(config(*given), tmp_path / "given")
    for name in FILES:
        assert (tmp_path / "own" / name).read_bytes() == (tmp_path / "given" / name).read_bytes(), name
    assert not (tmp_path / "given" / "features").exists(), "the model read nothing"
    half = run_lm_head_lora(config(*given, "probe.examples=8", "probe.conditions=[direct]"), tmp_path / "half")
    assert "trained on 8 items of the train split" in half.notes[0]
    assert {row[1] for row in half.rows} == {"none (the model's own head)", "direct"}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("probe.lora.rank=0", "probe.lora.rank=0: must be at least 1"),
        ("probe.lora.alpha=0", "probe.lora.alpha=0: must be at least 1"),
        ("probe.lora.dropout=1.0", "probe.lora.dropout=1.0: must be at least 0"),
        ("probe.examples=0", "probe.examples=0: must be at least 1"),
        ("probe.epochs=0", "probe.epochs=0: must be at least 1"),
        ("probe.batch_size=-1", "probe.batch_size=-1: must be at least 1"),
        ("probe.lora.learning_rate=0", "a rate is above 0"),
        ("probe.conditions=[]", "probe.conditions=[] trains nothing"),
        ("probe.conditions=[reasonin]", "probe.conditions: 'reasonin' is no condition of this run"),
        ("trainer.devices=2", "set trainer.devices=1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    override: str, message: str, config: Callable[..., TrainConfig], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        run_lm_head_lora(config(override), tmp_path / "run")
    assert message in str(caught.value)


def test_the_two_losses_train_two_adapters(config: Callable[..., TrainConfig], tmp_path: Path) -> None:
    """And the loss over labels starts where the native label probabilities of the training rows say."""
    overrides = ["probe.lora.loss=labels", "probe.batch_size=16", "probe.conditions=[direct]"]
    run_lm_head_lora(config(*overrides), tmp_path / "labels")
    first = json.loads((tmp_path / "labels" / "adapters" / "direct" / "training.json").read_text())["losses"][0]
    rows = [one for one in read_records(tmp_path / "labels" / "features" / "train") if one.condition == "direct"]
    logprobs = [torch.tensor(one.label_logprobs).log_softmax(-1)[one.gold_slot] for one in rows]
    assert first == pytest.approx(-float(torch.stack(logprobs).mean()), abs=1e-4)
    vocabulary = partial(adapter_loss, AdapterLoss.vocabulary)
    assert vocabulary(torch.zeros(1, 7), torch.tensor([[2]]), torch.tensor([[[2], [3]]])) == pytest.approx(
        1.94591, abs=1e-4
    )


def test_features_of_an_evaluation_with_other_orders(config: Callable[..., TrainConfig], tmp_path: Path) -> None:
    """`evaluate.py` may have shown more orders than the source's; only that one is used."""
    from dataclasses import replace

    from probes.features import load_config

    cfg = config()
    shown = load_config(cfg)
    shown = replace(shown, evaluation=replace(shown.evaluation, permutations=2))
    run_native(shown, tmp_path / "orders")
    run_lm_head_lora(config(f"probe.test_features={tmp_path / 'orders'}"), tmp_path / "run")
    assert {one.presentation for one in read_records(tmp_path / "run")} == {"identity"}
