"""The readouts that follow the native one, over the same prompts: option likelihood, generation, labels after replies.

Each leaves its side table first and its records after it, so that a run killed in between computes them again from
finished cells and replies. Knows the order of things; what is read is in `likelihood` and `replies`.
"""

from __future__ import annotations

import logging
from typing import Any

from thinkgap.evaluation.likelihood import LIKELIHOODS
from thinkgap.evaluation.prepare import Prepared
from thinkgap.evaluation.reuse import Reuse
from thinkgap.readouts.frames import IDENTITY
from thinkgap.readouts.verdict import ALIGNED, GENERATION, NATIVE
from thinkgap.schema import EvaluateConfig
from thinkgap.store.run_folder import RunFolder

log = logging.getLogger(__name__)

_SHARD_RECORDS = 4096


def read_further(cfg: EvaluateConfig, prepared: Prepared, run: RunFolder, reuse: Reuse) -> dict[str, Any]:
    """Read what `cfg` asks for beyond the native readout and write it into `run`.

    Returns:
        What the manifest says of it; empty if nothing was left to do.
    """
    finished = run.finished_keys()
    done = {item for item, presentation, _, readout in finished if (presentation, readout) == (IDENTITY, NATIVE)}
    asked = [item[0] for item in prepared.items if item[0].item.id in done]
    described: dict[str, Any] = {}
    if cfg.evaluation.likelihood.enabled and _left(asked, prepared.names, LIKELIHOODS, finished):
        described["likelihood"] = _likelihood(cfg, prepared, run, reuse, asked, finished)
    readouts = (GENERATION, ALIGNED) if cfg.evaluation.generation.aligned else (GENERATION,)
    if cfg.evaluation.generation.enabled and _left(asked, prepared.names, readouts, finished):
        described["generation"] = _generation(cfg, prepared, run, reuse, asked, finished)
    return described
