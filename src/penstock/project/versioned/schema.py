"""The schema of a version: a list of fields, another version's, or one with changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.core.columns.schema import Column, Schema
from penstock.core.columns.types import ArrayType, ColumnType, Field, StructType
from penstock.core.findings import Finding, Location
from penstock.core.masking import SECRETS
from penstock.project.files.nodes import Broken, Keys, VersionReference, YamlNode, excerpt, walk
from penstock.project.files.sections import read_section
from penstock.project.files.values import (
    KNOWN,
    UnknownTypeError,
    UnsupportedTypeError,
    did_you_mean,
    nearest,
    read_type,
    shown_type,
)
from penstock.project.versioned.sections import FieldSection, SchemaChangeSection

_CHANGED = Keys(FieldSection.key_set.names, ("name",))
"""A change does not need a type."""
_BAD_NAME = re.compile(r"[ ,;{}()\n\t=.]")


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A field; `kind` is the type without arrays and without the fields in `fields`."""

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


Fields = tuple[SchemaField, ...]


def find_field(fields: Iterable[SchemaField], name: str) -> SchemaField | None:
    """Return the field with that name, in any letter case, or None."""
    return next((each for each in fields if each.name.lower() == name.lower()), None)


def _read_fields(nodes: Sequence[YamlNode], label: str, findings: list[Finding]) -> Fields:
    """Read a list of fields; duplicate names are a finding."""
    found: list[SchemaField] = []
    for item in nodes:
        section = read_section(FieldSection, item, "schema", findings)
        name = section.name
        if _BAD_NAME.search(name):
            section.bad("name", "a column name without blanks, dots and ,;{}()=")
        elif name:
            each = _changed_field(section, SchemaField(name, section.place("name")), label)
            if not find_field(found, name):
                found.append(each)
                continue
            sentence = f'{label}: field "{name}" is there twice'
            findings.append(Finding(each.where, "duplicate-field", sentence, "keep one of them"))
    return tuple(found)


def _name_of(node: YamlNode) -> str:
    value = node.members["name"].node.value if "name" in node.members else node.value
    return value if isinstance(value, str) else ""


def _changed_field(section: FieldSection, old: SchemaField, label: str) -> SchemaField:
    found, before = old, len(section.findings)
    kind = _kind(section)
    if kind is not None:
        spelt = _spelt(old.name, old.where, kind)
        fields = spelt.fields or (old.fields if spelt.is_struct else ())
        found = replace(found, kind=spelt.kind, arrays=spelt.arrays, fields=fields)
    found = replace(found, mode=_mode(section) or found.mode)
    below = section.fields
    if below is not None and not isinstance(below.value, tuple):
        section.bad("fields", "a list of fields")
    elif below is not None and not found.is_struct:
        section.bad("fields", f"left out: {shown_type(found.kind)} is not a STRUCT")
    elif below is not None:
        found = replace(found, fields=_read_fields(below.items, label, section.findings))
    if kind is not None and len(section.findings) == before:
        section.findings += _empty_structs(found, found.name, label)
    if section.find("description"):
        found = replace(found, description=section.description)
    return found


def _empty_structs(each: SchemaField, dotted: str, label: str) -> Iterator[Finding]:
    """Find structs without fields, except among separately read fields."""
    if each.is_struct and not each.fields:
        sentence = f'{label}: field "{dotted}" is STRUCT without fields'
        yield Finding(each.where, "empty-struct", sentence, "list them under fields:")
    for inner in each.fields:
        if inner.where == each.where:
            yield from _empty_structs(inner, f"{dotted}.{inner.name}", label)


def _kind(section: FieldSection) -> ColumnType | None:
    if not section.type:
        return None
    try:
        return read_type(section.type)
    except UnsupportedTypeError as error:
        section.report(
            "type", "type-unsupported", f"{error.word} is not a type of Spark", error.hint
        )
    except UnknownTypeError as error:
        word = re.split(r"[\s(<]", error.word, maxsplit=1)[0]
        hint = did_you_mean(word.upper(), KNOWN) or "Spark's DDL types, or INT64, STRING, RECORD, …"
        section.report("type", "unknown-type", f"{error.word!r} is not a type", hint)
    return None


def _spelt(name: str, where: Location, kind: ColumnType) -> SchemaField:
    """Return a field with everything that its type spells out."""
    arrays = 0
    while isinstance(kind, ArrayType):
        kind, arrays = kind.element, arrays + 1
    inner = kind.fields if isinstance(kind, StructType) else ()
    fields = tuple(_spelt(each.name, where, each.type) for each in inner)
    return SchemaField(name, where, kind, arrays=arrays, fields=fields)


def _mode(section: FieldSection) -> str:
    if section.find("mode") and section.find("nullable"):
        member = max(section.members["mode"].key, section.members["nullable"].key)
        sentence = "mode and nullable say the same; keep one"
        section.findings.append(Finding(member, "alias-conflict", sentence))
    words = {None: "", True: "NULLABLE", False: "REQUIRED"}
    return words[section.nullable] or section.mode


def follow_version(
    reference: VersionReference,
    where: Location,
    chain: tuple[int, ...],
    key: str,
    numbers: Collection[int],
    findings: list[Finding],
) -> int | None:
    """Return the version of a reference under a key; None with a finding."""
    number = int(reference.version) if reference.version.isdecimal() else -1
    if reference.field != key:
        code, sentence = "reference-wrong-field", f"{reference} is under {key}"
        hint = f"write ${{{{ versions.{reference.version}.{key} }}}}"
    elif number not in numbers:
        code = "unknown-version-reference"
        sentence = f"{reference}: there is no version {reference.version}"
        hint = f"there are: {', '.join(map(str, sorted(numbers)))}"
    elif number in chain:
        loop = " → ".join(map(str, (*chain[chain.index(number) :], number)))
        code, sentence = "reference-cycle", f"versions {loop}"
        hint = "one of these versions must say it itself"
    else:
        return number
    findings.append(Finding(where, code, sentence, hint))
    return None


@dataclass(slots=True)
class Schemas:
    """The schemas of one file's versions, each read once. None is a broken one."""

    written: Mapping[int, YamlNode]
    findings: list[Finding]
    read: dict[int, Fields | None] = field(default_factory=dict)

    def of(self, number: int, chain: tuple[int, ...] = ()) -> Fields | None:
        """Return the fields of a version."""
        if number not in self.read:
            said = self.written[number]
            self.read[number] = self._read(said, f"v{number}", (*chain, number))
        return self.read[number]

    def _read(self, node: YamlNode, label: str, chain: tuple[int, ...]) -> Fields | None:
        value = node.value
        if isinstance(value, VersionReference):
            known = self.written.keys()
            number = follow_version(value, node.where, chain, "schema", known, self.findings)
            return None if number is None else self.of(number, chain)
        if isinstance(value, tuple):
            before = len(self.findings)
            found = _read_fields(value, label, self.findings)
            broken = any(isinstance(each.value, Broken) for _, each in walk(node))
            return found if len(self.findings) == before and not broken else None
        if isinstance(value, Mapping):
            return self._changed(node, label, chain)
        if not isinstance(value, Broken):
            expected = "it must be a list of fields, a reference, or base with changes"
            sentence = f"schema is {excerpt('schema', value)}; {expected}"
            self.findings.append(Finding(node.where, "bad-value", sentence))
        return None

    def _changed(self, node: YamlNode, label: str, chain: tuple[int, ...]) -> Fields | None:
        before = len(self.findings)
        section = read_section(SchemaChangeSection, node, "schema", self.findings)
        base = section.base
        fields = self._read(base, label, chain) if base is not None else None
        if fields is not None:
            fields = _added(section, _replaced(section, fields, label), label)
        return fields if len(self.findings) == before else None


def schema_of(fields: Iterable[SchemaField]) -> Schema:
    """Return the fields as columns."""
    hide = SECRETS.hide  # tables say to everybody what their columns are
    columns = (
        Column(e.name, str(e.type), e.mode != "REQUIRED", hide(e.description)) for e in fields
    )
    return Schema(tuple(columns))


def schema_text(fields: Sequence[SchemaField]) -> str:
    """Return the text behind a schema's checksum; "" if nothing is declared."""
    if not fields:
        return ""
    ordered = sorted(fields, key=lambda each: each.name)
    return json.dumps([_written(each) for each in ordered], separators=(",", ":"))


def read_schema_text(text: str) -> Schema:
    """Return the columns in the result of `schema_text`, by name; none for "".

    >>> read_schema_text('[{"name":"a","type":"int","mode":"REQUIRED"}]').columns
    (Column(name='a', type='int', nullable=False, comment=''),)
    """
    said = json.loads(text) if text else []
    columns = (Column(c["name"], c["type"], c["mode"] != "REQUIRED") for c in said)
    return Schema(tuple(columns))


def _written(each: SchemaField) -> dict[str, object]:
    mode = "REQUIRED" if each.mode == "REQUIRED" else "NULLABLE"
    said: dict[str, object] = {"name": each.name, "type": str(each.type), "mode": mode}
    return {**said, "fields": [_written(inner) for inner in each.fields]} if each.fields else said


def _replaced(section: SchemaChangeSection, fields: Fields, label: str) -> Fields:
    """Remove fields and change others; a missing one is a finding."""

    def changed(item: YamlNode, old: SchemaField) -> Fields:
        inner = read_section(FieldSection, item, "schema.modify", section.findings, _CHANGED)
        return (_changed_field(inner, old, label),)

    parts = (("remove", section.remove, lambda *_: ()), ("modify", section.modify, changed))
    for word, items, put in parts:
        for item in items:
            name = _name_of(item)
            where = item.members["name"].node.where if "name" in item.members else item.where
            found = _at(fields, name, partial(put, item))
            if found is not None:
                fields = found
            elif name:
                sentence, near = f'{label}: {word} names "{name}"', nearest(name, _names(fields))
                section.findings.append(Finding(where, "unknown-field", sentence, near))
            else:
                sentence = f"schema.{word} needs the name of a field"
                section.findings.append(Finding(where, "bad-value", sentence))
    return fields


def _added(section: SchemaChangeSection, fields: Fields, label: str) -> Fields:
    new = _read_fields(section.add, label, section.findings)
    for each in (each for each in new if find_field(fields, each.name)):
        sentence = f'{label}: add names "{each.name}", which is there already'
        hint = "change it under modify:"
        section.findings.append(Finding(each.where, "duplicate-field", sentence, hint))
    return (*fields, *(each for each in new if not find_field(fields, each.name)))


def _at(fields: Fields, dotted: str, put: Callable[[SchemaField], Fields]) -> Fields | None:
    """Replace a field by others; return None if it is missing."""
    first, _, rest = dotted.partition(".")
    old = find_field(fields, first)
    if old is None:
        return None
    inner = _at(old.fields, rest, put) if rest else ()
    if inner is None:
        return None
    at = fields.index(old)
    new = (replace(old, fields=inner),) if rest else put(old)
    return (*fields[:at], *new, *fields[at + 1 :])


def _names(fields: Fields, above: str = "") -> list[str]:
    names = [f"{above}{each.name}" for each in fields]
    return names + [n for each in fields for n in _names(each.fields, f"{above}{each.name}.")]
