"""Whose checks are read: models with what their files say of them (spec/checks.md §1.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.core.findings import Finding, Location
from penstock.core.names import InputName
from penstock.core.strategy import Strategy
from penstock.project.book import Named
from penstock.project.check_keys import WITH_CHECKS
from penstock.project.checks.column_tests import column_tests
from penstock.project.checks.extracted import CHECK_KEYS, checks_at, named_in
from penstock.project.checks.phases import NONE, Phases, joined, read_phases, word_in
from penstock.project.checks.scene import UNKNOWN, Columns
from penstock.project.checks.trees import node_of
from penstock.project.header_keys import line_of
from penstock.project.parsed import SqlFile, YamlFile, place_key
from penstock.project.trees.nodes import Node
from penstock.project.trees.sheet import Keys, open_sheet
from penstock.project.values import Path, Plain

Filled = Callable[[Plain], Plain]
_ALIAS = {"invariants": "checks"}
_LAYER = Keys(("checks", "on_failure", "columns", "config"), (), _ALIAS)
_OF_SOURCE = Keys(("before",))


@dataclass(frozen=True, slots=True)
class Written:
    """Checks that are read only when somebody asks; `mark` differs where they do."""

    mark: str
    read: Callable[[list[Finding]], Phases]


@dataclass(frozen=True, slots=True)
class Stand:
    """One version of a subject. `inputs` is None where its SQL cannot be read."""

    number: int
    written: tuple[Written, ...]
    columns: Columns = UNKNOWN
    inputs: tuple[InputName, ...] | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """A model with checks: each of its versions has its own."""

    model: Named
    strategy: Strategy
    stands: Sequence[Stand]


def written_in_header(file: SqlFile) -> Written | None:
    """Give the checks of a config header."""
    said = {key: file.config[key] for key in CHECK_KEYS if file.config.get(key) is not None}
    if not said:
        return None

    def place(path: Path, key: bool) -> Location:  # noqa: FBT001  as `Places` says
        del key
        start = f"{place_key(path)}\n"
        inside = [at for name, at in file.key_lines.items() if name.startswith(start)]
        around = line_of(file.key_lines, path, file.config_line)
        is_key = place_key(path) in file.key_lines
        return Location(file.path, around if is_key else min(inside, default=around))

    mark = repr((file.path, said, file.config_line, sorted(file.key_lines.items())))
    return Written(mark, lambda findings: _layer(node_of(said, place), findings))


def files_in_header(file: SqlFile) -> tuple[str, ...]:
    """Give the SQL files that the checks of a header name."""
    if file.config.keys().isdisjoint(WITH_CHECKS):
        return ()
    said = {key: file.config[key] for key in WITH_CHECKS if key in file.config}
    return tuple(named_in(file.path, said))


def written_in_yaml(file: YamlFile, at: Path, filled: Filled) -> Written | None:
    """Give the checks of an entry of `models:` or `snapshots:`, its tests of columns included."""
    return _of_entry(file, at, filled, _layer)


def written_of_source(file: YamlFile, at: Path, filled: Filled) -> Written | None:
    """Give the checks of a source table: all of them stand under before."""
    return _of_entry(file, at, filled, _source_layer)


def written_nodes(phases: Phases) -> Written | None:
    """Give checks that are nodes already."""
    return Written(repr(phases), lambda _: phases) if phases else None


def _of_entry(
    file: YamlFile, at: Path, filled: Filled, layer: Callable[[Node, list[Finding]], Phases]
) -> Written | None:
    text = file.checks.get(place_key(at))
    if text is None:
        return None

    def read(findings: list[Finding]) -> Phases:
        found = checks_at(file, at, filled)
        return layer(node_of(*found), findings) if found else NONE

    return Written("\n".join((file.path, text, *(each.digest for each in file.reads))), read)


def _layer(node: Node, findings: list[Finding]) -> Phases:
    sheet = open_sheet(node, _LAYER, "", findings)
    checks, columns = sheet.find("checks"), sheet.find("columns")
    config = sheet.find("config")
    parts = [_layer(config, findings)] if config is not None else []
    parts += [read_phases(checks, word_in(node), findings)] if checks is not None else []
    parts += [column_tests(columns, findings)] if columns is not None else []
    return joined([*parts, Phases(on_failure=sheet.find("on_failure"))], findings)


def _source_layer(node: Node, findings: list[Finding]) -> Phases:
    sheet = open_sheet(node, _LAYER, "", findings)
    checks, columns = sheet.find("checks"), sheet.find("columns")
    found: list[Node] = []
    above = word_in(node)
    if checks is not None and isinstance(checks.value, Mapping):
        inner = open_sheet(checks, _OF_SOURCE, above, findings)
        listed = inner.find("before")
        found += read_phases(listed, f"{above}.before", findings).after if listed else ()
    elif checks is not None:
        found += read_phases(checks, above, findings).after
    tests = column_tests(columns, findings) if columns is not None else NONE
    return Phases(before=(*found, *tests.after))
