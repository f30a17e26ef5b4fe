"""Opens the judge that a run asks for: rules, a served model, or a local one.

Knows no label and no response.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from thinkgap.judging.judge import Judge, ModelJudge
from thinkgap.judging.request import check_judge
from thinkgap.judging.store import JudgementStore
from thinkgap.readouts.sheet import Sheet
from thinkgap.schema import EvaluateConfig, JudgeConfig, JudgeKind
from thinkgap.types import Pair


@contextlib.contextmanager
def open_judge(cfg: JudgeConfig, run: EvaluateConfig, folder: Path | None = None) -> Iterator[Judge]:
    """The judge of `cfg`; its stores are closed at the end, and what it judged is kept.

    Args:
        cfg: the judge, by name.
        run: for where things are kept, and where a local model runs.
        folder: the run's; gets replies and judgements where `evaluation.reuse=false`.

    Raises:
        ThinkgapError: settings, a model or a store that cannot be used.
    """
    if cfg.kind is JudgeKind.rules:
        from thinkgap.judging.rules import RulesJudge

        yield RulesJudge()
        return
    check_judge(cfg)
    kept = judgements_folder(run, folder)
    with JudgementStore.open(kept, cfg.name) as store:
        if cfg.kind is JudgeKind.served:
            # A served judge needs none of the libraries of a local one, and the other way round.
            from thinkgap.backends.served import ResponseStore
            from thinkgap.judging.served import ServedAsker, judge_model

            with ResponseStore.open(kept, judge_model(cfg).name) as replies:
                yield ModelJudge(cfg, ServedAsker(cfg, replies), store, shown=run.trainer.progress)
            return
        from thinkgap.evaluation.judge_local import LocalAsker

        yield ModelJudge(cfg, LocalAsker(cfg, run), store, shown=run.trainer.progress)


def judge_estimate(
    cfg: JudgeConfig, run: EvaluateConfig, pairs: Sequence[Pair], folder: Path | None = None
) -> Sheet | None:
    """What a served judge would be asked about `pairs`; None for a judge that costs nothing. Sends nothing.

    Raises:
        ThinkgapError: settings or a store that cannot be used.
    """
    if cfg.kind is not JudgeKind.served:
        return None
    from thinkgap.judging.served import estimate_judging

    return estimate_judging(cfg, pairs, judgements_folder(run, folder))


def judgements_folder(run: EvaluateConfig, folder: Path | None) -> Path:
    """Where replies of judges and judgements are kept."""
    return Path(run.paths.responses_dir) if run.evaluation.reuse or folder is None else folder / "replies"
