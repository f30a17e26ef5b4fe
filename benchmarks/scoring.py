"""Run one benchmark: `python -m benchmarks.scoring lm_eval|vision|growth|efficiency|gpu|generation [--quick] ...`.

Prints a table and writes all figures as JSON. Each benchmark is a module of this package with `run(options)`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness import RESULTS, Options

_NAMES = ("lm_eval", "vision", "growth", "efficiency", "gpu", "generation")
COMMANDS = tuple(name for name in _NAMES if importlib.util.find_spec(f"benchmarks.{name}"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scoring", description="Measure scoring.")
    parser.add_argument("benchmark", choices=COMMANDS)
    parser.add_argument("--quick", action="store_true", help="tiny: shows that it works, not how fast")
    parser.add_argument("--items", type=int, help="number of items")
    parser.add_argument("--threads", type=int, help="threads of each side; default: all usable cores")
    parser.add_argument("--repeats", type=int, help="interleaved repeats, of which medians are taken")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    parser.add_argument("--data", type=Path, metavar="JSONL", help="lm_eval: these four-option items, not made-up ones")
    parser.add_argument("--model", default=Options.model, help="text model; image-text ones use its tokenizer")
    parser.add_argument("--seconds", type=float, default=Options.seconds, help="gpu: time limit")
    given = vars(parser.parse_args(arguments))
    name = given.pop("benchmark")
    options = Options(**given)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch

    torch.set_num_threads(options.n_threads)
    importlib.import_module(f"benchmarks.{name}").run(options)


if __name__ == "__main__":
    main()
