"""The files of a dbt project by kind: its nodes, the YAML that describes them, and its macros."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from penstock.core.findings import Finding, Location
from penstock.project.dbt.editing.calls import check_template
from penstock.project.dbt.editing.yaml_edits import (
    child,
    compose,
    items,
    line_of,
    pairs,
    plain,
    without_aliases,
)
from penstock.project.dbt.settings import DbtSettings
from penstock.project.files.discovery import model_name
from penstock.project.files.values import list_of, mapping_of, text_of

if TYPE_CHECKING:
    import yaml
    from jinja2 import TemplateError

_YAML = (".yml", ".yaml")
_SNAPSHOT = re.compile(
    r"\{%-?\s*snapshot\s+(\w+)\s*-?%\}(.*?)\{%-?\s*endsnapshot\s*-?%\}", re.DOTALL
)
_DOC = re.compile(r"\{%-?\s*docs\s+(\w+)\s*-?%\}(.*?)\{%-?\s*enddocs\s*-?%\}", re.DOTALL)
DESCRIBED = ("models", "snapshots", "seeds", "sources", "exposures", "groups", "unit_tests")


class NodeKind(StrEnum):
    """What a node of dbt is."""

    MODEL = "model"
    PYTHON = "python model"
    SNAPSHOT = "snapshot"
    SEED = "seed"


@dataclass(frozen=True, slots=True)
class DbtNode:
    """A model, snapshot or seed: `text` is its query, at `span` of its file."""

    name: str
    kind: NodeKind
    package: str
    path: str
    folder: tuple[str, ...]
    target: str
    text: str = ""
    span: tuple[int, int] = (0, 0)

    @property
    def tree(self) -> str:
        """The key of dbt_project.yml with its settings."""
        return {NodeKind.SNAPSHOT: "snapshots", NodeKind.SEED: "seeds"}.get(self.kind, "models")


@dataclass(frozen=True, slots=True)
class Described:
    """An entry of a YAML file that describes a node, and its version if it has one."""

    path: str
    node: yaml.Node

    @property
    def values(self) -> Mapping[str, object]:
        """The entry as plain values."""
        found = plain(self.node)
        return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True, slots=True)
class YamlText:
    """A YAML file of the project with its tree."""

    path: str
    target: str
    text: str
    root: yaml.Node | None
    package: str


@dataclass(frozen=True, slots=True)
class Package:
    """The project itself, or a package in dbt_packages/: its files by kind."""

    settings: DbtSettings
    root: str
    texts: Mapping[str, str]
    """Its texts by paths within the whole project."""
    is_own: bool = True

    @property
    def name(self) -> str:
        """The name of the project or package."""
        return self.settings.name

    def below(self, key: str) -> Iterator[tuple[str, str, str]]:
        """Yield path, folder of the key, and the path in it, of the files below a key's folders."""
        for folder in self.settings.paths[key]:
            start = f"{self.root}{folder}/" if folder != "." else self.root
            for path in self.texts:
                if path.startswith(start):
                    yield path, folder, path.removeprefix(start)

    def places(self, key: str, folder: Sequence[str]) -> list[str]:
        """Return a folder below each folder of a key, in the new project, with `/` at the end."""
        inner = "/".join(folder)
        return [
            self.target(key, root, inner).rstrip("/") + "/" for root in self.settings.paths[key]
        ]

    def target(self, key: str, folder: str, inner: str) -> str:
        """Return the path of a file in the new project."""
        if key in ("model-paths", "snapshot-paths"):
            return f"{folder}/{inner}" if self.is_own else f"models/packages/{self.name}/{inner}"
        usual = key.removesuffix("-paths") + "s"
        if key == "macro-paths" and not self.is_own:
            return f"packages/{self.name}/macros/{inner}"
        return f"{usual}/{inner}" if self.is_own else f"{usual}/{self.name}/{inner}"


@dataclass(slots=True)
class DbtNodes:
    """All nodes and descriptions of the project and its packages."""

    nodes: list[DbtNode] = field(default_factory=list)
    yamls: list[YamlText] = field(default_factory=list)
    docs: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    described: dict[tuple[str, str], Described] = field(default_factory=dict)

    def entry(self, node: DbtNode) -> Described | None:
        """Return the entry that describes a node."""
        return self.described.get((node.tree, node.name))


def gather(packages: Sequence[Package]) -> DbtNodes:
    """Read the files of models, snapshots, seeds and YAML; what dbt refuses is a finding."""
    nodes = DbtNodes()
    for package in packages:
        for path, folder, inner in package.below("model-paths"):
            _add_model(nodes, package, path, (folder, inner))
        for path, folder, inner in package.below("snapshot-paths"):
            _add_snapshots(nodes, package, path, (folder, inner))
        for path, folder, inner in package.below("seed-paths"):
            if path.endswith(".csv"):
                target = package.target("seed-paths", folder, inner)
                name = PurePosixPath(path).stem
                parts = PurePosixPath(inner).parts[:-1]
                nodes.nodes.append(DbtNode(name, NodeKind.SEED, package.name, path, parts, target))
            else:
                _add_yaml(nodes, package, path, package.target("seed-paths", folder, inner))
    _check_names(nodes)
    return nodes


def _add_model(nodes: DbtNodes, package: Package, path: str, place: tuple[str, str]) -> None:
    folder, inner = place
    target, text = package.target("model-paths", folder, inner), package.texts[path]
    parts = PurePosixPath(inner).parts[:-1]
    if path.endswith(".sql"):
        _check_syntax(nodes, path, text)
        name = PurePosixPath(path).name.removesuffix(".sql")
        nodes.nodes.append(DbtNode(name, NodeKind.MODEL, package.name, path, parts, target, text))
    elif path.endswith(".py"):
        name = model_name(path)
        nodes.nodes.append(DbtNode(name, NodeKind.PYTHON, package.name, path, parts, target, text))
    elif path.endswith(".md"):
        nodes.docs |= docs_in(text)
    else:
        _add_yaml(nodes, package, path, target)


def docs_in(text: str) -> dict[str, str]:
    """Return the blocks of docs of a Markdown file by name."""
    return {name: body.strip() for name, body in _DOC.findall(text)}


def _add_snapshots(nodes: DbtNodes, package: Package, path: str, place: tuple[str, str]) -> None:
    """Add every block of a file, each with a file of its own in the new project."""
    folder, inner = place
    text = package.texts[path]
    if not path.endswith(".sql"):
        _add_yaml(nodes, package, path, package.target("snapshot-paths", folder, inner))
        return
    _check_syntax(nodes, path, text)
    blocks = [*_SNAPSHOT.finditer(text)]
    parts = PurePosixPath(inner).parts[:-1]
    for block in blocks:
        before = text[: block.start()] if len(blocks) == 1 else ""
        after = text[block.end() :] if len(blocks) == 1 else ""
        body = f"{before.lstrip()}{block[2].strip()}\n{after.lstrip()}"
        where = "/".join((*parts, f"{block[1]}.sql"))
        target = package.target("snapshot-paths", folder, where)
        node = DbtNode(block[1], NodeKind.SNAPSHOT, package.name, path, parts, target, body)
        nodes.nodes.append(replace(node, span=(block.start(), block.end())))


def _check_syntax(nodes: DbtNodes, path: str, text: str) -> None:
    problem: TemplateError | None = check_template(text)
    if problem is not None:
        where = Location(path, getattr(problem, "lineno", 1) or 1)
        hint = "dbt refuses it as well: correct it there"
        nodes.findings.append(Finding(where, "template-syntax", str(problem.message), hint))


def _add_yaml(nodes: DbtNodes, package: Package, path: str, target: str) -> None:
    if not path.endswith(_YAML):
        return
    text = package.texts[path]
    root, problem = compose(path, text)
    if problem is not None:
        nodes.findings.append(problem)
        return
    aside = {name for name, _, _ in pairs(root)} - {*DESCRIBED, "version"}
    if aside and "*" in text and (whole := without_aliases(text)) != text:
        text = whole
        root, _ = compose(path, text)
    nodes.yamls.append(YamlText(path, target, text, root, package.name))
    for kind in ("models", "snapshots", "seeds"):
        for entry in items(child(root, kind)):
            name = text_of(plain(child(entry, "name")))
            if kind == "snapshots" and child(entry, "relation") is not None and name:
                folder = PurePosixPath(target).parts[1:-1]
                node = DbtNode(name, NodeKind.SNAPSHOT, package.name, path, folder, target)
                nodes.nodes.append(node)
            first = nodes.described.setdefault((kind, name), Described(path, entry))
            if first.node is not entry and name:
                sentence = f"{name!r} is described here and in {first.path}:{line_of(first.node)}"
                hint = "dbt refuses it as well: keep one"
                where = Location(path, line_of(entry))
                nodes.findings.append(Finding(where, "duplicate-key", sentence, hint))


def _check_names(nodes: DbtNodes) -> None:
    """Report two nodes of one name, as dbt does."""
    taken: dict[str, DbtNode] = {}
    for node in nodes.nodes:
        first = taken.setdefault(node.name.lower(), node)
        if first is not node:
            sentence = f"{node.name!r} is defined in {first.path} and {node.path}"
            hint = "dbt refuses it as well: rename one"
            where = Location(node.path)
            nodes.findings.append(Finding(where, "duplicate-model", sentence, hint))


def event_times(own: Mapping[str, str], yamls: Sequence[YamlText]) -> dict[tuple[str, ...], str]:
    """Return the event time of every model (`own`) and source that has one."""
    found: dict[tuple[str, ...], str] = {(name,): time for name, time in own.items() if time}
    for file in yamls:
        for source in items(child(file.root, "sources")):
            outer = text_of(plain(child(child(source, "config"), "event_time")))
            for table in items(child(source, "tables")):
                time = text_of(plain(child(child(table, "config"), "event_time"))) or outer
                names = (plain(child(each, "name")) for each in (source, table))
                if time:
                    found[tuple(map(text_of, names))] = time
    return found


def source_tables(yamls: Sequence[YamlText]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return schema and table of every table of a source, by the names in `source()`."""
    found = {}
    for file in yamls:
        for source in map(mapping_of, list_of(plain(child(file.root, "sources")))):
            for table in map(mapping_of, list_of(source.get("tables"))):
                names = text_of(source.get("name")), text_of(table.get("name"))
                schema = text_of(source.get("schema")) or names[0]
                found[names] = schema, text_of(table.get("identifier")) or names[1]
    return found


def keys_in(node: yaml.Node | None, above: str = "") -> Iterator[tuple[str, int]]:
    """Yield each key below a node with its path and line; items of lists by their name or index."""
    for name, key, value in pairs(node):
        path = f"{above}.{name}" if above else name
        yield path, line_of(key)
        yield from keys_in(value, path)
    for index, item in enumerate(items(node)):
        named = text_of(plain(child(item, "name"))) or str(index)
        yield from keys_in(item, f"{above}[{named}]")
