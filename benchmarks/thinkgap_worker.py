"""thinkgap's side of the comparison with lm-eval: its model stays loaded, and each command scores all items."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import peak_memory_mb
from benchmarks.items import conditions
from benchmarks.lm_eval_tasks import read_items, task_name
from benchmarks.protocol import answers_only, serve
from benchmarks.workload import engine_of, prepare, score_items
from thinkgap.backends.load import load_backend
from thinkgap.prompts.build import PromptBuilder
from thinkgap.schema import LabelVariant, ModelConfig, Scoring
from thinkgap.scoring.check import refusal_of
from thinkgap.scoring.engine import tokens_per_pass
from thinkgap.types import Placement


class Thinkgap:
    """A loaded model and the items of a file."""

    def __init__(self, model: str, data: str, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        self.backend = load_backend(ModelConfig(name="model", path=model), on_accelerator=False)
        refusal, self.check_error = refusal_of(self.backend, Scoring.packed)
        if refusal:
            raise RuntimeError(f"packed scoring is not exact: {refusal}")
        self.conditions = conditions(Placement.assistant)
        self.items = read_items(Path(data))

    def run(self, method: str) -> dict[str, Any]:
        """Score all items packed or plainly."""
        engine = engine_of(self.backend, Scoring[method], tokens_per_pass(on_accelerator=False))
        found = score_items(engine, self.conditions, self.items, labels=LabelVariant.spaced)
        return {
            "seconds": found.seconds,
            "prepare_s": found.prepare_s,
            "linear_tokens": found.linear_tokens,
            "computed_tokens": found.computed_tokens,
            "peak_rss_mb": peak_memory_mb(),
            "logprobs": [[*key, values] for key, values in found.logprobs.items()],
        }

    def prompts(self) -> dict[str, Any]:
        """Per task and item the ids of the prompt and of its labels."""
        builder = PromptBuilder(self.backend.fmt, self.conditions, LabelVariant.spaced)
        found: dict[str, Any] = {}
        for item in self.items:
            for prepared in prepare(builder, item):
                prompt = prepared.prompt
                name = task_name(prompt.condition.name, prompt.presentation.name)
                labels = [ids[0] for ids in prompt.label_ids]
                reading = {"prompt": prompt.input_ids, "labels": labels}
                found.setdefault(name, {})[prompt.presentation.item.id] = reading
        return found


def main() -> None:
    """Serve `run` and `prompts` for the model, item file and threads of the command line."""
    answers = answers_only()
    model, data, threads = sys.argv[1:]
    worker = Thinkgap(model, data, int(threads))
    serve({"ready": lambda: {"check_error": worker.check_error}, "run": worker.run, "prompts": worker.prompts}, answers)


if __name__ == "__main__":
    main()
