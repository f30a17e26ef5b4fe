"""`evaluate.py`, except that process 1 fails in its third batch; the test of several processes runs it as a script."""

from __future__ import annotations

import os
from typing import Any

import evaluate
from thinkgap import cli, schema
from thinkgap.evaluation import predict
from thinkgap.scoring.predict import PreparedItem, ScoredItem, ScoringModule

_step = ScoringModule.predict_step


def failing(self: ScoringModule, batch: list[PreparedItem], batch_idx: int) -> list[ScoredItem]:
    if os.environ["LOCAL_RANK"] == "1" and batch_idx == 2:
        raise RuntimeError("process 1 fails here")
    return _step(self, batch, batch_idx)


def start() -> None:
    patched: Any = ScoringModule
    patched.predict_step = failing
    predict._SHARD_RECORDS = 1
    # Hydra looks for conf/ beside the file of the main function.
    os.environ["HYDRA_MAIN_MODULE"] = "__main__"
    schema.register()
    cli.rewrite_argv(schema.EvaluateConfig)
    evaluate.main()


if __name__ == "__main__":
    start()
