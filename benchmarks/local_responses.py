"""Local generation of `evaluation=no_thinking`: a one-by-one `generate` loop against the decoder, same float32 weights.

`python -m benchmarks.local_responses --data FOLDER [--quick] [--items N] [--mode NAME] ...`. GSM8K items under one
answer mode; FOLDER holds its files as the hub has them, nothing is downloaded. Both sides must write the same tokens.
They take turns over parts of the prompts, so that a machine that slows down slows both.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks.harness import RESULTS, Options, finish, interleaved, peak_memory_mb, reset_peak_memory, timed
from thinkgap import cli, schema
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import load_backend
from thinkgap.data import load_dataset_items
from thinkgap.data.present import identity
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.prompts.conditions import mode_conditions
from thinkgap.schema import EvaluateConfig, ModelConfig
from thinkgap.scoring.decode import Decoder
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.decode_plain import generate_plain
from thinkgap.scoring.stopping import stop_ids

TARGET = 3.0
"""Times the one-by-one loop."""
_AHEAD = 4
"""Batches that are looked through for similar lengths, as in a run."""
Tokens = list[tuple[int, ...]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure both sides.

    Raises:
        SystemExit: the sides wrote different tokens.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.local_responses", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER", required=True, help="GSM8K, or a JSONL file of items")
    parser.add_argument("--quick", action="store_true", help="few items: shows that it works, not how fast")
    parser.add_argument("--items", type=int, help="default: 256")
    parser.add_argument("--parts", type=int, help="in which the sides take turns (default: 2)")
    parser.add_argument("--mode", default="strict", help="answer mode (default: strict)")
    parser.add_argument("--batch-size", type=int, default=32, help="replies that are written at a time (default: 32)")
    parser.add_argument("--max-new-tokens", type=int, help="default: 64")
    parser.add_argument("--threads", type=int, default=1, help="of each side (default: 1)")
    parser.add_argument("--model", default=Options.model)
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    given = parser.parse_args(arguments)
    options = Options(quick=given.quick, items=given.items, threads=given.threads, out=given.out, model=given.model)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    torch.set_num_threads(options.n_threads)
    backend = load_backend(ModelConfig(name="benchmark", path=options.model), on_accelerator=False)
    prompts = prompts_of(backend, given.data, given.mode, options.sized(options.items, 256, 6))
    cap = options.sized(given.max_new_tokens, 64, 8)
    result = measure(backend, prompts, cap, given.batch_size, options.sized(given.parts, 2, 1))
    finish("local_responses", options, {"mode": given.mode, "target": TARGET, **result}, _rows(result))
    if not result["equal"]:
        raise SystemExit("the two sides wrote different tokens")
    print(f"{result['ratio']:.2f} times the one-by-one loop (target: {TARGET:g})")


def prompts_of(backend: HFBackend, data: Path, mode: str, number: int) -> list[PreparedPrompt]:
    """The first items of GSM8K, or of a JSONL file, each as a run would ask it under `mode`."""
    from hydra import compose, initialize_config_dir

    schema.register()
    source = ["dataset=jsonl"] if data.suffix == ".jsonl" else ["dataset=gsm8k"]
    # In quotes of Hydra's own: a folder may have any name.
    overrides = [*source, f"dataset.path={json.dumps(str(data))}", f"dataset.limit={number}", f"mode={mode}"]
    with initialize_config_dir(str(cli.CONF), version_base="1.3"):
        composed = compose("evaluate", ["evaluation=no_thinking", *overrides])
    cfg = cli.typed(composed, EvaluateConfig)
    items = load_dataset_items(cfg.dataset).items
    builder = PromptBuilder(backend.fmt, mode_conditions(cfg.mode), cfg.labels, cfg.label_ids, "", cfg.prompt.system)
    return [one for item in items for one in builder.build(identity(item))]


def measure(
    backend: HFBackend, prompts: Sequence[PreparedPrompt], cap: int, batch_size: int, parts: int
) -> dict[str, Any]:
    """Seconds of both sides over all prompts, and whether they wrote the same."""
    stops = stop_ids(backend)
    method = choose_decoding(backend, [prompts[:1]])
    found: dict[str, Tokens] = {"generate": [], "decoder": []}
    cut = [round(len(prompts) * part / parts) for part in range(parts + 1)]
    left = {name: iter([prompts[a:b] for a, b in pairwise(cut)]) for name in found}
    peaks: dict[str, float] = {}
    processor = dict.fromkeys(found, 0.0)

    def alone(given: Sequence[PreparedPrompt]) -> Iterator[tuple[int, ...]]:
        for one in given:
            ((written,), _) = generate_plain(backend, [one], cap, stops)
            yield written.tokens

    def together(given: Sequence[PreparedPrompt]) -> Iterator[tuple[int, ...]]:
        decoder = Decoder(backend, cap, batch_size, stops, method)
        replies = decoder.decode(([one] for one in given), ahead=_AHEAD * batch_size)
        yield from (reply.token_ids for (reply,) in replies)

    def of(name: str) -> None:
        reset_peak_memory()
        start = time.process_time()
        written = {"generate": alone, "decoder": together}[name](next(left[name]))
        found[name] += written
        processor[name] += time.process_time() - start
        peaks[name] = max(peaks.get(name, 0.0), peak_memory_mb())

    # The first passes load kernels.
    for side in (alone, together):
        list(side(prompts[:1]))
    seconds = interleaved({name: timed(lambda name=name: of(name)) for name in found}, parts)
    lengths = [len(tokens) for tokens in found["decoder"]]
    return {
        "method": method.name,
        "prompts": len(prompts),
        "prompt_tokens": sum(len(one.prompt.input_ids) for one in prompts),
        "max_new_tokens": cap,
        "batch_size": batch_size,
        "new_tokens": sum(lengths),
        "stopped": sum(length < cap for length in lengths),
        "equal": found["generate"] == found["decoder"],
        "peak_mb": peaks,
        "seconds": seconds,
        "ratio": sum(seconds["generate"]) / sum(seconds["decoder"]),
        "processor_s": processor,
        "processor_ratio": processor["generate"] / processor["decoder"],
    }


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    own = sum(result["seconds"]["decoder"])
    return [
        {
            "side": name,
            "s": sum(seconds),
            "processor s": result["processor_s"][name],
            "new tokens/s": result["new_tokens"] / sum(seconds),
            "times the decoder": sum(seconds) / own,
            "peak MB": result["peak_mb"][name],
        }
        for name, seconds in result["seconds"].items()
    ]


if __name__ == "__main__":
    main()
