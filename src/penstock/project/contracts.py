"""Contracts as dbt writes them: the columns of a query, and constraints that its rows must meet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.core.columns.schema import Column, Schema
from penstock.core.findings import Finding, Location, Severity
from penstock.project.checks.phases import Phases
from penstock.project.checks.scene import WrittenChecks
from penstock.project.files.nodes import YamlNode, mapping_node
from penstock.project.files.values import (
    Plain,
    UnknownTypeError,
    list_of,
    mapping_of,
    read_type,
    switch_of,
    text_of,
    texts_of,
)
from penstock.project.settings.project import YamlEntry
from penstock.project.settings.strategy import StrategyConfig

_TEXTS = ("varchar", "char", "text")
"""Types of other databases that dbt's users write, without a length."""
_SIZED = re.compile(r"\b(?:var)?char\(\d+\)")
_GATES = ("not_null", "check")


def is_enforced(config: StrategyConfig) -> bool:
    """Return whether the contract of a model is enforced."""
    return bool(switch_of(mapping_of(config.settings.get("contract")).get("enforced")))


def contract_of(config: StrategyConfig, entry: YamlEntry | None) -> Schema:
    """Return the columns that a query must return; empty without an enforced contract."""
    constraints = [*_constraints(entry)] if entry else []
    if not is_enforced(config):
        for each in constraints[:1]:
            sentence = f"constraints of {config.name!r} have no effect without its contract"
            hint, code = "config: {contract: {enforced: true}}", "option-without-effect"
            warning = Severity.WARNING
            config.findings.append(Finding(each.where, code, sentence, hint, warning))
        return Schema()
    if not config.columns:
        sentence = f"the contract of {config.name!r} is enforced, and no columns are described"
        config.report("contract", "missing-key", sentence, "columns: [{name: id, data_type: INT}]")
    columns = []
    for doc in config.columns:
        try:
            kind = "string" if doc.type.lower() in _TEXTS else doc.type
            columns.append(Column(doc.name, _SIZED.sub("string", str(read_type(kind)))))
        except UnknownTypeError:
            kind = f"the unknown data_type {doc.type!r}" if doc.type else "no data_type"
            sentence = f"column {doc.name!r} of an enforced contract has {kind}"
            config.report("contract", "bad-value", sentence, "data_type: BIGINT")
    tested = {doc.name.lower() for doc in config.columns if "unique" in doc.tests}
    config.findings += (each for one in constraints for each in one.notes(tested))
    return Schema(tuple(columns))


def constraint_checks(
    entry: YamlEntry, config: StrategyConfig, others: Sequence[WrittenChecks]
) -> WrittenChecks | None:
    """Return the constraints of an enforced contract as gates.

    Rows that break them are held back, unless `others` say what a failed gate does.
    """
    names = tuple(doc.name for doc in config.columns)
    gates = [node for each in _constraints(entry) for node in each.checks(names)]
    if not gates or not is_enforced(config):
        return None

    def read(_: list[Finding]) -> Phases:
        is_said = any(each.read([]).on_failure is not None for each in others)
        return Phases(after=(*gates,), on_failure=None if is_said else YamlNode("block", at))

    at = entry.where
    return WrittenChecks(repr((gates, [each.fingerprint for each in others])), read)


@dataclass(frozen=True, slots=True)
class _Constraint:
    """One constraint: of a column, or of the model."""

    where: Location
    tree: Mapping[str, Plain]
    columns: tuple[str, ...]

    @property
    def kind(self) -> str:
        return text_of(self.tree.get("type"))

    def notes(self, tested: set[str]) -> Iterator[Finding]:
        """Report a constraint without effect, unless its column has the test `unique`."""
        is_silent = any(
            switch_of(self.tree.get(key)) is False
            for key in ("warn_unenforced", "warn_unsupported")
        )
        alone = len(self.columns) == 1 and self.columns[0].lower() in tested
        if self.kind in ("", *_GATES) or is_silent or (alone and self.kind != "foreign_key"):
            return
        sentence = f"{self.kind} ({', '.join(self.columns)}) is not enforced, as in Spark"
        test = "relationships" if self.kind == "foreign_key" else "unique"
        hint = f"add the test {test}" if self.kind != "custom" else "write a check"
        yield Finding(self.where, "constraint-not-enforced", sentence, hint, Severity.INFO)

    def checks(self, names: Sequence[str]) -> Iterator[YamlNode]:
        """Return the checks of a gate; `names` are the columns of the contract."""
        expression = text_of(self.tree.get("expression"))
        if self.kind == "not_null":
            for column in self.columns:
                yield self._check(column, {"type": "not_null"})
        elif self.kind == "check" and expression:
            column = (*self.columns, *names, "")[0]
            yield self._check(column, {"type": "column_check", "check": expression})

    def _check(self, column: str, keys: Mapping[str, str]) -> YamlNode:
        usual = re.sub(r"[^A-Za-z0-9_.-]", "_", f"contract_{self.kind}_{column}")
        name = text_of(self.tree.get("name")) or usual
        return mapping_node(self.where, {"name": name, "column": column, **keys})


def _constraints(entry: YamlEntry) -> Iterator[_Constraint]:
    for index, item in enumerate(list_of(entry.tree.get("constraints"))):
        tree = mapping_of(item)
        where = entry.file.place(*entry.path, "constraints", index)
        yield _Constraint(where, tree, texts_of(tree.get("columns")))
    for index, column in enumerate(map(mapping_of, list_of(entry.tree.get("columns")))):
        where = entry.file.place(*entry.path, "columns", index)
        for item in list_of(column.get("constraints")):
            yield _Constraint(where, mapping_of(item), (text_of(column.get("name")),))
