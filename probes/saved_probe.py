"""A saved probe in use: on states at hand, or on those of a finished run that they belong to.

Knows no file of a probe, no solver and no training.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from probes.card import Card
from probes.linear_probe import LinearProbe
from probes.prompt_hash import prompt_differences, prompt_facts
from thinkgap.errors import DataError, StoreError
from thinkgap.presentation_names import is_rewrite
from thinkgap.store.features import features_of_run
from thinkgap.store.manifest import MANIFEST_FILE, read_manifest
from thinkgap.store.records import read_run

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

States: TypeAlias = Tensor | NDArray[Any]
"""`[n, d]`, raw as they are stored, in any floating type."""
Options: TypeAlias = Tensor | NDArray[Any] | Sequence[int] | int
"""Numbers of options `[n]`, or one for all."""
_COLUMNS = ["item_id", "presentation", "condition", "k", "gold_slot", "pred_slot"]
_SHOWN = 6


@dataclass(frozen=True)
class SavedProbe:
    """A probe and its card, as `probes.load` gives them."""

    folder: Path
    card: Card
    probe: LinearProbe

    def logits(self, states: States, k: Options) -> Tensor:
        """Logits of the slots, on the CPU.

        Args:
            states: `[n, d]`, raw.
            k: numbers of options `[n]`, or one for all.

        Returns:
            Float32 `[n, K]`; minus infinity at the slots that an item lacks.

        Raises:
            DataError: states of another shape or width, or not finite, with the row; fewer than one option.
        """
        given, options = _tensor(states), _tensor(k)
        if given.ndim != 2 or given.shape[1] != self.card.d:
            raise DataError(
                f"states of shape {list(given.shape)}: {self._name()} reads [n, {self.card.d}], the state "
                f"'{self.card.state}' of {self.card.model_name}; give that state alone"
            )
        if options.ndim == 0:
            options = options.expand(len(given))
        if options.shape != given.shape[:1] or options.is_floating_point() or bool((options < 1).any()):
            raise DataError(
                f"k must be the number of options of each of the {len(given)} states, whole and at least 1; it has "
                f"shape {list(options.shape)} and type {options.dtype}"
                + (f", its least is {options.min().item()}" if options.numel() else "")
            )
        self._require_finite(given, lambda row: f"row {row}")
        return self.probe.logits(given, options)

    def slots(self, states: States, k: Options) -> Tensor:
        """Predicted slots `[n]`, int64: the largest logit, the first of equal ones; arguments as of `logits`."""
        return self.logits(states, k).argmax(-1)

    def read_run(
        self, run_folder: Path | str, condition: str | None = None, *, other_prompts: bool = False
    ) -> pd.DataFrame:
        """What the probe says of the rows of a finished run, beside what the model's own readout says.

        Args:
            run_folder: of a run of the same model that kept this probe's state.
            condition: whose rows; None is the probe's own.
            other_prompts: whether a condition with another prompt than the probe was fitted under is read all the
                same (transfer); what differs is then logged.

        Returns:
            A pandas DataFrame in the order of records.parquet: `item_id`, `presentation`, `condition`, `k`,
            `gold_slot`, `pred_slot` (the native readout's), `probe_slot`, `probe_correct`; without rewritten items.

        Raises:
            StoreError: another model or prompt, a state that was not kept, or no finished run.
            DataError: a state that is not finite, with its item.
        """
        folder, name = Path(run_folder), condition or self.card.condition
        manifest = _manifest(folder)
        self._require_model(folder, manifest)
        self._require_prompt(folder, manifest, name, other_prompts)
        self._require_state(folder, manifest)
        found = features_of_run(folder, [self.card.state], name)
        rows = found.rows.select(_COLUMNS).to_pandas()
        # A proposal or an open question has no slots of its item's options that the probe could say.
        own = ~rows.presentation.map(is_rewrite).to_numpy(bool)
        rows, states = rows[own].reset_index(drop=True), found.states[:, 0][torch.from_numpy(own)]
        self._require_finite(states, lambda row: f"item {rows.item_id[row]} ({rows.presentation[row]}) in {folder}")
        if beyond := int((rows.k > self.card.n_slots).sum()):
            log.warning(
                "%d of %d rows in %s have more than the %d options that the probe was fitted on: it never says a "
                "later slot",
                beyond, len(rows), folder, self.card.n_slots,
            )  # fmt: skip
        rows["probe_slot"] = self.slots(states, rows.k.to_numpy(np.int64)).numpy()
        rows["probe_correct"] = rows.probe_slot == rows.gold_slot
        return rows

    def _require_model(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        for key, own in self.card.model.items():
            other = manifest["model"].get(key)
            if other != own:
                raise StoreError(
                    f"{self._name()} reads states of {self.card.model_name}; {folder} is of another model ({key}: "
                    f"{own} on the card, {other} there). Give a run of that model, or fit a probe on this one"
                )

    def _require_prompt(self, folder: Path, manifest: Mapping[str, Any], condition: str, other_prompts: bool) -> None:
        try:
            found = prompt_differences(self.card.prompt, prompt_facts(manifest, condition))
        except StoreError as error:
            raise StoreError(f"{folder}: {error}") from None
        if not found:
            return
        told = "; ".join(f"{one.name} is {one.one!r} on the card and {one.other!r} there" for one in found)
        if not other_prompts:
            raise StoreError(
                f"{self._name()} was fitted under another prompt than condition '{condition}' of {folder}: {told}. "
                "Give a run with that prompt; other_prompts=True reads it all the same, as transfer"
            )
        log.warning("%s reads condition '%s' of %s, another prompt: %s", self._name(), condition, folder, told)

    def _require_state(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        state, held = self.card.state, manifest.get("states") or ()
        if state not in held:
            which = f"layers=[{self.card.layer}]" if self.card.layer is not None else f"{state}=true"
            raise StoreError(
                f"{self._name()} reads the state '{state}'; {folder} kept {listed(held)}. Run that evaluation with "
                f"evaluation.capture.enabled=true evaluation.capture.{which}"
            )

    def _require_finite(self, states: Tensor, row_name: Callable[[int], str]) -> None:
        bad = ~torch.isfinite(states).all(-1)
        if bool(bad.any()):
            raise DataError(
                f"state {self.card.state} of {row_name(int(bad.nonzero()[0]))} is not finite ({int(bad.sum())} of "
                f"{len(states)} are not): compute it in a wider type (model.dtype=float32, "
                "evaluation.capture.dtype=float32), or leave that row out"
            )

    def _name(self) -> str:
        return f"the probe {self.folder}"


def _tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach().cpu()
    # Copied if it is read-only, as memory maps and columns of pandas are: torch warns of those.
    return torch.from_numpy(np.require(values, requirements="W"))


def _manifest(folder: Path) -> dict[str, Any]:
    if not (folder / MANIFEST_FILE).exists():
        read_run(folder)  # says whether it is no run or an unfinished one
    return read_manifest(folder)


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "nothing") + more
