"""Encoders that several tests read and none changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.encoders.folders import MINILM, write_bert, write_qwen3
from thinkgap.encoders import Encoder, open_encoder
from thinkgap.schema import EncoderConfig


@pytest.fixture(scope="session")
def minilm() -> Encoder:
    """The real MiniLM, as packaged."""
    return open_encoder(EncoderConfig(name="minilm", path=MINILM))


@pytest.fixture(scope="session")
def qwen3_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen3 encoder: last token, left padding, appended end token, 64 tokens."""
    return write_qwen3(tmp_path_factory.mktemp("encoders") / "qwen3")


@pytest.fixture(scope="session")
def cls_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT that pools by its first token, 32 tokens."""
    return write_bert(tmp_path_factory.mktemp("encoders") / "bert_cls", "cls")


@pytest.fixture(scope="session")
def mean_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT that pools by the mean, 32 tokens."""
    return write_bert(tmp_path_factory.mktemp("encoders") / "bert_mean", "mean")
