"""Trees of YAML whose every node knows the file and the place it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.core.findings import Location


@dataclass(frozen=True, slots=True)
class VersionReference:
    """`${{ versions.N.FIELD }}` as written; N may be no number."""

    version: str
    field: str

    def __str__(self) -> str:
        """Give what stands between the braces."""
        return f"versions.{self.version}.{self.field}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A value that could not be had; a finding has said why."""


Scalar = str | int | float | bool | None
Value = Scalar | VersionReference | Broken | tuple["Node", ...] | Mapping[str, "Member"]


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it begins. `file` is the file whose whole text it is, "" for YAML."""

    value: Value
    where: Location
    file: str = ""

    @property
    def members(self) -> Mapping[str, Member]:
        """Its keys, none for anything but a mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """Its items, none for anything but a list."""
        return self.value if isinstance(self.value, tuple) else ()

    @property
    def is_absent(self) -> bool:
        """Whether it says nothing: null, or broken."""
        return self.value is None or isinstance(self.value, Broken)


@dataclass(frozen=True, slots=True)
class Member:
    """What stands under a key of a mapping, where the key stands, and whether `<<` brought it."""

    key: Location
    node: Node
    is_merged: bool = False


def walk(node: Node) -> Iterator[tuple[str, Node]]:
    """Give every node below with the key it stands under, "" for items."""
    for key, member in node.members.items():
        yield key, member.node
        yield from walk(member.node)
    for item in node.items:
        yield "", item
        yield from walk(item)
