"""From rows to checked, grouped items; a row that cannot become one is kept with its reason.

It knows no file, no filter and no configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from thinkgap.data.adapter import Adapter, Draft, Filtered, Row
from thinkgap.data.checks import check_item, readable, repeated_options, without_controls
from thinkgap.data.groups import group_ids
from thinkgap.errors import RowError
from thinkgap.schema import DuplicateOptions
from thinkgap.types import Item

_NAMED = 20


@dataclass(frozen=True)
class BadRow:
    """A row that became no item."""

    id: str
    reason: str


@dataclass(frozen=True)
class ParsedRows:
    """What became of every row, before any filter."""

    items: list[Item]
    bad: list[BadRow]
    n_rows: int
    n_filtered: Counter[str]
    notes: list[str]


def parse_rows(
    rows: Iterable[Row], adapter: Adapter, split: str, duplicates: DuplicateOptions = DuplicateOptions.skip
) -> ParsedRows:
    """Parse and check every row, and group the items.

    An item has its source's id, or `{adapter}/{split}/{row number}`; a second row of the same id is bad. A row with
    two equal options is bad too, unless `duplicates` says to keep it.
    """
    items: list[Item] = []
    keys: list[tuple[str, ...]] = []
    bad: list[BadRow] = []
    first_row: dict[str, int] = {}
    n_filtered: Counter[str] = Counter()
    remarks: Counter[str] = Counter()
    repeated: list[str] = []
    n_rows = 0
    for number, row in enumerate(rows):
        n_rows += 1
        item_id = f"{adapter.name}/{split}/{number:06d}"
        try:
            item_id = _own_id(row, adapter) or item_id
            if item_id in first_row:
                raise RowError(f"row {number} has the id of row {first_row[item_id]}")
            first_row[item_id] = number
            if row.problem:
                raise RowError(row.problem)
            draft = adapter.parse(row)
            if isinstance(draft, Filtered):
                n_filtered[draft.reason] += 1
                continue
            raw = _item(draft, item_id, split)
            item = without_controls(raw)
            check_item(item, adapter.placeholders)
            if reason := repeated_options(item):
                if duplicates is DuplicateOptions.skip:
                    raise RowError(reason)
                repeated.append(item_id)
        except RowError as error:
            bad.append(BadRow(item_id, str(error)))
            continue
        remarks.update({*draft.remarks} | ({"control characters were replaced"} if item is not raw else set()))
        items.append(item)
        keys.append(draft.group_keys or (f"item:{item_id}",))
    # Over all rows, before any filter or sample, so that a group has one name in every run.
    items = [replace(item, group_id=group) for item, group in zip(items, group_ids(keys), strict=True)]
    notes = [f"{count:,} row(s): {remark}" for remark, count in sorted(remarks.items())]
    if repeated:
        notes.append(
            f"{len(repeated):,} item(s) with two equal options are kept, because published figures count them "
            f"({', '.join(repeated[:_NAMED])}{', ...' if len(repeated) > _NAMED else ''}); "
            "dataset.duplicate_options=skip leaves them out"
        )
    return ParsedRows(items, bad, n_rows, n_filtered, notes)


def _own_id(row: Row, adapter: Adapter) -> str:
    value = row.values.get(adapter.id_column) if adapter.id_column else None
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise RowError(f"its id is {type(value).__name__}, not text or a whole number")
    return readable(str(value).strip(), "its id")


def _item(draft: Draft, item_id: str, split: str) -> Item:
    gold = draft.gold
    return Item(
        id=item_id,
        group_id="",
        question=draft.question,
        choices=draft.choices,
        gold=gold,
        answer_space=draft.answer_space,
        split=split,
        context=draft.context,
        images=draft.images,
        subject=draft.subject,
        answer=draft.choices[gold] if gold is not None and 0 <= gold < len(draft.choices) else draft.answer,
        meta={name: value for name, value in draft.meta.items() if value},
    )
