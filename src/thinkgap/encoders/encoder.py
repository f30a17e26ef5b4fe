"""QRel: how close a trace is to its problem in the space of one sentence encoder.

Each distinct text is encoded once: longest first, in batches of similar length, a block at a time. A block's vectors go
to the store and out of memory; cosines are then taken from there. Knows no table, no mean over responses, and no empty
trace: an empty trace is no pair, and whoever counts gives it 0.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thinkgap.encoders.forward import embed, unit
from thinkgap.encoders.texts import Texts, blocks, distinct
from thinkgap.encoders.tokens import Tokenised, Tokeniser
from thinkgap.encoders.vectors import TextVectors, VectorStore
from thinkgap.errors import DataError, ModelError, StoreError
from thinkgap.schema import EncoderConfig
from thinkgap.tracking.progress import progress as progress_bar
from thinkgap.types import Pair, Relevance

log = logging.getLogger(__name__)

_PAIRS = 1024
"""Pairs whose vectors are in memory at once."""


class Encoder:
    """A loaded sentence encoder with its prompts. Open it with `open_encoder`."""

    def __init__(self, cfg: EncoderConfig, model: Any, tokeniser: Tokeniser, facts: dict[str, Any]) -> None:
        """Take what `open_encoder` found.

        Args:
            cfg: the settings.
            model: a SentenceTransformer in evaluation mode.
            tokeniser: of the model.
            facts: all that a vector depends on beside text and prompt, as JSON data.
        """
        self.cfg, self._facts = cfg, facts
        self._model, self._tokeniser = model, tokeniser
        self._digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    @property
    def max_length(self) -> int:
        """Tokens of a text that are read, prompt and special tokens included."""
        return self._tokeniser.max_length

    def context(self) -> dict[str, Any]:
        """All that a vector depends on beside its text and prompt, as JSON data: what a `VectorStore` belongs to."""
        return dict(self._facts)

    def describe(self) -> dict[str, Any]:
        """For the manifest: the context, and the settings that are not in it, prompts byte-exact."""
        cfg = self.cfg
        own = ("name", "path", "query_prompt", "trace_prompt", "chunks", "batch_size")
        return self.context() | {name: getattr(cfg, name) for name in own}

    def open_vectors(self, cells_dir: Path | str) -> VectorStore:
        """This encoder's store, `cells_dir/NAME-vectors-DIGEST`.

        Raises:
            StoreError: the folder cannot be written.
        """
        folder = Path(cells_dir).expanduser() / f"{self.cfg.name}-vectors-{self._digest[:16]}"
        return VectorStore.open(folder, self.context())

    def relevance(
        self, pairs: Sequence[Pair], cache: VectorStore | None = None, *, progress: bool = False
    ) -> list[Relevance]:
        """QRel of each pair: the raw cosine of problem and trace (arXiv 2610.11765, section 3.1), never clipped.

        White space of both texts is normalised first. A trace that is too long is read from its beginning; with
        `encoder.chunks` also to its end, for `chunk_mean` and `chunk_max`. Without, these two are NaN for such a trace,
        since nobody looked.

        Args:
            pairs: texts that are not empty; give an empty trace 0 instead of asking.
            cache: vectors of earlier runs, and where new ones are kept; None keeps them in a temporary folder.
            progress: whether a bar is shown (on a terminal).

        Returns:
            One for each pair, in the order given.

        Raises:
            DataError: an empty text, or one that is no valid text; the message names the pair, counted from 0.
            ModelError: a vector that is not finite or zero.
            StoreError: vectors cannot be written, or went away during the run.
        """
        if cache is None:
            with tempfile.TemporaryDirectory(prefix="thinkgap-vectors-") as folder:
                return self.relevance(pairs, VectorStore.open(folder, self.context()), progress=progress)
        problems = distinct(pairs, "problem", self.cfg.query_prompt, False, self._digest)
        traces = distinct(pairs, "trace", self.cfg.trace_prompt, self.cfg.chunks, self._digest)
        self._encode(pairs, (problems, traces), cache, progress)
        return self._compared(problems, traces, cache)

    def _encode(self, pairs: Sequence[Pair], sides: Sequence[Texts], cache: VectorStore, progress: bool) -> None:
        """Put the vectors of all texts into the store that are not there yet."""
        jobs = [
            (texts.lengths[number], side, number)
            for side, texts in enumerate(sides)
            for number, key in enumerate(texts.keys)
            if key not in cache
        ]
        jobs.sort(reverse=True)
        n_texts = sum(len(texts.keys) for texts in sides)
        done = n_texts - len(jobs)
        name = self.cfg.name
        log.info("%s: %d distinct texts in %d pairs, %d of them known", name, n_texts, len(pairs), done)
        with progress_bar(total=n_texts, initial=done, description=name, unit="text", enabled=progress) as bar:
            for block in blocks([length for length, _, _ in jobs]):
                found: dict[bytes, TextVectors] = {}
                read: list[tuple[Texts, int, Tokenised]] = []
                for side, texts in enumerate(sides):
                    numbers = [number for _, own, number in jobs[block.start : block.stop] if own == side]
                    bare = [texts.text(pairs, number) for number in numbers]
                    tokenised = self._tokeniser.read(bare, texts.prompt, chunks=texts.chunks)
                    read += [(texts, number, one) for number, one in zip(numbers, tokenised, strict=True)]
                vectors = self._vectors(read)
                for texts, number, one in read:
                    own, vectors = vectors[: len(one.windows)], vectors[len(one.windows) :]
                    if not np.isfinite(own).all():
                        raise ModelError(
                            f"encoder {name}: the vector of {texts.where(number)} is zero or not finite, so it has no "
                            "cosine; try encoder.dtype=float32, or check the checkpoint's weights"
                        )
                    found[texts.keys[number]] = TextVectors(one.n_tokens, one.weights, own)
                cache.write(found)
                bar.update(len(block))

    def _vectors(self, read: Sequence[tuple[Texts, int, Tokenised]]) -> np.ndarray:
        """The vectors `[n, d]` of all windows, text after text."""
        for texts, number, one in read:
            if not one.n_tokens:
                raise DataError(f"{texts.where(number)} has no token for encoder {self.cfg.name}")
        return unit(embed(self._model, [window for _, _, one in read for window in one.windows], self.cfg.batch_size))

    def _compared(self, problems: Texts, traces: Texts, cache: VectorStore) -> list[Relevance]:
        """Cosines, a few pairs at a time, those together whose traces lie together in the store."""
        found: list[Any] = [None] * len(problems.of)
        places = [cache.place(key) for key in traces.keys]
        order = sorted(range(len(found)), key=lambda pair: places[traces.of[pair]])
        for start in range(0, len(order), _PAIRS):
            block = order[start : start + _PAIRS]
            queries, read = (_fetched(cache, texts, block) for texts in (problems, traces))
            for pair in block:
                found[pair] = self._relevance_of(queries[int(problems.of[pair])], read[int(traces.of[pair])])
        return found

    def _relevance_of(self, problem: TextVectors, trace: TextVectors) -> Relevance:
        cosines = trace.vectors @ problem.vectors[0]
        mean = best = float(cosines[0])
        is_cut = trace.n_tokens > self.max_length
        if is_cut and not self.cfg.chunks:
            mean = best = math.nan
        elif is_cut:
            vector = np.average(trace.vectors, axis=0, weights=trace.weights)
            mean, best = float(vector @ problem.vectors[0] / np.linalg.norm(vector)), float(cosines.max())
        return Relevance(
            cosine=float(cosines[0]),
            problem_tokens=problem.n_tokens,
            trace_tokens=trace.n_tokens,
            truncated=is_cut or problem.n_tokens > self.max_length,
            chunk_mean=mean,
            chunk_max=best,
        )


def _fetched(cache: VectorStore, texts: Texts, block: Sequence[int]) -> dict[int, TextVectors]:
    numbers = list({int(texts.of[pair]) for pair in block})
    found: dict[int, TextVectors] = {}
    for number, vectors in zip(numbers, cache.get([texts.keys[number] for number in numbers]), strict=True):
        if vectors is None:
            raise StoreError(f"vectors in {cache.folder} went away during the run; start the same command again")
        found[number] = vectors
    return found
