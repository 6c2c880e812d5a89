"""Settings of connections and entities: merged, typed, and those without effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.core.entities.entity import (
    Bronze,
    EntitySettings,
    HashKind,
    LastSeen,
    ProcessType,
    WholeFolder,
    WholeTable,
)
from penstock.core.entities.slices import DATE_PARTS, Ordering, SliceOrder
from penstock.core.history import Retention
from penstock.core.strategy import DELETION_VECTORS, OnSchemaChange
from penstock.project.entities.parts import Findings, word_of
from penstock.project.entities.sections import RetentionSection, SettingsSection
from penstock.project.files.nodes import YamlNode
from penstock.project.files.sections import read_key
from penstock.project.files.values import (
    Plain,
    did_you_mean,
    mapping_of,
    number_of,
    pairs_of,
    text_of,
)

LAYERS = ("bronze", "silver")
OF_SLICES = ("slice_pattern", "order", "order_pattern")
PLACES = (
    *("bronze_table", "silver_table", "bronze_path", "silver_path", "output_method"),
    *("bronze_output", "silver_output", "bronze_read", *OF_SLICES),
)
"""The settings for the places of layers and for reading bronze."""
_RETENTION = tuple(RetentionSection.declared)
_NEAR = 2


@dataclass(frozen=True, slots=True)
class MergedSettings:
    """Merged settings of a connection and an entity, with the part that defines each.

    `plain` holds only valid values; `own` are the keys of the entity itself.
    """

    plain: Mapping[str, Plain] = field(default_factory=dict)
    parts: Mapping[str, YamlNode] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    def text(self, key: str) -> str:
        """Return a setting as text, "" if it is not set."""
        return text_of(self.plain.get(key))

    def ordering(self, findings: Findings) -> Ordering:
        """Return the order of slices."""
        return ordering_of(self.parts, findings)

    @property
    def names(self) -> dict[str, str]:
        """Return the values for templates: every scalar."""
        scalars = ((k, v) for k, v in self.plain.items() if isinstance(v, str | bool | int | float))
        return {f"settings_{key}": text_of(value) for key, value in scalars}


def merged(lower: Mapping[str, Plain], upper: Mapping[str, Plain]) -> dict[str, Plain]:
    """Merge settings: maps by key, other values are replaced, null removes a key.

    >>> merged({"a": 1, "o": {"x": 1, "y": 2}}, {"o": {"y": 9}, "a": None})
    {'o': {'x': 1, 'y': 9}}
    """
    result: dict[str, Plain] = {k: v for k, v in lower.items() if v is not None}
    for key, value in upper.items():
        if isinstance(value, Mapping):
            result[key] = merged(mapping_of(result.get(key)), value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


def ordering_of(parts: Mapping[str, YamlNode], findings: Findings) -> Ordering:
    """Read `order` and `order_pattern`, whose words were checked before."""
    order, pattern = (parts.get(key) for key in ("order", "order_pattern"))
    by = word_of(SliceOrder, text_of(order.plain).lower() if order else "", SliceOrder.NAME)
    written = text_of(pattern.plain) if pattern else ""
    if by is SliceOrder.FROM_NAME and order is not None and not written:
        hint = r"the place of the date or number in a name: order_pattern: '(\d{4})-(\d\d)'"
        findings.report(order, "missing-key", "from_name needs order_pattern", hint)
    if by is not SliceOrder.FROM_NAME and pattern is not None:
        hint = "write order: from_name, or delete order_pattern"
        sentence = f"order_pattern has no effect: the order is {by}"
        findings.warn(pattern, "option-without-effect", sentence, hint)
        written = ""
    return Ordering(by, written, is_chosen=order is not None)


def check_order_pattern(part: YamlNode, findings: Findings) -> None:
    """Report a regular expression without a number."""
    try:
        groups = re.compile(text_of(part.plain))
    except re.error as error:
        findings.bad(part, f"write a regular expression: {error}")
        return
    unknown = next((each for each in groups.groupindex if each not in DATE_PARTS), None)
    if unknown is not None:
        findings.bad(part, did_you_mean(unknown, DATE_PARTS) or f"one of {', '.join(DATE_PARTS)}")
    elif not groups.groups:
        findings.bad(part, "put what is compared in parentheses")
    elif groups.groupindex and len(groups.groupindex) < groups.groups:
        findings.bad(part, "name all groups or none")


def checked(part: YamlNode | None, findings: Findings) -> dict[str, YamlNode]:
    """Check the settings of one level; return the valid ones."""
    if part is None:
        return {}
    section = SettingsSection(part, "", findings, part.members)
    if not isinstance(part.value, Mapping):
        findings.bad(part, "write a mapping")
    fitting = dict(section.members)
    for key in section.members:
        before = len(findings)
        _check(section, key)
        if any(finding.is_error for finding in findings[before:]):
            fitting.pop(key)
    for layer in LAYERS:
        places = [fitting.get(f"{layer}_{what}") for what in ("table", "path")]
        both = [each for each in places if each is not None and not each.is_absent]
        if len(both) > 1:
            sentence = f"{layer}_table and {layer}_path both say where {layer} is"
            findings.report(both[1], "option-conflict", sentence, "keep one of them")
            fitting.pop(f"{layer}_path")
    return fitting


def _check(section: SettingsSection, key: str) -> None:
    if key not in section.declared:
        _warn_of_near(section.members[key], key, section.findings)
        return
    if section.find(key) is None:
        return
    found = read_key(section, key, section.declared[key])
    if key == "order_pattern" and found:
        check_order_pattern(section.members[key], section.findings)
    if key == "table_properties":
        for part in found.members.values() if found else ():
            if isinstance(part.value, Mapping | tuple):
                section.findings.bad(part, "write a text")


def _warn_of_near(part: YamlNode, key: str, findings: Findings) -> None:
    """Warn of a key that looks like a misspelled known one."""
    near = next(
        (known for known in sorted(SettingsSection.declared) if distance(key, known) <= _NEAR), ""
    )
    if near:
        sentence = f"{key!r} is not a setting that penstock knows"
        findings.warn(part, "unknown-setting", sentence, f"did you mean {near!r}?")


def settings_under(
    connection: Mapping[str, YamlNode], entity: Mapping[str, YamlNode]
) -> MergedSettings:
    """Merge two levels; an entity replaces the place of a layer as a whole."""
    lower = dict(connection)
    for layer in LAYERS:
        keys = {f"{layer}_table", f"{layer}_path"}
        if any(key in entity and not entity[key].is_absent for key in keys):
            lower = {key: part for key, part in lower.items() if key not in keys}
    plain = merged(_plain(lower), _plain(entity))
    parts = {key: part for key, part in {**lower, **entity}.items() if key in plain}
    return MergedSettings(plain, parts, frozenset(entity))


def _plain(parts: Mapping[str, YamlNode]) -> dict[str, Plain]:
    return {key: part.plain for key, part in parts.items()}


def entity_settings(merged_settings: MergedSettings) -> EntitySettings:
    """Return the settings that entities know."""
    plain, text = merged_settings.plain, merged_settings.text
    said = mapping_of(plain.get("retention"))
    last, days = (number_of(said.get(key)) for key in _RETENTION)
    usual = EntitySettings()
    return EntitySettings(
        delete_missing=plain.get("delete_missing") is True,
        allow_empty=plain.get("allow_empty") is True,
        allow_empty_delete=plain.get("allow_empty_delete") is True,
        require_success=plain.get("require_success") is True,
        hash=word_of(HashKind, text("hash").lower(), usual.hash),
        last_seen=word_of(LastSeen, text("last_seen").lower(), usual.last_seen),
        on_schema_change=word_of(
            OnSchemaChange, text("on_schema_change").lower(), usual.on_schema_change
        ),
        table_properties=pairs_of(plain.get("table_properties")) | _vectors(plain),
        layout=text("layout").lower(),
        retention=Retention(last, days) if said else None,
    )


def _vectors(plain: Mapping[str, Plain]) -> dict[str, str]:
    """Return the table property for one of our switches, if it is given."""
    said = plain.get("deletion_vectors")
    return {} if said is None else {DELETION_VECTORS: str(said).lower()}


def idle(
    process: ProcessType, bronze: Bronze | None, own: Iterable[str]
) -> Iterable[tuple[str, str]]:
    """Return settings of the entity that its process or bronze does not use, and why."""
    is_whole = isinstance(bronze, WholeFolder | WholeTable)
    rules = (
        ("last_seen", process is not ProcessType.MERGE, "rows are seen again by merge alone"),
        ("layout", process is not ProcessType.HISTORIC, "only history tables have one"),
        ("retention", process is not ProcessType.HISTORIC, "only history tables have one"),
        ("require_success", is_whole, "bronze is read whole"),
        ("allow_empty", process is not ProcessType.FULL, "only full replaces a table"),
        ("allow_empty_delete", process is ProcessType.FULL, "full never infers deletes"),
        ("valid_from", process is not ProcessType.HISTORIC, "only versions have a time"),
    )
    return ((key, why) for key, is_idle, why in rules if is_idle and key in own)


def distance(one: str, other: str) -> int:
    """Return the edit distance of two words.

    >>> distance("delete_mising", "delete_missing"), distance("hash", "last")
    (1, 2)
    """
    before: list[int] = [*range(len(other) + 1)]
    for row, letter in enumerate(one, start=1):
        current: list[int] = [row]
        for column, second in enumerate(other, start=1):
            change = before[column - 1] + (letter != second)
            current.append(min(before[column] + 1, current[-1] + 1, change))
        before = current
    return before[-1]
