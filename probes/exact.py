"""Exact linear probes: fitted for each value of C, and the one chosen that does best on the selection rows.

Knows parts and places, no run and no file; how they are fitted is in `probes.exact_fits`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from probes.exact_fits import ExactFits, fit_exact, logits_of
from probes.heads import Fitted, Place, Rows, Setting, choose, rows_at
from probes.linear_probe import LinearProbe, Standard, cross_entropy, mask_absent
from probes.part import Part
from thinkgap.errors import DataError
from thinkgap.schema import ExactGrid, ProbeConfig

__all__ = ["ExactFits", "Selected", "fit_block_exact", "fit_exact", "fit_selected"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Selected:
    """The probe that did best on the selection rows, and all that were tried."""

    probe: LinearProbe
    settings: tuple[Setting, ...]
    """One for each penalty, in the order of the grid."""
    chosen: int
    """Number of the chosen setting."""


def fit_selected(
    fit: Rows,
    select: Rows,
    grid: ExactGrid,
    *,
    bias: bool = True,
    n_slots: int | None = None,
    name: str = "a linear probe",
    best: Callable[[Sequence[Setting]], int] = choose,
) -> Selected:
    """Fit a probe for each penalty and choose one on other rows.

    States are standardised by the statistics of the fit rows. A selection row whose right slot is beyond `n_slots` is
    wrong, and left out of the mean loss, as every probe's would be infinite.

    Args:
        fit: rows to fit to.
        select: rows to choose by.
        grid: penalties, tolerance, largest number of iterations.
        bias: whether probes have one.
        n_slots: of the probe; None is the largest number of options among the fit rows.
        name: of the probe, for the warning that a fit did not converge.
        best: number of the setting to take.

    Raises:
        ConfigError: a C that is not above 0, or none.
        DataError: no rows, or a right slot that is not there.
    """
    if not len(fit.gold) or not len(select.gold):
        raise DataError(
            f"{name} has {len(fit.gold)} rows to fit to and {len(select.gold)} to choose by, and needs some"
        )
    standard = Standard.of(fit.states)
    fits = fit_exact(
        standard(fit.states),
        fit.gold,
        fit.k,
        int(fit.k.max()) if n_slots is None else n_slots,
        grid.penalties,
        bias=bias,
        tolerance=grid.tolerance,
        max_iterations=grid.max_iterations,
    )
    logits = mask_absent(logits_of(standard(select.states), fits.weight, fits.bias).mT, select.k)
    accuracy = (logits.argmax(-1) == select.gold).double().mean(1)
    known = select.gold < logits.shape[-1]
    loss = cross_entropy(logits, select.gold)[:, known].double().mean(1)
    settings = tuple(
        Setting(
            f"C={c:g}",
            float(accuracy[at]),
            float(loss[at]),
            float(fits.fit_losses[at]),
            gradient=float(fits.gradients[at]),
            iterations=int(fits.iterations[at]),
        )
        for at, c in enumerate(grid.penalties)
    )
    unfinished = [setting.name for setting, done in zip(settings, fits.converged.tolist(), strict=True) if not done]
    if unfinished:
        log.warning(
            "%s did not converge with %s (largest gradient %.1e, at most %d iterations): raise "
            "probe.exact.max_iterations, or leave these out of probe.exact.penalties",
            name, ", ".join(unfinished), float(fits.gradients[~fits.converged].max()), grid.max_iterations,
        )  # fmt: skip
    chosen = best(settings)
    # Copies: a probe that is kept must not keep the weights of all penalties.
    probe = LinearProbe(standard, fits.weight[chosen].clone(), fits.bias[chosen].clone())
    return Selected(probe, settings, chosen)


def fit_block_exact(
    places: Sequence[Place], fit: Part, select: Part, cfg: ProbeConfig, tell: Callable[[int], object]
) -> list[Fitted]:
    """Fit and choose a probe at each place, one place after the other, so that one place's states are held at a time.

    Args:
        places: where probes read.
        fit: rows to fit to.
        select: rows to choose by.
        cfg: bias, penalties, tolerance.
        tell: told 1 after each place.

    Returns:
        One result for each place, in their order; it does not depend on the other places.

    Raises:
        ConfigError: a C that is not above 0, or none.
        DataError: no rows, or a state that is not finite.
    """
    found = []
    for place in places:
        rows, choosing = rows_at(fit, *place), rows_at(select, *place)
        name = f"the probe at {place.state}, condition {place.condition},"
        selected = fit_selected(rows, choosing, cfg.exact, bias=cfg.bias, name=name)
        found.append(Fitted(place, selected.probe, selected.chosen, selected.settings))
        tell(1)
    return found
