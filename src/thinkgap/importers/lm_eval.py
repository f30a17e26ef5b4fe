"""lm-evaluation-harness: the samples_*.jsonl files that `--log_samples` writes for generate_until tasks.

A line is one document under one filter, so a task with two filters holds each response twice. What is read is `resps`,
the text as it came; `filtered_resps` is the harness's own extraction. Why a text ended is not in the file. Format seen:
0.4.13. It does not know what our own schema requires.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgap.data.adapter import Row
from thinkgap.errors import DataError, nearest
from thinkgap.importers.detect import LM_EVAL_KEYS
from thinkgap.importers.found import Contents, Found, counted
from thinkgap.importers.text import as_utf8, json_lines

_NAME = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+")
_STEMS = ("question", "problem", "Question", "query", "input")
_CONTEXTS = ("passage", "context", "hint")
_OPTIONS = ("choices", "options")
_IDS = ("id", "question_id")
_NO_TEXT = (
    "it holds log-likelihoods of answer strings, which a multiple_choice or loglikelihood task makes, and no text: run "
    "a generate_until task"
)
_NO_REASON = (
    "lm-evaluation-harness does not record why a reply ended: one that was cut at max_gen_toks counts as whole, so its "
    "status is never truncated"
)


def task_name(path: Path) -> str:
    """The task of a samples file, which only its name tells; the whole stem if it was renamed."""
    found = _NAME.fullmatch(path.stem)
    return found.group(1) if found else path.stem


def read_lm_eval(data: bytes, path: Path) -> Contents:
    """Rows of a samples file, one for each document and repeat.

    Raises:
        DataError: no samples file, or one of a task that generates no text.
    """
    text, notes = as_utf8(data, path)
    lines = json_lines(text, path.parent)
    columns = {key for found in lines for key in found.row.values}
    for key in LM_EVAL_KEYS:
        if columns and key not in columns:
            raise DataError(
                f"{path} is no samples file of lm-evaluation-harness: it has no {key!r}{nearest(key, columns)}"
            )
    remarks: Counter[str] = Counter()
    rows: list[Found] = []
    filters: dict[str, object] = {}
    """Document -> the filter under which it was read."""
    own_ids = _have_own_ids(lines)
    for found in lines:
        values = found.row.values
        document = repr(values.get("doc_id"))
        filtered = values.get("filter")
        if not found.row.problem and filters.setdefault(document, filtered) != filtered:
            remarks["a further filter of the same reply, left out"] += 1
            continue
        rows += _samples(found, own_ids, remarks)
    if rows and all(found.row.problem == _NO_TEXT for found in rows):
        raise DataError(f"{path}: {_NO_TEXT}")
    return Contents(rows, (*notes, _NO_REASON, *counted(remarks)))


def _have_own_ids(lines: Sequence[Found]) -> bool:
    """Whether the documents' own ids tell them apart; some sets number the questions of each part anew."""
    documents = {(repr(found.row.values.get("doc_id")), repr(_own_id(found))) for found in lines if found.row.values}
    names = [name for _, name in documents]
    return "None" not in names and len(set(names)) == len(names)


def _own_id(found: Found) -> str | int | None:
    doc = found.row.values.get("doc")
    if not isinstance(doc, dict):
        return None
    return next((doc[key] for key in _IDS if isinstance(doc.get(key), str | int)), None)


def _samples(found: Found, own_ids: bool, remarks: Counter[str]) -> Iterator[Found]:
    values = found.row.values
    if found.row.problem:
        yield found
        return
    name = _own_id(found) if own_ids else values.get("doc_id")
    doc, replies = values.get("doc"), values.get("resps")
    doc = doc if isinstance(doc, dict) else {}
    texts = replies[0] if isinstance(replies, list) and len(replies) == 1 else replies
    if not _is_generation(values.get("arguments")):
        yield Found.bad(found.where, _NO_TEXT, name)
        return
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        yield Found.bad(found.where, "'resps' holds no text", name)
        return
    stem = next((doc[key] for key in _STEMS if isinstance(doc.get(key), str) and doc[key].strip()), "")
    prompt = "" if stem else _prompt(values.get("arguments"))
    if prompt:
        remarks["the document has no question text, so the whole prompt stands for it, examples and all"] += 1
    context = next((doc[key] for key in _CONTEXTS if isinstance(doc.get(key), str)), "") if stem else ""
    shared = {"id": name, "question": stem, "context": context, "gold": _gold(values.get("target"), remarks)}
    shared |= _options(doc)
    if isinstance(doc.get("subject"), str):
        shared["subject"] = doc["subject"]
    for repeat, text in enumerate(texts, start=1):
        yield Found(found.where, Row(shared | {"response": text}), prompt, repeat)


def _arguments(arguments: object) -> list[Any]:
    """What the first request of a document was made of; older versions wrote lists."""
    if isinstance(arguments, dict):
        first = arguments.get("gen_args_0")
        return list(first.values()) if isinstance(first, dict) else []
    return arguments[0] if isinstance(arguments, list) and arguments and isinstance(arguments[0], list) else []


def _is_generation(arguments: object) -> bool:
    """Only requests for text come with settings of generation; others have an answer string, or nothing."""
    return any(isinstance(one, dict) for one in _arguments(arguments)[1:2])


def _gold(target: object, remarks: Counter[str]) -> object:
    if isinstance(target, list) and target:
        if len(target) > 1:
            remarks["several right answers, of which the first is kept"] += 1
        target = target[0]
    if isinstance(target, str) and "####" in target:
        remarks["a worked solution as target, of which the text after #### is the right answer"] += 1
        target = target.rpartition("####")[2].strip().replace(",", "")
    return target


def _options(doc: Mapping[str, Any]) -> dict[str, object]:
    """Options of a document, in the layouts that public multiple-choice sets have."""
    for key in _OPTIONS:
        given = doc.get(key)
        if isinstance(given, dict) and isinstance(given.get("text"), list):
            labels = given.get("label")
            found: dict[str, object] = {"options": given["text"]}
            return found | {"labels": labels} if isinstance(labels, list) else found
        if isinstance(given, list) and given:
            return {"options": given}
    return {}


def _prompt(arguments: object) -> str:
    """The text of the first request; of a chat request, what its last user turn says."""
    text = next(iter(_arguments(arguments)), "")
    while isinstance(text, list) and text:
        text = text[0]
    if not isinstance(text, str):
        return ""
    try:
        said = [turn["content"] for turn in json.loads(text) if turn["role"] == "user"]
        return said[-1] if said and isinstance(said[-1], str) else text
    except (ValueError, TypeError, KeyError):
        return text
