"""The keys of checks by type, and checks taken out of YAML as text."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from penstock.core.checks.check import CheckScope, OnFailure
from penstock.core.checks.check_type import CheckType, Empty, KeyKind, check_types
from penstock.core.findings import Finding, Location, Severity
from penstock.project.files.cache import packed, unpacked
from penstock.project.files.kinds import DURATION, FLAG, TEXT, whole, word
from penstock.project.files.nodes import Section, YamlNode, node_of
from penstock.project.files.parsed import (
    Packed,
    Spots,
    YamlFile,
    is_outside,
    is_path,
    path_from,
    place_key,
)
from penstock.project.files.sections import (
    OBJECT,
    TEXT_LIST,
    TEXTS,
    Key,
    KeyedSection,
    PartKind,
    described_keys,
    key,
    node_as,
    schema_of,
)
from penstock.project.files.values import (
    Path,
    Plain,
    UnknownTypeError,
    list_of,
    mapping_of,
    read_type,
)

WITH_CHECKS = ("checks", "invariants")
"""The keys for checks: the second is an alias of the first."""
PHASES = ("before", "after")
CHECK_KEYS = (*WITH_CHECKS, "on_failure")
"""The settings of a model about its checks."""
TESTS = ("tests", "data_tests")
CHECKS: Mapping[str, str] = {"$ref": "#/$defs/checks"}
"""The schema of the key `checks:`, in schemas that define it."""
_KEPT = (*WITH_CHECKS, *TESTS, "columns", "config")
_SEVERITIES = {"error": Severity.ERROR, "warning": Severity.WARNING, "warn": Severity.WARNING}
_OBJECTS: Plain = {"type": "array", "items": {"type": "object"}}
_NUMBER: Plain = {"type": ["number", "string"]}
_BOUND: Plain = {"type": ["number", "string", "boolean"]}
SQL: Plain = {"type": "string", "contentMediaType": "application/sql"}


def _severity(section: Section, key: str) -> Severity:
    """Return the severity of a failure; `warn` means warning."""
    found = _SEVERITIES.get(str(section.members[key].value).lower())
    if found is None:
        section.bad(key, "error or warning", "error, warning")
    return found or Severity.ERROR


def _meta(section: Section, key: str) -> Mapping[str, str]:
    """Return values as texts; other values as JSON."""
    node = section.members[key]
    if not isinstance(node.value, Mapping):
        section.bad(key, "a mapping")
    trees = {name: member.plain for name, member in node.members.items()}
    return {
        name: tree if isinstance(tree, str) else json.dumps(tree, ensure_ascii=False)
        for name, tree in trees.items()
    }


def _unread(_: object) -> None:
    """Read nothing: `take` does."""


_SEVERITY: PartKind[Severity] = PartKind(
    "error or warning", _unread, {"enum": [*_SEVERITIES]}, Severity.ERROR, take=_severity
)
_META: PartKind[Mapping[str, str]] = PartKind("a mapping", _unread, OBJECT, {}, take=_meta)


class PhasesSection(KeyedSection):
    """The value of `checks:`, unless it is a list."""

    before = key(node_as(_OBJECTS), [{"type": "row_count", "min": 1}])
    """Checks of the rows that a step will read."""
    after = key(node_as(_OBJECTS), [{"type": "not_null", "column": "id"}])
    """Checks of the rows that a step wrote. A list instead of the mapping means these."""
    on_failure = key(
        node_as({"enum": [*map(str, OnFailure)]}), "block", "`checks.on_failure` of the project"
    )
    """What a failed gate `after` does to the rows of its step."""


class CheckSection(KeyedSection):
    """One check; the keys of its type are declared below it, by `section_of`."""

    rule: builtins.type[CheckType]

    type = key(TEXT, "row_count", "`sql` beside `sql`")
    """What is checked."""
    name = key(TEXT, "has_rows", "type and columns: `not_null_id`; required beside `sql`")
    """Its name, unique per model, version and phase."""
    severity = key(_SEVERITY, "warning", "`error`", default=Severity.ERROR)
    """`error` is a gate; `warning` is reported and stops nothing."""
    description = key(TEXT, "A day without orders is an outage.")
    """What it is for."""
    tags = key(TEXTS, ["critical"])
    """Words by which selectors find models with it."""
    meta = key(_META, {"owner": "finance"})
    """Your own metadata."""
    enabled = key(FLAG, example=False, default=True)
    """`false` disables the check."""
    sample = key(FLAG, example=False, unset="`checks.sample` of the project")
    """Whether cells of rows that break it are kept and shown."""
    mostly = key(node_as(_NUMBER), 0.95, "all")
    """The share of rows that must hold."""
    warn_if = key(node_as(TEXT.schema), "> 1 %")
    """How many failing rows are a warning: a number, a share of the rows, or never."""
    error_if = key(node_as(TEXT.schema), "> 10", "`!= 0`")
    """How many failing rows are an error."""
    limit = key(whole(1), 100, "all")
    """How many failing rows are kept with `store_failures`."""
    store_failures = key(FLAG, example=True, default=False)
    """Whether the rows that failed last are kept in a table."""
    empty = key(node_as({"enum": [*map(str, Empty)]}), "fail", "mostly `pass`")
    """Result when there are no rows."""

    def _missing(self, key: str) -> None:
        word = {own.name: own.alias for _, own in self.rule.own_keys()}.get(key) or key
        sentence = f"{self.rule.name} needs {word}"
        self.findings.append(Finding(self.node.where, "missing-key", sentence))


class RowsSection(CheckSection):
    """One check of rows that it does not choose itself."""

    where = key(node_as(SQL), "country = 'DE'", "all rows")
    """A condition on one row: only such rows count."""
    input = key(node_as(TEXT.schema), "raw.orders", "the only input")
    """For a check in `before`: the table that it checks."""
    query = key(node_as(SQL), "select * from raw.orders", aliases=("source",))
    """Check the rows of this query, or `.sql` file, instead."""
    scope = key(
        word(tuple(CheckScope)), "table", "`step`; `unique` on merges and history tables: `table`"
    )
    """`step`: the rows of the step; `table`: all rows after it."""


_SCHEMAS: Mapping[KeyKind, Plain] = {
    **dict.fromkeys((KeyKind.COLUMN, KeyKind.TIME, KeyKind.TABLE), TEXT.schema),
    **dict.fromkeys((KeyKind.COLUMNS, KeyKind.FIELDS), TEXT_LIST),
    **dict.fromkeys((KeyKind.COUNT, KeyKind.VALUE), _BOUND),
    **dict.fromkeys((KeyKind.PERCENT, KeyKind.CHANGE, KeyKind.POSITIVE), _NUMBER),
    **dict.fromkeys((KeyKind.CONDITION, KeyKind.MEASURE, KeyKind.QUERY), SQL),
    KeyKind.NATURAL: whole(1).schema,
    KeyKind.VALUES: {"type": "array"},
    KeyKind.TYPES: OBJECT,
    KeyKind.FLAG: FLAG.schema,
    KeyKind.AGE: DURATION.schema,
}


@cache
def section_of(word: str) -> type[CheckSection]:
    """Return the section for checks of a type: the common keys and its own."""
    kind = check_types()[word]
    own: dict[str, object] = {"rule": kind}
    for _, it in kind.own_keys():
        read = node_as({"enum": list(it.choice)} if it.choice else _SCHEMAS[it.kind])
        aliases = (it.alias,) if it.alias else ()
        example: Plain = [*it.example] if isinstance(it.example, tuple) else it.example
        own[f"{it.name}_"] = Key(read, example, it.unset, None, aliases, it.unset is None)
    return type(kind.name, (RowsSection if kind.takes_rows else CheckSection,), own)


def column_types(section: Section, key: str) -> tuple[tuple[str, str], ...]:
    """Return the columns of a key with Spark's types; report every unknown type at its place."""
    node = section.find(key)
    if node is None:
        return ()
    if not node.members:
        section.bad(key, "a mapping of columns to types", "{id: BIGINT, status: STRING}")
        return ()
    found = []
    for name, member in node.members.items():
        text = str(member.node.value)
        try:
            found.append((name, str(read_type(text))))
        except UnknownTypeError as error:
            sentence = f"{error.word!r}, the type of {name}, is not a type"
            hint = error.hint or "write a type of Spark: BIGINT"
            section.findings.append(Finding(member.node.where, "unknown-type", sentence, hint))
    return tuple(found)


def key_descriptions() -> dict[str, Plain]:
    """Return the descriptions of the keys of checks of any type."""
    aliases: dict[str, Plain] = {}
    own: dict[str, Plain] = {}
    for kind in check_types().values():
        for _, it in kind.own_keys():
            example, unset = section_of(kind.name).declared[it.name].example, it.unset or "required"
            own[it.name] = {"says": it.says, "unset": unset, "example": example}
            if it.alias:
                says = f"Same as `{it.name}`."
                aliases[it.alias] = {"says": says, "unset": unset, "example": example}
    return {**described_keys(RowsSection), **aliases, **own}


@cache
def _other_words() -> Mapping[str, str]:
    own = (each for kind in check_types().values() for _, each in kind.own_keys())
    return {"source": "query", **{each.alias: each.name for each in own if each.alias}}


def canonical(key: str) -> str:
    """Return the main name of a key of any type: `columns` for `column`."""
    return _other_words().get(key, key)


def check_schema() -> dict[str, Plain]:
    """Return the JSON Schema of one check of any type, for editors; loading checks more."""
    options: dict[str, list[Plain]] = {}
    for kind in check_types().values():
        for name, schema in mapping_of(schema_of(section_of(kind.name))["properties"]).items():
            known = options.setdefault(name, [])
            either = list_of(mapping_of(schema).get("anyOf")) or [schema]
            known += (each for each in either if each not in known)
    options["type"] = [{"enum": list(check_types())}]
    keys = {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in options.items()}
    return {"type": "object", "properties": keys}


def checks_schema() -> dict[str, Plain]:
    """Return the JSON Schema of the key `checks:`; its definition `check` is that of one check."""
    listed: Plain = {"type": "array", "items": {"$ref": "#/$defs/check"}}
    phases = schema_of(PhasesSection)
    known = {**mapping_of(phases["properties"]), **dict.fromkeys(PHASES, listed)}
    return {"anyOf": [listed, {**phases, "properties": known}]}


def without_checks(file: YamlFile) -> YamlFile:
    """Remove the checks of models, seeds and source tables from a tree."""
    texts: dict[str, Packed] = {}
    named: dict[str, None] = {}

    def take(holder: Mapping[str, Plain], key: str, above: Path = ()) -> dict[str, Plain]:
        entries, found = holder.get(key), list[Plain]()
        if not isinstance(entries, list):
            return dict(holder)
        for index, entry in enumerate(entries):
            rest, checks = _split(entry) if isinstance(entry, Mapping) else (entry, {})
            if checks:
                at = place_key((*above, key, index))
                kept = [_below(at, spots) for spots in (file.places, file.keys)]
                text = json.dumps([checks, *kept], separators=(",", ":"), ensure_ascii=False)
                texts[at] = packed(text)
                named.update(dict.fromkeys(named_in(file.path, checks)))
            is_versioned = key == "models" and isinstance(rest, dict) and "versions" in rest
            found.append(take(rest, "versions", (key, index)) if is_versioned else rest)
        return {**holder, key: found}

    tree = take(take(take(mapping_of(file.tree), "models"), "snapshots"), "seeds")
    if isinstance(tree.get("sources"), list):
        tree["sources"] = [
            take(source, "tables", ("sources", index)) if isinstance(source, Mapping) else source
            for index, source in enumerate(list_of(tree["sources"]))
        ]
    return replace(file, tree=tree, checks=texts, check_files=tuple(named))


def checks_at(file: YamlFile, at: Path, filled: Callable[[Plain], Plain]) -> YamlNode:
    """Return the checks of an entry that has some; `filled` puts the environment's values in."""
    tree, places, keys = json.loads(unpacked(file.checks[place_key(at)]))
    around = file.place(*at)
    own = YamlFile(file.path, places={"": (around.line, around.column), **places}, keys=keys)
    return node_of(filled(tree) if file.reads else tree, own.spot)


def named_in(path: str, tree: Plain) -> Iterator[str]:
    """Yield the SQL files that the checks of a file name."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if key in ("sql", "query", "source") and isinstance(value, str) and is_path(value):
                found = path_from(Location(path), value)
                if not is_outside(found):
                    yield found
            yield from named_in(path, value)
    for item in list_of(tree):
        yield from named_in(path, item)


def _split(entry: Mapping[str, Plain]) -> tuple[dict[str, Plain], dict[str, Plain]]:
    checks = {key: entry[key] for key in (*WITH_CHECKS, *TESTS) if key in entry}
    rest = {key: value for key, value in entry.items() if key not in checks}
    config = mapping_of(entry.get("config"))
    inner = {key: config[key] for key in CHECK_KEYS if key in config}
    if inner:
        checks["config"] = inner
        rest["config"] = {key: value for key, value in config.items() if key not in inner}
    columns = list_of(entry.get("columns"))
    if any(key in mapping_of(column) for column in columns for key in TESTS):
        checks["columns"] = [
            {key: column[key] for key in ("name", *TESTS) if key in column}
            if isinstance(column, Mapping) and column.keys().isdisjoint(("include", "exclude"))
            else None  # what is no column is a misfit of the file, or says which a version has
            for column in columns
        ]
    return rest, checks


def _below(above: str, spots: Spots) -> Spots:
    start = f"{above}\n"
    inside = ((key.removeprefix(start), at) for key, at in spots.items() if key.startswith(start))
    return {key: at for key, at in inside if key.partition("\n")[0] in _KEPT}
