"""lm-eval's side, run in lm-eval's environment: its model stays loaded, and each command is one evaluation.

Nothing here replaces a part of lm-eval that is timed: `simple_evaluate` with a loaded model, no bootstrap, no cache.
"""

from __future__ import annotations

import importlib
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.protocol import answers_only, serve


class LmEval:
    """A loaded `HFLM` and the tasks of a folder."""

    def __init__(self, model: str, tasks: str, names: Sequence[str], threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self.evaluator: Any = importlib.import_module("lm_eval.evaluator")
        self.manager = importlib.import_module("lm_eval.tasks").TaskManager(include_path=tasks, include_defaults=False)
        hf = importlib.import_module("lm_eval.models.huggingface")
        self.lm = hf.HFLM(pretrained=model, dtype="float32", device="cpu", batch_size=1)
        self.names = list(names)
        self.loading_s = 0.0
        self._load = self.manager.load
        # Reading the data set again for every call is no scoring.
        self.manager.load = self._timed_load

    def run(self, batch_size: int, apart: bool = False, limit: int | None = None) -> dict[str, Any]:
        """Evaluate all tasks, in one call or each in its own."""
        self.lm.batch_size_per_gpu = batch_size
        self.loading_s = 0.0
        start = time.perf_counter()
        for names in [[name] for name in self.names] if apart else [self.names]:
            self._evaluate(names, limit=limit, log_samples=False)
        whole = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {"seconds": whole - self.loading_s, "whole_s": whole, "peak_rss_mb": peak}

    def readings(self, batch_size: int) -> dict[str, Any]:
        """Per task and item: the ids that went into the model, the ids of the labels, and their log-probabilities.

        Where lm-eval moved white space from the end of the prompt into the continuation, its figure for a label
        includes that token, the same for all labels; `moved` is its share, so that labels alone can be compared.
        """
        self.lm.batch_size_per_gpu = batch_size
        seen: list[tuple[Any, list[int], list[int]]] = []
        original = self.lm._loglikelihood_tokens

        def recording(requests: Any, **settings: Any) -> Any:
            seen.extend(requests)
            return original(requests, **settings)

        self.lm._loglikelihood_tokens = recording
        results = self._evaluate(self.names, log_samples=True)
        self.lm._loglikelihood_tokens = original
        encoded = {tuple(text): (context, target) for text, context, target in seen}
        moved = self._moved(seen)
        tasks = {
            name: {sample["doc"]["id"]: self._reading(sample, encoded, moved) for sample in results["samples"][name]}
            for name in self.names
        }
        return {"tasks": tasks, "tokens": self._tokens(seen)}

    def _moved(self, seen: list[tuple[Any, list[int], list[int]]]) -> dict[tuple[int, ...], float]:
        """Log-probability of what a continuation holds before its label, by all tokens before the label."""
        longer = {tuple(context + target[:-1]): (context, target[:-1]) for _, context, target in seen if target[1:]}
        requests = [(("", ""), context, target) for context, target in longer.values()]
        found = self.lm._loglikelihood_tokens(requests, disable_tqdm=True) if requests else []
        return {ids: value for ids, (value, _) in zip(longer, found, strict=True)}

    @staticmethod
    def _reading(sample: Any, encoded: dict[Any, Any], moved: dict[tuple[int, ...], float]) -> dict[str, Any]:
        pairs = [encoded[tuple(argument)] for argument in sample["arguments"]]
        prompts = {tuple(context + target[:-1]) for context, target in pairs}
        (prompt,) = prompts
        before = moved.get(prompt, 0.0)
        return {
            "prompt": list(prompt),
            "labels": [target[-1] for _, target in pairs],
            "logprobs": [float(value[0]) - before for value in sample["filtered_resps"]],
            "moved_tokens": len(pairs[0][1]) - 1,
        }

    @staticmethod
    def _tokens(seen: list[tuple[Any, list[int], list[int]]]) -> int:
        """Tokens that go through the model: one prompt for all its one-token continuations."""
        return sum(map(len, {tuple(context + target[:-1]) for _, context, target in seen}))

    def _evaluate(self, names: list[str], **settings: Any) -> Any:
        return self.evaluator.simple_evaluate(
            model=self.lm,
            tasks=names,
            task_manager=self.manager,
            apply_chat_template=True,
            bootstrap_iters=0,
            cache_requests=False,
            **settings,
        )

    def _timed_load(self, *arguments: Any, **settings: Any) -> Any:
        start = time.perf_counter()
        try:
            return self._load(*arguments, **settings)
        finally:
            self.loading_s += time.perf_counter() - start


def main() -> None:
    """Serve `run` and `readings` for the model, task folder, threads and task names of the command line."""
    answers = answers_only()
    model, tasks, threads, *names = sys.argv[1:]
    worker = LmEval(model, tasks, names, int(threads))
    serve({"ready": lambda: {}, "run": worker.run, "readings": worker.readings}, answers)


if __name__ == "__main__":
    main()
