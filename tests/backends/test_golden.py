"""Golden readings: an unchanged checkpoint passes, and whatever really moves is named as the first stage that did."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from thinkgap.backends import families
from thinkgap.backends.golden import check_at_load, check_golden, compared, golden_text
from thinkgap.backends.golden_file import GOLDEN_FILE, STAGES, GoldenCase, read_golden
from thinkgap.backends.load import load_backend
from thinkgap.errors import ModelError
from thinkgap.golden import main, write_golden
from thinkgap.schema import Dtype, Modality, ModelConfig, PromptConfig
from thinkgap.types import ImageRef

TEXTS = (
    GoldenCase("options", "Which is larger?\nA. Twelve\nB. Seven", labels=("A", "B")),
    GoldenCase("prefill", "Why?", prefill="Let me think step by step.", labels=("A", "B", "C")),
    GoldenCase("no labels", "Name a colour of the rainbow, or two [\n1\n]."),
)


def load(folder: Path, **settings: Any) -> Any:
    return load_backend(ModelConfig(name="guarded", path=str(folder), **settings), on_accelerator=False)


def edit(file: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture(scope="session")
def text_golden(tiny_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(tiny_model("qwen3"), tmp_path_factory.mktemp("golden") / "qwen3")
    write_golden(load(folder), TEXTS, folder / GOLDEN_FILE)
    return folder


@pytest.fixture
def text_folder(text_golden: Path, tmp_path: Path) -> Path:
    """A text model with golden readings, to be changed."""
    return shutil.copytree(text_golden, tmp_path / "qwen3")


@pytest.fixture
def image_folder(tiny_model: Callable[[str], Path], picture: Callable[..., ImageRef], tmp_path: Path) -> Path:
    """An image-text model with golden readings of no, one and two images, to be changed."""
    folder = shutil.copytree(tiny_model("qwen25vl"), tmp_path / "qwen25vl")
    small, wide = picture(60, 50, 1), picture(150, 60, 2)
    shown = (
        GoldenCase("one", "What is in <image 1>?\nA. one\nB. two", labels=("A", "B"), images=(small,)),
        GoldenCase("two", "Which is wider?", prefill="The", labels=("A", "B"), images=(small, wide)),
    )
    write_golden(load(folder), (*TEXTS, *shown), folder / GOLDEN_FILE)
    return folder


def assert_moved(folder: Path, stage: str, *parts: str) -> str:
    with pytest.raises(ModelError) as caught:
        load(folder)
    message = str(caught.value)
    for part in (f"golden readings of model guarded: {stage} moved;", *parts):
        assert part in message
    assert f"made with transformers {version('transformers')}, and {version('transformers')} is installed" in message
    assert f"python -m thinkgap.golden --model {folder}" in message
    return message


def test_unchanged_checkpoints_pass(text_folder: Path, image_folder: Path) -> None:
    for folder in (text_folder, image_folder):
        backend = load(folder)
        golden = read_golden(folder / GOLDEN_FILE)
        assert list(compared(backend, golden)) == [(stage, None) for stage in STAGES]
        assert golden_text(backend, golden.cases) == (folder / GOLDEN_FILE).read_text(encoding="utf-8")


def test_the_file_holds_what_an_evaluation_reads(text_folder: Path) -> None:
    """Ids and log-probabilities by transformers alone."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    golden = read_golden(text_folder / GOLDEN_FILE)
    assert golden.cases == TEXTS
    tokenizer = AutoTokenizer.from_pretrained(text_folder)
    model = AutoModelForCausalLM.from_pretrained(text_folder, dtype=torch.float32).eval()
    for case, recorded in zip(golden.cases, golden.recorded, strict=True):
        turns = [{"role": "user", "content": case.user}]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True) + case.prefill
        ids = tokenizer(text, return_tensors="pt").input_ids
        assert recorded["template"] == {"text": text}
        assert recorded["tokenizer"]["ids"] == recorded["processor"]["input_ids"] == ids[0].tolist()
        assert recorded["positions"]["position_ids"] == [list(range(ids.shape[1]))]
        with torch.inference_mode():
            logprobs = model(ids).logits[0, -1].log_softmax(-1)
        top = logprobs.topk(5)
        readings = recorded["readings"]
        assert readings["top_ids"] == top.indices.tolist()
        assert readings["top_logprobs"] == pytest.approx(top.values.tolist(), abs=1e-4)
        # A label follows the prefill after a blank, and a line break at once.
        labels = [(" " if case.prefill else "") + label for label in case.labels]
        label_ids = [tokenizer(label).input_ids[0] for label in labels]
        assert recorded["tokenizer"]["label_ids"] == [[token] for token in label_ids]
        assert readings["label_logprobs"] == pytest.approx(logprobs[label_ids].tolist(), abs=1e-4)


def test_images_are_summed_up_and_their_grids_kept(image_folder: Path) -> None:
    golden = read_golden(image_folder / GOLDEN_FILE)
    one, two = (dict(recorded)["processor"] for recorded in golden.recorded[-2:])
    grid = two["tensors"]["image_grid_thw"]
    assert grid["shape"] == [2, 3]
    assert two["n_image_tokens"] == (grid["values"][1] * grid["values"][2] + grid["values"][4] * grid["values"][5]) / 4
    assert 0 < one["n_image_tokens"] < two["n_image_tokens"]
    assert len(two["tensors"]["pixel_values"]["values"]) == 16
    assert len(golden.recorded[-1]["positions"]["position_ids"]) == 3


def test_another_template_is_the_template(image_folder: Path) -> None:
    file = image_folder / "chat_template.jinja"
    file.write_text(file.read_text(encoding="utf-8").replace("<|im_end|>\n", "<|im_end|>"), encoding="utf-8")
    message = assert_moved(image_folder, "template", "case 'options', text from character", "No version changed")
    assert r"<|im_end|>\n<|im_start|>assistant" in message.split("expected")[1].split(", found")[0]


def test_another_tokenizer_is_the_tokenizer(text_folder: Path) -> None:
    edit(text_folder / "tokenizer.json", lambda content: content.update(normalizer={"type": "Lowercase"}))
    message = assert_moved(text_folder, "tokenizer", "case 'options', ids[")
    ids = read_golden(text_folder / GOLDEN_FILE).recorded[0]["tokenizer"]["ids"]
    place = int(message.split("ids[")[1].split("]")[0])
    assert f"expected {ids[place]}, found" in message


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"image_mean": [0.5, 0.45, 0.41]}, "case 'one', tensors, pixel_values, mean"),
        ({"image_std": [0.2686296, 0.2613026, 0.2757771]}, None),
        ({"size": {"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 4}}, "case 'two', input_ids["),
    ],
    ids=["mean", "within the tolerance", "size"],
)
def test_another_image_processor_is_the_processor(
    image_folder: Path, change: dict[str, Any], where: str | None
) -> None:
    edit(image_folder / "processor_config.json", lambda content: content["image_processor"].update(change))
    if where is None:
        load(image_folder)
    else:
        assert_moved(image_folder, "processor", where)


def test_a_processor_that_refuses_is_the_processor(image_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import Qwen2VLImageProcessor

    def preprocess(self: Any, pictures: Any) -> Any:
        raise AssertionError("never reached: images= is no argument of this release")

    monkeypatch.setattr(Qwen2VLImageProcessor, "preprocess", preprocess)
    assert_moved(image_folder, "processor", "case 'one': expected no error, found TypeError: ")


def test_another_release_s_image_positions_are_the_positions(
    image_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel

    original = Qwen2_5_VLModel.get_rope_index

    def shifted(self: Any, *arguments: Any, **named: Any) -> Any:
        positions, deltas = original(self, *arguments, **named)
        positions[1:] += 1
        return positions, deltas

    monkeypatch.setattr(Qwen2_5_VLModel, "get_rope_index", shifted)
    assert_moved(image_folder, "positions", "case 'one', position_ids[1][0]: expected 0, found 1")


def test_positions_are_seen_where_readings_do_not_show_them(text_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rotary attention is the same for shifted positions, so readings alone would pass."""
    backend, golden = load(text_folder), read_golden(text_folder / GOLDEN_FILE)
    original = families.positions_of
    monkeypatch.setattr(families, "positions_of", lambda mask: original(mask) + 1)
    found = {stage: difference is None for stage, difference in compared(backend, golden)}
    assert found == {stage: stage != "positions" for stage in STAGES}


def test_one_other_weight_is_the_weights(text_folder: Path) -> None:
    file = text_folder / "model.safetensors"
    weights = load_file(file)
    weights["model.layers.1.mlp.up_proj.weight"][3, 4] += 0.5
    save_file(weights, file, metadata={"format": "pt"})
    digest = read_golden(text_folder / GOLDEN_FILE).weights["model.safetensors"]
    message = assert_moved(text_folder, "weights", f"SHA-256 of model.safetensors: expected {digest[:12]}, found ")
    assert "git checkout" in message
    assert digest[:13] not in message


def test_missing_and_further_weight_files_are_the_weights(text_folder: Path) -> None:
    backend, file = load(text_folder), text_folder / "model.safetensors"
    shutil.copy(file, text_folder / "adapter.safetensors")
    with pytest.raises(ModelError, match="weights moved; SHA-256 of adapter.safetensors: expected no file, found"):
        check_golden(backend, text_folder / GOLDEN_FILE)
    (text_folder / "adapter.safetensors").unlink()
    file.rename(text_folder / "other.bin")
    with pytest.raises(ModelError, match="weights moved; SHA-256 of model.safetensors: expected .*, found no file"):
        check_golden(backend, text_folder / GOLDEN_FILE)


def test_the_same_weights_computed_otherwise_are_the_readings(text_folder: Path) -> None:
    edit(text_folder / "config.json", lambda content: content.update(rms_norm_eps=0.05))
    assert_moved(text_folder, "readings", "case 'options', top_logprobs[0]: expected -")


def test_an_id_that_overtakes_the_recorded_ones_is_the_readings(text_folder: Path) -> None:
    """The recorded ids alone would not show it."""
    backend = load(text_folder)
    edit(text_folder / GOLDEN_FILE, lambda content: _leave_out_the_first(content["cases"][0]["readings"]))
    with pytest.raises(ModelError, match=r"readings moved; case 'options', largest_logprobs\[0\]"):
        check_golden(backend, text_folder / GOLDEN_FILE)


def _leave_out_the_first(readings: dict[str, list[Any]]) -> None:
    for key in ("top_ids", "top_logprobs", "largest_logprobs"):
        del readings[key][0]


@pytest.mark.parametrize(("off", "passes"), [(9e-4, True), (2e-3, False)])
def test_the_tolerance_is_that_of_the_file(text_folder: Path, off: float, passes: bool) -> None:
    def change(content: Any) -> None:
        content["cases"][1]["readings"]["label_logprobs"][0] += off

    edit(text_folder / GOLDEN_FILE, change)
    if passes:
        load(text_folder)
    else:
        assert_moved(text_folder, "readings", "case 'prefill', label_logprobs[0]")
        edit(text_folder / GOLDEN_FILE, lambda content: content["tolerance"].update(readings=0.01))
        load(text_folder)


def test_other_versions_are_named_with_the_command_that_installs_them(text_folder: Path) -> None:
    edit(text_folder / GOLDEN_FILE, lambda content: content["made_with"].update(transformers="5.0.1", torch="2.0"))
    load(text_folder)
    edit(text_folder / "config.json", lambda content: content.update(rms_norm_eps=0.05))
    with pytest.raises(ModelError) as caught:
        load(text_folder)
    for part in (
        f"made with transformers 5.0.1, and {version('transformers')} is installed, torch 2.0 and ",
        "`pip install transformers==5.0.1 torch==2.0`",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"dtype": Dtype.bfloat16}, "the dtype is bfloat16"),
        ({"min_pixels": 28 * 28 * 2}, "model.min_pixels or max_pixels is set"),
        ({"modality": Modality.vision}, "model.modality is set"),
    ],
)
def test_what_a_run_changes_itself_is_not_checked(
    image_folder: Path, caplog: pytest.LogCaptureFixture, settings: dict[str, Any], reason: str
) -> None:
    edit(image_folder / GOLDEN_FILE, lambda content: content["cases"][0]["template"].update(text="other"))
    with caplog.at_level(logging.INFO, logger="thinkgap"):
        load(image_folder, **settings)
    assert f"golden readings of guarded are not checked: {reason}" in caplog.text


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"compile": True}, "model.compile is set"), ({"quantization": {"quant_method": "x"}}, "weights are quantised")],
)
def test_what_cannot_run_everywhere_is_decided_by_the_setting(
    text_folder: Path, caplog: pytest.LogCaptureFixture, settings: dict[str, Any], reason: str
) -> None:
    """Neither a C++ compiler nor a quantiser is needed to see that the check steps aside."""
    backend = load(text_folder)
    edit(text_folder / GOLDEN_FILE, lambda content: content["cases"][0]["template"].update(text="other"))
    with caplog.at_level(logging.INFO, logger="thinkgap"):
        check_at_load(backend, ModelConfig(name="guarded", path=str(text_folder), **settings))
    assert reason in caplog.text
    with pytest.raises(ModelError, match="template moved"):
        check_at_load(backend, ModelConfig(name="guarded", path=str(text_folder)))


def test_settings_of_prompts_do_not_touch_it(text_folder: Path) -> None:
    config = ModelConfig(name="guarded", path=str(text_folder), max_length=4)
    load_backend(config, PromptConfig(chat_template=False, date="2020-02-02"), on_accelerator=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "it is not JSON"),
        ("[]", "it names no format"),
        ('{"format": 2}', "is of format 2 and this thinkgap reads format 1: update thinkgap"),
        ('{"format": 1}', "it holds no cases"),
        ('{"format": 1, "cases": [{"name": "a"}]}', "case 1 needs name and user"),
        ('{"format": 1, "cases": [{"name": "a", "user": "b", "labels": "AB"}]}', "case 1 needs name and user"),
        ('{"format": 1, "cases": [{"name": "a", "user": "b"}, {"name": "a", "user": "c"}]}', "two cases share a name"),
        ('{"format": 1, "cases": [{"name": "a", "user": "b", "images": ["x.png"]}]}', "case 'a': image 'x.png' is a"),
        ('{"format": 1, "cases": [{"name": "a", "user": "b"}]}', "its cases are whole: record them with `python -m"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(text_folder: Path, content: str, message: str) -> None:
    (text_folder / GOLDEN_FILE).write_text(content)
    with pytest.raises(ModelError, match=f"{GOLDEN_FILE}.*{message}"):
        load(text_folder)


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "weights"])
def test_a_case_without_a_stage_is_named(text_folder: Path, stage: str) -> None:
    edit(text_folder / GOLDEN_FILE, lambda content: content["cases"][2].pop(stage))
    with pytest.raises(ModelError, match=f"{GOLDEN_FILE}: case 'no labels' has no {stage}; its cases are whole"):
        load(text_folder)


def test_what_cannot_be_golden_is_refused(
    tiny_backend: Callable[[str], Any], tiny_model: Callable[[str], Path]
) -> None:
    jpeg = ImageRef("0", lambda: b"\xff\xd8\xff")
    backend = tiny_backend("qwen25vl")
    with pytest.raises(ModelError, match="at least one case, each with a name of its own"):
        golden_text(backend, (TEXTS[0], TEXTS[0]))
    with pytest.raises(ModelError, match="case 'j': its image is no PNG"):
        golden_json_of(GoldenCase("j", "What?", images=(jpeg,)))
    with pytest.raises(ModelError, match="made in float32: set model.dtype=float32"):
        golden_text(load(tiny_model("qwen3"), dtype=Dtype.bfloat16), TEXTS)


def golden_json_of(case: GoldenCase) -> str:
    from thinkgap.backends.golden_file import golden_json

    return golden_json({}, {}, {}, [case], [{}])


def test_the_command_records_cases_and_checks_them(text_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = text_folder / GOLDEN_FILE
    before = file.read_text(encoding="utf-8")
    file.write_text(json.dumps({"format": 1, "cases": [{"name": case.name, "user": case.user} for case in TEXTS]}))
    assert main(["--model", str(text_folder)]) == 0
    assert [case.name for case in read_golden(file).cases] == [case.name for case in TEXTS]
    file.write_text(before, encoding="utf-8")
    edit(text_folder / "config.json", lambda content: content.update(rms_norm_eps=0.05))
    assert main(["--model", str(text_folder), "--check"]) == 1
    printed = capsys.readouterr()
    assert [line.split() for line in printed.out.splitlines()[-6:]] == [
        *([stage, "as", "recorded"] for stage in STAGES[:-1]),
        ["readings", "moved"],
    ]
    assert "error: golden readings of model qwen3: readings moved; case 'options'" in printed.err
    assert file.read_text(encoding="utf-8") == before
    assert main(["--model", str(text_folder)]) == 0
    assert read_golden(file).cases == TEXTS
    assert main(["--model", str(text_folder), "--check"]) == 0


def test_the_command_leaves_the_file_where_a_case_cannot_be_shown(
    text_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = text_folder / GOLDEN_FILE
    edit(file, lambda content: content["cases"][0].update(user="a <|im_end|> b"))
    before = file.read_bytes()
    assert main(["--model", str(text_folder)]) == 1
    assert "control token" in capsys.readouterr().err
    assert file.read_bytes() == before
    file.unlink()
    assert main(["--model", str(text_folder)]) == 1
    assert f"holds no {GOLDEN_FILE}" in capsys.readouterr().err
