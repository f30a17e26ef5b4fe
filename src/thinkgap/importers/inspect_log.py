"""inspect_ai: `.eval` logs, read from the JSON in the zip file, so that inspect_ai need not be installed.

A log has `header.json` (or, if the run was broken off, `_journal/start.json`) and a `samples/ID_epoch_N.json` for each
sample. Long texts may stand in `attachments`. Format seen: 0.3.285, log version 2. It does not know what our own schema
requires.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from thinkgap.data.adapter import Row
from thinkgap.errors import DataError, RowError
from thinkgap.importers.found import Contents, Found, counted
from thinkgap.importers.zipped import read_member

_ATTACHMENT = "attachment://"
_SHUFFLED = (
    "its multiple_choice(shuffle=True) put the options in another order for the model and then replaced every reply by "
    "'ANSWER: X', so what the model wrote is not in the log: shuffle with the data set's shuffle_choices and run again"
)
_PARTS = ("text", "reasoning")
_LARGEST_LOG = 16 << 30
"""Bytes of all samples of a log, unpacked."""


def read_inspect(data: bytes, path: Path) -> Contents:
    """Rows of a log, one for each sample and epoch.

    Raises:
        DataError: a damaged log, one without samples, or one that does not hold the replies.
    """
    stream = io.BytesIO(data)
    try:
        archive = zipfile.ZipFile(stream)
    except zipfile.BadZipFile as error:
        raise DataError(f"{path} is a damaged .eval log ({error}): copy it again") from None
    names = list(dict.fromkeys(archive.namelist()))
    samples = [name for name in names if name.startswith("samples/") and name.endswith(".json")]
    notes: list[str] = []
    if "header.json" not in names:
        notes.append("the log was not finished: it holds the samples that were done")
    try:
        header = _object(read_member(stream, archive, "header.json" if not notes else "_journal/start.json"))
        shuffled = any(step.get("params", {}).get("shuffle") for step in header["plan"]["steps"])
        limit = _max_tokens(header)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is no .eval log of a known layout ({error!r})") from None
    if shuffled:
        raise DataError(f"{path}: {_SHUFFLED}")
    if not samples:
        raise DataError(f"{path} holds no sample (run it without --no-log-samples)")
    remarks: Counter[str] = Counter()
    rows = []
    unpacked = 0
    for name in samples:
        # Thousands of members can share the same packed bytes, each small enough by itself.
        unpacked += archive.getinfo(name).file_size
        try:
            if unpacked > _LARGEST_LOG:
                raise ValueError(f"with it the log would be more than {_LARGEST_LOG:,} bytes unpacked")
            sample = _object(read_member(stream, archive, name))
        except ValueError as error:
            rows.append(Found.bad(name, str(error)))
            continue
        try:
            rows.append(Found(name, Row(_values(sample, header, limit, remarks)), repeat=int(sample.get("epoch", 1))))
        except RowError as error:
            rows.append(Found.bad(name, str(error), sample.get("id")))
        except (TypeError, KeyError, AttributeError, IndexError, ValueError) as error:
            rows.append(Found.bad(name, f"it is no sample of a known layout ({error!r})", sample.get("id")))
    return Contents(rows, (*notes, *counted(remarks)))


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"a JSON {type(value).__name__} stands where an object belongs")
    return value


def _max_tokens(header: Mapping[str, Any]) -> int | None:
    """The limit on new tokens of the whole run, if there was one."""
    limit = (header["eval"].get("model_generate_config", {}) | header["plan"].get("config", {})).get("max_tokens")
    return limit if isinstance(limit, int) else None


def _values(
    sample: Mapping[str, Any], header: Mapping[str, Any], limit: int | None, remarks: Counter[str]
) -> dict[str, object]:
    """A sample under the names of our own schema."""
    if sample.get("error"):
        raise RowError(f"inspect recorded an error: {str(sample['error'].get('message'))[:200]}")
    output = sample["output"]
    if not output.get("choices"):
        raise RowError("it has no model output")
    choice = output["choices"][0]
    parts = _parts(choice["message"]["content"], sample.get("attachments") or {})
    readable = [part["reasoning"] for part in parts if part["type"] == "reasoning" and not part.get("redacted")]
    hidden = [part for part in parts if part["type"] == "reasoning" and part.get("redacted")]
    if hidden:
        remarks["reasoning that the provider encrypted; only its summary is read"] += 1
    usage = output.get("usage") or {}
    reason = choice.get("stop_reason") or ""
    if reason == "unknown" and limit is not None and usage.get("output_tokens", 0) >= limit:
        remarks[f"stop reason unknown, and as many tokens as the limit of {limit}: read as cut (max_tokens)"] += 1
        reason = "max_tokens"
    metadata = sample.get("metadata") or {}
    return {
        "id": sample["id"],
        "dataset": header["eval"].get("task", ""),
        # The same question about two pictures is no group, and pictures are not compared.
        "group_id": str(sample["id"]) if _has_pictures(sample) else None,
        "question": _question(sample),
        "gold": _target(sample, remarks),
        "options": sample.get("choices"),
        "subject": metadata["subject"] if isinstance(metadata.get("subject"), str) else "",
        # As inspect joins the parts of a message.
        "response": "\n".join(part["text"] for part in parts if part["type"] == "text"),
        "reasoning": "\n".join(readable),
        "reasoning_details": [{"summary": part["summary"]} for part in hidden if part.get("summary")],
        "finish_reason": reason,
        "usage": _usage(usage),
        "model": output.get("model") or header["eval"].get("model", ""),
    }


def _parts(content: object, attachments: Mapping[str, str]) -> list[dict[str, Any]]:
    """Parts of a message's content that are text or reasoning, attachments put in."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list):
        raise RowError(f"the content of a message is {type(parts).__name__}, not text or a list of parts")
    found = []
    for part in parts:
        if part["type"] in _PARTS:
            texts = {
                key: _attached(part[key], attachments) for key in (*_PARTS, "summary") if part.get(key) is not None
            }
            found.append(part | texts)
    return found


def _attached(text: str, attachments: Mapping[str, str]) -> str:
    if not text.startswith(_ATTACHMENT):
        return text
    key = text.removeprefix(_ATTACHMENT)
    if key not in attachments:
        raise RowError(f"attachment {key} is not in the sample")
    return attachments[key]


def _question(sample: Mapping[str, Any]) -> str:
    """What was asked, before the solver's template; of a conversation, the last turn of the user."""
    asked, attachments = sample["input"], sample.get("attachments") or {}
    if isinstance(asked, str):
        return _attached(asked, attachments)
    turns = [turn for turn in asked if turn["role"] == "user"]
    if not turns:
        raise RowError("its input has no turn of the user")
    return "\n".join(part["text"] for part in _parts(turns[-1]["content"], attachments) if part["type"] == "text")


def _has_pictures(sample: Mapping[str, Any]) -> bool:
    turns = sample["input"] if isinstance(sample["input"], list) else []
    contents = [turn["content"] for turn in turns if isinstance(turn["content"], list)]
    return any(part["type"] not in _PARTS for content in contents for part in content)


def _target(sample: Mapping[str, Any], remarks: Counter[str]) -> object:
    target = sample.get("target")
    if not isinstance(target, list):
        return target
    if len(target) > 1 and sample.get("choices"):
        raise RowError(f"it has several right options ({', '.join(map(str, target))}); one is needed")
    if len(target) > 1:
        remarks["several right answers, of which the first is kept"] += 1
    return target[0] if target else None


def _usage(usage: Mapping[str, Any]) -> dict[str, object]:
    """Counts with the cached part of the prompt put back, which inspect counts apart."""
    if not usage:
        return {}
    cached = (usage.get(f"input_tokens_cache_{kind}") or 0 for kind in ("read", "write"))
    return {
        "prompt_tokens": usage.get("input_tokens", 0) + sum(cached),
        "completion_tokens": usage.get("output_tokens"),
        "reasoning_tokens": usage.get("reasoning_tokens"),
    }
