"""Columns, watermarks and transformations of an entity, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.entities.entity import EntityColumn, FieldRole, WatermarkEntry, normalised
from penstock.core.entities.transformations import Transformation
from penstock.project.entities.parts import ExactSection, ExpressionFacts, Findings
from penstock.project.entities.sections import PLAIN_VALUE, ColumnSection, SharedSection
from penstock.project.entities.template_functions import UNKNOWN, BadExpressionError
from penstock.project.entities.templates import parse_watermark
from penstock.project.files.kinds import word_hint
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import did_you_mean

_WIDEST = 38
_DECIMAL = re.compile(r"decimal(?:\((-?\d+)(?:,(-?\d+))?\))?")
TYPES = {
    "string": "string",
    "boolean": "boolean",
    **dict.fromkeys(("byte", "tinyint"), "tinyint"),
    **dict.fromkeys(("short", "smallint"), "smallint"),
    **dict.fromkeys(("integer", "int"), "int"),
    **dict.fromkeys(("long", "bigint"), "bigint"),
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "binary": "binary",
}
"""Spark's type names by the words in documents; DECIMAL is separate."""


@dataclass(slots=True)
class Expressions:
    """Facts of expressions; `earlier` are those of the last load, `current` those of this one."""

    earlier: Mapping[str, ExpressionFacts] = field(default_factory=dict)
    current: dict[str, ExpressionFacts] = field(default_factory=dict)

    def facts(self, text: str) -> ExpressionFacts:
        """Return the facts of an expression."""
        facts = self.current.get(text) or self.earlier.get(text)
        if facts is None:
            from penstock.project.entities.expressions import facts_of  # imports a parser

            facts = facts_of(text)
        self.current[text] = facts
        return facts

    def projected(self, item: str) -> ExpressionFacts:
        """Return the facts of an item of a projection."""
        text = f"SELECT {item}"
        facts = self.current.get(text) or self.earlier.get(text)
        if facts is None:
            from penstock.project.entities.expressions import projection_facts  # the same

            facts = projection_facts(item)
        self.current[text] = facts
        return facts


def _type_of(part: YamlNode | None, column: str, findings: Findings) -> str:
    """Return `datatype` in Spark's short spelling, "" if the slice decides."""
    if part is None:
        return ""
    if not isinstance(part.value, str):
        findings.bad(part, "write the name of a type in quotes")
        return ""
    word = "".join(part.value.lower().split())
    if word in TYPES:
        return TYPES[word]
    decimal = _DECIMAL.fullmatch(word)
    if decimal is None:
        sentence = f'datatype "{part.value}" of column "{column}" is not known'
        near = did_you_mean(word, (*TYPES, "decimal"))
        known = ", ".join((*TYPES, "decimal(p,s)"))
        findings.report(part, "unknown-type", sentence, near or f"one of {known}")
    elif decimal[1] is None:
        sentence = f'decimal of column "{column}" is decimal(38,18)'
        findings.warn(part, "decimal-without-precision", sentence, "write decimal(p,s)")
        return "decimal(38,18)"
    elif decimal[2] is None:
        findings.bad(part, f"write decimal({decimal[1]},0)")
    elif 1 <= int(decimal[1]) <= _WIDEST and 0 <= int(decimal[2]) <= int(decimal[1]):
        return f"decimal({int(decimal[1])},{int(decimal[2])})"
    else:
        findings.bad(part, f"decimal(p,s) with p from 1 to {_WIDEST} and s from 0 to p")
    return ""


@dataclass(slots=True)
class ReadColumns:
    """The columns of an entity, with their parts by position.

    `volatile` are the names, in lower case, of volatile columns of the transformed slice.
    """

    volatile: set[str] = field(default_factory=set)
    columns: list[EntityColumn] = field(default_factory=list)
    parts: list[YamlNode] = field(default_factory=list)
    by_name: dict[str, YamlNode] = field(default_factory=dict)
    by_final: dict[str, YamlNode] = field(default_factory=dict)

    def add(self, column: EntityColumn, part: YamlNode, findings: Findings) -> None:
        """Add a column unless its name, or its final name, is already used."""
        name, final = column.name.lower(), column.final_name.lower()
        first = self.by_name.get(name) if name else None
        other = first or self.by_final.get(final)
        if other is not None:
            what = f'"{column.name}"' if first else f'final name "{column.final_name}"'
            sentence = f"{what} is that of two columns, here and at {other.where}"
            hint = "keep one entry" if first else "give one of them another newname"
            findings.report(part, "duplicate-column", sentence, hint)
            return
        self.by_name[name] = self.by_final[final] = part
        self.columns.append(column)
        self.parts.append(part)


def columns_of(
    entity: SharedSection, expressions: Expressions, transformations: Sequence[Transformation]
) -> ReadColumns:
    """Read the columns of an entity that is transformed.

    `expressions` caches facts of expressions.
    """
    read = ReadColumns({name.lower() for each in transformations for name in each.volatile})
    for section in entity.columns:
        column = _column(section, expressions, read)
        if column is not None:
            read.add(column, section.node, entity.findings)
    return read


def _column(
    section: ColumnSection, expressions: Expressions, before: ReadColumns
) -> EntityColumn | None:
    findings, name, newname = section.findings, section.name, section.newname
    roles, where = frozenset(_roles(section)), section.node.where
    kind = _type_of(section.datatype, name or newname, findings)
    column = EntityColumn(name, newname, kind, roles, where=where)
    if "name" not in section.members:
        return None
    written = section.expression.strip()
    if not written and (FieldRole.CALCULATED in roles or not name):
        why = "is calculated" if name else "has no name in the slice"
        sentence = f'column "{name or newname}" {why} and has no expression'
        findings.report(section.node, "missing-key", sentence, "write expression")
    if not column.final_name:
        sentence = f'nothing is left of the name "{newname or name}"'
        findings.report(section.node, "empty-column-name", sentence, "write newname")
        return None
    if written:
        return _calculated(column, section, expressions, before)
    is_volatile = name.lower() in before.volatile
    return replace(column, volatile=("transformations",)) if is_volatile else column


def _roles(section: ColumnSection) -> Iterator[FieldRole]:
    for item in section.fieldroles:
        text = item.value.lower() if isinstance(item.value, str) else ""
        role = next((each for each in FieldRole if each == text), None)
        if role is not None:
            yield role
        else:
            section.findings.bad(item, word_hint(text or None, tuple(FieldRole)))


def _calculated(
    column: EntityColumn, section: ExactSection, expressions: Expressions, before: ReadColumns
) -> EntityColumn:
    """Return a column with the facts of its expression."""
    part = section.members["expression"]
    facts = facts_under(part, expressions, section.findings)
    if facts is None:
        return column
    read = {name.lower() for name in facts.reads}
    sources = ["transformations"] if read & before.volatile else []
    sources += [w for c in before.columns if c.made_name.lower() in read for w in c.volatile]
    volatile = tuple(dict.fromkeys((*facts.volatile, *sources)))
    if volatile:
        calls = " and ".join(f"{w}()" if w in facts.volatile else w for w in volatile)
        effects = "it differs on every run, is left out of the hash, and a rerun changes it"
        sentence = f'calculated column "{column.made_name}" uses {calls}: {effects}'
        section.findings.warn(part, "volatile-column", sentence)
    return replace(
        column, expression=facts.text, reads=facts.reads, volatile=volatile, literal=facts.literal
    )


def facts_under(
    part: YamlNode, expressions: Expressions, findings: Findings
) -> ExpressionFacts | None:
    """Read the expression of one row; None with a finding."""
    text = str(part.value)
    facts = expressions.facts(text)
    if facts.problem:
        sentence = f'expression "{text}" is none of one row: {facts.problem}'
        findings.report(part, "not-a-row-expression", sentence, "transformations may do more")
        return None
    return facts


def check_volatile_keys(read: ReadColumns, watermark: Iterable[str], findings: Findings) -> None:
    """Report keys, partitions and watermarks that differ between runs."""
    marked = {name.lower() for name in watermark}
    words = {FieldRole.BUSINESS_KEY: "business key", FieldRole.PARTITION: "partition"}
    for column, part in zip(read.columns, read.parts, strict=True):
        kinds = [word for role, word in words.items() if role in column.roles]
        kinds += ["watermark"] * (column.final_name.lower() in marked)
        if column.volatile and kinds:
            sentence = f'{kinds[0]} column "{column.final_name}" differs on every run'
            hint = f"make it of the row alone, without {' and '.join(column.volatile)}"
            findings.report(part, "volatile-key", sentence, hint)


def watermark_of(entity: SharedSection, read: ReadColumns) -> tuple[WatermarkEntry, ...]:
    """Read the watermark entries; their columns are resolved to final names."""
    entries = []
    for section in entity.watermark:
        if section.column_name:
            part = section.members["column_name"]
            column = final_name(part, section.column_name, read.columns, section.findings)
            kind = next((c.type for c in read.columns if c.final_name == column), "")
            bare = _bare(section, section.expression, kind.upper() or UNKNOWN)
            operation, group = section.operation, section.operation_group
            entries.append(WatermarkEntry(column, operation, group, bare, section.node.where))
    return tuple(entries)


def final_name(
    part: YamlNode, name: str, columns: Sequence[EntityColumn], findings: Findings
) -> str:
    """Return the final name of a column, which may be given by its name in the slice."""
    final = normalised(name).lower()
    finals = [each for each in columns if each.final_name.lower() == final]
    slices = [each for each in columns if each.name and each.name.lower() == name.lower()]
    if finals and slices and finals[0] is not slices[0]:
        other = slices[0].final_name
        sentence = f'"{name}" is a final name, and the name in the slice of "{other}"'
        hint = f'write "{other}" if that is meant, or rename one of them'
        findings.report(part, "ambiguous-column", sentence, hint)
    found = next(iter((*finals, *slices)), None)
    return found.final_name if found is not None else normalised(name)


def _bare(section: ExactSection, written: str, kind: str) -> str:
    """Return a watermark's expression without its quotes, after it was checked."""
    text = written.strip()
    try:
        parse_watermark(text, kind)
    except BadExpressionError as error:
        part = section.members["expression"]
        section.findings.report(part, "bad-expression", error.sentence, error.hint)
    is_quoted = len(text) > 1 and text[0] == text[-1] == "'"
    return text[1:-1] if is_quoted else text


def is_plain_value(entry: WatermarkEntry) -> bool:
    """Return whether a window begins exactly at the watermark."""
    return entry.expression.replace(" ", "") in (PLAIN_VALUE, "${watermark}")
