"""The context of checks: their model, its inputs, and the known columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import Condition
from penstock.core.findings import IGNORED_CODE, Finding, Location, Severity
from penstock.core.model import ColumnDoc, Version
from penstock.core.names import InputKind, InputName
from penstock.core.query import PARAMETERS
from penstock.core.strategy import Strategy
from penstock.project.checks.phases import (
    NONE,
    Phases,
    column_tests,
    joined,
    model_tests,
    read_phases,
    singular_test,
    word_in,
)
from penstock.project.files.cache import ParseCache
from penstock.project.files.nodes import Keys, YamlNode, node_of, open_section
from penstock.project.files.parsed import SqlFile, TableRef, YamlFile, place_key
from penstock.project.files.references import TextFiles
from penstock.project.files.values import Path, Plain, did_you_mean, documented_types, some_of
from penstock.project.settings.check_keys import CHECK_KEYS, WITH_CHECKS, checks_at, named_in
from penstock.project.sql.names import Named, NameResolver
from penstock.project.sql.template_lines import line_of

_OF_WINDOWS = frozenset({"start_date", "end_date", "run_date"})
_ALIAS = {"invariants": "checks", "data_tests": "tests"}
_LAYER = Keys(("checks", "on_failure", "columns", "tests", "config"), (), _ALIAS)
_OF_SOURCE = Keys(("before",))


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """The columns of some rows, as far as files contain them.

    `names` is None if not all are known. `types` are Spark's types by name in lower case, as far as
    they are declared.
    """

    names: tuple[str, ...] | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    def type_of(self, name: str) -> str:
        """Return the type of a column, "" if unknown."""
        return self.types.get(name.lower(), "")

    def lacks(self, name: str) -> bool:
        """Return whether a column certainly does not exist."""
        return self.names is not None and name.lower() not in map(str.lower, self.names)

    def without(self, name: str) -> tuple[str, str]:
        """Return a message that a column does not exist, with a hint at a similar one."""
        known = self.names or ()
        hint = did_you_mean(name, known) or f"there are: {some_of(known)}"
        return f"no column is called {name!r}", hint


UNKNOWN = KnownColumns()


@dataclass(frozen=True, slots=True)
class Scene:
    """One version of a model, and what its checks may refer to.

    `inputs` is None if its SQL cannot be read. `input_columns` returns the columns of other tables.
    """

    model: Named
    strategy: Strategy
    resolver: NameResolver
    files: TextFiles
    cache: ParseCache
    input_columns: Callable[[InputName], KnownColumns]
    sample: bool = True
    columns: KnownColumns = UNKNOWN
    inputs: tuple[InputName, ...] | None = None

    @property
    def allowed(self) -> frozenset[str]:
        """The parameters that checks of the model may use."""
        if self.strategy.partitioning is not None:
            return frozenset(PARAMETERS)
        return _OF_WINDOWS if self.strategy.window else frozenset({"run_date"})

    def columns_of(self, name: InputName) -> KnownColumns:
        """Return the columns of an input, or of the model itself."""
        return self.columns if name.kind is InputKind.THIS else self.input_columns(name)

    def label_of(self, name: InputName) -> str:
        """Return the display name of an input, or of the model itself."""
        if name.kind is InputKind.THIS:
            return str(self.model.table)
        found = self.resolver.model(name.name) if name.kind is InputKind.MODEL else None
        return str(found.table) if found else name.name


def declared_of(docs: Sequence[ColumnDoc]) -> KnownColumns:
    """Return described columns; they are complete if every one has a type."""
    names, types = tuple(each.name for each in docs), _types(docs)
    is_whole = bool(docs) and len(types) == len(set(map(str.lower, names)))
    return KnownColumns(names if is_whole else None, types)


def columns_of_version(version: Version, file: SqlFile | None) -> KnownColumns:
    """Return the columns that a version declares, otherwise those that its query selects."""
    schema = version.schema
    if not schema.columns:
        return selected(file, (), None)
    return KnownColumns(schema.names, {each.name.lower(): each.type for each in schema.columns})


def selected(
    file: SqlFile | None, docs: Sequence[ColumnDoc], strategy: Strategy | None
) -> KnownColumns:
    """Return the columns that a query selects, with the types that the project declares."""
    names = file.branches[0].outputs.names if file and file.branches else None
    if names is not None and strategy is not None and strategy.history is not None:
        names = (*names, *strategy.history.columns.names)
    return KnownColumns(names, _types(docs)) if names is not None or docs else UNKNOWN


def _types(docs: Sequence[ColumnDoc]) -> dict[str, str]:
    return {name.lower(): str(kind) for name, kind in documented_types(docs).items()}


class ConditionKind(StrEnum):
    """The place of a condition: a `check` may be about a group, a `where` is about a row.

    A `measure` is instead a number of a group.
    """

    CHECK = "check"
    WHERE = "where"
    MEASURE = "measure"


@dataclass(frozen=True, slots=True)
class Understood:
    """The content of a condition's text, and its parameters.

    `columns` are those that it names, each with its line, counted from 0.
    """

    condition: Condition
    parameters: tuple[TableRef, ...] = ()
    findings: tuple[Finding, ...] = ()
    columns: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenChecks:
    """Checks that are read only on demand; `fingerprint` changes with their content."""

    fingerprint: str
    read: Callable[[list[Finding]], Phases]


@dataclass(frozen=True, slots=True)
class Stand:
    """One version of a subject. `inputs` is None if its SQL cannot be read."""

    number: int
    written: tuple[WrittenChecks, ...]
    columns: KnownColumns = UNKNOWN
    inputs: tuple[InputName, ...] | None = None


@dataclass(frozen=True, slots=True)
class CheckedModel:
    """A model with checks: each of its versions has its own."""

    model: Named
    strategy: Strategy
    stands: Sequence[Stand]


def both_written(first: WrittenChecks | None, second: WrittenChecks) -> WrittenChecks:
    """Return the checks of two places together."""
    if first is None:
        return second
    read = (first.read, second.read)
    fingerprint = f"{first.fingerprint}\n{second.fingerprint}"
    return WrittenChecks(fingerprint, lambda found: joined([each(found) for each in read], found))


def written_in_test(file: SqlFile, text: str, phase: Phase) -> WrittenChecks:
    """Return a test in its own file as a check of one phase."""
    name = file.path.rpartition("/")[2].removesuffix(".sql")

    def place(path: Path, key: bool) -> Location:  # noqa: FBT001  as `Places` says
        del key
        return Location(file.path, line_of(file.key_lines, path, file.config_line))

    def read(findings: list[Finding]) -> Phases:
        node = singular_test(name, text, node_of(dict(file.config), place), findings)
        return Phases(before=(node,)) if phase is Phase.BEFORE else Phases(after=(node,))

    return WrittenChecks(repr((file.path, text)), read)


def written_in_header(file: SqlFile) -> WrittenChecks | None:
    """Return the checks of a config header."""
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

    fingerprint = repr((file.path, said, file.config_line, sorted(file.key_lines.items())))
    return WrittenChecks(fingerprint, lambda findings: _layer(node_of(said, place), findings))


def files_in_header(file: SqlFile) -> tuple[str, ...]:
    """Return the SQL files that the checks in a header name."""
    if file.config.keys().isdisjoint(WITH_CHECKS):
        return ()
    said = {key: file.config[key] for key in WITH_CHECKS if key in file.config}
    return tuple(named_in(file.path, said))


def lone_checks(files: Mapping[str, SqlFile], check_files: Collection[str]) -> Iterator[Finding]:
    """Warn of SQL in check folders that no check names: it is neither a check nor a model."""
    for path, file in files.items():
        if "checks" not in path.split("/")[1:-1] or path in check_files or file.config:
            continue
        name = path.rpartition("/")[2].removesuffix(".sql")
        sentence = "no check names this file, and it has no header of a model: it is not read"
        hint = f"under checks: of a model write - {{name: {name}, sql: checks/{name}.sql}}"
        yield Finding(Location(path), IGNORED_CODE, sentence, hint, Severity.WARNING)


def written_nodes(phases: Phases) -> WrittenChecks | None:
    """Return checks that are already nodes."""
    return WrittenChecks(repr(phases), lambda _: phases) if phases else None


def written_in_yaml(
    file: YamlFile, at: Path, filled: Callable[[Plain], Plain]
) -> WrittenChecks | None:
    """Return the checks and tests of an entry; those of a source or seed are `before` checks."""
    text = file.checks.get(place_key(at))
    if text is None:
        return None
    layer = _source_layer if at[0] in ("sources", "seeds") else _layer

    fingerprint = "\n".join((file.path, text, *(each.digest for each in file.reads)))
    return WrittenChecks(fingerprint, lambda found: layer(checks_at(file, at, filled), found))


def _layer(node: YamlNode, findings: list[Finding]) -> Phases:
    section = open_section(node, _LAYER, "", findings)
    config = section.find("config")
    parts = [_layer(config, findings)] if config is not None else []
    if (checks := section.find("checks")) is not None:
        parts.append(read_phases(checks, word_in(node), findings))
    if (columns := section.find("columns")) is not None:
        parts.append(column_tests(columns.items, findings))
    parts.append(model_tests(section))
    return joined([*parts, Phases(on_failure=section.find("on_failure"))], findings)


def _source_layer(node: YamlNode, findings: list[Finding]) -> Phases:
    section = open_section(node, _LAYER, "", findings)
    listed, columns, above = section.find("checks"), section.find("columns"), word_in(node)
    if listed is not None and isinstance(listed.value, Mapping):
        listed = open_section(listed, _OF_SOURCE, above, findings).find("before")
        above = f"{above}.before"
    found = read_phases(listed, above, findings) if listed is not None else NONE
    tests = column_tests(columns.items, findings) if columns is not None else NONE
    return Phases(before=(*found.after, *tests.after, *model_tests(section).after))
