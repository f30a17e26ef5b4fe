"""thinkgap against lm-eval on the same prompts: token by token the same input, the same label ids, then the time.

Six conditions x five permutations are thirty tasks for lm-eval: all in one call, which is its best case, and one call
each. Both programs keep their model loaded and take turns.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.environment import VERSION, lm_eval_python, offline, without_ours
from benchmarks.harness import ROOT, Options, finish, interleaved, timing
from benchmarks.items import N_PERMUTATIONS, conditions, inventory, presented
from benchmarks.lm_eval_tasks import task_name, write_items, write_tasks
from benchmarks.protocol import Worker
from thinkgap.backends.load import DEFAULT_CACHE
from thinkgap.backends.locate import find_checkpoint
from thinkgap.data import load_dataset_items
from thinkgap.schema import DatasetConfig
from thinkgap.types import Item, Placement

TARGET = 15.0
_TOLERANCE = 1e-4
_BATCH_SIZES = (1, 2, 4, 8, 16)


def run(options: Options) -> None:
    """Compare, then time."""
    python, versions = lm_eval_python()
    model = find_checkpoint(options.model, DEFAULT_CACHE).source
    items = presented(_items(options), N_PERMUTATIONS)
    with tempfile.TemporaryDirectory() as folder:
        result = _measure(Path(folder), options, str(python), model, items)
    result["lm_eval"] = {"version": VERSION, "environment": versions} | result["lm_eval"]
    finish("lm_eval", options, result, _rows(result))


def _items(options: Options) -> list[Item]:
    wanted = options.sized(options.items, 40, 6)
    if options.data is None:
        return [inventory(number) for number in range(wanted)]
    loaded = load_dataset_items(DatasetConfig(name="jsonl", path=str(options.data))).items
    return [item for item in loaded if item.answer_space == "mcq" and len(item.choices) == 4][:wanted]


def _measure(folder: Path, options: Options, python: str, model: str, items: Sequence[Any]) -> dict[str, Any]:
    data, tasks = folder / "items.jsonl", folder / "tasks"
    tasks.mkdir()
    write_items(data, items)
    shown = [presentation.name for presentation in items[0]]
    names = write_tasks(tasks, data, conditions(Placement.assistant), shown)
    threads = str(options.n_threads)
    environment = offline(options.n_threads, folder / "datasets")
    ours = [sys.executable, "-m", "benchmarks.thinkgap_worker", model, str(data), threads]
    theirs = [python, "-m", "benchmarks.lm_eval_worker", model, str(tasks), threads, *names]
    with (
        Worker(ours, folder / "thinkgap.log", environment, ROOT) as thinkgap,
        Worker(theirs, folder / "lm_eval.log", without_ours(environment), ROOT) as lm_eval,
    ):
        check_error = thinkgap.ask("ready")["check_error"]
        lm_eval.ask("ready")
        batch_size, tried = _best_batch_size(lm_eval, options, len(items))
        equality, tokens = _compare(thinkgap, lm_eval, batch_size)
        print(f"lm-eval's best batch size: {batch_size}; equality: {equality}")
        answers: dict[str, dict[str, Any]] = {}

        def side(name: str, worker: Worker, **settings: Any) -> Any:
            def go() -> float:
                answers[name] = worker.ask("run", **settings)
                return answers[name]["seconds"]

            return go

        seconds = interleaved(
            {
                "packed": side("packed", thinkgap, method="packed"),
                "lm-eval, one call": side("lm-eval, one call", lm_eval, batch_size=batch_size),
                "plain": side("plain", thinkgap, method="plain"),
                "lm-eval, 30 calls": side("lm-eval, 30 calls", lm_eval, batch_size=batch_size, apart=True),
            },
            options.sized(options.repeats, 3, 1),
        )
    linear = answers["plain"]["linear_tokens"]
    computed = {name: answers[name].get("computed_tokens", tokens) for name in seconds} | {"lm-eval, 30 calls": linear}
    return {
        "items": len(items),
        "prompts": len(items) * len(names),
        "tokens_per_prompt": linear / (len(items) * len(names)),
        "target_ratio": TARGET,
        "equality": equality,
        "packed_check_error": check_error,
        "lm_eval": {"batch_size": batch_size, "batch_sizes_tried_s": tried},
        "sides": {
            name: timing(values)
            | {"computed_tokens": computed[name], "peak_rss_mb": answers[name]["peak_rss_mb"]}
            | ({"last_with_loading_of_tasks_s": answers[name]["whole_s"]} if "whole_s" in answers[name] else {})
            for name, values in seconds.items()
        },
    }


def _best_batch_size(lm_eval: Worker, options: Options, n_items: int) -> tuple[int, dict[int, float]]:
    """The fixed size that is fastest for lm-eval here; its `auto` looks for what fits, not for what is fast."""
    sizes = _BATCH_SIZES[:2] if options.quick else _BATCH_SIZES
    limit = min(n_items, 1 if options.quick else 4)
    lm_eval.ask("run", batch_size=1, limit=1)  # the first call reads the data set and warms up
    tried = {size: lm_eval.ask("run", batch_size=size, limit=limit)["seconds"] for size in sizes}
    return min(tried, key=tried.__getitem__), tried


def _compare(thinkgap: Worker, lm_eval: Worker, batch_size: int) -> tuple[dict[str, Any], int]:
    """Whether both do the same work, and what they read; and how many tokens lm-eval sends through the model."""
    theirs = lm_eval.ask("readings", batch_size=batch_size)
    ours = thinkgap.ask("prompts")
    readings = {
        (task_name(condition, presentation), item): values
        for item, presentation, condition, values in thinkgap.ask("run", method="packed")["logprobs"]
    }
    return compare(ours, theirs["tasks"], readings), theirs["tokens"]


def compare(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], readings: Mapping[tuple[str, str], Sequence[float]]
) -> dict[str, Any]:
    """Counts of prompts that differ in any way, and the largest difference of a label's log-probability."""
    pairs = [(task, item) for task, found in theirs.items() for item in found]
    largest, other_prompts, other_labels, flipped = 0.0, 0, 0, 0
    for task, item in pairs:
        mine, other, values = ours[task][item], theirs[task][item], readings[task, item]
        other_prompts += list(mine["prompt"]) != other["prompt"]
        other_labels += mine["labels"] != other["labels"]
        largest = max([largest, *(abs(a - b) for a, b in zip(values, other["logprobs"], strict=True))])
        flipped += values.index(max(values)) != other["logprobs"].index(max(other["logprobs"]))
    return {
        "prompts_compared": len(pairs),
        "other_token_ids": other_prompts,
        "other_label_ids": other_labels,
        "largest_logprob_difference": largest,
        "flips": flipped,
        "equal": not (other_prompts or other_labels or flipped) and largest <= _TOLERANCE,
        "prompts_with_moved_tokens": sum(theirs[task][item]["moved_tokens"] > 0 for task, item in pairs),
    }


def _rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    fastest = result["sides"]["packed"]["median_s"]
    return [
        {
            "side": name,
            "seconds": side["median_s"],
            "prompts/s": result["prompts"] / side["median_s"],
            "items/s": result["items"] / side["median_s"],
            "tokens": side["computed_tokens"],
            "peak MB": side["peak_rss_mb"],
            "packed is faster by": side["median_s"] / fastest,
        }
        for name, side in result["sides"].items()
    ]
