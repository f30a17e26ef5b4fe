"""Packed against plain scoring of an image-text model: six conditions x five permutations of items with one picture.

The model has Qwen2.5-VL's class and random weights, in a size that a CPU runs in minutes. Beside the times: whether
both read the same, and how often each image was processed and encoded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.harness import Options, finish, interleaved, peak_memory_mb, reset_peak_memory, timing
from benchmarks.items import blocks, conditions, inventory, presented
from benchmarks.models import MEDIUM, TINY, ImageWork, counted_images, write_vision_model
from benchmarks.workload import Measured, engine_of, flips, largest_difference, score_items
from thinkgap.backends.load import load_backend
from thinkgap.schema import ModelConfig, Scoring
from thinkgap.scoring.check import refusal_of
from thinkgap.scoring.engine import tokens_per_pass

TARGET = 15.0
_TOLERANCE = 1e-4
# 28 x 25 = 700 image tokens, 28 pixels each way.
_FULL = (784, 700)
_QUICK = (112, 84)


def run(options: Options) -> None:
    """Measure both ways in turns."""
    size = _QUICK if options.quick else _FULL
    number = options.sized(options.items, 3, 2)
    items = presented([inventory(n, sentences=2, images=(blocks(n, *size),)) for n in range(number)])
    with tempfile.TemporaryDirectory() as folder:
        path = write_vision_model(TINY if options.quick else MEDIUM, Path(folder), options.model)
        backend = load_backend(ModelConfig(name="qwen2.5-vl", path=str(path)), on_accelerator=False)
    refusal, check_error = refusal_of(backend, Scoring.packed)
    shown = conditions()
    found: dict[str, Measured] = {}
    work: dict[str, ImageWork] = {}
    peak: dict[str, float] = {}

    def side(method: Scoring) -> float:
        name = method.name
        engine = engine_of(backend, method, tokens_per_pass(on_accelerator=False), batch_size=4)
        reset_peak_memory()
        with counted_images(backend) as work[name]:
            found[name] = score_items(engine, shown, items, at_once=1)
        peak[name] = peak_memory_mb()
        return found[name].seconds

    for method in (Scoring.packed, Scoring.plain):  # the first passes load kernels
        score_items(engine_of(backend, method, 1), shown[:1], [items[0][:1]])
    ways = {"packed": lambda: side(Scoring.packed), "plain": lambda: side(Scoring.plain)}
    seconds = interleaved(ways, options.sized(options.repeats, 3, 1))
    packed, plain = found["packed"].logprobs, found["plain"].logprobs
    difference = largest_difference(packed, plain)
    result = {
        "items": number,
        "prompts": len(packed),
        "tokens_per_prompt": found["plain"].linear_tokens / len(plain),
        "image_tokens": size[0] * size[1] // 28**2,
        "target_ratio": TARGET,
        "packed_check": {"refusal": refusal, "error": check_error},
        "largest_logprob_difference": difference,
        "equal": difference <= _TOLERANCE,
        "flips": flips(packed, plain)[0],
        "sides": {
            name: timing(values)
            | {
                "prepare_s": found[name].prepare_s,
                "score_s": found[name].score_s,
                "computed_tokens": found[name].computed_tokens,
                "images": asdict(work[name]),
                "peak_rss_mb": peak[name],
            }
            for name, values in seconds.items()
        },
    }
    print(f"largest difference of a label log-probability: {difference:.2g}")
    finish("vision", options, result, _rows(result))


def _rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    fastest = result["sides"]["packed"]
    return [
        {
            "side": name,
            "s/item": side["median_s"] / result["items"],
            "of it preparing": side["prepare_s"] / result["items"],
            "tokens/item": side["computed_tokens"] / result["items"],
            "processed per image": side["images"]["processed"] / result["items"],
            "encoded per image": side["images"]["encoded"] / result["items"],
            "peak MB": side["peak_rss_mb"],
            "packed is faster by": side["median_s"] / fastest["median_s"],
            "forward passes only": side["score_s"] / fastest["score_s"],
        }
        for name, side in result["sides"].items()
    ]
