"""Option labels -> token ids at the exact read position.

A label can be spelled by more than one token (`A`, ` A`), and which one is natural depends on what stands before
it. Reading another token under the trigger than under Direct would compare two measurements (lm-eval does,
EleutherAI/lm-evaluation-harness#3508), so all conditions read Direct's ids unless asked otherwise, and the ids are
kept in every record.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from thinkgap.errors import LabelError
from thinkgap.schema import LabelVariant

Tokenize = Callable[[str], list[int]]
_OPENING = "{([“‘「『（"


@dataclass(frozen=True)
class LabelTokens:
    """The single-token spellings of one label at one read position; None where it takes several tokens."""

    label: str
    bare: int | None
    spaced: int | None
    bare_pieces: tuple[int, ...]
    spaced_pieces: tuple[int, ...]


def natural_variant(before: str, joiner: str) -> LabelVariant:
    """The variant that a fluent continuation would use.

    Args:
        before: what the condition itself puts before the read position (a trigger, a prefill); empty where the label
            is the first word of the assistant turn. Never an item's text: the measured token must not depend on it.
        joiner: white space that the template puts before an assistant's first word.
    """
    if not before:
        return LabelVariant.spaced if joiner.endswith(" ") else LabelVariant.bare
    last = before[-1]
    # Scripts written without blanks (Chinese, Japanese) put none before a letter either.
    no_blank = last.isspace() or last in _OPENING or unicodedata.east_asian_width(last) in "WF"
    return LabelVariant.bare if no_blank else LabelVariant.spaced


def label_tokens(tokenize: Tokenize, text: str, label: str) -> LabelTokens:
    """Spellings of `label` right after `text`, found by tokenising both whole, never in pieces."""
    bare_pieces = continuation(tokenize, text, label)
    spaced_pieces = continuation(tokenize, text, " " + label)
    return LabelTokens(
        label,
        bare_pieces[0] if len(bare_pieces) == 1 else None,
        spaced_pieces[0] if len(spaced_pieces) == 1 else None,
        bare_pieces,
        spaced_pieces,
    )


def label_ids(
    tokenize: Tokenize, text: str, labels: tuple[str, ...], variant: LabelVariant, model: str
) -> tuple[tuple[int, ...], ...]:
    """Per label, the ids to sum at the read position after `text`.

    Args:
        tokenize: whole text -> ids.
        text: rendered prompt.
        labels: one per slot.
        variant: bare, spaced or both (`auto` is resolved by the caller through `natural_variant`).
        model: name for messages.

    Raises:
        LabelError: a label is not one token, or two labels share a token.
    """
    found = [label_tokens(tokenize, text, label) for label in labels]
    ids = tuple(_chosen(tokens, variant, model) for tokens in found)
    seen: dict[int, str] = {}
    for label, own in zip(labels, ids, strict=True):
        for token in own:
            if token in seen:
                raise LabelError(
                    f"labels {seen[token]!r} and {label!r} are the same token {token} for {model}: "
                    "a one-token readout cannot tell them apart; use other labels"
                )
            seen[token] = label
    return ids


def _chosen(tokens: LabelTokens, variant: LabelVariant, model: str) -> tuple[int, ...]:
    if variant is LabelVariant.both:
        own = tuple(dict.fromkeys(token for token in (tokens.bare, tokens.spaced) if token is not None))
        if own:
            return own
        raise _refusal(tokens.label, tokens.bare_pieces, model, "this tokenizer has no one-token form of it")
    token, pieces, other = (
        (tokens.bare, tokens.bare_pieces, LabelVariant.spaced)
        if variant is LabelVariant.bare
        else (tokens.spaced, tokens.spaced_pieces, LabelVariant.bare)
    )
    if token is not None:
        return (token,)
    other_token = tokens.spaced if other is LabelVariant.spaced else tokens.bare
    shown = tokens.label if variant is LabelVariant.bare else " " + tokens.label
    way_out = (
        f"set labels={other.name} or labels=both"
        if other_token is not None
        else "this tokenizer has no one-token form of it; use other labels"
    )
    raise _refusal(shown, pieces, model, way_out)


def _refusal(label: str, pieces: tuple[int, ...], model: str, way_out: str) -> LabelError:
    return LabelError(
        f"label {label!r} is {len(pieces)} tokens {list(pieces)} for {model} at the read position, and labels that "
        f"share a first token cannot be told apart by one reading: {way_out}"
    )


def continuation(tokenize: Tokenize, text: str, addition: str) -> tuple[int, ...]:
    """Ids that `addition` adds to `text`.

    Where the tokenizer merges the two at the joint ("foo" + "A" -> "fooA"; some also re-split the white space
    before a word), no token of its own follows the text as tokenised. The model can still emit the label's own
    token there, so it is looked up in a neutral context.
    """
    neutral = "x" if addition.startswith(" ") else "x\n"
    for context in (text, neutral):
        before, after = tokenize(context), tokenize(context + addition)
        if after[: len(before)] == before:
            return tuple(after[len(before) :])
    return ()
