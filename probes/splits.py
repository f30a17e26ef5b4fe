"""Names of splits as settings write them, and how roles that name the same splits share their items out by group.

Who gets an item depends on the seed and the item's group alone: never on a row's place, on the order of items, or on
which other groups there are. Knows no file, no run and no model.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from probes.leakage import wording
from thinkgap.data.groups import group_ids
from thinkgap.errors import ConfigError
from thinkgap.schema import ImageFilter
from thinkgap.types import Item

ROLES = ("fit", "select", "test")
GRAMMAR = (
    "NAME[+NAME...], each NAME as it is or followed by [image] or [text] (items with or without images), such as "
    "train, dev+validation or train[image]"
)
_NAME = re.compile(r"([\w.-]+)(?:\[([^\[\]]*)\])?")
_FILTERS = {"image": ImageFilter.only, "text": ImageFilter.none}
_SUFFIX = {ImageFilter.any: "", ImageFilter.only: "[image]", ImageFilter.none: "[text]"}


class NamedSplit(NamedTuple):
    """A split of the data set, and which of its items are meant."""

    name: str
    images: ImageFilter

    def __str__(self) -> str:
        return self.name + _SUFFIX[self.images]


def parse_splits(setting: str, text: str, images: ImageFilter) -> tuple[NamedSplit, ...]:
    """Read a sum of splits.

    Args:
        setting: its name, for messages.
        text: such as `dev+validation` or `train[image]`.
        images: the data set's own filter, of splits without one.

    Returns:
        In the order of names, so that equal sums are equal.

    Raises:
        ConfigError: text that the grammar does not know, or a split that is named twice.
    """
    found: dict[str, NamedSplit] = {}
    for part in text.split("+"):
        match = _NAME.fullmatch(part.strip())
        if match is None:
            what = f"{part.strip()!r} is no split" if part.strip() else "a name is missing"
            raise ConfigError(f"{setting}={text}: {what}; write {GRAMMAR}")
        name, kind = match.groups()
        if kind is not None and kind not in _FILTERS:
            raise ConfigError(f"{setting}={text}: [{kind}] is no filter; write {GRAMMAR}")
        if name in found:
            raise ConfigError(f"{setting}={text} names the split {name} twice; name it once, without [...] for all")
        found[name] = NamedSplit(name, images if kind is None else _FILTERS[kind])
    return tuple(found[name] for name in sorted(found))


def check_shares(shares: Sequence[float], roles: Sequence[str]) -> None:
    """Require three shares from 0 to 1, above 0 for the roles that share something out.

    Raises:
        ConfigError: they are not.
    """
    written = f"probe.shares={list(shares)}"
    if len(shares) != len(ROLES) or not all(0 <= share <= 1 for share in shares):
        raise ConfigError(f"{written}: give three shares from 0 to 1, of {', '.join(ROLES)}, such as [0.6,0.2,0.2]")
    for role, share in zip(ROLES, shares, strict=True):
        if role in roles and share <= 0:
            raise ConfigError(
                f"{written}: {' and '.join(roles)} share the same splits, and {role} would get nothing; raise its share"
            )


def share_out(
    items: Iterable[tuple[str, str, Item | None]], roles: Sequence[str], shares: Sequence[float], seed: int
) -> dict[str, str]:
    """Give each item of a pool to one role, whole groups at a time, in proportion to the roles' shares.

    A group's position from 0 to 1 is a digest of the seed and the group; the roles take adjoining parts of that range.
    Items of several splits whose groups were named apart are one group too if they share an image or their wording.

    Args:
        items: per item its id, its group, and itself where it is at hand, for images and wording.
        roles: those that share, in the order of `ROLES`.
        shares: of all of `ROLES`.
        seed: of the data set.

    Returns:
        Item id -> role.
    """
    listed = list(items)
    joined = group_ids([_keys(group, item) for _, group, item in listed])
    own = {role: share for role, share in zip(ROLES, shares, strict=True) if role in roles}
    return {
        item_id: _role(own, position(seed, "share", group)) for (item_id, *_), group in zip(listed, joined, strict=True)
    }


def first_items(groups: Mapping[str, str], n: int | None, seed: int) -> set[str]:
    """At most `n` of the items, a group's one after another, in a seeded order of groups.

    Samples of one seed are nested.

    Args:
        groups: item id -> group.
        n: None keeps all.
        seed: of the data set.
    """
    order = sorted(groups, key=lambda item: (position(seed, "cut", groups[item]), position(seed, "cut", item), item))
    return set(order[:n])


def position(seed: int, purpose: str, name: str) -> float:
    """Where `name` stands between 0 and 1, by its SHA-256; independent of other names, and of other purposes."""
    return int(hashlib.sha256(f"{seed}\x1f{purpose}\x1f{name}".encode()).hexdigest()[:13], 16) / 16**13


def _keys(group: str, item: Item | None) -> list[str]:
    # The group's key sorts first: a joined group is named by a group, whichever of its items a sample holds.
    keys = [f"0 {group}"]
    if item is not None:
        keys += [f"1 {image.sha256}" for image in item.images] + [f"2 {wording(item)!r}"]
    return keys


def _role(own: Mapping[str, float], place: float) -> str:
    total, end = sum(own.values()), 0.0
    for role, share in own.items():
        end += share / total
        if place < end:
            return role
    return list(own)[-1]  # the last part ends at 1, whatever its sum was rounded to
