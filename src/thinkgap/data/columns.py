"""What kind of values the columns of a source hold, and whether an adapter can read them.

A wrong column concerns the whole file and is an error at once; a wrong value concerns its row and is found there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from thinkgap.data.adapter import Adapter
from thinkgap.errors import DataError, nearest

if TYPE_CHECKING:
    import pyarrow as pa


def check_columns(adapter: Adapter, found: Mapping[str, str], where: str) -> None:
    """Compare the columns of a source with what an adapter expects.

    Raises:
        DataError: Which column is missing or wrong, what was expected, and what was found.

    """
    listed = ", ".join(f"{name} ({kind})" for name, kind in found.items()) or "none"
    for name, expected in adapter.columns.items():
        if name not in found:
            raise DataError(
                f"{where} has no column {name!r}, which dataset {adapter.name} needs as {expected}"
                f"{nearest(name, found)} (columns found: {listed})"
            )
    for name, expected in {**adapter.columns, **adapter.optional}.items():
        kind = found.get(name, "null")
        # A column of nulls has no type of its own; whether a value may be missing is the row's question.
        if expected != "any" and kind not in ("null", "mixed", *expected.split(" or ")):
            raise DataError(
                f"column {name!r} of {where} holds {kind}, and dataset {adapter.name} needs {expected} "
                f"(columns found: {listed})"
            )


def arrow_kinds(schema: pa.Schema) -> dict[str, str]:
    """Kind by column, from Arrow types."""
    return {name: _arrow_kind(schema.field(name).type) for name in schema.names}


def value_kinds(rows: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Kind by column over all rows of a source without types; `mixed` where rows differ."""
    kinds: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            kinds[name] = _merge(kinds.get(name, "null"), _value_kind(value))
    return kinds


def _arrow_kind(arrow: pa.DataType) -> str:
    import pyarrow.types as kinds

    if kinds.is_dictionary(arrow):
        return _arrow_kind(arrow.value_type)
    named: list[tuple[Callable[[Any], bool], str]] = [
        (kinds.is_null, "null"),
        (kinds.is_boolean, "boolean"),
        (kinds.is_integer, "integer"),
        (kinds.is_string, "text"),
        (kinds.is_large_string, "text"),
        (kinds.is_binary, "image"),
        (kinds.is_large_binary, "image"),
    ]
    for is_kind, name in named:
        if is_kind(arrow):
            return name
    if kinds.is_struct(arrow) and arrow.get_field_index("bytes") >= 0:
        return "image"
    if (kinds.is_list(arrow) or kinds.is_large_list(arrow)) and _arrow_kind(arrow.value_type) in ("text", "null"):
        return "texts"
    return str(arrow)


def _value_kind(value: object) -> str:
    named = {type(None): "null", bool: "boolean", int: "integer", str: "text", float: "number", list: "texts"}
    return named.get(type(value), type(value).__name__)


def _merge(first: str, second: str) -> str:
    if first == "null" or first == second:
        return second
    return first if second == "null" else "mixed"
