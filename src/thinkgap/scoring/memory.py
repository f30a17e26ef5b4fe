"""Running a batch in halves when it does not fit into memory."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

log = logging.getLogger(__name__)

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def in_halves(
    batch: Sequence[Unit], run: Callable[[Sequence[Unit]], list[Result]], alone: Callable[[Unit, Exception], Result]
) -> list[Result]:
    """`run(batch)`, or its halves one after the other while memory does not suffice; results in order.

    Args:
        batch: units of work.
        run: computes a batch, one result per unit.
        alone: what to do with one unit that does not fit by itself.
    """
    try:
        return run(batch)
    except (torch.OutOfMemoryError, RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        # The traceback keeps the failed pass's tensors alive.
        failed = error.with_traceback(None)
    release()
    if len(batch) == 1:
        return [alone(batch[0], failed)]
    log.info("out of memory on a batch of %d: going on with halves", len(batch))
    middle = len(batch) // 2
    return in_halves(batch[:middle], run, alone) + in_halves(batch[middle:], run, alone)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether `error` says that memory is full; torch has no class of its own for that on CPU."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return "can't allocate memory" in str(error) or "out of memory" in str(error).lower()


def release() -> None:
    """Give back what nothing holds any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
