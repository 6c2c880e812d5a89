"""Translate the options of a decorator to general settings, and find contradictions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.core.columns.schema import Schema
from penstock.core.findings import Finding, Location
from penstock.core.model import ColumnDoc
from penstock.core.strategy import WindowSettings
from penstock.project.files.nodes import YamlNode
from penstock.project.files.sections import fill_section, written_values
from penstock.project.files.values import Plain
from penstock.project.python.declare import FunctionKind, PythonModel
from penstock.project.python.declared_columns import declared_columns, is_declared
from penstock.project.python.parameters import RESERVED
from penstock.project.python.sections import SECTIONS, DecoratorSection
from penstock.project.settings.check_keys import CHECK_KEYS
from penstock.project.settings.project import column_docs
from penstock.project.settings.strategy import StrategyConfig

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_READ_AGAIN = {"lookback", "grain"}
_OWN = ("lookback", "grain", "partition_mode", "late", "delta", "persist")
"""The options without an equivalent in other files."""
_APART = {"name", "columns", "schema", "path", "table", "format", "options", *CHECK_KEYS}
"""The options that are not settings of a strategy."""


def settings_of(declared: PythonModel[..., Any], options: Mapping[str, Any]) -> dict[str, Plain]:
    """Return the options as general settings, its own options unchanged."""
    found: dict[str, Plain] = {k: v for k, v in options.items() if k not in _APART}
    own = {key: found[key] for key in _OWN if key in found}
    found |= {k: v if isinstance(v, str | list | bool) else str(v) for k, v in own.items()}
    found["materialized"] = _word(declared.kind, options)
    if found["materialized"] == "merge":
        found["newest_by"] = options.get("time_column")
        if options.get("on_duplicate", "latest") == "latest":
            found |= {"on_duplicate": "latest", "order_by": options.get("time_column")}
    return found


def paragraph_of(declared: PythonModel[..., Any]) -> dict[str, Plain]:
    """Return the first paragraph of the docstring, for the description."""
    doc = inspect.cleandoc(declared.function.__doc__ or "").partition("\n\n")[0]
    return {"description": " ".join(doc.split())} if doc else {}


def _word(kind: FunctionKind, options: Mapping[str, Any]) -> str:
    match kind:
        case FunctionKind.SOURCE | FunctionKind.MODEL:
            return "frame"
        case FunctionKind.TABLE:
            return "table"
        case FunctionKind.INCREMENTAL:
            if options.get("unique_key"):
                return "merge"
            again = options.get("partition_mode") == "overwrite" or options.keys() & _READ_AGAIN
            return "overwrite" if again else "append"


def contract_of(options: Mapping[str, Any]) -> Schema:
    """Return the columns that `schema` or `columns` declares; empty if they only name some."""
    for key in ("schema", "columns"):
        if is_declared(options.get(key)):
            return declared_columns(options[key])
    return Schema()


def columns_of(options: Mapping[str, Any], described: Plain = None) -> tuple[ColumnDoc, ...]:
    """Return the comments of columns: those of YAML, of `columns`, of the declared columns.

    A later one only adds what the earlier ones leave out.
    """
    given = options.get("columns")
    named = given.items() if isinstance(given, Mapping) else ()
    docs = [*column_docs(described)]
    if described is None:
        docs += (ColumnDoc(str(name), str(text)) for name, text in named)
    places = {doc.name.lower(): n for n, doc in enumerate(docs)}
    for column in contract_of(options).columns:
        at = places.get(column.name.lower())
        if at is None:
            docs.append(ColumnDoc(column.name, column.comment, column.type))
        elif not docs[at].description:
            docs[at] = replace(docs[at], description=column.comment)
    return tuple(docs)


@dataclass(slots=True)
class PythonConfig(StrategyConfig):
    """The settings of a function for its strategy."""

    options: Mapping[str, Any] = field(default_factory=dict)
    input_names: Mapping[str, str] = field(default_factory=dict)
    """The inputs of parameters."""

    def window(self) -> WindowSettings | None:
        """Read how new rows are found; a lookback may have any value that the type allows."""
        found = StrategyConfig.window(self)
        if found is None:
            return None
        return replace(
            found,
            on={self.input_names.get(name, name): column for name, column in found.on.items()},
            grain=str(self.options.get("grain", "")),
            overlaps=self.text("materialized") == "overwrite",
            lookback=self.options.get("lookback"),
            counts_late=self.options.get("late", "count") == "count",
            guarded=True,
        )


def read_options(declared: PythonModel[..., Any], where: Location) -> DecoratorSection:
    """Read the options of a decorator; report wrong types and contradictions."""
    # whoever reads the checks says what is wrong with them
    nodes = {k: YamlNode(v, where) for k, v in declared.options.items() if k not in CHECK_KEYS}
    section = SECTIONS[declared.kind](YamlNode({}, where), "", [], nodes)
    for key, node in nodes.items():
        if node.value is None:
            section.bad(key, section.declared[key].kind.expected)
    fill_section(section)
    section.findings += _conflicts(declared.options, where)
    return section


def fitting_options(declared: PythonModel[..., Any], section: DecoratorSection) -> dict[str, Any]:
    """Return the options as written, without those of a wrong type."""
    # without time_column others would be asked for
    kept = {"time_column", *CHECK_KEYS, *written_values(section)}
    return {key: value for key, value in declared.options.items() if key in kept}


def _conflicts(options: Mapping[str, Any], where: Location) -> Iterable[Finding]:
    """Return the first finding for each pair of conflicting options."""
    overwrites = options.get("partition_mode") == "overwrite"
    rules = (
        (
            {"table", "path"} <= options.keys(),
            "table and path both say what is read",
            "keep one of them",
        ),
        (
            all(is_declared(options.get(key)) for key in ("schema", "columns")),
            "schema and columns both declare the columns",
            "keep one of them",
        ),
        (
            overwrites and "partition_by" not in options,
            "partition_mode overwrite needs partition_by",
            "name the partition columns",
        ),
        (
            overwrites and "unique_key" in options,
            "partition_mode overwrite replaces rows that unique_key would merge",
            "keep one of them",
        ),
        (
            "unique_key" not in options and bool(options.keys() & {"on_duplicate", "null_keys"}),
            "on_duplicate and null_keys are about rows of one key, and there is no unique_key",
            "unique_key='id'",
        ),
    )
    found = [Finding(where, "option-conflict", said, hint) for is_so, said, hint in rules if is_so]
    return {each.sentence.partition(" ")[0]: each for each in reversed(found)}.values()


def name_findings(declared: PythonModel[..., Any], where: Location) -> list[Finding]:
    """Return findings for an invalid name of a function; a value in it has findings of its own."""
    name = declared.name
    if declared.variant is not None and declared.variant.odd_labels:
        return []
    if name in RESERVED:
        sentence = f"{name!r} is a reserved parameter and cannot name a model"
        return [Finding(where, "reserved-name", sentence, "rename the function")]
    if not _IDENTIFIER.fullmatch(name):
        sentence = f"{name[:80]!r} cannot name a Python model"
        return [Finding(where, "bad-value", sentence, "use letters, digits and _, no digit first")]
    return []
