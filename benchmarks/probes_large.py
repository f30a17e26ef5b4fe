"""A bank of linear probes at the size of a 7B model: `python -m benchmarks.probes_large [--epochs 50] [--quick]`.

12,000 rows of 29 states of 3,584 features are written once to disk in bfloat16 (2.5 GB) and fitted block by block
through the memory-mapped reader. The peak memory of the whole process must stay under 4 GiB. The default of 50 epochs
takes some 8 minutes of one core of a server CPU, by the rate of ten; `--epochs` takes fewer.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.harness import RESULTS, Options, finish
from probes.bank import rates_of
from probes.bank_fit import fit_block_adamw
from probes.heads import Fitted, Place, blocks
from probes.part import Part
from thinkgap.evaluation.predict import quiet_libraries
from thinkgap.schema import ProbeConfig, TrainerConfig
from thinkgap.store.states import StateFile

LIMIT_MIB = 4096
_CHUNK = 256
"""Rows made and written at a time."""
_SELECT = 6
"""Every sixth row is for selection."""


@dataclass(frozen=True)
class Size:
    """What is on disk."""

    rows: int
    states: int
    width: int
    slots: int = 5

    @property
    def names(self) -> tuple[str, ...]:
        """All layers but the last, and the state after the final norm."""
        return (*(f"layer_{number}" for number in range(self.states - 1)), "final_norm")


FULL = Size(12_000, 29, 3_584)
QUICK = Size(2_000, 4, 3_584)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the states, fit all blocks, report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.probes_large", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 rows of 4 states: shows that it works")
    parser.add_argument("--epochs", type=int, default=50, help="passes over the fit rows (default: 50)")
    parser.add_argument("--block-mib", type=int, default=1024, help="float32 states held at a time (default: 1024)")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    parser.add_argument("--folder", type=Path, help="where the states go, in a folder that is deleted at the end")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the JSON goes")
    given = parser.parse_args(arguments)
    quiet_libraries()
    torch.set_num_threads(given.threads)
    options = Options(quick=given.quick, threads=given.threads, out=given.out)
    size = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        result = measure(size, Path(folder), given.epochs, given.block_mib << 20)
    finish("probes_large", options, result, _rows(result))
    if result["peak_mib"] >= LIMIT_MIB:
        raise SystemExit(f"the process took {result['peak_mib']:.0f} MiB at its peak, the limit is {LIMIT_MIB}")


def measure(size: Size, folder: Path, epochs: int, block_bytes: int) -> dict[str, Any]:
    """Seconds of each block and the peak of the whole process, with states written into `folder`."""
    start = time.perf_counter()
    gold = torch.randint(size.slots, (size.rows,), generator=torch.Generator().manual_seed(0))
    file = write_states(folder / "states.safetensors", size, gold)
    written = time.perf_counter() - start
    whole = part_of(file, size, gold)
    for_selection = np.arange(size.rows) % _SELECT == 0
    fit, select = whole.chosen(~for_selection), whole.chosen(for_selection)
    cfg = ProbeConfig(epochs=epochs)
    found: list[dict[str, Any]] = []
    results: list[Fitted] = []
    for number, places in enumerate(blocks(whole.conditions, whole.names, size.rows, size.width, block_bytes)):
        found.append(_timed_block(places, fit, select, cfg, folder / f"block_{number}", results))
    per_epoch = sum(block["epoch_s"] for block in found)
    heads = size.states * len(rates_of(cfg.adamw))
    # Logits and the gradient of the weights: two products of 2 x rows x width x slots operations for each head.
    operations = 4 * len(fit) * size.width * size.slots * heads
    return {
        "size": asdict(size),
        "fit_rows": len(fit),
        "select_rows": len(select),
        "heads": heads,
        "epochs": epochs,
        "block_mib": block_bytes >> 20,
        "file_mib": file.path.stat().st_size / 2**20,
        "write_s": written,
        "total_s": time.perf_counter() - start,
        "epoch_s": per_epoch,
        "gflop_per_s": operations / per_epoch / 1e9,
        "peak_mib": _peak_mib(),
        "limit_mib": LIMIT_MIB,
        "select_accuracy": {result.place.state: result.setting.select_accuracy for result in results},
        "blocks": found,
    }


def _timed_block(
    places: Sequence[Place], fit: Part, select: Part, cfg: ProbeConfig, folder: Path, results: list[Fitted]
) -> dict[str, Any]:
    ends: list[float] = []
    start = time.perf_counter()
    trainer = TrainerConfig(accelerator="cpu")
    results += fit_block_adamw(
        places, fit, select, cfg, trainer, 0, folder, curve=lambda *_: ends.append(time.perf_counter())
    )
    total = time.perf_counter() - start
    shutil.rmtree(folder)
    # The first epoch ends after reading, so an epoch is what lies between the ends of two.
    between = np.diff(ends).tolist() or [total]
    epoch = statistics.median(between)
    return {
        "states": [place.state for place in places],
        "total_s": total,
        "reading_s": max(0.0, ends[0] - start - epoch),
        "epoch_s": epoch,
        "all_epochs_s": between,
        "peak_mib_so_far": _peak_mib(),
    }


def write_states(path: Path, size: Size, gold: Tensor) -> StateFile:
    """Unit noise in bfloat16, with the right slot along the first axes, stronger from state to state; row by row."""
    shape = [size.rows, size.states, size.width]
    entry = {"dtype": "BF16", "shape": shape, "data_offsets": [0, 2 * size.rows * size.states * size.width]}
    header = json.dumps({"states": entry}).encode()
    strength = torch.linspace(0, 12, size.states)
    noise = torch.Generator().manual_seed(1)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for rows in torch.arange(size.rows).split(_CHUNK):
            states = torch.randn(len(rows), size.states, size.width, generator=noise)
            states[torch.arange(len(rows)), :, gold[rows]] += strength
            file.write(states.bfloat16().view(torch.int16).numpy().tobytes())
    return StateFile.open(path)


def part_of(file: StateFile, size: Size, gold: Tensor) -> Part:
    """All rows of the file, as a run's rows under one condition."""

    def read(rows: NDArray[np.int64], _condition: str, names: Sequence[str], /) -> Tensor:
        return file.gather(rows.tolist(), [size.names.index(name) for name in names])

    numbers = np.arange(size.rows)
    ids = np.array([f"made-{number}" for number in numbers])
    return Part(
        role="made",
        item_id=ids,
        presentation=np.full(size.rows, "identity"),
        group_id=ids,
        k=torch.full_like(gold, size.slots),
        gold=gold,
        native={"direct": np.zeros(size.rows, np.int64)},
        names=size.names,
        reader=read,
        source=numbers,
    )


def _peak_mib() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "block": f"{block['states'][0]} to {block['states'][-1]}",
            "s": block["total_s"],
            "of it reading": block["reading_s"],
            "s/epoch": block["epoch_s"],
            "peak MiB so far": block["peak_mib_so_far"],
        }
        for block in result["blocks"]
    ] + [
        {
            "block": f"all, {result['epochs']} epochs, {result['gflop_per_s']:.1f} GFLOP/s",
            "s": result["total_s"],
            "of it reading": sum(block["reading_s"] for block in result["blocks"]),
            "s/epoch": result["epoch_s"],
            "peak MiB so far": result["peak_mib"],
        }
    ]


if __name__ == "__main__":
    main()
