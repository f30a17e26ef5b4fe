"""Levels 2 and 3 of a run: every trace before its encoders and judges. Orchestration only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from thinkgap.encoders import open_encoder
from thinkgap.encoders.checks import check_settings
from thinkgap.errors import ConfigError
from thinkgap.evaluation.judges import judge_estimate, open_judge
from thinkgap.evaluation.predict import device_of
from thinkgap.judging.judge import ModelJudge
from thinkgap.judging.request import check_judge
from thinkgap.nothinking.analyse import Analysed
from thinkgap.nothinking.levels import judgements_table, pairs_of, relevance_table, write_levels
from thinkgap.readouts.sheet import Sheet
from thinkgap.schema import EncoderConfig, EvaluateConfig, JudgeConfig, JudgeKind


def encoders_of(cfg: EvaluateConfig) -> list[EncoderConfig]:
    """The encoders of a run, `encoder` alone or all of `encoders`.

    Raises:
        ConfigError: two of one name.
    """
    return _named("encoder", list(cfg.encoders.values()) or [cfg.encoder])


def judges_of(cfg: EvaluateConfig) -> list[JudgeConfig]:
    """The judges of a run, `judge` alone or all of `judges`.

    Raises:
        ConfigError: two of one name.
    """
    return _named("judge", list(cfg.judges.values()) or [cfg.judge])


def check_levels(cfg: EvaluateConfig) -> None:
    """Refuse settings of encoders and judges that cannot be used, before anything is asked.

    Raises:
        ConfigError: one that cannot.
    """
    for encoder in encoders_of(cfg):
        check_settings(encoder)
    for judge in judges_of(cfg):
        check_judge(judge)


def asks_served_judge(cfg: EvaluateConfig) -> bool:
    """Whether some judge of a run is asked over HTTP, which may cost something."""
    return any(judge.kind is JudgeKind.served for judge in judges_of(cfg))


def estimate_levels(cfg: EvaluateConfig, folder: Path, rows: Sequence[Analysed]) -> list[Sheet]:
    """What the served judges of a run would be asked about its responses. Sends nothing.

    Raises:
        ThinkgapError: settings or a store that cannot be used.
    """
    pairs = pairs_of(rows)
    return [
        sheet for judge in judges_of(cfg) if (sheet := judge_estimate(judge, cfg, pairs, folder=folder)) is not None
    ]


def add_levels(cfg: EvaluateConfig, folder: Path, rows: Sequence[Analysed]) -> dict[str, Any]:
    """Measure the relevance of all traces and have them judged; leave both files in `folder`.

    What was encoded or judged before is taken from the stores, so that a killed run goes on from there.

    Args:
        cfg: the settings.
        folder: of the run.
        rows: its responses.

    Returns:
        What encoders and judges say of themselves, for the manifest.

    Raises:
        ThinkgapError: an encoder or a judge that cannot be used.
    """
    pairs = pairs_of(rows)
    relevance, judged, kinds = {}, {}, {}
    facts: dict[str, Any] = {"pairs": len(pairs), "encoders": {}, "judges": {}}
    for one in encoders_of(cfg):
        encoder = open_encoder(one, str(device_of(cfg.trainer)))
        store = encoder.open_vectors(cfg.paths.cells_dir) if cfg.evaluation.reuse else None
        found = encoder.relevance(pairs, store, progress=cfg.trainer.progress)
        relevance[one.name] = dict(zip(pairs, found, strict=True))
        facts["encoders"][one.name] = encoder.describe()
    for one in judges_of(cfg):
        with open_judge(one, cfg, folder) as judge:
            judged[one.name] = dict(zip(pairs, judge.judge(pairs), strict=True))
            kinds[one.name] = one.kind.value
            checks = (
                judge.check(pairs) if isinstance(judge, ModelJudge) and (one.order_check or one.single_check) else ()
            )
            facts["judges"][one.name] = {**judge.describe(), "checks": [asdict(check) for check in checks]}
    write_levels(folder, relevance_table(rows, relevance), judgements_table(rows, judged, kinds))
    return facts


def _named(what: str, given: list[Any]) -> list[Any]:
    used = [one for one in given if one.name]
    names = [one.name for one in used]
    if len(set(names)) < len(names):
        raise ConfigError(f"two {what}s are called {max(names, key=names.count)}: give each its own {what}s.NAME.name")
    return used
