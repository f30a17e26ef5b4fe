"""Linear probes: all penalties at once by the exact solver, against a loop of scikit-learn's LogisticRegression.

`python -m benchmarks.probes --threads 1`: 30 layers x 6 conditions x 8 values of C. All sides minimise the same
objective on the same float32 arrays, at one place after the other in turns. scikit-learn runs at a sample of places,
evenly spread over depth, with all values of C at each, and its time is scaled by the count; `--all` runs it everywhere.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.harness import RESULTS, Options, finish
from benchmarks.probe_places import Place, Places, Shape, captured, made_up
from probes.exact import fit_exact
from thinkgap.schema import ExactGrid

GRID = ExactGrid()
CLOSE = 1e-3
"""Distance from the optimum, as a share of its length, at which weights count as found."""
RUNGS = ((np.float32, 1e-4), (np.float32, 1e-5), *((np.float64, tol) for tol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)))
"""Number types and tolerances that scikit-learn is tried with, from loose to tight: float32 cannot reach all optima."""
OURS, LOOSE, TIGHT = "exact solver", "scikit-learn, tol=1e-4", "scikit-learn, loosest tol within 1e-3"
WARM = ", warm starts"

Weights = list[NDArray[Any]]
"""`[K, d]` weights and `[K]` biases side by side, `[K, d + 1]`, for each C."""


@dataclass
class Solved:
    """What one side found at a place."""

    weights: Weights
    seconds: NDArray[np.float64]
    """Wall and processor time."""
    runs: list[Any]
    """Number type, tolerance and iterations of each run that counts."""


Solver = Callable[[Place, Weights], Solved]
"""A side; it gets the optimum to know when it is there, and must not start from it."""


@dataclass
class Side:
    """What one side took and found at the places where it ran, by name of the place."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    """Wall and processor time."""
    distances: dict[str, list[float]] = field(default_factory=dict)
    """Of the weights for each C from the optimum, relative."""
    accuracies: dict[str, list[float]] = field(default_factory=dict)
    """Test accuracy for each C minus the optimum's."""
    runs: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, place: Place, solved: Solved, optimum: Weights) -> None:
        """Keep what it did at a place; compared where the optimum is known."""
        self.seconds[place.name] = solved.seconds.tolist()
        if optimum:
            pairs = list(zip(solved.weights, optimum, strict=True))
            self.runs[place.name] = solved.runs
            self.distances[place.name] = [_distance(own, best) for own, best in pairs]
            self.accuracies[place.name] = [_accuracy(place, own) - _accuracy(place, best) for own, best in pairs]


SOLVERS: dict[str, Solver] = {
    OURS: lambda place, _: _ours(place),
    LOOSE: lambda place, _: _loose(place, warm=False),
    LOOSE + WARM: lambda place, _: _loose(place, warm=True),
    TIGHT: lambda place, optimum: _tight(place, optimum, warm=False),
    TIGHT + WARM: lambda place, optimum: _tight(place, optimum, warm=True),
}
"""All sides; ours runs at all places, the others at the sampled ones."""


def run(options: Options, name: str, places: Places, n_sampled: int | None) -> None:
    """Measure, print and write.

    Args:
        options: threads, folder of the result.
        name: of the result.
        places: the data.
        n_sampled: places at which scikit-learn runs; None is all.
    """
    sampled = _spread(len(places.names), places.depth, n_sampled)
    sides = {side: Side() for side in SOLVERS}
    _ours(places.load(0))
    for number in range(len(places.names)):
        place = places.load(number)
        optimum = [_optimum(place, c) for c in GRID.penalties] if number in sampled else []
        for side, solve in SOLVERS.items():
            if side == OURS or number in sampled:
                sides[side].add(place, solve(place, optimum), optimum)
        if number in sampled:
            print(place.name, *(f"{one.seconds[place.name][0]:.2f} s {side}" for side, one in sides.items()), sep="; ")
    result = {
        "scikit-learn": version("scikit-learn"),
        "data": {**places.facts, "places": len(places.names), "sampled": [places.names[at] for at in sampled]},
        "penalties": GRID.penalties,
        "tolerance": GRID.tolerance,
        "sides": {side: vars(one) for side, one in sides.items()},
    }
    finish(name, options, result, [_row(side, one, sides[OURS]) for side, one in sides.items()])


def _clocked(work: Callable[[], Any]) -> tuple[Any, NDArray[np.float64]]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, np.array([time.perf_counter() - wall, time.process_time() - cpu])


def _ours(place: Place) -> Solved:
    x, gold = torch.from_numpy(place.x), torch.from_numpy(place.gold)
    k = torch.full_like(gold, place.n_slots)
    fits, seconds = _clocked(
        lambda: fit_exact(
            x, gold, k, place.n_slots, GRID.penalties, tolerance=GRID.tolerance, max_iterations=GRID.max_iterations
        )
    )
    weights = torch.cat([fits.weight.mT, fits.bias[..., None]], 2).double()
    return Solved(list(weights.numpy()), seconds, [["float32", GRID.tolerance, n] for n in fits.iterations.tolist()])


def _loose(place: Place, warm: bool) -> Solved:
    solved, before = Solved([], np.zeros(2), []), None
    for c in GRID.penalties:
        before = _keep(solved, *_lbfgs(place, place.x, c, 1e-4, before if warm else None))
    return solved


def _tight(place: Place, optimum: Weights, warm: bool) -> Solved:
    """Only the run counts that is the first to find the optimum, as if one had known its number type and tolerance."""
    solved, before, kinds = Solved([], np.zeros(2), []), None, {kind: place.x.astype(kind) for kind, _ in RUNGS}
    for c, best in zip(GRID.penalties, optimum, strict=True):
        for kind, tol in RUNGS:
            model, seconds = _lbfgs(place, kinds[kind], c, tol, before if warm else None)
            if _distance(_weights(model), best) <= CLOSE or tol == RUNGS[-1][1]:
                before = _keep(solved, model, seconds)
                break
    return solved


def _keep(solved: Solved, model: LogisticRegression, seconds: NDArray[np.float64]) -> LogisticRegression:
    solved.weights.append(_weights(model))
    solved.seconds += seconds
    solved.runs.append([model.coef_.dtype.name, model.tol, int(model.n_iter_[0])])
    return model


def _lbfgs(
    place: Place, x: NDArray[Any], c: float, tol: float, start: LogisticRegression | None
) -> tuple[LogisticRegression, NDArray[np.float64]]:
    model = LogisticRegression(max_iter=100_000, warm_start=True) if start is None else copy.deepcopy(start)
    return _clocked(lambda: model.set_params(C=c, tol=tol).fit(x, place.gold))


def _optimum(place: Place, c: float) -> NDArray[np.float64]:
    """By Newton's method with exact Hessians, in float64."""
    model = LogisticRegression(C=c, tol=1e-10, max_iter=1000, solver="newton-cholesky")
    return _weights(model.fit(place.x.astype(np.float64), place.gold))


def _weights(model: LogisticRegression) -> NDArray[np.float64]:
    return np.concatenate([model.coef_, np.asarray(model.intercept_)[:, None]], 1).astype(np.float64)


def _distance(weights: NDArray[np.float64], optimum: NDArray[np.float64]) -> float:
    """Of the weights alone: biases are unique only up to a constant."""
    return float(np.linalg.norm(weights[:, :-1] - optimum[:, :-1]) / np.linalg.norm(optimum[:, :-1]))


def _accuracy(place: Place, weights: NDArray[np.float64]) -> float:
    slots = (place.x_test.astype(np.float64) @ weights[:, :-1].T + weights[:, -1]).argmax(1)
    return float((slots == place.gold_test).mean())


def _spread(count: int, depth: int, n_sampled: int | None) -> list[int]:
    """Numbers of places spread evenly over depth, of each condition in turn."""
    if n_sampled is None or n_sampled >= count:
        return list(range(count))
    layers = np.linspace(0, depth - 1, n_sampled).round().astype(int).tolist()
    return sorted({(at % (count // depth)) * depth + layer for at, layer in enumerate(layers)})


def _row(name: str, side: Side, ours: Side) -> dict[str, Any]:
    """Ratios are of means over places: ours over all of them, and over those where the other side ran."""
    seconds, own = np.array(list(side.seconds.values())), np.array(list(ours.seconds.values()))
    same = np.array([ours.seconds[place] for place in side.seconds])
    return {
        "side": name,
        "places": len(seconds),
        "s per place": seconds[:, 0].mean(),
        "s for all": seconds[:, 0].mean() * len(own),
        "times ours": seconds[:, 0].mean() / own[:, 0].mean(),
        "same places": seconds[:, 0].sum() / same[:, 0].sum(),
        "same places, processor time": seconds[:, 1].sum() / same[:, 1].sum(),
        "largest distance": max(itertools.chain(*side.distances.values())),
        "largest difference of accuracy": max(map(abs, itertools.chain(*side.accuracies.values()))),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.probes", description="Measure solvers of linear probes."
    )
    parser.add_argument("--quick", action="store_true", help="tiny: shows that it works, not how fast")
    parser.add_argument("--threads", type=int, help="threads of each side; default: all usable cores")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FOLDER", help="where the JSON goes")
    parser.add_argument("--places", type=int, default=6, help="places at which scikit-learn runs")
    parser.add_argument("--all", action="store_true", help="scikit-learn runs at all places")
    parser.add_argument("--power", type=float, default=Shape.power, help="of the made-up states' eigenvalues")
    parser.add_argument("--features", type=Path, metavar="RUN", help="states of this finished run, not made-up ones")
    given = parser.parse_args(arguments)
    options = Options(quick=given.quick, threads=given.threads, out=given.out)
    if given.features:
        name, places = "probes_captured", captured(given.features)
    else:
        small = Shape(3, 2, 600, 200, 48, 3, given.power, informative=12)
        places = made_up(small if given.quick else Shape(power=given.power))
        name = "probes" if given.power == Shape.power else f"probes_power_{given.power:g}"
    torch.set_num_threads(options.n_threads)
    with threadpool_limits(options.n_threads):
        run(options, name, places, None if given.all else given.places)


if __name__ == "__main__":
    main()
