"""Conversions that dbt adds to Jinja: JSON, YAML, sets, pairs and digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSet
from typing import Any

import yaml

from penstock.project.sql.context.modules import own_times
from penstock.project.sql.context.values import Record, Token, UnknownPartError
from penstock.project.sql.template_budget import (
    MOST_CHARACTERS,
    BudgetError,
    refuse_large,
    refuse_nested,
)

_LONGEST_YAML = MOST_CHARACTERS // 10


class OrderedSet(MutableSet[Any]):
    """A set in the order in which its members were added: a template gives one text, always."""

    __slots__ = ("_members",)

    def __init__(self, members: Iterable[object] = ()) -> None:
        self._members = dict.fromkeys(members)

    def __contains__(self, member: object) -> bool:
        """Return whether it has a member."""
        return member in self._members

    def __iter__(self) -> Iterator[object]:
        """Yield the members."""
        return iter(self._members)

    def __len__(self) -> int:
        """Return their number."""
        return len(self._members)

    def __str__(self) -> str:
        """Print as Python does, in order."""
        return f"{{{', '.join(map(repr, self._members))}}}" if self._members else "set()"

    __repr__ = __str__

    def add(self, value: object) -> None:
        """Add a member."""
        self._members[value] = None

    def discard(self, value: object) -> None:
        """Remove a member, if it is there."""
        self._members.pop(value, None)

    def update(self, *others: Iterable[object]) -> None:
        """Add many members."""
        for each in others:
            self._members |= dict.fromkeys(each)

    def union(self, *others: Iterable[object]) -> OrderedSet:
        """Return the members of all."""
        found = OrderedSet(self)
        found.update(*others)
        return found

    def intersection(self, *others: Iterable[object]) -> OrderedSet:
        """Return the members that all have."""
        kept = [OrderedSet(each) for each in others]
        return OrderedSet(each for each in self if all(each in other for other in kept))

    def difference(self, *others: Iterable[object]) -> OrderedSet:
        """Return the members that no other has."""
        gone = OrderedSet().union(*others)
        return OrderedSet(each for each in self if each not in gone)

    def issubset(self, other: Iterable[object]) -> bool:
        """Return whether the other has all members."""
        return self <= OrderedSet(other)

    def issuperset(self, other: Iterable[object]) -> bool:
        """Return whether it has all members of the other."""
        return self >= OrderedSet(other)


class _NoAliases(yaml.SafeLoader):
    """Reads YAML without aliases, by which a short text makes a value without an end."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse an alias."""
        if self.check_event(yaml.AliasEvent):
            raise BudgetError("fromyaml reads no aliases")
        return super().compose_node(parent, index)


def tojson(value: object, default: Any = None, sort_keys: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002  as in dbt
    """Return a value as JSON; the default if it has none."""
    refuse_nested(value)
    try:
        return json.dumps(_plain(value), sort_keys=sort_keys)
    except (TypeError, ValueError):
        return default


def fromjson(text: str, default: Any = None) -> Any:  # noqa: ANN401  as in dbt
    """Return the value of a JSON text; the default if it is none."""
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return default


def toyaml(value: object, default: str | None = None, sort_keys: bool = False) -> Any:  # noqa: ANN401, FBT001, FBT002  as in dbt
    """Return a value as YAML; the default if it has none."""
    refuse_nested(value)
    try:
        return yaml.safe_dump(_plain(value), sort_keys=sort_keys)
    except (yaml.YAMLError, ValueError):
        return default


def fromyaml(text: str, default: Any = None) -> Any:  # noqa: ANN401  as in dbt
    """Return the value of a YAML text; the default if it is none."""
    refuse_large(len(text) / _LONGEST_YAML * MOST_CHARACTERS)
    try:
        return own_times(yaml.load(text, _NoAliases))  # noqa: S506  a safe loader
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        return default


def ordered_set(value: Any, default: Any = None) -> Any:  # noqa: ANN401  as in dbt
    """Return the members of an iterable without duplicates; the default if that is impossible."""
    try:
        return OrderedSet(value)
    except TypeError:
        return default


def zipped(*values: Any, default: Any = None) -> Any:  # noqa: ANN401  as in dbt
    """Return tuples of the items at the same place; the default if that is impossible."""
    try:
        return zip_strict(*values)
    except TypeError:
        return default


def zip_strict(*values: Any) -> list[Any]:  # noqa: ANN401  as in dbt
    """Return tuples of the items at the same place."""
    return [*zip(*values, strict=False)]


def local_md5(value: str) -> str:
    """Return the MD5 of a text in hex."""
    return hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()


CONVERSIONS: Mapping[str, Callable[..., Any]] = {
    "tojson": tojson,
    "fromjson": fromjson,
    "toyaml": toyaml,
    "fromyaml": fromyaml,
    "set": ordered_set,
    "set_strict": OrderedSet,
    "zip": zipped,
    "zip_strict": zip_strict,
    "local_md5": local_md5,
}


def _plain(value: object) -> Any:  # noqa: ANN401  JSON
    match value:
        case Token():
            raise UnknownPartError("a table or time has no JSON", "convert its name or its text")
        case Record() | Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple() | OrderedSet():
            return [_plain(item) for item in value]
    return value
