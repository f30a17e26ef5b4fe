"""Runs a command of the repository with everything that is finished written ten times a second, not once a minute.

So a run of seconds has as many moments at which a kill may find something half-written as one of hours.
"""

from __future__ import annotations

import runpy
import sys

from tests.conftest import ROOT
from thinkgap.evaluation import generate, likelihood_run, predict

OFTEN = 0.1


def main() -> None:
    """Run `sys.argv[1]` as a script of the repository."""
    predict._SHARD_SECONDS = generate._SHARD_SECONDS = likelihood_run._KEEP_SECONDS = OFTEN  # pyright: ignore
    sys.argv = [str(ROOT / sys.argv[1]), *sys.argv[2:]]
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
