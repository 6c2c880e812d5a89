"""Transformations of an entity, read in order: projections, columns, filters, duplicates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from penstock.core.entities.entity import NOWHERE, FieldRole
from penstock.core.entities.transformations import (
    ColumnTransformation,
    Deduplicate,
    Filter,
    Keep,
    Projection,
    Transformation,
)
from penstock.project.entities.columns import Expressions, ReadColumns, facts_under
from penstock.project.entities.parts import Findings, word_of
from penstock.project.entities.sections import KeptRowSection, SharedSection, TransformationSection
from penstock.project.files.nodes import Keys, YamlNode, items_of
from penstock.project.files.sections import read_section

_MADE = Keys(("column", "expression"), ("column", "expression"))
_FILTER, _KEPT = Keys(("where",)), Keys(("deduplicate",))
_OF_TIME = frozenset({"current_timestamp", "now", "current_date", "curdate", "localtimestamp"})
"""Functions that return the processing time, so the same rows on every reading."""


@dataclass(slots=True)
class _TransformationReader:
    """Reads transformations in their order."""

    expressions: Expressions
    findings: Findings
    volatile: set[str] = field(default_factory=set)
    """Columns so far that differ between runs."""
    unstable: set[str] = field(default_factory=set)
    """Those of them that differ between readings of a slice."""

    def of_mapping(self, node: YamlNode) -> Iterator[Transformation]:
        """Read a filter, a deduplication or a column."""
        first = next((each for each in (_FILTER, _KEPT) if each.names[0] in node.members), _MADE)
        section = read_section(TransformationSection, node, "", self.findings, first)
        if section.where:
            yield from self._filter(section.members["where"])
        elif section.deduplicate is not None:
            yield from self._deduplicate(section.deduplicate)
        elif first is _MADE:
            yield from self._made_column(section)

    def projection(self, items: Sequence[YamlNode]) -> Projection:
        """Read the items of one projection; each must be a valid select list."""
        texts, volatile = [], list[str]()
        for item in items:
            if not isinstance(item.value, str):
                self.findings.bad(item, "write a text")
                continue
            texts.append(item.value)
            if re.fullmatch(r"\w+|\*", item.value):
                continue
            facts = self.expressions.projected(item.value)
            volatile += facts.volatile
            if facts.problem:
                sentence = f'"{item.value}" is not a select list: {facts.problem}'
                hint = "write columns and expressions as after SELECT; filter with where: CONDITION"
                self.findings.report(item, "bad-expression", sentence, hint)
        self.unstable.update(name.lower() for name in volatile)
        self.volatile |= self.unstable
        return Projection(tuple(texts), tuple(volatile), items[0].where if items else NOWHERE)

    def _filter(self, part: YamlNode) -> Iterator[Filter]:
        facts = facts_under(part, self.expressions, self.findings)
        if facts is not None and self._is_stable(part, facts.volatile, facts.reads):
            yield Filter(facts.text, part.where)

    def _deduplicate(self, section: KeptRowSection) -> Iterator[Deduplicate]:
        keep, written = word_of(Keep, section.keep, Keep.LAST), section.order_by
        parts = (written,) if written and isinstance(written.value, str) else ()
        orders, is_right = [], True
        for part in parts or items_of(section, "order_by", "columns"):
            if not isinstance(part.value, str):
                self.findings.bad(part, "write a text")
                is_right = False
                continue
            facts = facts_under(part, self.expressions, self.findings)
            if facts is None or not self._is_stable(part, facts.volatile, facts.reads):
                is_right = False
            else:
                orders.append(facts.text)
        if section.find("keep") is not None and written is None:
            hint = "name the columns that tell which row is the last"
            self.findings.report(section.node, "missing-key", "'order_by' is missing", hint)
        elif is_right:
            yield Deduplicate(keep, tuple(orders), section.node.where)

    def _is_stable(self, part: YamlNode, volatile: Sequence[str], reads: Sequence[str]) -> bool:
        """Report expressions that would select other rows on the second reading of a slice."""
        calls = [f"{word}()" for word in volatile if word not in _OF_TIME]
        calls += [name for name in reads if name.lower() in self.unstable]
        if calls:
            sentence = f'"{part.value}" uses {" and ".join(calls)}: it differs on every reading'
            hint = "choose rows by what the slice holds"
            self.findings.report(part, "bad-expression", sentence, hint)
        return not calls

    def _made_column(self, section: TransformationSection) -> Iterator[ColumnTransformation]:
        column = section.column
        if column and section.expression:
            facts = facts_under(section.members["expression"], self.expressions, self.findings)
            if facts is not None:
                reads = {name.lower() for name in facts.reads}
                if not _OF_TIME.issuperset(facts.volatile) or reads & self.unstable:
                    self.unstable.add(column.lower())
                is_volatile = bool(facts.volatile) or bool(reads & self.volatile)
                self.volatile |= {column.lower()} if is_volatile else set()
                where = section.node.where
                yield ColumnTransformation(column, facts.text, is_volatile, where)


def transformations_of(
    entity: SharedSection, expressions: Expressions
) -> tuple[Transformation, ...]:
    """Read the transformations; adjacent texts form one projection."""
    part, reading = entity.transformations, _TransformationReader(expressions, entity.findings)
    is_one = part is not None and isinstance(part.value, str)
    items = (part,) if part and is_one else items_of(entity, "transformations", "transformations")
    found: list[Transformation] = []
    for is_text, run in groupby(items, lambda item: isinstance(item.value, str)):
        if is_text:
            found.append(reading.projection([*run]))
            continue
        for item in run:
            if isinstance(item.value, tuple):
                found.append(reading.projection(item.items))
            else:
                found += reading.of_mapping(item)
    return tuple(found)


def check_deduplicate(
    entity: SharedSection, transformations: Sequence[Transformation], columns: ReadColumns
) -> None:
    """Report a deduplication by keys that do not exist before the transformations."""
    if not any(isinstance(each, Deduplicate) for each in transformations):
        return
    part = entity.members["transformations"]
    keys = [each for each in columns.columns if FieldRole.BUSINESS_KEY in each.roles]
    if not keys:
        sentence = "deduplicate keeps one row of each business key, and there is none"
        entity.findings.report(part, "missing-key", sentence, 'name one: "fieldroles"')
    made = {each.made_name.lower() for each in columns.columns if each.is_calculated}
    for each in keys:
        read = [name for name in each.reads if name.lower() in made]
        if read:
            sentence = (
                f'deduplicate needs business key "{each.final_name}", which is calculated from '
                f'"{read[0]}", itself calculated later'
            )
            hint = f'make "{read[0]}" a transformation before it: column, expression'
            entity.findings.report(part, "bad-expression", sentence, hint)
