"""The packaged demo models: what is in their folders, that they answer, and that their cards tell what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from safetensors import safe_open
from transformers import AutoModelForImageTextToText, AutoProcessor

from tests.conftest import ROOT
from tests.test_config import composed
from thinkgap import cli, schema
from thinkgap.backends.format import open_image
from thinkgap.backends.golden_file import GOLDEN_FILE, read_golden
from thinkgap.backends.load import load_backend
from thinkgap.backends.weights import weight_digests
from thinkgap.data import load_dataset_items
from thinkgap.data.present import identity
from thinkgap.demo.card import card
from thinkgap.demo.generate import continuations, settled_letter
from thinkgap.demo.measure import captions
from thinkgap.evaluation.prepare import Prepared, prepare
from thinkgap.readouts.native import native_record
from thinkgap.schema import DemoTrainConfig
from thinkgap.store.redact import plain

MODELS = ("demo_vlm", "demo_vlm_article")
CHECKPOINTS = ROOT / "src" / "thinkgap" / "demo" / "checkpoints"
RESULTS = ROOT / "benchmarks" / "results"
LARGEST = 8_000_000
ITEMS = 120


def record(name: str, file: str) -> Any:
    return json.loads((RESULTS / name / file).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    """The default, with fewer items."""
    return prepare(composed(f"dataset.limit={ITEMS}", "trigger=[direct,let_me_think]", "logger=none"))


@pytest.mark.parametrize("name", MODELS)
def test_a_standard_folder_of_the_true_class(name: str) -> None:
    folder = CHECKPOINTS / name
    files = {file.name for file in folder.iterdir()}
    assert {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "processor_config.json",
        "chat_template.jinja",
        "training.json",
        "README.md",
        GOLDEN_FILE,
    } <= files
    assert {Path(file).suffix for file in files} == {".json", ".safetensors", ".jinja", ".md", ".svg"}
    assert (folder / "model.safetensors").stat().st_size <= LARGEST
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["Qwen2_5_VLForConditionalGeneration"]
    assert "auto_map" not in config
    with safe_open(str(folder / "model.safetensors"), "pt") as file:
        assert sum(1 for _ in file.keys()) > 100  # noqa: SIM118 (no mapping)


@pytest.mark.parametrize("name", MODELS)
def test_the_model_option_pins_the_weights_and_golden_readings_hold(name: str) -> None:
    cfg = composed(f"model={name}").model
    assert weight_digests(CHECKPOINTS / name) == {"model.safetensors": cfg.sha256}
    assert len(read_golden(CHECKPOINTS / name / GOLDEN_FILE).cases) == 6
    load_backend(cfg, on_accelerator=False)  # compares every stage


def test_direct_answers_and_captions_are_as_good_as_the_card_says(prepared: Prepared) -> None:
    measured = record("demo_vlm", "measured.json")
    own = [prepared.builder.build(presentations[0])[:1] for presentations in prepared.items]
    records = [native_record(group[0], lambda token: "") for group in prepared.engine.score(own)]
    assert len(records) == ITEMS
    accuracy = sum(one.correct for one in records) / ITEMS
    # Four standard errors of a share of 120.
    assert abs(accuracy - measured["conditions"]["direct"]["accuracy"]) < 0.15
    assert accuracy > measured["chance"] + 0.2
    assert captions(prepared)["token_accuracy"] > 0.95


def test_it_writes_a_rationale_after_a_cue_and_answers(prepared: Prepared) -> None:
    prompts = [prepared.builder.build(presentations[0])[1] for presentations in prepared.items[:30]]
    letters = [settled_letter(text) for text in continuations(prepared.local.backend, prompts, 120)]
    golds = [one.prompt.presentation.labels[one.prompt.presentation.gold_slot] for one in prompts]
    right = sum(letter == gold for letter, gold in zip(letters, golds, strict=True)) / 30
    expected = record("demo_vlm", "measured.json")["conditions"]["let_me_think"]["generation"]["accuracy"]
    assert right > expected - 0.3


@pytest.mark.parametrize("name", MODELS)
def test_the_card_is_made_of_the_record_of_its_training(name: str) -> None:
    models = [
        {"name": one, "measured": record(one, "measured.json"), "training": record(one, "training.json")}
        for one in (name, *(other for other in MODELS if other != name))
    ]
    own, *others = models
    text = card(name, own["measured"], own["training"], others)
    assert (CHECKPOINTS / name / "README.md").read_text(encoding="utf-8") == text
    training = json.loads((CHECKPOINTS / name / "training.json").read_text(encoding="utf-8"))
    assert training == own["training"]
    points = (RESULTS / name / "curves.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(points[-1])["step"] == training["settings"]["steps"]
    assert training["seconds"] <= 90 * 60, "it can be rebuilt in an hour and a half"


def test_the_documented_settings_are_those_it_was_trained_with() -> None:
    schema.register()
    for name, option in (("demo_vlm", "demo_vlm"), ("demo_vlm_article", "article")):
        with initialize_config_dir(str(cli.CONF), version_base="1.3"):
            cfg = cli.typed(compose("demo_train", [f"demo={option}"]), DemoTrainConfig)
        settings = record(name, "training.json")["settings"]
        assert plain(asdict(cfg.demo)) == settings


def test_a_world_item_is_read_alike_by_the_package_and_by_transformers(prepared: Prepared) -> None:
    """No special case: the packaged folder loads with `from_pretrained` and gives the logits that the engine reads."""
    folder = CHECKPOINTS / "demo_vlm"
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    processor = AutoProcessor.from_pretrained(folder)
    item = next(item for item in load_dataset_items(composed("dataset.limit=40").dataset).items if item.images)
    presentation = identity(item)
    (read,) = prepared.engine.score([prepared.builder.build(presentation)[:1]])
    options = [f"{label}. {choice}" for label, choice in zip(presentation.labels, item.choices, strict=True)]
    content = [{"type": "image"}, {"type": "text", "text": "\n".join([item.question, *options])}]
    text = processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
    inputs = processor(text=[text], images=[open_image(item.images[0])], return_tensors="pt")
    with torch.no_grad():
        logits = model(**inputs).logits[0, -1]
    ids = [processor.tokenizer.convert_tokens_to_ids(label) for label in presentation.labels]
    expected = torch.log_softmax(logits, -1)[ids]
    found = torch.tensor(native_record(read[0], lambda token: "").label_logprobs)
    assert torch.allclose(found, expected, atol=1e-4)
