"""Packed scoring at the true size: Qwen2.5-VL-7B's shape with random bfloat16 weights, on a CUDA GPU.

1,000 items of 700 image tokens under six conditions x five permutations, until they are done or the time is up; plain
scoring and float32 on subsets. On a machine without a GPU only `--quick` makes sense.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from benchmarks.harness import Options, finish
from benchmarks.items import blocks, conditions, inventory, presented
from benchmarks.models import QWEN25VL_7B, TINY, ImageWork, counted_images, vision_backend
from benchmarks.workload import (
    Measured,
    commonest_share,
    engine_of,
    flips,
    largest_difference,
    score_items,
)
from thinkgap.backends.hf import HFBackend
from thinkgap.schema import Scoring
from thinkgap.scoring.check import refusal_of
from thinkgap.scoring.engine import tokens_per_pass
from thinkgap.types import Presentation

_SIZE = (784, 700)  # 28 x 25 = 700 image tokens
_QUICK_SIZE = (112, 84)
# Shares of the time limit: plain scoring of a subset, and what is kept for float32 at the end.
_PLAIN = 0.2
_FLOAT32 = 0.2
_SUBSET = 20
_FLOAT32_ITEMS = 5
_AT_ONCE = 8
_BATCH_SIZE = 16


def run(options: Options) -> None:
    """Build the model, score, and report what the time allowed."""
    start = time.perf_counter()
    on_gpu = torch.cuda.is_available()
    if not on_gpu and not options.quick:
        raise SystemExit("no CUDA GPU here: gpu --quick runs a tiny model on the CPU")
    device = torch.device("cuda" if on_gpu else "cpu")
    peak = matmul_peak(device, 256 if options.quick else 8192)
    backend = vision_backend(TINY if options.quick else QWEN25VL_7B, options.model, device, torch.bfloat16)
    refusal, check_error = refusal_of(backend, Scoring.packed)
    built_s = time.perf_counter() - start
    size = _QUICK_SIZE if options.quick else _SIZE
    number = options.sized(options.items, 1000, 4)
    items = presented([inventory(n, sentences=2, images=(blocks(n, *size),)) for n in range(number)])
    subset = items[: 2 if options.quick else _SUBSET]
    _measure(backend, Scoring.packed, items[:1])  # warms up kernels
    sides: dict[str, dict[str, Any]] = {}
    plain_end = time.perf_counter() + _PLAIN * options.seconds
    plain, sides["plain"] = _measure(backend, Scoring.plain, subset, plain_end, peak, at_once=2)
    packed_end = start + (1 - _FLOAT32) * options.seconds
    packed, sides["packed"] = _measure(backend, Scoring.packed, items, packed_end, peak)
    # The same way in other batches: what half precision flips whatever is shared.
    few = subset[:_FLOAT32_ITEMS]
    rebatched, _ = _measure(backend, Scoring.plain, few, batch_size=_BATCH_SIZE // 4)
    compared = {
        "packed, plain": _difference(packed, plain),
        "plain, plain in other batches": _difference(plain, rebatched),
        "commonest_prediction_share": commonest_share(packed.logprobs),
    }
    exact = _float32(backend, few, start + options.seconds)
    if exact is not None:
        compared["packed, float32"] = _difference(packed, exact)
        compared["plain, float32"] = _difference(plain, exact)
    result = {
        "items_asked": number,
        "prompts_per_item": len(packed.logprobs) / packed.items,
        "tokens_per_prompt": plain.linear_tokens / len(plain.logprobs),
        "image_tokens": size[0] * size[1] // 28**2,
        "dtype": "bfloat16",
        "parameters": sum(parameter.numel() for parameter in backend.model.parameters()),
        "matmul_peak_tflops": peak / 1e12,
        "packed_check": {"refusal": refusal, "error": check_error},
        "seconds_to_build": built_s,
        "seconds": time.perf_counter() - start,
        "sides": sides,
        "compared": compared,
    }
    print("\n".join(f"{name}: {value}" for name, value in compared.items()))
    finish("gpu", options, result, [{"side": name, **_row(side)} for name, side in sides.items()])


def matmul_peak(device: torch.device, size: int, repeats: int = 20) -> float:
    """FLOP per second of a large bfloat16 product on this device."""
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    best = 0.0
    for _ in range(3):
        _wait(device)
        begin = time.perf_counter()
        for _ in range(repeats):
            torch.mm(a, b)
        _wait(device)
        best = max(best, 2 * size**3 * repeats / (time.perf_counter() - begin))
    return best


def _measure(
    backend: HFBackend,
    method: Scoring,
    items: Sequence[Sequence[Presentation]],
    deadline: float | None = None,
    peak: float = 1.0,
    at_once: int = _AT_ONCE,
    batch_size: int = _BATCH_SIZE,
) -> tuple[Measured, dict[str, Any]]:
    """Score items; the figures of one way."""
    on_gpu = backend.device.type == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    engine = engine_of(backend, method, tokens_per_pass(on_gpu), batch_size)
    with counted_images(backend) as work:
        found = score_items(engine, conditions(), items, at_once, deadline)
    memory = torch.cuda.max_memory_allocated() / 2**30 if on_gpu else None
    flop = linear_flop(backend.model, found, work)
    return found, {
        "items": found.items,
        "prepare_s": found.prepare_s,
        "score_s": found.score_s,
        "items_per_s": found.items / found.seconds,
        "items_per_s_forward": found.items / found.score_s,
        "computed_tokens": found.computed_tokens,
        "images": asdict(work),
        "linear_tflop": flop / 1e12,
        "share_of_peak_forward": flop / found.score_s / peak,
        "share_of_peak": flop / found.seconds / peak,
        "peak_gib": memory,
    }


def linear_flop(model: Any, found: Measured, work: ImageWork) -> float:
    """FLOP of the linear layers for tokens and patches, without attention, heads and padding: a lower bound."""
    language = _linear_weights(model.model.language_model)
    blocks_ = _linear_weights(model.model.visual.blocks)
    merger = _linear_weights(model.model.visual.merger)
    merged = work.patches // model.config.vision_config.spatial_merge_size**2
    return 2.0 * (language * found.computed_tokens + blocks_ * work.patches + merger * merged)


def _linear_weights(module: Any) -> int:
    return sum(part.weight.numel() for part in module.modules() if isinstance(part, torch.nn.Linear))


def _float32(backend: HFBackend, items: Sequence[Sequence[Presentation]], deadline: float) -> Measured | None:
    """The same weights in float32, converted in place, if they fit and time is left; the backend stays float32."""
    if time.perf_counter() > deadline:
        return None
    if backend.device.type == "cuda":
        needed = 4 * sum(parameter.numel() for parameter in backend.model.parameters())
        if torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() < 1.5 * needed:
            return None
    backend.model.float()
    return _measure(backend, Scoring.plain, items, deadline, at_once=1, batch_size=_BATCH_SIZE // 2)[0]


def _difference(one: Measured, other: Measured) -> dict[str, Any]:
    flipped, prompts = flips(one.logprobs, other.logprobs)
    return {
        "prompts": prompts,
        "flip_rate": flipped / prompts,
        "largest_logprob_difference": largest_difference(one.logprobs, other.logprobs),
    }


def _row(side: dict[str, Any]) -> dict[str, Any]:
    return {
        "items": side["items"],
        "items/s": side["items_per_s"],
        "items/s, passes only": side["items_per_s_forward"],
        "share of peak": side["share_of_peak"],
        "share, passes only": side["share_of_peak_forward"],
        "encoded per image": side["images"]["encoded"] / side["items"],
        "peak GiB": side["peak_gib"],
    }


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
