"""A file of responses in any known format -> `Answered`, with every row that cannot be used and its reason.

It finds the format, settles what a file leaves open (space, ids, groups), and refuses a second response to the same
request. It does not know how a format is laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from thinkgap.data.adapter import Row
from thinkgap.data.groups import group_ids
from thinkgap.data.rows import BadRow
from thinkgap.errors import ConfigError, DataError, RowError, nearest
from thinkgap.importers.build import SPACES, Built, Defaults, build, is_polarity
from thinkgap.importers.detect import FORMATS, Format, detect
from thinkgap.importers.found import Contents, Found
from thinkgap.importers.inspect_log import read_inspect
from thinkgap.importers.lm_eval import read_lm_eval, task_name
from thinkgap.importers.own import read_jsonl, read_parquet
from thinkgap.importers.text import read_file
from thinkgap.importers.vlmeval import read_vlmeval
from thinkgap.types import Answered, AnswerSpace, Thinking

_SHOWN = 5


@dataclass(frozen=True)
class Imported:
    """What became of every row of a file."""

    answered: tuple[Answered, ...]
    """In the file's order."""
    bad: tuple[BadRow, ...]
    """Rows that cannot be used; the reason begins with the place in the file."""
    notes: tuple[str, ...]
    """What a reader of the results has to know."""
    format: Format


def load_responses(
    path: str | Path,
    format: Format | Literal["auto"] = "auto",
    *,
    space: AnswerSpace | None = None,
    mode: str = "",
    model: str = "",
    dataset: str = "",
    labels: Sequence[str] = (),
    thinking: Thinking = Thinking.default,
    watch: Callable[[Sequence[Found]], Iterable[Found]] = iter,
) -> Imported:
    """Reads a file of responses; `docs/own_responses.md` describes the formats.

    Args:
        path: the file.
        format: one of `FORMATS`; `auto` tells it by the content.
        space: answer space of rows that do not say theirs. Without it, a harness's rows with options are mcq, and the
            others bool if every right answer is yes, no, true or false, else open.
        mode: mode of rows that do not name theirs.
        model: model of rows that do not name theirs.
        dataset: data set of rows that do not name theirs.
        labels: labels of mcq rows that have none, the first for the first option.
        thinking: what was asked of the thinking switch, for rows that do not say.
        watch: passes on the rows that are being checked, such as a progress bar.

    Returns:
        All rows, good and bad. Of two responses to the same request (data set, id, presentation, mode, thinking,
        model) the first is kept and the second is bad.

    Raises:
        DataError: the file cannot be read, lacks a column, or has no row that can be used.
        ConfigError: an unknown format or space.
    """
    path = Path(path).expanduser()
    if format not in ("auto", *FORMATS):
        raise ConfigError(f"format {format!r} is unknown{nearest(format, ('auto', *FORMATS))}")
    if space is not None and space not in SPACES:
        raise ConfigError(f"space {space!r} is unknown{nearest(space, SPACES)}")
    data = read_file(path)
    known = detect(data, path) if format == "auto" else format
    contents = _read(known, data, path, space)
    if known == "lm_eval":
        dataset = dataset or task_name(path)
    defaults = Defaults(space, mode, model, dataset, tuple(labels), thinking)
    notes = list(contents.notes)
    rows = contents.rows
    if known not in ("jsonl", "parquet"):
        rows, said = _with_spaces(rows, space, bool(labels))
        notes += said
    built, bad = _built(watch(rows), defaults)
    if not built:
        reasons = "; ".join(row.reason for row in bad[:_SHOWN])
        more = f"; and {len(bad) - _SHOWN:,} more" if len(bad) > _SHOWN else ""
        raise DataError(f"{path}: none of its {len(bad):,} row(s) can be used: {reasons}{more}")
    if made := sum(not one.own_id for one in built):
        notes.append(f"{made:,} row(s) without id: it is made of the question's text")
    if unknown := sum(not one.answered.question.answer for one in built):
        notes.append(f"{unknown:,} row(s) without right answer")
    return Imported(_grouped(built), tuple(bad), tuple(notes), known)


def _read(known: Format, data: bytes, path: Path, space: AnswerSpace | None) -> Contents:
    if known == "lm_eval":
        return read_lm_eval(data, path)
    if known == "inspect":
        return read_inspect(data, path)
    if known == "vlmeval":
        return read_vlmeval(data, path)
    return (read_parquet if known == "parquet" else read_jsonl)(data, path, ["space"] if space else [])


def _with_spaces(rows: list[Found], space: AnswerSpace | None, labelled: bool) -> tuple[list[Found], list[str]]:
    """Rows of a harness, which does not name spaces, with theirs; options stay with mcq only."""
    sound = [found for found in rows if not found.row.problem]
    others = [found for found in sound if not _has_options(found)]
    golds = [found.row.values.get("gold") for found in others if found.row.values.get("gold") not in (None, "")]
    rest: AnswerSpace = "mcq" if labelled else "bool" if golds and all(map(is_polarity, golds)) else "open"
    settled = []
    for found in rows:
        own = space or ("mcq" if _has_options(found) else rest)
        values = dict(found.row.values) | {"space": own}
        if own != "mcq":
            values |= {"options": None, "labels": None}
        settled.append(replace(found, row=Row(values, found.row.folder, problem=found.row.problem)))
    if space:
        return settled, []
    counts = {"mcq": len(sound) - len(others)}
    counts[rest] = counts.get(rest, 0) + len(others)
    said = ", ".join(f"{n:,} {name}" for name, n in counts.items() if n)
    return settled, [f"answer spaces are told by options and right answers: {said}"] if said else []


def _has_options(found: Found) -> bool:
    return bool(found.row.values.get("options"))


def _built(rows: Iterable[Found], defaults: Defaults) -> tuple[list[Built], list[BadRow]]:
    built: list[Built] = []
    bad: list[BadRow] = []
    first: dict[tuple[object, ...], str] = {}
    for found in rows:
        try:
            one = build(found, defaults)
            key = _request(one.answered)
            if key in first:
                way_out = "" if one.own_id else "; give the rows ids if they are different requests"
                raise RowError(
                    f"it answers the same request as {first[key]} (id {one.answered.question.item_id!r}), which is kept"
                    f"{way_out}"
                )
            first[key] = found.where
            built.append(one)
        except RowError as error:
            bad.append(BadRow(_name(found), _placed(found.where, str(error))))
    return built, bad


def _request(answered: Answered) -> tuple[object, ...]:
    asked = answered.question
    shown = answered.question.presentation
    return asked.dataset, asked.item_id, shown, answered.mode, answered.thinking, answered.response.model


def _name(found: Found) -> str:
    name = found.row.values.get("id")
    return str(name) if isinstance(name, str | int) else found.where


def _placed(where: str, reason: str) -> str:
    return reason if reason.startswith(where) else f"{where}: {reason}"


def _grouped(built: Sequence[Built]) -> tuple[Answered, ...]:
    """With the groups that rows name themselves, else groups of rows that share question, passage or id."""
    names = group_ids([one.keys for one in built])
    return tuple(
        one.answered
        if one.answered.question.group_id
        else replace(one.answered, question=replace(one.answered.question, group_id=name))
        for one, name in zip(built, names, strict=True)
    )
