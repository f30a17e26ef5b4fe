"""Score a sample of a finished run again and compare: `python -m thinkgap.verify RUN [--sample 100]`.

Loads the run's model with the run's own settings, builds its prompts anew, and computes a sample of them plainly and
one at a time, with nothing taken from stored cells. Says first what differs in software. Knows records and prompts, and
no figure.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkgap.cli import exit_code
from thinkgap.errors import StoreError, ThinkgapError
from thinkgap.schema import BackendKind, EvaluateConfig, EvaluationKind
from thinkgap.store.manifest import library_versions, read_manifest
from thinkgap.store.records import read_records
from thinkgap.types import Record

TOLERANCE = {"float32": 1e-4}
"""Largest difference of a label log-probability that counts as the same; in half precision only labels are compared."""


@dataclass(frozen=True)
class Checked:
    """What a sample of a run's records is when it is computed again."""

    n: int
    of: int
    """Native records of the run."""
    largest_difference: float
    """Of any label log-probability, in nats."""
    flips: int
    """Records whose predicted slot changes."""
    other_prompts: int
    """Records whose prompt is not the same any more."""
    dtype: str
    libraries: Mapping[str, tuple[str | None, str | None]]
    """Library -> version then and now, of those that differ."""

    @property
    def same(self) -> bool:
        """Whether the run's records are what its settings give."""
        bound = TOLERANCE.get(self.dtype, math.inf)
        return not self.other_prompts and not self.flips and self.largest_difference <= bound


def verify_run(folder: Path, sample: int = 100, seed: int = 0) -> Checked:
    """Compute a sample of the native records in `folder` again.

    Args:
        folder: of a finished run of label readouts.
        sample: how many records; those whose keys' digests come first, so the same for one seed.
        seed: of the sample.

    Raises:
        StoreError: no finished run, or one without native records.
        ThinkgapError: the model or the data cannot be loaded any more.
    """
    from thinkgap.evaluation.prepare import prepare
    from thinkgap.readouts.frames import NATIVE

    manifest = read_manifest(folder)
    cfg = _settings(manifest, folder)
    records = [one for one in read_records(folder) if one.readout == NATIVE]
    if not records:
        raise StoreError(f"{folder} holds no native records to compute again")
    chosen = sorted(records, key=lambda one: _rank(one, seed))[:sample]
    prepared = prepare(cfg)
    shown = {(one.item.id, one.name): one for one in prepared.presentations}
    largest, flips, others = 0.0, 0, 0
    for record in chosen:
        presentation = shown.get((record.item_id, record.presentation))
        built = [] if presentation is None else prepared.builder.build(presentation)
        found = [one for one in built if one.prompt.condition.name == record.condition]
        if not found or found[0].prompt.sha256 != record.prompt_sha256:
            others += 1
            continue
        (reading,) = prepared.engine.alone(found)
        pairs = zip(record.label_logprobs, reading.label_logprobs, strict=True)
        # Two labels of probability zero differ by nothing.
        largest = max([largest, *(0.0 if a == b else abs(a - b) for a, b in pairs)])
        flips += record.pred_slot != max(range(record.k), key=reading.label_logprobs.__getitem__) and not record.tied
    stored, now = manifest.get("libraries", {}), library_versions()
    differ = {name: (stored.get(name), now[name]) for name in now if name in stored and stored[name] != now[name]}
    dtype = str(prepared.backend.describe()["dtype"])
    return Checked(len(chosen), len(records), largest, flips, others, dtype, differ)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found; 0 if the sample is as recorded, 1 if it is not or could not be computed."""
    parser = argparse.ArgumentParser(
        prog="python -m thinkgap.verify", description="Score a sample of a finished run again and compare."
    )
    parser.add_argument("run", metavar="RUN", help="folder of a finished run of label readouts")
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="records to compute (default 100)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the sample (default 0)")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _report(options))


def _report(options: argparse.Namespace) -> None:
    if options.sample < 1:
        raise StoreError(f"--sample {options.sample}: must be at least 1")
    found = verify_run(Path(options.run), options.sample, options.seed)
    for name, (then, now) in found.libraries.items():
        print(f"{name}: {then or 'not installed'} then, {now or 'not installed'} now")
    print(
        f"{found.n} of {found.of} native records computed again: largest difference of a label log-probability "
        f"{found.largest_difference:.2g}, {found.flips} other predictions, {found.other_prompts} other prompts"
    )
    if not found.same:
        raise _Differs(f"{options.run} is not what its settings give here")
    print("as recorded")


class _Differs(ThinkgapError):
    """A sample that is not as recorded."""


def _settings(manifest: Mapping[str, Any], folder: Path) -> EvaluateConfig:
    """The settings of a run, as its manifest has them.

    Raises:
        StoreError: they are not those of a run whose records can be computed again.
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    config = dict(manifest.get("config") or {})
    try:
        cfg = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(EvaluateConfig), config))
    except OmegaConfBaseException as error:
        raise StoreError(
            f"{folder}: its settings are not those of an evaluation of this version of thinkgap "
            f"({str(error).splitlines()[0]})"
        ) from None
    assert isinstance(cfg, EvaluateConfig)
    if cfg.evaluation.kind is EvaluationKind.no_thinking:
        raise StoreError(
            f"{folder} holds replies, not label readouts: `evaluation.reuse=false` in another folder writes them "
            "again, and python -m analysis.compare compares the two"
        )
    cfg.evaluation.reuse = False
    cfg.evaluation.capture.enabled = False
    cfg.evaluation.capture.layers = None
    cfg.evaluation.capture.embeddings = cfg.evaluation.capture.final_norm = False
    cfg.evaluation.lens = False
    if cfg.model.backend is BackendKind.hf:
        cfg.evaluation.likelihood.enabled = cfg.evaluation.generation.enabled = False
    cfg.trainer.devices = cfg.trainer.num_nodes = 1
    cfg.trainer.strategy = "auto"
    return cfg


def _rank(record: Record, seed: int) -> str:
    return hashlib.sha256("\0".join([str(seed), *record.key]).encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
