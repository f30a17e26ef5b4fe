"""Texts as the windows of token ids that an encoder reads: the beginning alone, or chunk after chunk.

A text is tokenised once, behind its prompt and without a cut; windows are cut out of these ids, so that no chunk is
tokenised anew and none differs from the text that it is part of. Knows no model and no vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thinkgap.errors import ConfigError, ModelError


@dataclass(frozen=True)
class Tokenised:
    """One text as an encoder reads it."""

    n_tokens: int
    """Before anything was cut; prompt and special tokens included."""
    windows: tuple[list[int], ...]
    """Token ids of each window, prompt and special tokens included; the first is what the encoder reads of the text."""
    weights: tuple[int, ...]
    """Tokens of the text itself in each window."""


class Tokeniser:
    """A tokenizer, its length limit, and what it puts around a text."""

    def __init__(self, tokenizer: Any, name: str, max_length: int, end_token: str | None) -> None:
        """Look at a sample text.

        Args:
            tokenizer: of transformers, a fast one.
            name: of the encoder, for messages.
            max_length: tokens of a window, at most.
            end_token: what every text must end in; None asks for nothing.

        Raises:
            ModelError: a tokenizer that the windows cannot be cut with, or one that does not append `end_token`.
        """
        self.tokenizer, self.name, self.max_length = tokenizer, name, max_length
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(f"encoder {name}: its tokenizer has no offsets (not a fast one), so no chunks can be cut")
        if tokenizer.truncation_side != "right":
            raise ModelError(
                f"encoder {name}: its tokenizer keeps the end of a long text; only the beginning is read here"
            )
        around = tokenizer("a", add_special_tokens=True).encodings[0].sequence_ids
        text = [place for place, sequence in enumerate(around) if sequence is not None]
        if not text:
            raise ModelError(f"encoder {name}: its tokenizer makes no token of 'a'")
        self._head, self._tail = text[0], len(around) - text[-1] - 1
        self.end_token = end_token
        self._end_id = None if end_token is None else self._id_of(end_token)
        self.read(["a"], "", chunks=False)

    def check_room(self, prompt: str, setting: str) -> None:
        """Require that a window holds more than a prompt and special tokens.

        Raises:
            ConfigError: it does not.
        """
        taken = len(self._ids([prompt + "a"])[0].ids) - 1
        if taken >= self.max_length:
            raise ConfigError(
                f"encoder.max_length={self.max_length} leaves no room for a text: special tokens and encoder.{setting} "
                f"take {taken} tokens"
            )

    def read(self, texts: Sequence[str], prompt: str, *, chunks: bool) -> list[Tokenised]:
        """The windows of some texts.

        Args:
            texts: without their prompt.
            prompt: put before each text, byte-exact.
            chunks: whether a text that is too long is read to its end, in windows that do not overlap, each with the
                prompt and the special tokens; else only its beginning is read, as the tokenizer itself would cut it.

        Raises:
            ModelError: a text that does not end in the end token.
        """
        if not texts:
            return []
        return [self._windows(encoding, len(prompt), chunks) for encoding in self._ids([prompt + one for one in texts])]

    def _ids(self, texts: list[str]) -> Sequence[Any]:
        return self.tokenizer(
            texts,
            add_special_tokens=True,
            padding=False,
            truncation=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        ).encodings

    def _windows(self, encoding: Any, n_prompt_chars: int, chunks: bool) -> Tokenised:
        ids: list[int] = encoding.ids
        if self._end_id is not None and ids[-1:] != [self._end_id]:
            last = self.tokenizer.convert_ids_to_tokens(ids[-1]) if ids else None
            raise ModelError(
                f"encoder {self.name}: encoder.end_token={self.end_token}, but the tokenizer ends a text in {last!r}: "
                "vectors would be read at another token than in training. Take the tokenizer that comes with the "
                "checkpoint (its post-processor appends the token), or set encoder.end_token=null"
            )
        n, stop = len(ids), len(ids) - self._tail
        # A token that holds the prompt's last characters and the text's first ones belongs to the text.
        start, offsets = self._head, encoding.offsets if n_prompt_chars else ()
        while n_prompt_chars and start < stop and offsets[start][1] <= n_prompt_chars:
            start += 1
        if n <= self.max_length:
            return Tokenised(n, (ids,), (stop - start,))
        before, after = ids[:start], ids[stop:]
        step = self.max_length - len(before) - len(after)
        starts = range(start, stop, step) if chunks else (start,)
        bodies = [ids[first : min(first + step, stop)] for first in starts]
        return Tokenised(n, tuple(before + body + after for body in bodies), tuple(map(len, bodies)))

    def _id_of(self, token: str) -> int:
        found = self.tokenizer.get_vocab().get(token)
        if found is None:
            raise ModelError(f"encoder {self.name}: encoder.end_token={token} is no token of its vocabulary")
        return found
