"""The schema of a version: a list of fields, another version's, or one with changes (§1.4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.columns.schema import Column, Schema
from penstock.core.findings import Finding, Location
from penstock.project.files.nodes import (
    Broken,
    Keys,
    Section,
    VersionReference,
    YamlNode,
    open_section,
    shown,
    walk,
)
from penstock.project.files.values import nearest
from penstock.project.versioned.fields import (
    SchemaField,
    changed_field,
    find_field,
    name_of,
    read_fields,
)

_DELTA = Keys(("base", "remove", "modify", "add"), ("base",))
Fields = tuple[SchemaField, ...]


def follow_version(
    reference: VersionReference,
    where: Location,
    chain: tuple[int, ...],
    *,
    field: str,
    numbers: Sequence[int],
    findings: list[Finding],
) -> int | None:
    """Give the version that a reference under the key `field` means; None beside a finding."""
    number = int(reference.version) if reference.version.isdecimal() else -1
    if reference.field != field:
        code, sentence = "reference-wrong-field", f"{reference} stands under {field}"
        hint = f"write ${{{{ versions.{reference.version}.{field} }}}}"
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
    """The schemas of one file's versions, each read once. None stands for one that is broken."""

    written: Mapping[int, YamlNode]
    findings: list[Finding]
    read: dict[int, Fields | None] = field(default_factory=dict)

    def of(self, number: int, chain: tuple[int, ...] = ()) -> Fields | None:
        """Give the fields of a version."""
        if number not in self.read:
            node = self.written[number]
            self.read[number] = self._read(node, f"v{number}", (*chain, number))
        return self.read[number]

    def _read(self, node: YamlNode, label: str, chain: tuple[int, ...]) -> Fields | None:
        value = node.value
        if isinstance(value, VersionReference):
            known = tuple(self.written)
            number = follow_version(
                value, node.where, chain, field="schema", numbers=known, findings=self.findings
            )
            return None if number is None else self.of(number, chain)
        if isinstance(value, tuple):
            before = len(self.findings)
            found = read_fields(node, label, self.findings)
            broken = any(isinstance(each.value, Broken) for _, each in walk(node))
            return found if len(self.findings) == before and not broken else None
        if isinstance(value, Mapping):
            return self._changed(node, label, chain)
        if not isinstance(value, Broken):
            expected = "it must be a list of fields, a reference, or base with changes"
            sentence = f"schema is {shown('schema', value)}; {expected}"
            self.findings.append(Finding(node.where, "bad-value", sentence))
        return None

    def _changed(self, node: YamlNode, label: str, chain: tuple[int, ...]) -> Fields | None:
        before = len(self.findings)
        section = open_section(node, _DELTA, "schema", self.findings)
        base = section.find("base")
        fields = self._read(base, label, chain) if base is not None else None
        for key in ("remove", "modify", "add"):
            part = section.find(key)
            if part is not None and not isinstance(part.value, tuple):
                section.bad(key, "a list of fields" if key != "remove" else "a list of names")
        if fields is None:
            return None
        fields = _removed(section, fields, label)
        fields = _modified(section, fields, label)
        fields = _added(section, fields, label)
        return fields if len(self.findings) == before else None


def schema_of(fields: Iterable[SchemaField]) -> Schema:
    """Give the fields as columns."""
    return Schema(tuple(each.column for each in fields))


def schema_text(fields: Sequence[SchemaField]) -> str:
    """Give what the checksum of a schema is taken of; "" where nothing is declared."""
    if not fields:
        return ""
    ordered = sorted(fields, key=lambda each: each.name)
    return json.dumps([_written(each) for each in ordered], separators=(",", ":"))


def read_schema_text(text: str) -> Schema:
    """Give the columns of what `schema_text` wrote, by name; none for "".

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


def _removed(section: Section, fields: Fields, label: str) -> Fields:
    for item in _items(section, "remove"):
        found = _replaced(fields, name_of(item), None)
        if found is None:
            section.findings.append(_unknown("remove", item, fields, label))
        else:
            fields = found
    return fields


def _modified(section: Section, fields: Fields, label: str) -> Fields:
    for item in _items(section, "modify"):
        name = name_of(item)
        old = _at(fields, name)
        if old is None:
            section.findings.append(_unknown("modify", item, fields, label))
        else:
            new = changed_field(item, old, label, section.findings)
            fields = _replaced(fields, name, new) or fields
    return fields


def _added(section: Section, fields: Fields, label: str) -> Fields:
    part = section.find("add")
    new = read_fields(part, label, section.findings) if part is not None else ()
    for each in new:
        if find_field(fields, each.name):
            sentence = f'{label}: add names "{each.name}", which is there already'
            hint = "change it under modify:"
            section.findings.append(Finding(each.where, "duplicate-field", sentence, hint))
        else:
            fields = (*fields, each)
    return fields


def _items(section: Section, key: str) -> tuple[YamlNode, ...]:
    part = section.find(key)
    return part.items if part is not None else ()


def _at(fields: Fields, dotted: str) -> SchemaField | None:
    first, _, rest = dotted.partition(".")
    found = find_field(fields, first)
    return _at(found.fields, rest) if found and rest else found


def _replaced(fields: Fields, dotted: str, new: SchemaField | None) -> Fields | None:
    """Put a field in the place of one, or take it out; None where there is none."""
    first, _, rest = dotted.partition(".")
    old = find_field(fields, first)
    if old is None:
        return None
    put: Fields = () if new is None else (new,)
    if rest:
        inner = _replaced(old.fields, rest, new)
        if inner is None:
            return None
        put = (replace(old, fields=inner),)
    at = fields.index(old)
    return (*fields[:at], *put, *fields[at + 1 :])


def _unknown(word: str, item: YamlNode, fields: Fields, label: str) -> Finding:
    name = name_of(item)
    member = item.members.get("name")
    where: Location = member.node.where if member else item.where
    if not name:
        return Finding(where, "bad-value", f"schema.{word} needs the name of a field")
    sentence = f'{label}: {word} names "{name}"'
    return Finding(where, "unknown-field", sentence, nearest(name, _names(fields)))


def _names(fields: Fields, above: str = "") -> list[str]:
    names = [f"{above}{each.name}" for each in fields]
    return names + [n for each in fields for n in _names(each.fields, f"{above}{each.name}.")]
