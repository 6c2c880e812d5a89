"""One field of a schema, as written and as a column (spec/drift.md §1.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from penstock.core.columns.schema import Column
from penstock.core.columns.types import ArrayType, ColumnType, Field, StructType
from penstock.core.findings import Finding, Location
from penstock.project.files.nodes import Keys, Section, YamlNode, open_section
from penstock.project.files.values import (
    KNOWN,
    UnknownTypeError,
    UnsupportedTypeError,
    did_you_mean,
    read_type,
    shown_type,
)

_KEYS = ("name", "type", "mode", "nullable", "description", "fields")
FIELD = Keys(_KEYS, ("name", "type"))
_CHANGE = Keys(_KEYS, ("name",))
_MODES = ("NULLABLE", "REQUIRED", "REPEATED")
_BAD_NAME = re.compile(r"[ ,;{}()\n\t=.]|^$")


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field; `kind` is the type without its arrays and without the fields of a struct.

    Of a struct, `fields` count, not those of `kind`.
    """

    name: str
    where: Location
    kind: ColumnType = StructType()
    mode: str = "NULLABLE"
    arrays: int = 0
    fields: tuple[SchemaField, ...] = ()
    description: str = ""

    @property
    def is_struct(self) -> bool:
        """Whether it is a struct, or an array of them."""
        return isinstance(self.kind, StructType)

    @property
    def type(self) -> ColumnType:
        """Its type as Spark has it."""
        found = self.kind
        if self.is_struct:
            found = StructType(tuple(Field(each.name, each.type) for each in self.fields))
        for _ in range(self.arrays + (self.mode == "REPEATED")):
            found = ArrayType(found)
        return found

    @property
    def column(self) -> Column:
        """The column that it is at the top of a schema."""
        return Column(self.name, str(self.type), self.mode != "REQUIRED", self.description)


def find_field(fields: Iterable[SchemaField], name: str) -> SchemaField | None:
    """Give the field of that name, without case, or None."""
    return next((each for each in fields if each.name.lower() == name.lower()), None)


def read_fields(node: YamlNode, label: str, findings: list[Finding]) -> tuple[SchemaField, ...]:
    """Read a list of fields; two of one name are a finding."""
    found: list[SchemaField] = []
    for item in node.items:
        each = read_field(item, label, findings)
        first = find_field(found, each.name) if each else None
        if each and first:
            sentence = f'{label}: field "{each.name}" is there twice'
            findings.append(Finding(each.where, "duplicate-field", sentence, "keep one of them"))
        elif each:
            found.append(each)
    return tuple(found)


def read_field(node: YamlNode, label: str, findings: list[Finding]) -> SchemaField | None:
    """Read one field, None where it has no name."""
    section = open_section(node, FIELD, "schema", findings)
    name = section.text("name")
    if _BAD_NAME.search(name):
        if name:
            section.bad("name", "a column name without blanks, dots and ,;{}()=")
        return None
    return _said(section, SchemaField(name, section.place("name")), label)


def changed_field(
    node: YamlNode, old: SchemaField, label: str, findings: list[Finding]
) -> SchemaField:
    """Change what is written of a field, and nothing else."""
    section = open_section(node, _CHANGE, "schema.modify", findings)
    return _said(section, old, label)


def name_of(node: YamlNode) -> str:
    """Give the name under which an item of `modify` or `remove` stands."""
    member = node.members.get("name")
    value = member.node.value if member else node.value
    return value if isinstance(value, str) else ""


def _said(section: Section, old: SchemaField, label: str) -> SchemaField:
    found, before = old, len(section.findings)
    kind = _kind(section) if section.find("type") else None
    if kind is not None:
        spelt = _spelt(old.name, old.where, kind)
        same = spelt.is_struct and not spelt.fields
        fields = old.fields if same else spelt.fields
        found = replace(found, kind=spelt.kind, arrays=spelt.arrays, fields=fields)
    found = replace(found, mode=_mode(section) or found.mode)
    below = section.find("fields")
    if below is not None and not isinstance(below.value, tuple):
        section.bad("fields", "a list of fields")
    elif below is not None and not found.is_struct:
        section.bad("fields", f"left out: {shown_type(found.kind)} is no STRUCT")
    elif below is not None:
        found = replace(found, fields=read_fields(below, label, section.findings))
    if kind is not None and len(section.findings) == before:
        section.findings += _empty_structs(found, found.name, label)
    if section.find("description"):
        found = replace(found, description=section.text("description").strip())
    return found


def _empty_structs(each: SchemaField, dotted: str, label: str) -> Iterator[Finding]:
    """Find structs without fields, but not among the fields that were read by themselves."""
    if each.is_struct and not each.fields:
        sentence = f'{label}: field "{dotted}" is STRUCT without fields'
        yield Finding(each.where, "empty-struct", sentence, "list them under fields:")
    for inner in each.fields:
        if inner.where == each.where:
            yield from _empty_structs(inner, f"{dotted}.{inner.name}", label)


def _kind(section: Section) -> ColumnType | None:
    text = section.text("type")
    if not text:
        return None
    try:
        return read_type(text)
    except UnsupportedTypeError as error:
        section.report("type", "type-unsupported", f"{error.word} is no type of Spark", error.hint)
    except UnknownTypeError as error:
        word = re.split(r"[\s(<]", error.word, maxsplit=1)[0]
        hint = did_you_mean(word.upper(), KNOWN) or "Spark's DDL types, or INT64, STRING, RECORD, …"
        section.report("type", "unknown-type", f"{error.word!r} is no type", hint)
    return None


def _spelt(name: str, where: Location, kind: ColumnType) -> SchemaField:
    """Give a field with all that its type itself spells out."""
    arrays = 0
    while isinstance(kind, ArrayType):
        kind, arrays = kind.element, arrays + 1
    inner = kind.fields if isinstance(kind, StructType) else ()
    fields = tuple(_spelt(each.name, where, each.type) for each in inner)
    return SchemaField(name, where, kind, arrays=arrays, fields=fields)


def _mode(section: Section) -> str:
    if section.find("mode") and section.find("nullable"):
        member = max(section.members["mode"].key, section.members["nullable"].key)
        sentence = "mode and nullable say the same; keep one"
        section.findings.append(Finding(member, "alias-conflict", sentence))
    nullable = section.flag("nullable")
    if nullable is not None:
        return "NULLABLE" if nullable else "REQUIRED"
    return section.word("mode", _MODES)
