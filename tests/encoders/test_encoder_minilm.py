"""The real MiniLM: cosines are those of plain `SentenceTransformer.encode`, whatever is sorted, batched or repeated."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thinkgap.encoders import Encoder
from thinkgap.errors import DataError
from thinkgap.types import Pair

WORDS = ("the", "ratio", "of", "water", "to", "ice", "so", "we", "subtract", "12", "with", "7", "because", "density")


def text(words: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


PAIRS = [
    Pair("What is 7 + 5?", "7 and 5 make 12."),
    Pair("What is 7 + 5?", "The answer is"),
    Pair(text(60, 1), text(40, 2)),
    Pair(text(270, 3), text(380, 4)),  # both are cut at 256 tokens
    Pair(text(60, 1), text(380, 4)),
    Pair(
        "Naïve Σ über \u4e2d\u6587 \U0001f600?",
        "<think>\n **x**\u00a0= $\\frac{1}{2}$ &lt;b&gt; [SEP] <|endoftext|>\t\u200b",
    ),
    Pair(" What  is\n7 + 5? ", "7 and 5\u2003make 12.\n"),
    Pair("What is 7 + 5?", "What is 7 + 5?"),
]


def plain(encoder: Encoder, pairs: list[Pair]) -> np.ndarray:
    model: Any = encoder._model
    sides = [
        model.encode([" ".join(one.split()) for one in texts], prompt=prompt, normalize_embeddings=True, batch_size=1)
        for texts, prompt in (
            ([pair.problem for pair in pairs], encoder.cfg.query_prompt),
            ([pair.trace for pair in pairs], encoder.cfg.trace_prompt),
        )
    ]
    return np.einsum("nd,nd->n", *sides)


def cosines(encoder: Encoder, pairs: list[Pair]) -> np.ndarray:
    return np.array([one.cosine for one in encoder.relevance(pairs)])


def test_cosines_are_those_of_encode(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = plain(minilm, PAIRS)
    np.testing.assert_allclose(cosines(minilm, PAIRS), expected, atol=1e-5, rtol=0)
    assert expected.min() < 0.3 < 0.5 < expected[0]  # these could differ
    monkeypatch.setattr(minilm, "cfg", replace(minilm.cfg, batch_size=3))
    monkeypatch.setattr("thinkgap.encoders.texts._BLOCK_TEXTS", 4)
    np.testing.assert_allclose(cosines(minilm, PAIRS[::-1]), expected[::-1], atol=1e-5, rtol=0)


def test_lengths_and_cuts_are_told(minilm: Encoder) -> None:
    assert minilm.max_length == 256  # the packaged checkpoint's own
    found = minilm.relevance(PAIRS)
    # [CLS] what is 7 + 5 ? [SEP], and [CLS] 7 and 5 make 12 . [SEP]
    assert (found[0].problem_tokens, found[0].trace_tokens, found[0].truncated) == (8, 8, False)
    assert [one.truncated for one in found] == [False, False, False, True, True, False, False, False]
    tokenizer: Any = minilm._model.tokenizer
    whole = [len(tokenizer(one, truncation=False)["input_ids"]) for one in (PAIRS[3].problem, PAIRS[3].trace)]
    assert [found[3].problem_tokens, found[3].trace_tokens] == whole
    assert min(whole) > 256
    assert found[0].chunk_mean == found[0].chunk_max == found[0].cosine
    assert found[4].chunk_max >= found[4].cosine
    assert found[4].chunk_mean != found[4].cosine
    # White space alone makes no other text; a text is as near to itself as can be, and nothing is clipped to 1.
    assert found[6] == found[0]
    assert found[7].cosine == pytest.approx(1, abs=1e-6)


def test_without_chunks_nobody_looked_at_the_rest(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    with_chunks = minilm.relevance(PAIRS[3:5])
    monkeypatch.setattr(minilm, "cfg", replace(minilm.cfg, chunks=False))
    found = minilm.relevance([*PAIRS[:1], *PAIRS[3:5]])
    assert found[0].chunk_mean == found[0].cosine
    assert all(math.isnan(one.chunk_mean) and math.isnan(one.chunk_max) for one in found[1:])
    assert [one.cosine for one in found[1:]] == pytest.approx([one.cosine for one in with_chunks], abs=1e-6)


def test_a_text_is_encoded_once(minilm: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    from thinkgap.encoders import encoder

    seen: list[int] = []
    real = encoder.embed
    monkeypatch.setattr(encoder, "embed", lambda *args: (seen.append(len(args[1])), real(*args))[1])
    minilm.relevance([Pair("a b", trace) for trace in ("c", "d", "c", " c\n")] * 3)
    assert seen == [3]  # a b, c, d
    assert minilm.relevance([]) == []


@pytest.mark.parametrize("side", ["problem", "trace"])
@pytest.mark.parametrize(
    ("bad", "said"), [("", "only white space"), (" \n\u00a0\u2003", "only white space"), ("a\ud800", "surrogate")]
)
def test_a_text_that_is_none_is_named(minilm: Encoder, side: str, bad: str, said: str) -> None:
    pair = replace(PAIRS[0], **{side: bad})
    with pytest.raises(DataError, match=rf"the {side} of pair 2 \(counted from 0\).*{said}"):
        minilm.relevance([PAIRS[0], PAIRS[1], pair])


def test_a_text_without_visible_tokens_still_has_a_vector(minilm: Encoder) -> None:
    assert -1 <= minilm.relevance([Pair("x", "\u200b")])[0].cosine <= 1
