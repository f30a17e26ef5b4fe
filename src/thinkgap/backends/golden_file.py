"""`golden_readings.json`: a few prompts and what a checkpoint read of them, stage by stage.

Knows the file's layout, and neither models nor how readings are compared.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from thinkgap.data.images import check_image, image_ref
from thinkgap.errors import ModelError, RowError
from thinkgap.types import ImageRef

GOLDEN_FILE = "golden_readings.json"
FORMAT = 1
STAGES = ("template", "tokenizer", "processor", "positions", "weights", "readings")
"""In the order in which a prompt passes them; a stage that moved moves those after it."""
LIBRARIES = ("transformers", "tokenizers", "torch")
_CASE_STAGES = tuple(stage for stage in STAGES if stage != "weights")
_PNG = "data:image/png;base64,"


@dataclass(frozen=True)
class GoldenCase:
    """One prompt: what the user says, what opens the reply, and the labels that are read after it."""

    name: str
    user: str
    """May hold `<image 1>` where the first image stands, as an item's text does."""
    prefill: str = ""
    labels: tuple[str, ...] = ()
    images: tuple[ImageRef, ...] = ()
    """PNG files: other formats decode differently from release to release."""


@dataclass(frozen=True)
class GoldenFile:
    """The whole file as read: cases, and per case and stage what was recorded."""

    file: Path
    made_with: Mapping[str, str]
    """Library -> version."""
    tolerance: Mapping[str, float]
    """Stage -> largest difference of a number; 0 where it is not named."""
    weights: Mapping[str, str]
    """Weight file -> SHA-256."""
    cases: tuple[GoldenCase, ...]
    recorded: tuple[Mapping[str, Any], ...]
    """Per case: stage -> what it gave, as JSON data."""


def read_golden(file: Path) -> GoldenFile:
    """The file with its readings.

    Raises:
        ModelError: it cannot be read, is of a later format, or is not what `golden_text` writes.
    """
    content = _content(file)
    cases = _cases(content, file)
    made_with, tolerance, weights = (content.get(key) for key in ("made_with", "tolerance", "weights"))
    if not (_is_table(made_with, str) and _is_table(tolerance, int | float) and _is_table(weights, str)):
        raise _unrecorded(file, "made_with, tolerance or weights is missing or no table")
    for case, recorded in zip(cases, content["cases"], strict=True):
        for stage in _CASE_STAGES:
            if not isinstance(recorded.get(stage), dict):
                raise _unrecorded(file, f"case {case.name!r} has no {stage}")
        top_ids = recorded["readings"].get("top_ids")
        if not isinstance(top_ids, list) or not all(type(token) is int for token in top_ids):
            raise _unrecorded(file, f"case {case.name!r} has no readings.top_ids")
    return GoldenFile(file, made_with, tolerance, weights, cases, tuple(content["cases"]))


def read_cases(file: Path) -> tuple[GoldenCase, ...]:
    """The file's cases alone; what was read of them may be absent.

    Raises:
        ModelError: it cannot be read, is of a later format, or holds no cases.
    """
    return _cases(_content(file), file)


def golden_json(
    made_with: Mapping[str, str],
    tolerance: Mapping[str, float],
    weights: Mapping[str, str],
    cases: Sequence[GoldenCase],
    recorded: Sequence[Mapping[str, Any]],
) -> str:
    """The file's text; what `read_golden` reads back.

    Raises:
        ModelError: two cases share a name, an image is no PNG, or a number is not finite.
    """
    rows = []
    for case, stages in zip(cases, recorded, strict=True):
        images = [_image(case, image) for image in case.images]
        inputs = {"name": case.name, "user": case.user, "prefill": case.prefill, "labels": case.labels}
        rows.append(inputs | {"images": images} | dict(stages))
    if len({case.name for case in cases}) != len(cases) or not cases:
        raise ModelError("golden readings need at least one case, each with a name of its own")
    content = {"format": FORMAT, "made_with": made_with, "tolerance": tolerance, "weights": weights, "cases": rows}
    try:
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ModelError(f"golden readings cannot be written: {error}; look at the model's weights") from error
    # Ids and positions would take a line per number. Line ends inside texts are escaped, so only lists match.
    return re.sub(r"\[\n[^\[\]{}\"]*\]", lambda numbers: json.dumps(json.loads(numbers.group())), text) + "\n"


def _image(case: GoldenCase, image: ImageRef) -> str:
    data = image.load()
    if not data.startswith(b"\x89PNG\r\n"):
        raise ModelError(f"case {case.name!r}: its image is no PNG, and others decode differently between releases")
    return _PNG + base64.b64encode(data).decode("ascii")


def rewrite_command(path: str) -> str:
    """The command that records the file's cases anew for the model at `path`."""
    return f"python -m thinkgap.golden --model {shlex.quote(path)}"


def _content(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _malformed(file, f"it is not JSON: {error}") from error
    if not isinstance(content, dict) or type(content.get("format")) is not int:
        raise _malformed(file, "it names no format")
    if content["format"] != FORMAT:
        raise ModelError(
            f"{file} is of format {content['format']} and this thinkgap reads format {FORMAT}: update thinkgap, or "
            f"take the file that came with this version"
        )
    return content


def _cases(content: Mapping[str, Any], file: Path) -> tuple[GoldenCase, ...]:
    rows = content.get("cases")
    if not isinstance(rows, list) or not rows:
        raise _malformed(file, "it holds no cases")
    cases = tuple(_case(row, number, file) for number, row in enumerate(rows, start=1))
    if len({case.name for case in cases}) != len(cases):
        raise _malformed(file, "two cases share a name")
    return cases


def _case(row: Any, number: int, file: Path) -> GoldenCase:
    values = row if isinstance(row, dict) else {}
    name, user, prefill = values.get("name"), values.get("user"), values.get("prefill", "")
    labels, images = values.get("labels", []), values.get("images", [])
    texts = [name, user, prefill, *(labels if isinstance(labels, list) else [None])]
    texts += images if isinstance(images, list) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise _malformed(file, f"case {number} needs name and user, and may have prefill, labels and images, as text")
    try:
        shown = tuple(image_ref(image) for image in images)
        for image in shown:
            check_image(image.load())
    except RowError as error:
        raise _malformed(file, f"case {name!r}: {error}") from error
    return GoldenCase(str(name), str(user), str(prefill), tuple(labels), shown)


def _is_table(value: Any, kind: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(isinstance(one, kind) for one in value.values())


def _malformed(file: Path, reason: str) -> ModelError:
    return ModelError(
        f"{file} is no file of golden readings: {reason}; restore it (reinstall the package, or `git checkout` it), "
        "or delete it to go without"
    )


def _unrecorded(file: Path, reason: str) -> ModelError:
    return ModelError(f"{file}: {reason}; its cases are whole: record them with `{rewrite_command(str(file.parent))}`")
