"""Linear probes: test accuracy of the AdamW bank beside scikit-learn's LogisticRegression, on the same rows.

`python -m benchmarks.probes_adamw --threads 1`: at a sample of the layers of `benchmarks.probes`, half of the test rows
choose (epoch and setting of the bank, C of scikit-learn), the other half tells. The objectives are not the same: AdamW
stops at its best epoch and decays its weights, so weights are not compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor

from benchmarks.harness import RESULTS, Options, finish
from benchmarks.probe_places import Place as Data
from benchmarks.probe_places import Shape, made_up
from probes.bank_fit import fit_block_adamw
from probes.heads import Place
from probes.part import Part
from thinkgap.evaluation.predict import quiet_libraries
from thinkgap.schema import ExactGrid, ProbeConfig, TrainerConfig

AT = Place("condition_0", "layer")
"""Each layer is fitted alone, as each has right answers of its own."""


def run(options: Options, shape: Shape, n_sampled: int, epochs: int) -> None:
    """Measure, print and write.

    Args:
        options: threads, folder of the result.
        shape: of the made-up data.
        n_sampled: layers, evenly spread.
        epochs: of the bank, at most.
    """
    places = made_up(shape)
    rows = [
        _row(places.load(number), epochs)
        for number in sorted(set(np.linspace(0, places.depth - 1, n_sampled).round().astype(int).tolist()))
    ]
    differences = [row["difference"] for row in rows]
    rows.append(
        {
            "layer": "mean",
            "bank": float(np.mean([row["bank"] for row in rows])),
            "scikit-learn": float(np.mean([row["scikit-learn"] for row in rows])),
            "difference": float(np.mean(differences)),
            "setting": "",
        }
    )
    finish("probes_adamw", options, {"data": {**places.facts}, "epochs": epochs}, rows)


def _row(data: Data, epochs: int) -> dict[str, Any]:
    half = len(data.gold_test) // 2
    fit = _part("fit", data.x, data.gold, data.n_slots)
    select = _part("select", data.x_test[:half], data.gold_test[:half], data.n_slots)
    test = _part("test", data.x_test[half:], data.gold_test[half:], data.n_slots)
    (fitted,) = fit_block_adamw(
        [AT], fit, select, ProbeConfig(epochs=epochs), TrainerConfig(accelerator="cpu", progress=False), 0
    )
    bank = float((fitted.probe.slots(test.state(*AT), test.k) == test.gold).double().mean())
    models = [LogisticRegression(C=c, max_iter=10_000).fit(data.x, data.gold) for c in ExactGrid().penalties]
    chosen = max(models, key=lambda model: float(model.score(data.x_test[:half], data.gold_test[:half])))
    peer = float(chosen.score(data.x_test[half:], data.gold_test[half:]))
    setting = f"{fitted.setting.name}, epoch {fitted.setting.epoch}; C={chosen.C:g}"
    return {"layer": data.name, "bank": bank, "scikit-learn": peer, "difference": bank - peer, "setting": setting}


def _part(role: str, states: NDArray[np.float32], gold: NDArray[np.int64], n_slots: int) -> Part:
    held, n = torch.from_numpy(states)[:, None], len(gold)

    def read(rows: NDArray[np.int64], _condition: str, _names: Sequence[str]) -> Tensor:
        return held[torch.from_numpy(rows)]

    ids = np.array([f"{role}-{row}" for row in range(n)])
    slots = torch.from_numpy(gold)
    native = {AT.condition: np.zeros(n, np.int64)}
    shown = np.full(n, "identity")
    return Part(role, ids, shown, ids, torch.full_like(slots, n_slots), slots, native, (AT.state,), read, np.arange(n))


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.probes_adamw", description="Test accuracy of the AdamW bank of linear probes."
    )
    parser.add_argument("--quick", action="store_true", help="tiny: shows that it works")
    parser.add_argument("--threads", type=int, help="threads of each side; default: all usable cores")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    parser.add_argument("--places", type=int, default=6, help="layers that are compared")
    parser.add_argument("--epochs", type=int, default=50, help="of the bank, at most")
    given = parser.parse_args(arguments)
    options = Options(quick=given.quick, threads=given.threads, out=given.out)
    quiet_libraries()
    torch.set_num_threads(options.n_threads)
    shape = Shape(3, 1, 600, 400, 48, 3, informative=12) if given.quick else Shape(conditions=1)
    with threadpool_limits(options.n_threads):
        run(options, shape, 2 if given.quick else given.places, 5 if given.quick else given.epochs)


if __name__ == "__main__":
    main()
