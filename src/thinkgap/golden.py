"""Golden readings of a checkpoint, written or checked: `python -m thinkgap.golden --model FOLDER [--check]`.

Cases are those of the `golden_readings.json` in the folder, so a file that holds nothing but cases is enough to begin
with. It knows no stage; those are the backend's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from thinkgap.backends.golden import compared, golden_text, moved
from thinkgap.backends.golden_file import GOLDEN_FILE, GoldenCase, read_cases, read_golden
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.load import DEFAULT_CACHE, checkpoint_of, load_backend
from thinkgap.cli import exit_code
from thinkgap.errors import ModelError
from thinkgap.schema import Dtype, ModelConfig
from thinkgap.store.atomic import write_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check, say what was found, and return 0; a refusal is printed and returns 1."""
    options = _parser().parse_args(arguments)
    cfg = ModelConfig(name=Path(options.model).name, path=options.model, dtype=Dtype.float32)
    return exit_code(lambda: check(cfg) if options.check else rewrite(cfg))


def write_golden(backend: HFBackend, cases: Sequence[GoldenCase], file: Path) -> None:
    """Record what `backend`, loaded in float32, reads of `cases`, replacing `file` whole.

    Raises:
        ModelError: the weights are in another type, a case is not usable, or what is read is not finite.
        PromptError: a case cannot be shown to this model, or its labels are not one token each.
        StoreError: the file cannot be written; it is then as it was.
    """
    write_text(file, golden_text(backend, cases))


def rewrite(cfg: ModelConfig) -> None:
    """Record the cases of the folder's file anew and say so.

    Raises:
        ModelError: the model cannot be loaded, there is no such file, or it holds no cases; see also `write_golden`.
        PromptError, StoreError: see `write_golden`.
    """
    file = _file(cfg)
    cases = read_cases(file)
    write_golden(load_backend(cfg, on_accelerator=False, golden=False), cases, file)
    print(f"{file}: {len(cases)} cases recorded")


def check(cfg: ModelConfig) -> None:
    """Print each stage that is as recorded.

    Raises:
        ModelError: the model cannot be loaded, the file cannot be used, or a stage moved.
    """
    golden = read_golden(_file(cfg))
    backend = load_backend(cfg, on_accelerator=False, golden=False)
    print(f"{golden.file}: {len(golden.cases)} cases")
    for stage, difference in compared(backend, golden):
        print(f"  {stage:<10} {'as recorded' if difference is None else 'moved'}")
        if difference is not None:
            raise moved(backend, golden, stage, difference)


def _file(cfg: ModelConfig) -> Path:
    checkpoint = checkpoint_of(cfg, DEFAULT_CACHE)
    file = Path(checkpoint.source) / GOLDEN_FILE
    if not checkpoint.local or not file.is_file():
        raise ModelError(f"{cfg.path} holds no {GOLDEN_FILE}: docs/golden.md shows how to begin one")
    return file


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m thinkgap.golden",
        description="Record what a checkpoint reads of the cases in its golden_readings.json, or check it.",
    )
    parser.add_argument(
        "--model", required=True, metavar="FOLDER", help="a checkpoint's folder, or package:module/folder"
    )
    parser.add_argument("--check", action="store_true", help="compare stage by stage and write nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
