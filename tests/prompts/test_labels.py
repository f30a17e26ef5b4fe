"""Which token stands for a label at the read position (traps 2 to 8)."""

from __future__ import annotations

from typing import Any

import pytest

from thinkgap.errors import LabelError
from thinkgap.prompts.labels import LabelVariant, label_ids, natural_variant

TURN = "<|im_start|>user\nQ\nA. x\nB. y<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture
def tokenize(smollm2_tokenizer: Any) -> Any:
    return lambda text: smollm2_tokenizer(text, add_special_tokens=False).input_ids


@pytest.fixture(scope="module")
def pieces_tokenize() -> Any:
    """A tokenizer in which ` A` is two tokens, as in Llama 2's, and the letters F and G are unknown."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {token: index for index, token in enumerate(["<unk>", "▁", *"ABCDEQxy.:\n"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    return lambda text: tokenizer.encode(text).ids


def test_variants_are_the_tokens_that_really_follow(smollm2_tokenizer: Any, tokenize: Any) -> None:
    bare = label_ids(tokenize, TURN, ("A", "B"), LabelVariant.bare, "m")
    spaced = label_ids(tokenize, TURN, ("A", "B"), LabelVariant.spaced, "m")
    assert [smollm2_tokenizer.decode(ids) for ids in bare] == ["A", "B"]
    assert [smollm2_tokenizer.decode(ids) for ids in spaced] == [" A", " B"]
    assert label_ids(tokenize, TURN, ("A", "B"), LabelVariant.both, "m") == tuple(
        one + other for one, other in zip(bare, spaced, strict=True)
    )


def test_a_merge_at_the_joint_does_not_change_the_token(smollm2_tokenizer: Any, tokenize: Any) -> None:
    """`foo` + `A` and a double line break + `A` are tokenised otherwise than their parts."""
    clean = label_ids(tokenize, TURN, ("A",), LabelVariant.bare, "m")
    for text in ("B. foo", "</think>\n\n", "ends in a blank "):
        assert label_ids(tokenize, text, ("A",), LabelVariant.bare, "m") == clean, text


def test_two_token_labels_are_refused_with_the_way_out(pieces_tokenize: Any) -> None:
    """Trap 5: with a blank before it the label is two tokens, both starting with the blank."""
    with pytest.raises(LabelError, match=r"label ' A' is 2 tokens .* for tiny .*set labels=bare or labels=both"):
        label_ids(pieces_tokenize, "Q:", ("A", "B"), LabelVariant.spaced, "tiny")
    bare = label_ids(pieces_tokenize, "Q:", ("A", "B"), LabelVariant.bare, "tiny")
    assert label_ids(pieces_tokenize, "Q:", ("A", "B"), LabelVariant.both, "tiny") == bare == ((2,), (3,))


def test_labels_that_are_one_token_only_together_are_refused(pieces_tokenize: Any) -> None:
    with pytest.raises(LabelError, match="'AB' is 2 tokens"):
        label_ids(pieces_tokenize, "Q:", ("AB", "AC"), LabelVariant.both, "tiny")


def test_labels_with_the_same_token_are_refused(pieces_tokenize: Any) -> None:
    """Trap 8: what cannot be told apart is not read at random."""
    with pytest.raises(LabelError, match="'F' and 'G' are the same token 0 for tiny"):
        label_ids(pieces_tokenize, "Q:", ("F", "G"), LabelVariant.bare, "tiny")


@pytest.mark.parametrize(
    ("before", "joiner", "expected"),
    [
        ("", "", LabelVariant.bare),
        ("", " ", LabelVariant.spaced),
        ("Let me think step by step.", "", LabelVariant.spaced),
        (r"The answer is \boxed{", "", LabelVariant.bare),
        ("Answer:\n", "", LabelVariant.bare),
        ('He said "yes"', "", LabelVariant.spaced),
        ("答案：", "", LabelVariant.bare),
        ("答えは「", "", LabelVariant.bare),
    ],
)
def test_natural_variant(before: str, joiner: str, expected: LabelVariant) -> None:
    assert natural_variant(before, joiner) is expected
