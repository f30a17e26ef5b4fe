"""Windows of token ids, and the cosines over them, by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.encoders.folders import MINILM
from thinkgap.backends.locate import package_path
from thinkgap.encoders import Encoder
from thinkgap.encoders.tokens import Tokenised, Tokeniser
from thinkgap.errors import ModelError
from thinkgap.schema import EncoderConfig
from thinkgap.types import Pair


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(package_path(MINILM))


class Counting:
    """Stands for a model: the vector of a window counts its a, b and c."""

    device, truncate_dim = torch.device("cpu"), None

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.ids = tokenizer.convert_tokens_to_ids(["a", "b", "c"])

    def __call__(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        counts = [(features["input_ids"] == one).sum(1) for one in self.ids]
        return {"sentence_embedding": torch.stack(counts, 1)}


def test_cosines_over_chunks_by_hand(tokenizer: Any) -> None:
    # Windows of 4 tokens hold 2 of the text: [CLS] a a [SEP], [CLS] a b [SEP], [CLS] c [SEP]. Their vectors, of length
    # 1, are (1, 0, 0), (1, 1, 0) / sqrt 2 and (0, 0, 1), and weigh 2, 2 and 1. The weighted sum is
    # (2 + sqrt 2, sqrt 2, 1), whose squared length is (6 + 4 sqrt 2) + 2 + 1 = 9 + 4 sqrt 2.
    cfg = EncoderConfig(name="counting", path="-")
    encoder = Encoder(cfg, Counting(tokenizer), Tokeniser(tokenizer, "counting", 4, "[SEP]"), {})
    length = math.sqrt(9 + 4 * math.sqrt(2))
    first, second, third = encoder.relevance([Pair("a", "a a a b c"), Pair("c", "a a a b c"), Pair("a", "a b")])
    assert first.cosine == first.chunk_max == pytest.approx(1)
    assert first.chunk_mean == pytest.approx((2 + math.sqrt(2)) / length)
    assert (second.cosine, second.chunk_max) == pytest.approx((0, 1))
    assert second.chunk_mean == pytest.approx(1 / length)
    assert (second.problem_tokens, second.trace_tokens, second.truncated) == (3, 7, True)
    assert third.cosine == third.chunk_mean == third.chunk_max == pytest.approx(1 / math.sqrt(2))
    assert not third.truncated


def test_windows_are_cut_from_the_ids_of_the_whole_text(tokenizer: Any) -> None:
    prompt, text = "passage: ", "unbelievably hyperparameterised unbelievably so"
    tokeniser = Tokeniser(tokenizer, "minilm", 8, None)
    whole = tokenizer(prompt + text, truncation=False)["input_ids"]
    lead = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    body = whole[1 + len(lead) : -1]
    found = tokeniser.read([text], prompt, chunks=True)[0]
    assert found.n_tokens == len(whole) > 8
    # Each window: [CLS], the prompt, up to 4 tokens of the text, [SEP]; together they are the text, word or no word.
    assert all(one[: 1 + len(lead)] == whole[: 1 + len(lead)] and one[-1] == whole[-1] for one in found.windows)
    assert [token for one in found.windows for token in one[1 + len(lead) : -1]] == body
    assert found.weights == tuple(len(one) - len(lead) - 2 for one in found.windows)
    assert len(found.windows) == math.ceil(len(body) / 4)
    assert max(map(len, found.windows)) == 8
    # Without chunks: the tokenizer's own cut.
    cut = tokenizer(prompt + text, truncation=True, max_length=8)["input_ids"]
    assert tokeniser.read([text], prompt, chunks=False)[0] == Tokenised(len(whole), (cut,), (4,))


def test_the_last_token_that_fits(tokenizer: Any) -> None:
    tokeniser = Tokeniser(tokenizer, "minilm", 6, None)
    assert [len(one.windows) for one in tokeniser.read(["a b c d", "a b c d a"], "", chunks=True)] == [1, 2]
    exact = tokeniser.read(["a b c d"], "", chunks=True)[0]
    assert (exact.n_tokens, exact.weights) == (6, (4,))


def test_a_token_over_the_prompts_end_belongs_to_the_text(qwen3_folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(qwen3_folder)
    tokeniser = Tokeniser(tokenizer, "qwen3", 6, "<|endoftext|>")
    tokens = [
        tokenizer.convert_ids_to_tokens(one) for one in tokeniser.read(["what what"], "x ", chunks=True)[0].windows
    ]
    # The space of the prompt became a part of the first word's token; no id is lost, and none is there twice.
    assert tokens == [
        ["x", "Ġw", "h", "a", "t", "<|endoftext|>"],
        ["x", "Ġw", "h", "a", "t", "<|endoftext|>"],
    ]


def test_tokenizers_that_cannot_be_cut(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "truncation_side", "left")
    with pytest.raises(ModelError, match="keeps the end of a long text"):
        Tokeniser(tokenizer, "minilm", 8, None)
