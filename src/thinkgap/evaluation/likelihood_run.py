"""The likelihoods of a run: what is left of them is read, and kept so that a killed run goes on from there.

Cells are written first, then `likelihoods.parquet`, then records, which so always have their row there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from thinkgap.errors import PromptError
from thinkgap.evaluation.likelihood import MOST_READS, ItemLikelihoods, likelihoods
from thinkgap.evaluation.reuse import Reuse, open_cells
from thinkgap.presentation_names import IDENTITY
from thinkgap.prompts.build import PromptBuilder
from thinkgap.readouts.likelihood import READOUTS, likelihood_records
from thinkgap.schema import EvaluateConfig
from thinkgap.scoring.engine import Counts, Engine
from thinkgap.store.likelihoods import LIKELIHOODS_FILE, read_likelihoods, write_likelihoods
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.progress import progress
from thinkgap.types import Presentation, Record

log = logging.getLogger(__name__)

_MOST_READS_ON_ACCELERATOR = 4 * MOST_READS
_KEEP_SECONDS = 60.0


def run_likelihoods(
    cfg: EvaluateConfig, engine: Engine, builder: PromptBuilder, presentations: Sequence[Presentation], run: RunFolder
) -> dict[str, PromptError]:
    """Take what is left of a run's likelihoods; write records, and before them `likelihoods.parquet`.

    Only items in the source's order are asked. Finished prompts are kept as cells, without states or lens readings.

    Args:
        cfg: the settings.
        engine: the model; what it keeps beside readings is left out.
        builder: makes prompts.
        presentations: of the whole run.
        run: folder, opened; its shards are merged by the caller.

    Returns:
        Item id -> why its options were not read.

    Raises:
        StoreError: files that cannot be read or written.
    """
    reader = replace(engine, wanted=None, lens=False, options=replace(engine.options, top_k=0), counts=Counts())
    keeper = _Keeper(run, Reuse(reader, open_cells(cfg, reader)))
    asked = [one for one in presentations if one.name == IDENTITY]
    finished = keeper.finished([condition.name for condition in builder.conditions])
    left = _by_images([one for one in asked if (one.item.id, one.name) not in finished])
    most = MOST_READS if reader.backend.device.type == "cpu" else _MOST_READS_ON_ACCELERATOR
    found = likelihoods(left, builder, keeper.reuse.score, cfg.evaluation.likelihood, most)
    bar = progress(
        total=len(asked), initial=len(asked) - len(left), description="likelihood", enabled=cfg.trainer.progress
    )
    try:
        with bar:
            for one in found:
                keeper.add(one)
                bar.update()
    finally:
        keeper.flush()
    for item, reason in list(keeper.excluded.items())[:1]:
        log.warning("no likelihoods of %d items; the first, %s, because %s", len(keeper.excluded), item, reason)
    return keeper.excluded


def _by_images(presentations: Sequence[Presentation]) -> list[Presentation]:
    """Items that show the same images side by side, so that they share a pass."""
    images = [tuple(image.sha256 for image in one.item.images) for one in presentations]
    first = {key: place for place, key in reversed(list(enumerate(images)))}
    order = sorted(range(len(images)), key=lambda place: (first[images[place]] if images[place] else place, place))
    return [presentations[place] for place in order]


class _Keeper:
    """Gathers likelihoods and writes them now and then."""

    def __init__(self, run: RunFolder, reuse: Reuse) -> None:
        self.run, self.reuse = run, reuse
        self.excluded: dict[str, PromptError] = {}
        stored = read_likelihoods(run.path) if (run.path / LIKELIHOODS_FILE).exists() else []
        self._scores = {one.key: one for one in stored}
        self._waiting: list[Record] = []
        self._written = time.monotonic()

    def finished(self, conditions: Sequence[str]) -> set[tuple[str, str]]:
        """(item id, presentation name) of those with all their records and rows of the side table."""
        done = set.intersection(*(self.run.finished_items(conditions, readout) for readout in READOUTS))
        return {pair for pair in done if all((*pair, condition) in self._scores for condition in conditions)}

    def add(self, found: ItemLikelihoods) -> None:
        """Keep one item, and write when it is time to."""
        if found.excluded is not None:
            self.excluded[found.presentation.item.id] = found.excluded
        for prompt, scores in zip(found.prompts, found.scores, strict=True):
            self._scores[scores.key] = scores
            self._waiting += likelihood_records(prompt, scores)
        if time.monotonic() - self._written > _KEEP_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        self.reuse.flush()
        if self._waiting:
            write_likelihoods(self.run.path, list(self._scores.values()))
            self.run.write_shard(self._waiting)
            self._waiting = []
        self._written = time.monotonic()
