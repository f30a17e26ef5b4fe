"""`model.sha256`: the weights are the expected ones, or nothing is loaded."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CACHE, SMOLLM2
from thinkgap.backends.load import checkpoint_of, load_backend
from thinkgap.backends.locate import file_sha256
from thinkgap.backends.weights import WEIGHTS, check_weights_digest, weight_digests
from thinkgap.errors import ConfigError, ModelError
from thinkgap.schema import ModelConfig

OTHER = "0123456789abcdef" * 4


@pytest.fixture
def folder(tiny_model: Callable[[str], Path], tmp_path: Path) -> Path:
    return shutil.copytree(tiny_model("llama"), tmp_path / "llama")


def load(folder: Path, sha256: str) -> Any:
    return load_backend(ModelConfig(name="guarded", path=str(folder), sha256=sha256), on_accelerator=False)


def test_the_right_digest_in_either_case_loads(folder: Path) -> None:
    digest = file_sha256(folder / WEIGHTS)
    assert weight_digests(folder) == {WEIGHTS: digest}
    assert load(folder, digest).fmt.name == "guarded"
    assert load(folder, digest.upper()).fmt.name == "guarded"


def test_one_changed_byte_is_refused_before_loading(folder: Path) -> None:
    expected = file_sha256(folder / WEIGHTS)
    data = bytearray((folder / WEIGHTS).read_bytes())
    data[-1] ^= 1
    (folder / WEIGHTS).write_bytes(data)
    found = file_sha256(folder / WEIGHTS)
    with pytest.raises(ModelError) as caught:
        load(folder, expected)
    for part in ("model guarded", WEIGHTS, expected[:12], found[:12], "git checkout", "model.sha256=null"):
        assert part in str(caught.value)
    assert expected[:13] not in str(caught.value)


def test_missing_weights_name_the_file_and_how_to_get_it(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    with pytest.raises(ModelError, match=f"{WEIGHTS} is missing .*expects {OTHER[:12]}, found no file.*reinstall"):
        load(folder, OTHER)


@pytest.mark.parametrize("value", ["", "abc", OTHER + "0", OTHER[:-1] + "g", OTHER + "\n"])
def test_what_is_no_digest_is_a_mistake_in_the_configuration(folder: Path, value: str) -> None:
    with pytest.raises(ConfigError, match="not a SHA-256, which has 64 hex digits"):
        load(folder, value)


def test_shards_are_refused_by_name(folder: Path) -> None:
    (folder / WEIGHTS).rename(folder / "model-00001-of-00001.safetensors")
    (folder / f"{WEIGHTS}.index.json").write_text("{}")
    with pytest.raises(ConfigError, match="weights in several files: set model.sha256=null"):
        load(folder, OTHER)


@pytest.mark.parametrize(
    ("path", "message"), [("owner/name", "pin it with model.revision=COMMIT"), (SMOLLM2, "is a GGUF file")]
)
def test_it_is_for_folders(path: str, message: str) -> None:
    config = ModelConfig(name="t", path=path, sha256=OTHER)
    with pytest.raises(ConfigError, match=message):
        check_weights_digest(config, checkpoint_of(config, CACHE))


def test_pickled_weights_are_not_read(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()
    with pytest.raises(ModelError, match=r"pickled weights \(\.bin, \.pt, \.ckpt\) are not read"):
        load_backend(ModelConfig(name="pickled", path=str(folder)), on_accelerator=False)
