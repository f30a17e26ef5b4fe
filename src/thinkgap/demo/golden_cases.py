"""The prompts of the demo models' golden readings: `python -m thinkgap.demo.golden_cases FOLDER`.

Test items of the world, shown and told, under Direct, under a cue at the end of the user turn, and after one that opens
the reply. It compares nothing; that is `thinkgap.golden`'s matter.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from thinkgap.backends.golden_file import GOLDEN_FILE, GoldenCase
from thinkgap.backends.load import load_backend
from thinkgap.cli import exit_code
from thinkgap.data import load_dataset_items
from thinkgap.data.present import identity
from thinkgap.demo.lessons import CUES
from thinkgap.golden import write_golden
from thinkgap.prompts.assemble import prefix_lines
from thinkgap.schema import DatasetConfig, Dtype, GenerationConfig, ModelConfig


def golden_cases() -> list[GoldenCase]:
    """Six cases of three test items, two with a picture and one in words."""
    size = GenerationConfig(size=20)
    items = load_dataset_items(DatasetConfig(name="digit_scenes", path="generated", generation=size)).items
    first, second = [item for item in items if item.images][:2]
    (told,) = [item for item in items if not item.images][:1]
    cases = []
    for name, item in (("shown", first), ("another", second), ("told", told)):
        presentation = identity(item)
        lines = prefix_lines(presentation)
        direct = GoldenCase(f"{name}, direct", "\n".join(lines), labels=presentation.labels, images=item.images)
        cases.append(direct)
        if name == "shown":
            cases.append(replace(direct, name="shown, after a cue", user="\n".join([*lines, CUES[0]])))
            cases.append(replace(direct, name="shown, reply opened by a cue", prefill=CUES[0]))
        if name == "told":
            cases.append(replace(direct, name="told, after a cue", user="\n".join([*lines, CUES[-1]])))
    return cases


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file into the folder given and return 0; a refusal is printed and returns 1."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 1 or given[0].startswith("-"):
        print("usage: python -m thinkgap.demo.golden_cases FOLDER\n\n" + (__doc__ or "").splitlines()[0])
        return 0 if given in (["-h"], ["--help"]) else 2
    folder = Path(given[0])

    def job() -> None:
        cfg = ModelConfig(name=folder.name, path=str(folder), dtype=Dtype.float32)
        write_golden(load_backend(cfg, on_accelerator=False, golden=False), golden_cases(), folder / GOLDEN_FILE)
        print(folder / GOLDEN_FILE)

    return exit_code(job)


if __name__ == "__main__":
    sys.exit(main())
