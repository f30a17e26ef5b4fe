"""What a demo model does on test items: the figures of its card. `python -m thinkgap.demo.measure FOLDER --out FILE`.

Everything is measured by what users run: the native readout and its records, the prompt builder, greedy replies.
It knows no training.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from thinkgap import cli, schema
from thinkgap.demo.batches import Writer, open_school
from thinkgap.demo.generate import continuations, settled_letter
from thinkgap.demo.validate import token_accuracy
from thinkgap.demo.world.draws import Draws
from thinkgap.evaluation.native import run_native
from thinkgap.evaluation.prepare import Prepared, prepare
from thinkgap.prompts.build import PreparedPrompt
from thinkgap.readouts.native import native_record
from thinkgap.schema import DemoMixture, EvaluateConfig
from thinkgap.store.atomic import write_text
from thinkgap.store.records import read_run
from thinkgap.types import Presentation

ITEMS = 400
PERMUTATIONS = 5
MOST_TOKENS = 120
"""Longest reply; the longest rationale of the world has about 70 tokens."""
_CAPTIONS = 200


def measure(path: str, items: int = ITEMS, permutations: int = PERMUTATIONS) -> dict[str, Any]:
    """All figures of a model as JSON data; shares are in [0, 1].

    Args:
        path: model folder, or `package:thinkgap/...`.
        items: test items, a sample of the test split.
        permutations: orders of each item's options.

    Raises:
        ThinkgapError: the model cannot be loaded or run.
    """
    cfg = _config(path, items, permutations)
    with tempfile.TemporaryDirectory() as folder:
        run_native(cfg, Path(folder))
        native = read_run(folder).to_pandas()
    prepared = prepare(cfg)
    first = [presentations[0] for presentations in prepared.items]
    prompts = [prepared.builder.build(presentation) for presentation in first]
    generated = _generated(prepared, prompts)
    turned = _with_letters_reversed(prepared, first)
    conditions = {}
    for number, name in enumerate(prepared.names):
        own = native[native["condition"] == name]
        source = own[own["presentation"] == "identity"]
        by_order = own.groupby("presentation")["correct"].mean()
        conditions[name] = {
            "n": len(source),
            "accuracy": float(source["correct"].mean()),
            "first_slot": float((source["pred_slot"] == 0).mean()),
            "gold_first": float((source["gold_slot"] == 0).mean()),
            "label_mass": float(source["label_mass"].mean()),
            "gold_rank": float(source["gold_rank"].median()),
            "top_token": str(source["top_token"].mode()[0]),
            "permutations": permutations,
            "permuted_mean": float(by_order.mean()),
            "permuted_sd": float(by_order.std(ddof=1)) if permutations > 1 else None,
            "generation": generated[number],
            "letters_reversed": turned[number],
        }
    direct = native[(native["condition"] == prepared.names[0]) & (native["presentation"] == "identity")]
    return {
        "model": path,
        "items": len(first),
        "chance": float((1 / direct["k"]).mean()),
        "kinds": {str(kind): float(own["correct"].mean()) for kind, own in direct.groupby("subject")},
        "options": {str(k): float(own["correct"].mean()) for k, own in direct.groupby("k")},
        "captions": captions(prepared),
        "conditions": conditions,
    }


def _config(path: str, items: int, permutations: int) -> EvaluateConfig:
    from hydra import compose, initialize_config_dir

    schema.register()
    overrides = ["model=local", f"model.path='{path}'", "dataset=digit_scenes", f"dataset.limit={items}"]
    overrides += ["trigger=[paper,answer]", f"evaluation.permutations={permutations}", "logger=none", "trainer=cpu"]
    with initialize_config_dir(str(cli.CONF), version_base="1.3"):
        return cli.typed(compose("evaluate", overrides), EvaluateConfig)


def _generated(prepared: Prepared, prompts: Sequence[Sequence[PreparedPrompt]]) -> list[dict[str, Any]]:
    """Per condition what its free continuations come to: a reply without a letter is wrong, and counted."""
    found = []
    for number in range(len(prepared.names)):
        own = [conditions[number] for conditions in prompts]
        texts = continuations(prepared.local.backend, own, MOST_TOKENS, shown=True)
        letters = [settled_letter(text) for text in texts]
        golds = [one.prompt.presentation.labels[one.prompt.presentation.gold_slot] for one in own]
        found.append(
            {
                "accuracy": statistics.fmean(letter == gold for letter, gold in zip(letters, golds, strict=True)),
                "unparsed": sum(letter is None for letter in letters),
                "first_slot": statistics.fmean(
                    letter == one.prompt.presentation.labels[0] for letter, one in zip(letters, own, strict=True)
                ),
                "tokens": statistics.fmean(len(prepared.local.backend.fmt.tokenize(text)) for text in texts),
                "example": texts[0],
            }
        )
    return found


def _with_letters_reversed(prepared: Prepared, presentations: Sequence[Presentation]) -> list[dict[str, float]]:
    """Per condition the readout of the same items with the letters from last to first: slot and letter come apart."""
    turned = [replace(one, labels=one.labels[::-1], name="letters_reversed") for one in presentations]
    scored = prepared.engine.score([prepared.builder.build(one) for one in turned])
    tokenizer = prepared.local.backend.fmt.tokenizer
    found = []
    for number in range(len(prepared.names)):
        records = [native_record(group[number], lambda token: tokenizer.decode([token])) for group in scored]
        found.append(
            {
                "accuracy": statistics.fmean(one.correct for one in records),
                "first_slot": statistics.fmean(one.pred_slot == 0 for one in records),
                "letter_a": statistics.fmean(one.labels[one.pred_slot] == "A" for one in records),
            }
        )
    return found


@torch.inference_mode()
def captions(prepared: Prepared) -> dict[str, float]:
    """Share of the tokens of captions of test pictures that are the most probable given those before."""
    school = open_school("test", 0, _CAPTIONS)
    model = prepared.local.backend.model
    writer = Writer(prepared.local.backend.fmt.processor, model)
    written = [
        writer.lesson("caption", school, fact, Draws("captions", fact.number), DemoMixture()) for fact in school.facts
    ]
    return {"n": len(written), "token_accuracy": token_accuracy(model, writer, written)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write the file, and return 0; a refusal is printed and returns 1."""
    parser = argparse.ArgumentParser(prog="python -m thinkgap.demo.measure", description="Measure a demo model.")
    parser.add_argument("model", metavar="FOLDER", help="model folder, or package:thinkgap/...")
    parser.add_argument("--out", metavar="FILE.json", required=True, help="where the figures go")
    parser.add_argument("--items", type=int, default=ITEMS, help=f"test items (default {ITEMS})")
    options = parser.parse_args(arguments)

    def job() -> None:
        found = measure(options.model, options.items)
        write_text(Path(options.out), json.dumps(found, indent=1) + "\n")
        print(options.out)

    return cli.exit_code(job)


if __name__ == "__main__":
    sys.exit(main())
