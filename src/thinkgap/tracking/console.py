"""Logging set-up of the entry points: one format, and libraries heard only when they warn.

Libraries of this project log through `logging.getLogger(__name__)` and never configure anything themselves.
"""

from __future__ import annotations

import logging
import sys

from tqdm import tqdm

from thinkgap.printable import printable

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
TIME_FORMAT = "%H:%M:%S"
QUIET = (
    "accelerate",
    "asyncio",
    "datasets",
    "filelock",
    "fsspec",
    "httpx",
    "httpx2",
    "huggingface_hub",
    "lightning",
    "lightning_fabric",
    "matplotlib",
    "numexpr",
    "openai",
    "PIL",
    "pytorch_lightning",
    "sentence_transformers",
    "torch",
    "transformers",
    "urllib3",
    "wandb",
)
"""Loggers of third parties that only pass warnings."""


class PlainFormatter(logging.Formatter):
    """Spells out what a terminal would obey: messages quote rows and replies, which may hold escape sequences."""

    def format(self, record: logging.LogRecord) -> str:
        """One record as text; line ends and tabs stay, for tracebacks."""
        return printable(super().format(record), kept="\n\t")


class ProgressHandler(logging.StreamHandler):
    """Writes to stderr without tearing a progress bar that is on screen."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line above the bars."""
        try:
            # stderr is looked up at each line, because tests and notebooks exchange it.
            tqdm.write(self.format(record), file=sys.stderr)
        except Exception:
            self.handleError(record)


def setup_logging(level: int = logging.INFO, rank: int = 0) -> None:
    """Set up the root logger; calling it again, as each job of a sweep does, changes nothing.

    Handlers that write to a file (Hydra's) are kept and get the same format; console handlers are replaced by one.

    Args:
        level: Least level shown.
        rank: Process number; those other than 0 only pass warnings, so that lines do not come once per process, and
            each such line tells the number.
    """
    root = logging.getLogger()
    formatter = PlainFormatter(FORMAT if rank == 0 else f"rank {rank}: {FORMAT}", TIME_FORMAT)
    for handler in list(root.handlers):
        if type(handler) in (logging.StreamHandler, ProgressHandler):
            root.removeHandler(handler)
        elif isinstance(handler, logging.FileHandler):
            handler.setFormatter(formatter)
    console = ProgressHandler()
    console.setFormatter(formatter)
    root.addHandler(console)
    root.setLevel(level if rank == 0 else max(level, logging.WARNING))
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
