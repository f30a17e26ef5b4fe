"""The readouts that follow the native one, over the same prompts: option likelihood, generation, labels after replies.

Knows the order of things and what the manifest says of them; what is read is `likelihood_run`'s and `replies`' matter.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field
from typing import Any

from thinkgap.data.referring import referring
from thinkgap.errors import PromptError
from thinkgap.evaluation.likelihood_run import run_likelihoods
from thinkgap.evaluation.prepare import Prepared
from thinkgap.evaluation.replies import run_replies
from thinkgap.schema import EvaluateConfig
from thinkgap.store.run_folder import RunFolder
from thinkgap.tracking.interrupts import ended_by_sigterm

log = logging.getLogger(__name__)


@dataclass
class Further:
    """What was done beyond the native readout."""

    described: dict[str, Any] = field(default_factory=dict)
    """For the manifest, by readout."""
    excluded: dict[str, dict[str, PromptError]] = field(default_factory=dict)
    """Readout -> item id -> why it was left out there."""


def read_further(cfg: EvaluateConfig, prepared: Prepared, run: RunFolder, left_out: set[str]) -> Further:
    """Read what `cfg` asks for beyond the native readout and write it into `run`; what is there already is kept.

    Args:
        cfg: the settings.
        prepared: the run.
        run: its folder.
        left_out: items that the native readout excluded.

    Raises:
        ThinkgapError: what the readouts raise.
    """
    done = Further()
    asked = [item[0] for item in prepared.items if item[0].item.id not in left_out]
    try:
        with ended_by_sigterm():
            if cfg.evaluation.likelihood.enabled:
                done.excluded["likelihood"] = run_likelihoods(cfg, prepared.local, prepared.builder, asked, run)
            if cfg.evaluation.generation.enabled:
                done.described["generation"] = run_replies(cfg, prepared, asked, run)
    except BaseException:
        log.warning("interrupted; the same command with hydra.run.dir=%s goes on from what is finished", run.path)
        raise
    return done


def report_settings(cfg: EvaluateConfig, prepared: Prepared) -> dict[str, Any]:
    """What the tables of a run need to know of it beside its records, as JSON data (`readouts.report`)."""
    asked, reasoning = cfg.evaluation, prepared.engine.options.reasoning
    return {
        "kind": asked.kind.name,
        "requests": {condition.name: condition.requests.name for condition in prepared.builder.conditions},
        "thresholds": asdict(asked.verdict),
        "draws": asked.draws,
        "seed": cfg.seed,
        "prior_share": asked.permutation.prior_share,
        "referring": [item[0].item.id for item in prepared.items if referring(item[0].item.choices)],
        "unread": prepared.unread,
        "reasoning_ids": [] if reasoning is None else list(reasoning.all),
        "strict_ids": [] if reasoning is None else list(reasoning.strict),
        "cue": asked.generation.cue,
        "by": list(asked.by),
    }
