"""Judges from the command line: `python -m thinkgap.judging check` measures the rules judge on the labelled traces.

It measures nothing itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from thinkgap.errors import ThinkgapError
from thinkgap.judging.measured import check_sheets
from thinkgap.printable import printable
from thinkgap.readouts.sheet import sheet_markdown

UNREADABLE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say and return the exit status: 0, or 2 if the labelled traces cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m thinkgap.judging", description="Measures judges of traces.")
    commands = parser.add_subparsers(dest="command", required=True)
    text = "the rules judge on the labelled traces: confusion, recall, precision, specificity"
    commands.add_parser("check", help=text, description=text)
    parser.parse_args(arguments)
    try:
        print("\n".join(sheet_markdown(sheet) for sheet in check_sheets()), end="")
    except ThinkgapError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return UNREADABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
