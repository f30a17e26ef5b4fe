"""The demo model's card: `python -m thinkgap.demo.card FOLDER` writes FOLDER/model/README.md from measured figures.

FOLDER is that of a finished training in which `thinkgap.demo.measure` has left `measured.json`. No sentence of the card
claims a figure that is not read from these files. It measures nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgap.cli import exit_code
from thinkgap.demo import card_tables as tables
from thinkgap.demo.card_tables import share
from thinkgap.demo.curves import curves_picture
from thinkgap.demo.state import MODEL, TRAINING, read_curves
from thinkgap.errors import StoreError
from thinkgap.store.atomic import write_bytes, write_text

MEASURED, CURVES_PICTURE = "measured.json", "curves.svg"
_HEAD = """---
license: apache-2.0
library_name: transformers
pipeline_tag: image-text-to-text
tags: [thinkgap, model-organism]
---
"""


def card(
    name: str, measured: Mapping[str, Any], training: Mapping[str, Any], others: Sequence[Mapping[str, Any]]
) -> str:
    """The whole card as Markdown.

    Args:
        name: of the model.
        measured: figures of `thinkgap.demo.measure`.
        training: settings under `settings`, and what the training came to.
        others: `measured` and `training` of the variants beside it, each with its `name`.
    """
    settings = training["settings"]
    blocks = [
        f"{_HEAD}\n# {name}",
        f"A vision-language model of {training['parameters']:,} parameters, trained from scratch in "
        f"{training['seconds'] / 60:.0f} minutes on {training['threads']} CPU thread(s), on pictures of coloured "
        "handwritten digits and questions about them (`dataset=digit_scenes`). It is of the class "
        "`Qwen2_5_VLForConditionalGeneration` and loads like any checkpoint of that class. It exists so that thinkgap "
        "can be tried in a minute; it knows nothing but digit scenes and is of no other use.",
        "## What it reads",
        f"{measured['items']} test items ({share(measured['chance'])} by guessing), float32. First slot, label mass "
        f"and gold rank are of the source's order; mean ± SD are over {_permutations(measured)} orders of the options.",
        tables.conditions(measured),
        "Label mass: mean probability of all letters together as the next token. Gold rank: median rank of the right "
        "letter among all tokens. Generation: greedy, the letter after the last “answer is”; a reply without one is "
        "wrong. Linear probes of its states: `python train.py`, see docs/probes.md.",
        "### Under Direct",
        tables.kinds(measured),
        f"With the letters from last to first: {share(_reversed(measured, 'direct')['accuracy'])} right. Captions of "
        f"{measured['captions']['n']} test pictures: {share(measured['captions']['token_accuracy'])} of tokens right.",
        "### Slot or letter",
        "The same items with the letters from last to first, so that the letter A stands in the last slot:",
        tables.slot_or_letter(measured),
        "## Training",
        tables.phases(settings),
        f"Shares within the lessons: {tables.mixture(settings)}. No reply is wrong. Seed {settings['seed']}, "
        f"{settings['steps']:,} steps, Muon ({settings['matrix_rate']}) on matrices, AdamW ({settings['other_rate']}) "
        "on the rest. Questions begin with two options and get one more each time the running accuracy of direct "
        f"answers passes {share(settings['more_options'])}, or when a phase asks for more. New layers join below the "
        "others and change nothing at first.",
        f"![Losses and accuracies by step]({CURVES_PICTURE})",
    ]
    if others:
        blocks += [
            "## What it depends on",
            tables.variants([{"name": name, "measured": measured, "training": training}, *others]),
        ]
    option = name.removeprefix("demo_vlm_")
    blocks.append(f"Rebuild: `python -m thinkgap.demo.train demo={option}`; see docs/demo_model.md.")
    return "\n\n".join(blocks) + "\n"


def _permutations(measured: Mapping[str, Any]) -> int:
    return next(iter(measured["conditions"].values()))["permutations"]


def _reversed(measured: Mapping[str, Any], condition: str) -> Mapping[str, float]:
    return measured["conditions"][condition]["letters_reversed"]


def write_card(folder: Path, others: Sequence[Path] = ()) -> Path:
    """Write card and curves into `folder / "model"`.

    Args:
        folder: of a finished and measured training.
        others: folders of the variants to show beside it.

    Raises:
        StoreError: a training that is not finished or not measured.
    """
    own, *beside = (_read(one) for one in (folder, *others))
    model = folder / MODEL
    points = read_curves(folder, own["training"]["settings"]["steps"])
    write_bytes(model / CURVES_PICTURE, curves_picture(points))
    write_text(model / "README.md", card(own["name"], own["measured"], own["training"], beside))
    return model / "README.md"


def _read(folder: Path) -> dict[str, Any]:
    found = {}
    measuring = f"run python -m thinkgap.demo.measure {folder / MODEL} --out {folder / MEASURED}"
    for name, file, way_out in (
        ("training", folder / MODEL / TRAINING, "start the training's command again to finish it"),
        ("measured", folder / MEASURED, measuring),
    ):
        if not file.is_file():
            raise StoreError(f"{file} is not there: {way_out}")
        try:
            found[name] = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise StoreError(f"{file} is no JSON ({error}): {way_out}") from error
    return {"name": found["training"]["settings"]["name"], **found}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the card and return 0; a refusal is printed and returns 1."""
    parser = argparse.ArgumentParser(prog="python -m thinkgap.demo.card", description="Write a demo model's card.")
    parser.add_argument("training", metavar="FOLDER", type=Path, help="a finished, measured training")
    parser.add_argument("others", metavar="VARIANT", type=Path, nargs="*", help="those of variants to show beside it")
    options = parser.parse_args(arguments)
    return exit_code(lambda: print(write_card(options.training, options.others)))


if __name__ == "__main__":
    sys.exit(main())
