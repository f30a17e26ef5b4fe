"""Local folders of the true classes: pooling, padding, end token, prompts and length are what the settings say."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.encoders.folders import END, changed
from tests.encoders.test_encoder_minilm import PAIRS, cosines, plain
from thinkgap.encoders import open_encoder
from thinkgap.encoders.tokens import Tokenised
from thinkgap.errors import ConfigError, DataError, ModelError
from thinkgap.schema import Dtype, EncoderConfig, Pooling
from thinkgap.types import Pair

QUERY = (
    "Instruct: Given a question, retrieve pre-answer text that contains reasoning relevant to answering the question\n"
    "Query:"
)
QWEN3 = EncoderConfig(
    name="qwen3", query_prompt=QUERY, pooling=Pooling.lasttoken, padding_side="left", end_token=END, max_length=160
)
BERT = EncoderConfig(name="bert", query_prompt="query: ", trace_prompt="passage: ", end_token="[SEP]")


def at(cfg: EncoderConfig, folder: Path, **values: Any) -> EncoderConfig:
    return replace(cfg, path=str(folder), **values)


def test_qwen3_reads_its_last_token(qwen3_folder: Path) -> None:
    encoder = open_encoder(at(QWEN3, qwen3_folder))
    np.testing.assert_allclose(cosines(encoder, PAIRS), plain(encoder, PAIRS), atol=1e-5, rtol=0)
    # By hand: the state of the last token, which is the end token, behind the prompt, in a batch of one.
    model: Any = encoder._model
    ids = model.tokenizer(QUERY + "abc")["input_ids"]
    assert ids[-1] == model.tokenizer.convert_tokens_to_ids(END)
    with torch.no_grad():
        state = model[0].model(input_ids=torch.tensor([ids])).last_hidden_state[0, -1]
    window = encoder._tokeniser.read(["abc"], QUERY, chunks=False)[0].windows[0]
    assert window == ids
    from thinkgap.encoders.forward import embed, unit

    found = unit(embed(model, [window, window[:5], window + window], 3))[0]
    np.testing.assert_allclose(found, state / state.norm(), atol=1e-5)


def test_the_prompt_counts_to_the_byte(qwen3_folder: Path) -> None:
    encoder = open_encoder(at(QWEN3, qwen3_folder))
    spaced = open_encoder(at(QWEN3, qwen3_folder, query_prompt=QUERY + " "))
    first, second = (
        one._tokeniser.read(["what?"], one.cfg.query_prompt, chunks=False)[0].windows[0] for one in (encoder, spaced)
    )
    assert first != second
    tokens = encoder._model.tokenizer.convert_ids_to_tokens(second)
    assert tokens[-6:] == ["Ġw", "h", "a", "t", "?", END]
    assert encoder.relevance(PAIRS[:1])[0].cosine != pytest.approx(spaced.relevance(PAIRS[:1])[0].cosine, abs=1e-4)
    # The prompt stands before problems alone: a text is not nearest to itself.
    assert encoder.relevance([Pair("same", "same")])[0].cosine < 0.999
    assert encoder.describe()["query_prompt"] == QUERY


def test_pooling_by_first_token_and_by_mean(cls_folder: Path, mean_folder: Path) -> None:
    first = open_encoder(at(BERT, cls_folder, pooling=Pooling.cls))
    mean = open_encoder(at(BERT, mean_folder, pooling=Pooling.mean))
    assert first.max_length == mean.max_length == 32
    for encoder in (first, mean):
        np.testing.assert_allclose(cosines(encoder, PAIRS), plain(encoder, PAIRS), atol=1e-5, rtol=0)
    assert not np.allclose(cosines(first, PAIRS), cosines(mean, PAIRS), atol=0.01)


@pytest.mark.parametrize("wrong", [Pooling.mean, Pooling.lasttoken])
def test_another_pooling_is_refused(cls_folder: Path, wrong: Pooling) -> None:
    with pytest.raises(ModelError, match=rf"encoder\.pooling={wrong.name}, but .* pools by cls"):
        open_encoder(at(BERT, cls_folder, pooling=wrong))


def test_a_changed_folder_is_seen(qwen3_folder: Path, tmp_path: Path) -> None:
    mean = changed(qwen3_folder, tmp_path / "mean", "1_Pooling/config.json", pooling_mode="mean")
    with pytest.raises(ModelError, match=r"encoder\.pooling=lasttoken, but .* pools by mean"):
        open_encoder(at(QWEN3, mean))
    right = changed(qwen3_folder, tmp_path / "right", "tokenizer_config.json", padding_side="right")
    with pytest.raises(ModelError, match=r"encoder\.padding_side=left, but .* pads on the right"):
        open_encoder(at(QWEN3, right))
    # As some versions of a tokenizer's files have lost it: nothing is appended any more.
    endless = changed(qwen3_folder, tmp_path / "endless", "tokenizer.json", post_processor=None)
    with pytest.raises(ModelError, match=r"encoder\.end_token=<\|endoftext\|>, but the tokenizer ends a text in 'a'"):
        open_encoder(at(QWEN3, endless))
    revisions = {
        open_encoder(at(QWEN3, one, pooling=None, padding_side=None, end_token=None)).describe()["revision"]
        for one in (qwen3_folder, mean, right)
    }
    assert len(revisions) == 3  # a module's own folder counts too


def test_every_text_must_end_in_the_end_token(qwen3_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = open_encoder(at(QWEN3, qwen3_folder))
    monkeypatch.setattr(encoder._tokeniser, "_end_id", 5)
    with pytest.raises(ModelError, match=r"encoder\.end_token"):
        encoder.relevance(PAIRS[:1])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"end_token": "<eos>"}, r"encoder\.end_token=<eos> is no token of its vocabulary"),
        ({"padding_side": "middle"}, r"encoder\.padding_side=middle: left, right or null"),
        ({"max_length": 0}, r"encoder\.max_length=0: at least 1"),
        ({"batch_size": 0}, r"encoder\.batch_size=0: at least 1"),
        ({"max_length": 65}, r"encoder\.max_length=65: .* positions for 64 tokens"),
        ({"max_length": 4}, r"encoder\.max_length=4 leaves no room .* encoder\.query_prompt\s+take 4 tokens"),
        ({"name": ""}, r"encoder\.name and encoder\.path are needed"),
        ({"path": "x.gguf"}, "GGUF"),
        ({"path": "./nowhere"}, r"encoder\.path=\./nowhere: no such folder"),
        ({"path": "package:no_such_package/x"}, r"encoder\.path=package:no_such_package/x: package 'no_such_package'"),
    ],
)
def test_settings_that_cannot_hold(mean_folder: Path, values: dict[str, Any], said: str) -> None:
    with pytest.raises((ConfigError, ModelError), match=said):
        open_encoder(replace(BERT, **({"path": str(mean_folder)} | values)))


def test_folders_that_are_no_encoder(mean_folder: Path, tmp_path: Path) -> None:
    plain_model = tmp_path / "plain"
    shutil.copytree(mean_folder, plain_model)
    (plain_model / "modules.json").unlink()
    with pytest.raises(ModelError, match=r"encoder\.path=.* has no modules\.json"):
        open_encoder(at(BERT, plain_model))
    unpooled = tmp_path / "unpooled"
    shutil.copytree(mean_folder, unpooled)
    modules = json.loads((unpooled / "modules.json").read_text())
    (unpooled / "modules.json").write_text(json.dumps(modules[:1]))
    with pytest.raises(ModelError, match="0 pooling modules"):
        open_encoder(at(BERT, unpooled))


def test_a_text_without_a_token_is_named(mean_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a tokenizer that adds no special tokens makes of a text that its normaliser empties.
    encoder = open_encoder(at(BERT, mean_folder))
    real = encoder._tokeniser.read
    emptied = lambda texts, prompt, chunks: [  # noqa: E731
        Tokenised(0, ([],), (0,)) if text == "\u200b" else real([text], prompt, chunks=chunks)[0] for text in texts
    ]
    monkeypatch.setattr(encoder._tokeniser, "read", emptied)
    with pytest.raises(DataError, match=r"the trace of pair 1 \(counted from 0\) has no token for encoder bert"):
        encoder.relevance([PAIRS[0], Pair("water", "\u200b")])


def test_a_hub_id_that_cannot_be_reached() -> None:
    with pytest.raises(ModelError, match=r"encoder\.path=owner/no-such-encoder: .*the connection"):
        open_encoder(EncoderConfig(name="far", path="owner/no-such-encoder"))


def test_missing_weights_are_no_random_ones(mean_folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "thin"
    shutil.copytree(mean_folder, folder)
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "layer.1.output" not in name}
    assert len(kept) < len(weights)
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"weights are missing .*layer\.1\.output"):
        open_encoder(at(BERT, folder))
    # The pooler is not read: a checkpoint without it is whole.
    save_file(
        {n: v for n, v in weights.items() if "pooler" not in n}, folder / "model.safetensors", metadata={"format": "pt"}
    )
    assert open_encoder(at(BERT, folder)).max_length == 32


def test_what_encode_does_otherwise_is_refused(mean_folder: Path, tmp_path: Path) -> None:
    # Instructor-like: the prompt goes into the model and not into the mean.
    folder = changed(mean_folder, tmp_path / "instructor", "1_Pooling/config.json", include_prompt=False)
    with pytest.raises(ModelError, match=r"encoder\.query_prompt.* differ from those of SentenceTransformer\.encode"):
        open_encoder(at(BERT, folder))
    assert open_encoder(at(BERT, folder, query_prompt="", trace_prompt="")).max_length == 32


def test_a_vector_that_is_not_finite_is_named(mean_folder: Path) -> None:
    encoder = open_encoder(at(BERT, mean_folder))
    model: Any = encoder._model
    with torch.no_grad():
        rare = model.tokenizer.convert_tokens_to_ids("density")
        model[0].model.embeddings.word_embeddings.weight[rare] = float("nan")
    with pytest.raises(
        ModelError, match=r"vector of the trace of pair 1 \(counted from 0\) is zero or not finite.*dtype"
    ):
        encoder.relevance([PAIRS[0], Pair("water", "density")])


def test_half_precision_is_what_was_asked_for(mean_folder: Path) -> None:
    full = open_encoder(at(BERT, mean_folder))
    half = open_encoder(at(BERT, mean_folder, dtype=Dtype.bfloat16))
    assert (full.describe()["dtype"], half.describe()["dtype"]) == ("float32", "bfloat16")
    np.testing.assert_allclose(cosines(half, PAIRS), cosines(full, PAIRS), atol=0.03)
    assert full.context() != half.context()


def test_a_longer_window_can_be_asked_for(mean_folder: Path) -> None:
    encoder = open_encoder(at(BERT, mean_folder, max_length=64))
    # [CLS] passage : and [SEP] stand around the text.
    found = encoder.relevance([Pair("water", "ice " * 60), Pair("water", "ice " * 61)])
    assert [(one.trace_tokens, one.truncated) for one in found] == [(64, False), (65, True)]
