"""Hidden states at the read positions of a forward pass, by hooks that keep only those rows.

`output_hidden_states` would keep every layer's whole `[B, T, d]` alive. Hooks see what a layer returns, so the last
layer's state is raw here, before the final norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from thinkgap.backends.families import Structure


@dataclass(frozen=True)
class Wanted:
    """Which states to keep; the raw residual after every layer if not told otherwise."""

    layers: tuple[int, ...] | None = None
    """Layers after which to keep the residual, ascending from 0; None is all."""
    embeddings: bool = False
    """The residual before the first layer, put first."""
    final_norm: bool = False
    """The last state after the final norm, put last."""

    def kept(self, n_layers: int) -> list[int]:
        """Numbers of the layers, of a model with so many."""
        return list(range(n_layers) if self.layers is None else self.layers)

    def names(self, n_layers: int) -> list[str]:
        """What each entry of a captured stack is."""
        inner = [f"layer_{layer}" for layer in self.kept(n_layers)]
        return ["embeddings"] * self.embeddings + inner + ["final_norm"] * self.final_norm


@dataclass(frozen=True)
class Rows:
    """What a pass gives per prompt, in order."""

    logits: Tensor
    """Float32 `[P, V]`."""
    states: Tensor | None
    """`[P, S, d]` if they were asked for, S as in `Wanted.names`."""


class Capture:
    """Keeps rows of every layer's output while it is open.

    Args:
        structure: the model's parts.
        rows: `[B, R]` positions to keep in each sequence of the batch.
        wanted: further states.
    """

    def __init__(self, structure: Structure, rows: Tensor, wanted: Wanted) -> None:
        self.structure, self.rows, self.wanted = structure, rows, wanted
        self._kept: list[Tensor] = []
        self._handles: list[Any] = []

    def __enter__(self) -> Capture:
        if self.wanted.embeddings:
            first = self.structure.layers[0]
            self._handles.append(first.register_forward_pre_hook(self._before, with_kwargs=True))
        for number in self.wanted.kept(len(self.structure.layers)):
            self._handles.append(self.structure.layers[number].register_forward_hook(self._after))
        if self.wanted.final_norm:
            self._handles.append(self.structure.norm.register_forward_hook(self._after))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._handles:
            handle.remove()
        if error is not None:
            self._kept.clear()

    def states(self) -> Tensor:
        """`[B, R, S, d]` on the device of the first kept state; S as in `Wanted.names`."""
        return torch.stack([state.to(self._kept[0].device) for state in self._kept], dim=2)

    def _before(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._keep(args[0] if args else kwargs["hidden_states"])

    def _after(self, module: Any, args: Any, output: Any) -> None:
        self._keep(output if isinstance(output, Tensor) else output[0])

    def _keep(self, hidden: Tensor) -> None:
        rows = self.rows.to(hidden.device)
        # Indexing with tensors copies, so the whole [B, T, d] can be freed; a slice would keep it alive.
        self._kept.append(hidden[torch.arange(len(rows), device=hidden.device)[:, None], rows])


def first_bad_layer(structure: Structure, run: Any) -> int | None:
    """Index of the first layer whose output is not finite while `run()` is called; None if all are."""
    bad: list[int] = []

    def check(index: int) -> Any:
        def hook(module: Any, args: Any, output: Any) -> None:
            hidden = output if isinstance(output, Tensor) else output[0]
            if not bad and not bool(torch.isfinite(hidden).all()):
                bad.append(index)

        return hook

    handles = [layer.register_forward_hook(check(index)) for index, layer in enumerate(structure.layers)]
    try:
        run()
    finally:
        for handle in handles:
            handle.remove()
    return bad[0] if bad else None
