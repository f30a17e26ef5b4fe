"""Runs one target under atheris (libFuzzer), and reads the kept inputs. It does not know what a target checks."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def kept(name: str) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the kept inputs of a target, in the order of their names."""
    for file in sorted((CORPUS / name).iterdir()):
        yield file.name, file.read_bytes()


def fuzz(name: str, check: Callable[[bytes], None]) -> None:
    """Fuzz `check` with libFuzzer's arguments of the command line, such as `-max_total_time=3600`.

    New inputs go to a folder that is named at the start, or to the first folder that is given; the kept ones are read
    as well and stay as they are.
    """
    try:
        import atheris  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise SystemExit("fuzzing needs atheris: pip install 'atheris>=3,<4' (Linux, CPython 3.11 to 3.13)") from None
    folders = [one for one in sys.argv[1:] if not one.startswith("-")]
    if not folders:
        folders = [tempfile.mkdtemp(prefix=f"fuzz-{name}-")]
        print(f"new inputs go to {folders[0]}", flush=True)
    options = [one for one in sys.argv[1:] if one.startswith("-")]
    atheris.Setup([sys.argv[0], *options, *folders, str(CORPUS / name)], check)
    atheris.Fuzz()


def instrumented() -> AbstractContextManager[object]:
    """A context in which imports are instrumented for coverage; does nothing without atheris."""
    try:
        import atheris  # pyright: ignore[reportMissingImports]
    except ImportError:
        return contextlib.nullcontext()
    return atheris.instrument_imports(include=["thinkgap"])  # pyright: ignore[reportAttributeAccessIssue]
