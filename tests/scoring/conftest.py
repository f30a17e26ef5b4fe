"""Fixtures of the tests of scoring."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.scoring.unpadded import unpadded_attention


@pytest.fixture
def unpadded() -> Iterator[str]:
    """Name of an attention implementation that takes two-dimensional masks only, as FlashAttention 2 does."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import flash_attention_mask

    AttentionInterface.register("unpadded", unpadded_attention)
    AttentionMaskInterface.register("unpadded", flash_attention_mask)
    yield "unpadded"
    del AttentionInterface._global_mapping["unpadded"], AttentionMaskInterface._global_mapping["unpadded"]
