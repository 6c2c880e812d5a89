"""Plain trees of YAML and of config headers as nodes that know where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.core.findings import Location
from penstock.project.trees.nodes import Member, Node
from penstock.project.values import Path, Plain

Places = Callable[[Path, bool], Location]
"""Where a value stands, or with True its key."""


def node_of(tree: Plain, places: Places, path: Path = ()) -> Node:
    """Give a tree, which stands at a path, as nodes.

    >>> node = node_of({"a": [1]}, lambda path, key: Location("m.yml", len(path) + 1))
    >>> node.members["a"].node.items[0]
    Node(value=1, where=Location(path='m.yml', line=3, column=0), file='')
    """
    where = places(path, False)  # noqa: FBT003  the value
    if isinstance(tree, Mapping):
        members = {
            key: Member(places((*path, key), True), node_of(value, places, (*path, key)))  # noqa: FBT003  the key
            for key, value in tree.items()
        }
        return Node(members, where)
    if isinstance(tree, Sequence) and not isinstance(tree, str):
        items = (node_of(item, places, (*path, index)) for index, item in enumerate(tree))
        return Node(tuple(items), where)
    return Node(tree, where)


def mapping_node(where: Location, values: Mapping[str, Node | str]) -> Node:
    """Make a mapping that nobody wrote as one: each key stands where its value does."""
    nodes = {key: Node(v, where) if isinstance(v, str) else v for key, v in values.items()}
    return Node({key: Member(node.where, node) for key, node in nodes.items()}, where)
