"""Greedy replies with shared prefixes against the model's own `generate`: the same prompts, the same tokens.

`python -m benchmarks.generation [--quick] ...`, or `python -m benchmarks.scoring generation`. Two models that end by
themselves: the packaged image-text one, and a text model. `generate` gets batches of prompts of equal length, which pad
nothing, and of similar length, padded on the left; of both and of two batch sizes, the fastest counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from benchmarks.harness import Options, finish, interleaved, timed, timing
from benchmarks.items import conditions, inventory, presented
from thinkgap import cli, schema
from thinkgap.backends.hf import HFBackend, collate
from thinkgap.backends.load import load_backend
from thinkgap.data import load_dataset_items
from thinkgap.prompts.build import PreparedPrompt, PromptBuilder
from thinkgap.schema import EvaluateConfig, ModelConfig
from thinkgap.scoring.decode import Decoder, Method
from thinkgap.scoring.decode_check import choose_decoding
from thinkgap.scoring.decode_plain import shape
from thinkgap.scoring.plain import in_batches
from thinkgap.scoring.stopping import stop_ids
from thinkgap.types import Item

PACKAGED = "package:thinkgap/demo/checkpoints/demo_vlm"
_SIZES = (8, 32)
Groups = list[list[PreparedPrompt]]
Tokens = list[list[int]]


def run(options: Options) -> None:
    """Measure both models."""
    number = options.sized(options.items, 16, 2)
    cap = 8 if options.quick else 64
    steps = []
    for name, path, items in (
        ("demo_vlm", PACKAGED, scenes(number)),
        ("text", options.model, [inventory(one) for one in range(number)]),
    ):
        backend = load_backend(ModelConfig(name=name, path=path), on_accelerator=False)
        builder = PromptBuilder(backend.fmt, conditions())
        groups = [[one for shown in item for one in builder.build(shown)] for item in presented(items, 1)]
        steps.append(_measured(name, backend, groups, cap, options.sized(options.repeats, 3, 1)))
    rows = [row for step in steps for row in _rows(step)]
    finish("generation", options, {"max_new_tokens": cap, "steps": steps}, rows)


def scenes(number: int) -> Sequence[Item]:
    """Test items of the packaged model's own world, most with a picture."""
    from hydra import compose, initialize_config_dir

    schema.register()
    with initialize_config_dir(str(cli.CONF), version_base="1.3"):
        cfg = cli.typed(compose("evaluate", ["dataset=digit_scenes", f"dataset.limit={number}"]), EvaluateConfig)
    return load_dataset_items(cfg.dataset).items


def padded_generate(
    backend: HFBackend, prompts: Sequence[PreparedPrompt], cap: int, stops: Sequence[int], batch_size: int
) -> Tokens:
    """New tokens without stop tokens, by `generate` on left-padded batches of prompts of similar length."""

    def batch(part: Sequence[PreparedPrompt]) -> Tokens:
        inputs = collate(part, backend.pad_id)
        width = inputs["input_ids"].shape[1]
        for row, prepared in enumerate(part):
            missing = width - len(prepared.prompt.input_ids)
            for value in inputs.values():
                if value.shape == (len(part), width):
                    value[row] = value[row].roll(missing)
        written = backend.model.generate(
            **inputs, max_new_tokens=cap, do_sample=False, eos_token_id=list(stops), pad_token_id=backend.pad_id
        )
        return [_before(row, stops) for row in written[:, width:].tolist()]

    with torch.inference_mode():
        return in_batches(prompts, batch_size, batch)


def _before(tokens: Sequence[int], stops: Sequence[int]) -> list[int]:
    end = next((place for place, token in enumerate(tokens) if token in stops), len(tokens))
    return list(tokens[:end])


def _measured(name: str, backend: HFBackend, groups: Groups, cap: int, repeats: int) -> dict[str, Any]:
    stops, method = stop_ids(backend), choose_decoding(backend, groups)
    prompts = [one for group in groups for one in group]
    found: dict[str, Tokens] = {}

    def decoded(size: int, how: Method) -> Callable[[Groups], Tokens]:
        decoder = Decoder(backend, cap, size, stops, how)
        return lambda given: [list(one.token_ids) for group in decoder.decode(given) for one in group]

    def padded(size: int) -> Callable[[Groups], Tokens]:
        return lambda given: padded_generate(backend, [one for group in given for one in group], cap, stops, size)

    ways: dict[str, Callable[[Groups], Tokens]] = {}
    for size in _SIZES:
        ways[f"generate, equal lengths, {size}"] = decoded(size, Method("plain"))
        ways[f"generate, left-padded, {size}"] = padded(size)
        ways[f"shared, {size}"] = decoded(size, method)
    for way in ways.values():  # the first passes load kernels
        way(groups[:1])

    def side(label: str) -> Callable[[], float]:
        return timed(lambda: found.update({label: ways[label](groups)}))

    seconds = interleaved({label: side(label) for label in ways}, repeats)
    sides = {label: timing(values) for label, values in seconds.items()}
    shared, theirs = (
        min((label for label in sides if label.startswith("shared") is ours), key=lambda one: sides[one]["median_s"])
        for ours in (True, False)
    )
    return {
        "model": name,
        "method": method.name,
        "prompts": len(prompts),
        "prompt_tokens": sum(len(one.prompt.input_ids) for one in prompts),
        "shapes": len({shape(one) for one in prompts}),
        "new_tokens": sum(map(len, found[shared])),
        "stopped": sum(len(tokens) < cap for tokens in found[shared]),
        "equal": all(one == found[shared] for one in found.values()),
        "sides": sides,
        "best_generate": theirs,
        "best_shared": shared,
        "ratio": sides[theirs]["median_s"] / sides[shared]["median_s"],
    }


def _rows(step: dict[str, Any]) -> list[dict[str, Any]]:
    least = step["sides"][step["best_shared"]]["median_s"]
    return [
        {
            "model": step["model"],
            "side": label,
            "s": side["median_s"],
            "new tokens/s": step["new_tokens"] / side["median_s"],
            "times shared": side["median_s"] / least,
            "same tokens": step["equal"],
        }
        for label, side in step["sides"].items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """`python -m benchmarks.scoring generation` under its own name."""
    from benchmarks.scoring import main as measure

    measure(["generation", *(sys.argv[1:] if arguments is None else arguments)])


if __name__ == "__main__":
    main()
