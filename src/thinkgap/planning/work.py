"""How much there is to compute: tokens of prompts, with and without what they share, counted on a sample of items.

Prompts are built as the run will build them. Knows no device and no weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from thinkgap.backends.format import TextFormat
from thinkgap.backends.images import image_runs
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.scoring.plan import LinearPrompt, Span, build_trie


@dataclass(frozen=True)
class Work:
    """Counts of a run, or means of an item."""

    prompts: float = 0.0
    tokens: float = 0.0
    """Of all prompts, each alone."""
    distinct: float = 0.0
    """Of the tries that prompts of one item make: each shared prefix once."""
    seen: float = 0.0
    """Tokens that attention looks at, summed over the distinct ones."""
    seen_plain: float = 0.0
    """The same where each prompt is computed alone."""
    longest: float = 0.0
    """Tokens of the longest prompt."""
    images: float = 0.0
    patches: float = 0.0
    """Patches of the images that are encoded."""

    def times(self, factor: float) -> Work:
        """All counts but that of the longest prompt, multiplied."""
        return Work(
            **{one.name: getattr(self, one.name) * (1.0 if one.name == "longest" else factor) for one in fields(self)}
        )


def work_of(fmt: TextFormat, items: Sequence[Sequence[PreparedPrompt]]) -> Work:
    """The work of some items, each with the prompts that share prefixes."""
    prompts = tokens = distinct = seen = seen_plain = images = patches = 0
    longest = 0
    for item in items:
        linear = [_linear(fmt, one) for one in item]
        if not linear:
            continue
        trie = build_trie(linear)
        lengths = [len(one.ids) for one in linear]
        prompts += len(linear)
        tokens += sum(lengths)
        distinct += trie.size
        seen += int(trie.depths.sum()) + trie.size
        seen_plain += sum(length * (length + 1) // 2 for length in lengths)
        longest = max(longest, *lengths)
        images += len(trie.images)
        patches += sum(_patches(item[one.prompt]) for one in trie.images if one.ordinal == 0)
    return Work(prompts, tokens, distinct, seen, seen_plain, longest, images, patches)


def _linear(fmt: TextFormat, prepared: PreparedPrompt) -> LinearPrompt:
    prompt = prepared.prompt
    runs = image_runs(prompt.input_ids, fmt.image_token_id, len(prompt.images), prepared.tensors)
    spans = tuple(Span(start, length, image.sha256) for (start, length), image in zip(runs, prompt.images, strict=True))
    return LinearPrompt(prompt.input_ids, spans)


def _patches(prepared: PreparedPrompt) -> int:
    """Patches of all images of a prompt: rows of pixels where the processor has cut them, else its image tokens."""
    pixels = prepared.tensors.get("pixel_values")
    if pixels is not None and pixels.ndim == 2:
        return len(pixels)
    return prepared.prompt.n_image_tokens
