"""What branched scoring could do wrong gives other results, so the comparison with the plain path would notice it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.items import mcq
from tests.scoring.prompts import groups
from tests.scoring.reference import ALL, assert_equal, plain
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.scoring import branched
from thinkgap.scoring.branched import forward_branched
from thinkgap.scoring.capture import Rows
from thinkgap.scoring.levels import plan_levels
from thinkgap.scoring.packed import plan_prompts
from thinkgap.scoring.plan import build_trie
from thinkgap.types import Condition, Presentation, Request


def assert_unequal(backend: Any, group: Sequence[PreparedPrompt], expected: Rows) -> None:
    with pytest.raises(AssertionError):
        assert_equal(forward_branched(backend, [plan_prompts(backend, group)], ALL), expected)


@pytest.mark.parametrize("family", ["gemma3", "gemma3_vision"])
def test_the_sliding_window_matters(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = tiny_backend(family)
    group = groups(backend, picture)[1]
    expected = plain(backend, group)
    assert plan_levels(plan_prompts(backend, group).trie).root > 2 * 16, "the root is longer than the window"
    monkeypatch.setattr(backend.model.config.get_text_config(), "sliding_window", 10**6)
    assert_unequal(backend, group, expected)


@pytest.mark.parametrize("number", [2, 4])
def test_image_tokens_see_each_other_in_gemma(
    number: int, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the root, and in stems, whose token types must be counted from the first token of the prompt on."""
    backend = tiny_backend("gemma3_vision")
    group = groups(backend, picture)[number]
    expected = plain(backend, group)
    original = branched._images

    def from_start(*args: Any) -> dict[str, Any]:
        tensors = original(*args)
        if "token_type_ids" in tensors and number == 4:
            return tensors | {"token_type_ids": tensors["token_type_ids"][:, -len(args[3][0]) :]}
        return {key: value for key, value in tensors.items() if key != "token_type_ids"}

    monkeypatch.setattr(branched, "_images", from_start)
    assert_unequal(backend, group, expected)


@pytest.mark.parametrize("family", ["qwen25vl", "llava", "gemma3_vision"])
def test_images_in_another_order_are_noticed(
    family: str, tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options that are images: the rows of a pass show them in different orders."""
    backend = tiny_backend(family)
    # Of one size, so that in the wrong order they would still fit.
    images = tuple(picture(84, 84, seed) for seed in (1, 2, 3))
    item = mcq("same_size", question="Which?", choices=("<image 1>", "<image 2>", "<image 3>"), images=images)
    builder = PromptBuilder(backend.fmt, [Condition("direct", "trigger", Request.label)])
    group = [
        prepared
        for order in ((0, 1, 2), (2, 0, 1))
        for prepared in builder.build(Presentation(item, order, ("A", "B", "C"), str(order)))
    ]
    expected = plain(backend, group)
    assert_equal(forward_branched(backend, [plan_prompts(backend, group)], ALL), expected)
    original = branched.image_tensors
    monkeypatch.setattr(branched, "image_tensors", lambda model, shown, device: original(model, shown[::-1], device))
    assert_unequal(backend, group, expected)


def test_one_image_taken_for_another_is_noticed(
    tiny_backend: Callable[[str], Any], picture: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trie of ids alone would merge the tokens of different images."""
    backend = tiny_backend("gemma3_vision")
    group = groups(backend, picture)[4]
    expected = plain(backend, group)

    def blind(prompts: Any) -> Any:
        return build_trie(
            [replace(one, spans=tuple(replace(span, content="") for span in one.spans)) for one in prompts]
        )

    monkeypatch.setattr("thinkgap.scoring.packed.build_trie", blind)
    assert_unequal(backend, group, expected)
