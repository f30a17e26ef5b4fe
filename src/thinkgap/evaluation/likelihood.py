"""Likelihoods of every option string after every condition, and after a premise alone.

The strings are read through whatever scores prompts (`Engine.score`, or `Reuse.score` before it), as prompts of their
own; nothing else goes through the model. Knows no record and no file; the answers are `readouts.likelihood`'s.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from thinkgap.errors import LabelError, PromptError
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.prompts.strings import OptionString, collect, expand, option_strings, premise_prompt, require_room
from thinkgap.schema import LikelihoodConfig
from thinkgap.scoring.engine import Scored
from thinkgap.store.likelihoods import OptionScores
from thinkgap.types import Presentation, Prompt

Score = Callable[[Sequence[Sequence[PreparedPrompt]]], list[list[Scored]]]

MOST_READS = 512
"""Reads of one call on a CPU: each is a row of float32 logits over the vocabulary."""


@dataclass(frozen=True)
class ItemLikelihoods:
    """One presentation under every condition, or the reason why it was left out."""

    presentation: Presentation
    prompts: list[Prompt] = field(default_factory=list)
    """Per condition, the prompt that the options continue."""
    scores: list[OptionScores] = field(default_factory=list)
    """Per condition, in the order of `prompts`."""
    excluded: PromptError | None = None


def likelihoods(
    presentations: Iterable[Presentation],
    builder: PromptBuilder,
    score: Score,
    settings: LikelihoodConfig,
    most_reads: int = MOST_READS,
) -> Iterator[ItemLikelihoods]:
    """Likelihoods of every presentation, in order; prompts are built as they are needed.

    Args:
        presentations: what is asked.
        builder: makes its prompts; the first condition, Direct, decides which token ids are scored.
        score: gives groups of prompts their readings.
        settings: form of the strings, and the premise.
        most_reads: most rows of logits that one call of `score` asks for.

    Raises:
        LabelError: labels that cannot be read as one token each, which every prompt of a run must have.
    """
    # Options that items share (Yes, No) are read after a premise once.
    known: dict[_Premised, tuple[float, ...]] = {}
    for chunk in _chunks((_asked(one, builder, settings) for one in presentations), most_reads):
        for key, sums in _premises(chunk, known, score, most_reads):
            known[key] = sums
        yield from _read(chunk, known, score, most_reads)


_Premised = tuple[str, tuple[tuple[int, ...], ...]]
"""Digest of a premise's prompt, and the options after it."""


@dataclass(frozen=True)
class _Asked:
    """A presentation with its prompts of every condition, and those of the premise."""

    presentation: Presentation
    prepared: list[PreparedPrompt] = field(default_factory=list)
    premised: list[PreparedPrompt] = field(default_factory=list)
    strings: tuple[OptionString, ...] = ()
    excluded: PromptError | None = None

    @cached_property
    def option_ids(self) -> tuple[tuple[int, ...], ...]:
        """Token ids of every slot's string."""
        return tuple(string.ids for string in self.strings)

    @cached_property
    def expanded(self) -> list[list[PreparedPrompt]]:
        """Per condition, the prompts from which its options are read."""
        return [expand(one, self.option_ids) for one in self.prepared]

    @property
    def n_reads(self) -> int:
        """Rows of logits that it needs; after the premise as many again at most."""
        return sum(map(len, self.expanded))


def _asked(presentation: Presentation, builder: PromptBuilder, settings: LikelihoodConfig) -> _Asked:
    try:
        strings = option_strings(builder, presentation, settings.form)
        prepared = builder.build(presentation)
        premised = [
            premise_prompt(builder, presentation, condition, settings.premise) for condition in builder.conditions
        ]
        for one in (*prepared, *premised):
            require_room(one, strings, builder.fmt.max_length)
    except LabelError:
        raise  # a property of the model and the labels, not of this item
    except PromptError as error:
        return _Asked(presentation, excluded=error)
    return _Asked(presentation, prepared, premised, strings)


def _chunks(asked: Iterable[_Asked], most_reads: int) -> Iterator[list[_Asked]]:
    """Neighbours that one call can read; what is larger than that is a chunk of its own."""
    chunk: list[_Asked] = []
    room = most_reads
    for one in asked:
        if chunk and one.n_reads > room:
            yield chunk
            chunk, room = [], most_reads
        chunk.append(one)
        room -= one.n_reads
    if chunk:
        yield chunk


def _read(
    chunk: Sequence[_Asked], known: dict[_Premised, tuple[float, ...]], score: Score, most_reads: int
) -> Iterator[ItemLikelihoods]:
    read = iter(_sums([(one.expanded, one.option_ids) for one in chunk], score, most_reads))
    for one in chunk:
        sums = next(read)
        prompts = [prepared.prompt for prepared in one.prepared]
        scores = [
            OptionScores(
                one.presentation.item.id,
                one.presentation.name,
                prompt.condition.name,
                own,
                known[premised.prompt.sha256, one.option_ids],
                tuple(len(string.ids) for string in one.strings),
                tuple(string.n_bytes for string in one.strings),
            )
            for prompt, own, premised in zip(prompts, sums, one.premised, strict=True)
        ]
        yield ItemLikelihoods(one.presentation, prompts, scores, one.excluded)


def _premises(
    chunk: Sequence[_Asked], known: dict[_Premised, tuple[float, ...]], score: Score, most_reads: int
) -> Iterator[tuple[_Premised, tuple[float, ...]]]:
    """Likelihoods after the premise that are not known yet."""
    fresh: dict[_Premised, PreparedPrompt] = {}
    for one in chunk:
        for premised in one.premised:
            key = (premised.prompt.sha256, one.option_ids)
            if key not in known:
                fresh.setdefault(key, premised)
    by_options: dict[tuple[tuple[int, ...], ...], list[_Premised]] = {}
    for key in fresh:
        by_options.setdefault(key[1], []).append(key)
    work = [([expand(fresh[key], ids) for key in keys], ids) for ids, keys in by_options.items()]
    for keys, sums in zip(by_options.values(), _sums(work, score, most_reads), strict=True):
        yield from zip(keys, sums, strict=True)


_Work = tuple[list[list[PreparedPrompt]], tuple[tuple[int, ...], ...]]
"""What `expand` made of some prompts, and the options that they share."""


def _sums(work: Sequence[_Work], score: Score, most_reads: int) -> list[list[tuple[float, ...]]]:
    """Per entry of `work` and list of prompts in it, the likelihoods of the entry's options."""
    # Neighbours with the same images are one group, so that an image goes through the model once.
    groups = [
        group
        for _, same in itertools.groupby(enumerate(work), key=_images)
        for group in _groups([prompts for _, (lists, _) in same for prompts in lists], most_reads)
    ]
    calls = [groups] if sum(map(len, groups)) <= most_reads else [[group] for group in groups]
    read = iter([one.reading for call in calls if call for group in score(call) for one in group])
    return [
        [collect([one.prompt for one in prompts], [next(read) for _ in prompts], ids) for prompts in lists]
        for lists, ids in work
    ]


def _images(entry: tuple[int, _Work]) -> tuple[str, ...] | int:
    """What an entry shares with its neighbours: its images; without any, nothing."""
    number, (lists, _) = entry
    return tuple(image.sha256 for prompts in lists[:1] for image in prompts[0].prompt.images) or number


def _groups(lists: Sequence[list[PreparedPrompt]], most_reads: int) -> list[list[PreparedPrompt]]:
    """Lists that share prefixes, joined to groups of at most `most_reads` prompts; a longer list is cut."""
    groups: list[list[PreparedPrompt]] = []
    for prompts in lists:
        if groups and len(groups[-1]) + len(prompts) <= most_reads:
            groups[-1] += prompts
        else:
            groups += [prompts[start : start + most_reads] for start in range(0, len(prompts), most_reads)]
    return groups
