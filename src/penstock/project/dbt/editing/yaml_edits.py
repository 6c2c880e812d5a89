"""Edits of a YAML text by the places of its nodes, so that comments and layout stay."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from penstock.core.findings import Finding
from penstock.project.files.documents import syntax_finding
from penstock.project.files.values import Plain

Pair = tuple[yaml.ScalarNode, yaml.Node]
_PLAIN = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def compose(path: str, text: str) -> tuple[yaml.Node | None, Finding | None]:
    """Return the tree of a YAML text, or the finding why there is none."""
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader), None
    except yaml.YAMLError as error:
        return None, syntax_finding(path, error)


def pairs(node: yaml.Node | None) -> Iterator[tuple[str, yaml.ScalarNode, yaml.Node]]:
    """Yield key, its node and its value's node of a mapping; nothing for other nodes."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield str(key.value), key, value


def child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """Return the value of a key of a mapping."""
    return next((value for name, _, value in pairs(node) if name == key), None)


def items(node: yaml.Node | None) -> Sequence[yaml.Node]:
    """Return the items of a list; nothing for other nodes."""
    return node.value if isinstance(node, yaml.SequenceNode) else ()


class _PlainLoader(yaml.SafeLoader):
    """Reads dates as texts."""


_PlainLoader.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: str(node.value))
_CONSTRUCTOR = yaml.SafeLoader("")


def plain(node: yaml.Node | None) -> Plain:
    """Return the value of a node; dates stay texts."""
    if isinstance(node, yaml.MappingNode):
        return {name: plain(value) for name, _, value in pairs(node)}
    if isinstance(node, yaml.SequenceNode):
        return [plain(item) for item in node.value]
    if not isinstance(node, yaml.ScalarNode) or node.tag.endswith((":str", ":timestamp")):
        return str(node.value) if node is not None else None
    try:
        value: Plain = _CONSTRUCTOR.construct_object(node)
    except (yaml.YAMLError, ValueError):
        return str(node.value)
    return value if isinstance(value, str | int | float | bool | None) else str(node.value)


class _WholeDumper(yaml.SafeDumper):
    """Writes what aliases repeat."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  PyYAML asks so
        """Write everything where it is."""
        return True


def without_aliases(text: str) -> str:
    """Return a YAML text in which nothing is an alias; without any, it stays as it is."""
    if not any(isinstance(each, yaml.AliasEvent) for each in yaml.parse(text, yaml.SafeLoader)):
        return text
    tree = yaml.load(text, _PlainLoader)  # noqa: S506  it is a SafeLoader
    return yaml.dump(tree, Dumper=_WholeDumper, sort_keys=False, allow_unicode=True)


def line_of(node: yaml.Node) -> int:
    """Return the line of a node, from 1."""
    return int(node.start_mark.line) + 1


def scalar(value: Plain) -> str:
    """Return a value as YAML on one line.

    >>> scalar("a b"), scalar(["x", True]), scalar({"a": 1})
    ('"a b"', '[x, true]', '{a: 1}')
    """
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        return value if is_plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {scalar(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(scalar, value)) + "]"
    return json.dumps(value)


def ends_at(node: yaml.Node, text: str) -> int:
    """Return the position behind the last sign of a node, without what follows it."""
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if isinstance(node, yaml.ScalarNode):
        if node.style in ("|", ">"):
            return start + len(text[start:end].rstrip())
        return end
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return end
    last = node.value[-1]
    return ends_at(last[1] if isinstance(last, tuple) else last, text)


@dataclass(slots=True)
class YamlEdits:
    """The edits of one text; they are made at once by `result`.

    A mapping that loses every key goes with the key that holds it.
    """

    text: str
    root: yaml.Node | None
    _changed: list[tuple[int, int, str]] = field(default_factory=list)
    _removed: set[int] = field(default_factory=set)
    _added: dict[int, list[str]] = field(default_factory=dict)

    def delete(self, key: yaml.Node) -> None:
        """Delete a key with its value, or an item of a list, by its node."""
        self._removed.add(id(key))

    def rename(self, key: yaml.Node, name: str) -> None:
        """Rename a key."""
        self._changed.append((int(key.start_mark.index), int(key.end_mark.index), name))

    def replace(self, node: yaml.Node, value: str) -> None:
        """Replace a node by a text."""
        self._changed.append((int(node.start_mark.index), ends_at(node, self.text), value))

    def insert(self, at: int, text: str) -> None:
        """Insert a text."""
        self._changed.append((at, at, text))

    def add(self, mapping: yaml.Node, key: str, value: str) -> None:
        """Add a key to the end of a mapping."""
        self._added.setdefault(id(mapping), []).append(f"{key}: {value}")

    def lift(self, key: yaml.Node, value: yaml.Node, without: Collection[str] = ()) -> None:
        """Replace a key by the keys of its value, but for some of them."""
        start, end = int(key.start_mark.index), ends_at(value, self.text)
        outer = int(key.start_mark.column)
        left = [(name, each) for name, _, each in pairs(value) if name not in without]
        if not left:
            self.delete(key)
        elif not without and isinstance(value, yaml.MappingNode) and not value.flow_style:
            cut = int(value.start_mark.column) - outer
            first, *rest = self.text[int(value.start_mark.index) : end].split("\n")
            kept = [first, *(line[cut:] if line[:cut].isspace() else line for line in rest)]
            self._changed.append((start, end, "\n".join(kept)))
        else:
            said = (f"{name}: {scalar(plain(each))}" for name, each in left)
            self._changed.append((start, end, ("\n" + " " * outer).join(said)))

    def result(self) -> str:
        """Return the text with all edits; "" if nothing is left of it."""
        if self.root is None:
            return self.text
        if self._is_empty(self.root):
            return ""
        self._collect(self.root)
        text, edits = (
            self.text,
            sorted(self._changed, key=lambda each: (each[0], each[0] < each[1], -each[1])),
        )
        outer: list[tuple[int, int, str]] = []
        for edit in edits:  # what is inside of another edit goes with it
            if not outer or edit[0] >= outer[-1][1]:
                outer.append(edit)
        for start, end, new in reversed(outer):
            text = text[:start] + new + text[end:]
        return text

    def _is_empty(self, node: yaml.Node) -> bool:
        """Return whether a mapping or list lost everything that it had."""
        if id(node) in self._added or not self._removed:
            return False
        if isinstance(node, yaml.MappingNode):
            return bool(node.value) and all(self._is_removed(key, it) for key, it in node.value)
        if isinstance(node, yaml.SequenceNode):
            return bool(node.value) and all(self._is_removed(it, it) for it in node.value)
        return False

    def _is_removed(self, key: yaml.Node, value: yaml.Node) -> bool:
        return id(key) in self._removed or self._is_empty(value)

    def _collect(self, node: yaml.Node) -> None:
        """Turn what is gone and added into edits of the text."""
        if isinstance(node, yaml.MappingNode):
            spans = [(key, value) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            spans = [(item, item) for item in node.value]
        else:
            return
        self._delete_from(node, spans)
        for key, value in spans:
            if not self._is_removed(key, value):
                self._collect(value)
        if id(node) in self._added:
            self._insert(node, self._added[id(node)])

    def _delete_from(self, node: yaml.Node, spans: Sequence[tuple[yaml.Node, yaml.Node]]) -> None:
        text = self.text
        for n, (key, value) in enumerate(spans):
            if not self._is_removed(key, value):
                continue
            start, end = int(key.start_mark.index), ends_at(value, text)
            is_flow = bool(node.flow_style)  # type: ignore[attr-defined]
            if is_flow:
                start, end = self._flow_span(spans, n)
                self._changed.append((start, end, ""))
                continue
            begin = text.rfind("\n", 0, start) + 1
            head = text[begin:start]
            if head.strip() in ("", "-") and (not head.strip() or node.tag.endswith("seq")):
                stop = text.find("\n", end)
                self._changed.append((begin, len(text) if stop < 0 else stop + 1, ""))
            else:  # the first key of an item of a list: the next one takes its place
                left = [k for k, v in spans[n + 1 :] if not self._is_removed(k, v)]
                stop = int(left[0].start_mark.index) if left else end
                self._changed.append((start, stop, ""))

    def _flow_span(self, spans: Sequence[tuple[yaml.Node, yaml.Node]], n: int) -> tuple[int, int]:
        key, value = spans[n]
        if n + 1 < len(spans):
            return int(key.start_mark.index), int(spans[n + 1][0].start_mark.index)
        before = [each for each in spans[:n] if not self._is_removed(*each)]
        start = ends_at(before[-1][1], self.text) if before else int(key.start_mark.index)
        return start, ends_at(value, self.text)

    def _insert(self, node: yaml.Node, added: Sequence[str]) -> None:
        left = [(k, v) for k, v in node.value if not self._is_removed(k, v)]
        if node.flow_style or not node.value:  # type: ignore[attr-defined]
            at = int(node.end_mark.index) - 1
            said = ", ".join(added)
            self._changed.append((at, at, f", {said}" if left else said))
            return
        key, value = node.value[-1]
        column = int(key.start_mark.column)
        if self._is_removed(key, value):
            at = self.text.rfind("\n", 0, int(key.start_mark.index)) + 1
            self._changed.append((at, at, "".join(f"{' ' * column}{each}\n" for each in added)))
            return
        at = self.text.find("\n", ends_at(value, self.text))
        at = len(self.text) if at < 0 else at
        self._changed.append((at, at, "".join(f"\n{' ' * column}{each}" for each in added)))
