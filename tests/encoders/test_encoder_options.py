"""The options of `conf/encoder`: the prompts to the byte, and a path as an option."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.encoders.folders import MINILM
from tests.encoders.test_encoder_minilm import PAIRS, cosines
from tests.test_config import composed
from thinkgap.cli import prepare_arguments
from thinkgap.encoders import Encoder, open_encoder
from thinkgap.errors import ConfigError
from thinkgap.schema import Dtype, EvaluateConfig, Pooling

# Path, prompts, pooling, padding, end token, length, type: as the study and the model cards give them.
EXPECTED = {
    "minilm": (MINILM, "", "", Pooling.mean, "right", "[SEP]", None, Dtype.auto),
    "qwen3_embedding_4b": (
        "Qwen/Qwen3-Embedding-4B",
        "Instruct: Given a question, retrieve pre-answer text that contains reasoning relevant to answering the "
        "question\nQuery:",
        "",
        Pooling.lasttoken,
        "left",
        "<|endoftext|>",
        32768,
        Dtype.bfloat16,
    ),
    "bge_base": (
        "BAAI/bge-base-en-v1.5",
        "Represent this sentence for searching relevant passages: ",
        "",
        Pooling.cls,
        "right",
        "[SEP]",
        512,
        Dtype.auto,
    ),
    "e5_base": ("intfloat/e5-base-v2", "query: ", "passage: ", Pooling.mean, "right", "[SEP]", 512, Dtype.auto),
}


@pytest.mark.parametrize("option", sorted(EXPECTED))
def test_options_are_those_of_the_study(option: str) -> None:
    cfg = composed(f"encoder={option}").encoder
    assert cfg.name == option
    assert (
        cfg.path,
        cfg.query_prompt,
        cfg.trace_prompt,
        cfg.pooling,
        cfg.padding_side,
        cfg.end_token,
        cfg.max_length,
        cfg.dtype,
    ) == EXPECTED[option]
    assert not cfg.trust_remote_code


def test_the_packaged_option_opens(minilm: Encoder) -> None:
    encoder = open_encoder(composed("encoder=minilm").encoder)
    assert encoder.describe()["pooling"] == "mean"
    assert encoder.max_length == 256
    assert cosines(encoder, PAIRS[:2]) == pytest.approx(cosines(minilm, PAIRS[:2]), abs=1e-6)


def test_a_path_is_an_option(mean_folder: Path) -> None:
    arguments = prepare_arguments([f"encoder={mean_folder}", "encoder.trace_prompt='passage: '"], EvaluateConfig)
    assert arguments[:2] == ["encoder=local", f"encoder.path='{mean_folder}'"]
    cfg = composed(*arguments).encoder
    assert (cfg.name, cfg.path, cfg.trace_prompt, cfg.pooling) == ("bert_mean", str(mean_folder), "passage: ", None)
    assert open_encoder(cfg).describe()["pooling"] == "mean"


def test_mistakes_are_told_before_anything_is_loaded() -> None:
    with pytest.raises(ConfigError, match="encoder=minlm: no such option; did you mean 'minilm'"):
        prepare_arguments(["encoder=minlm"], EvaluateConfig)
    with pytest.raises(ConfigError, match=r"encoder=local needs encoder\.path=PATH"):
        prepare_arguments(["encoder=local"], EvaluateConfig)
