"""Settings for reading records and for change events, read and checked against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.core.entities.entity import Bronze, FieldRole, ProcessType, Slices, WholeTable
from penstock.core.entities.reading import BadRecords, BronzeFormat, Events, Reading
from penstock.project.entities.columns import Expressions, ReadColumns, facts_under, final_name
from penstock.project.entities.parts import Findings, word_of
from penstock.project.entities.settings import MergedSettings, distance
from penstock.project.files.nodes import YamlNode
from penstock.project.files.values import text_of

OF_FILES = ("bronze_format", "options", "infer", "rescued", "bad_records")
_INSTEAD = {
    "mode": "write bad_records",
    "columnnameofcorruptrecord": "write bad_records",
    "badrecordspath": "write bad_records: quarantine",
    "rescueddatacolumn": "write rescued",
    "inferschema": "write infer: true",
    "enforceschema": "columns are found by their names",
    "singlevariantcolumn": "name the columns",
    "basepath": "the bronze folder is the base",
    "pathglobfilter": "write slice_pattern",
    "recursivefilelookup": "write slice_pattern",
}
"""Options of Spark that settings of an entity decide."""
_OPTIONS = """
sep delimiter encoding charset quote escape comment header multiLine lineSep nullValue emptyValue
nanValue positiveInf negativeInf dateFormat timestampFormat timestampNTZFormat locale
ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace maxColumns maxCharsPerColumn
charToEscapeQuoteEscaping unescapedQuoteHandling samplingRatio mergeSchema rowTag attributePrefix
valueTag excludeAttribute ignoreNamespace wildcardColName rowValidationXSDPath wholetext
allowComments allowUnquotedFieldNames allowSingleQuotes allowNumericLeadingZeros
allowBackslashEscapingAnyCharacter allowUnquotedControlChars allowNonNumericNumbers
primitivesAsString prefersDecimal dropFieldIfAllNull timeZone avroSchema datetimeRebaseMode
int96RebaseMode ignoreSurroundingSpaces modifiedBefore modifiedAfter
"""
_NEAR = 2


def format_of(settings: MergedSettings) -> BronzeFormat:
    """Return the format of bronze files."""
    return word_of(BronzeFormat, settings.text("bronze_format").lower(), BronzeFormat.PARQUET)


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """Reads these settings of one entity; `whole` is the place of the entity."""

    settings: MergedSettings
    columns: ReadColumns
    process: ProcessType
    bronze: Bronze | None
    findings: Findings
    whole: YamlNode

    def reading(self) -> Reading:
        """Return how records become rows."""
        settings, plain = self.settings, self.settings.plain
        kind = format_of(settings)
        options = self._options()
        found = Reading(
            kind,
            options,
            infer=plain.get("infer") is True and not kind.is_typed,
            rescued=settings.text("rescued"),
            bad_records=word_of(BadRecords, settings.text("bad_records").lower(), BadRecords.FAIL),
        )
        self._check_schema(found)
        self._check_effect(kind)
        if found.rescued and (other := self.columns.by_name.get(found.rescued.lower())):
            sentence = f'"{found.rescued}" is the rescued column and a column, at {other.where}'
            self.findings.report(
                self._part("rescued"), "duplicate-column", sentence, "give rescued another name"
            )
        return found

    def _options(self) -> Mapping[str, str]:
        node, found = self.settings.parts.get("options"), {}
        if node is None:
            return {}
        known = {word.lower(): word for word in _OPTIONS.split()}
        for key, value in self.settings.plain["options"].items():  # type: ignore[union-attr]
            part = node.members.get(key, node)
            if isinstance(value, Mapping | tuple | list) or value is None:
                self.findings.bad(part, "write a text, a number, true or false")
            elif key.lower() in _INSTEAD:
                sentence = f"options has {key}, which another setting decides"
                self.findings.report(part, "option-conflict", sentence, _INSTEAD[key.lower()])
            else:
                self._warn_of_near(part, key, known)
                found[key] = text_of(value)
        return found

    def _warn_of_near(self, part: YamlNode, key: str, options: Mapping[str, str]) -> None:
        near = (word for word in options if key.lower() not in options)
        close = next((word for word in near if distance(key.lower(), word) <= _NEAR), "")
        if close:
            sentence = f"{key!r} is not an option that Spark is known to have"
            hint = f"did you mean {options[close]!r}?"
            self.findings.warn(part, "unknown-setting", sentence, hint)

    def _check_schema(self, reading: Reading) -> None:
        """Report records whose columns nothing names."""
        kind = reading.format
        given = any(not column.is_calculated for column in self.columns.columns)
        needs = kind.names_columns or (kind is BronzeFormat.CSV and not reading.has_header)
        if needs and not given and not reading.infer:
            sentence = f"{kind} needs columns, and there are none"
            hint = "name what to read under columns, or write infer: true"
            hint += ", or options: {header: true}" if kind is BronzeFormat.CSV else ""
            self.findings.report(self._part("bronze_format"), "missing-key", sentence, hint)
        if kind is BronzeFormat.XML and "rowtag" not in {key.lower() for key in reading.options}:
            hint = "name the element of one record: options: {rowTag: order}"
            self.findings.report(
                self._part("bronze_format"), "missing-key", "xml needs the option rowTag", hint
            )

    def _check_effect(self, kind: BronzeFormat) -> None:
        for key in OF_FILES:
            if key not in self.settings.own or key not in self.settings.parts:
                continue
            if isinstance(self.bronze, WholeTable) and key in ("bronze_format", "options", "infer"):
                why = "a table has its own format"
            elif key == "infer" and kind.is_typed:
                why = f"{kind} files contain their types"
            else:
                continue
            sentence = f"{key} has no effect: {why}"
            self.findings.warn(self.settings.parts[key], "option-without-effect", sentence)

    def events(self, expressions: Expressions) -> Events:
        """Return which rows are events, and how they are ordered."""
        parts, is_historic = self.settings.parts, self.process is ProcessType.HISTORIC
        names = [
            final_name(part, str(part.value), self.columns.columns, self.findings)
            for part in self._names()
        ]
        valid = parts.get("valid_from") if is_historic else None
        start = (
            final_name(valid, str(valid.value), self.columns.columns, self.findings)
            if valid is not None
            else ""
        )
        feeds = self.settings.plain.get("change_feed") is True
        found = Events(
            tuple(dict.fromkeys(names)) or ((start,) if start and not feeds else ()),
            self._condition("delete_when", expressions),
            self._condition("ignore_when", expressions),
            start,
            feeds,
            next((parts[key].where for key in _OF_EVENTS if key in parts), self.whole.where),
        )
        self._check_events(found)
        return found

    def _names(self) -> Iterator[YamlNode]:
        part = self.settings.parts.get("sequence_by")
        for item in () if part is None else (part.items or (part,)):
            if isinstance(item.value, str) and item.value:
                yield item
            else:
                self.findings.bad(item, "write the name of a column, or a list of names")

    def _condition(self, key: str, expressions: Expressions) -> str:
        part = self.settings.parts.get(key)
        facts = None if part is None else facts_under(part, expressions, self.findings)
        if part is None or facts is None:
            return ""
        if facts.volatile:
            calls = " and ".join(f"{word}()" for word in facts.volatile)
            sentence = f'"{part.value}" uses {calls}: it differs on every reading'
            self.findings.report(part, "bad-expression", sentence, "choose by what the row holds")
        return facts.text

    def _check_events(self, events: Events) -> None:
        key = next((key for key in _OF_EVENTS if key in self.settings.parts), "")
        has_key = any(FieldRole.BUSINESS_KEY in c.roles for c in self.columns.columns)
        if events.is_ordered and not has_key and self.process is ProcessType.FULL:
            sentence = "events of a key are ordered, and there is no business key"
            self.findings.report(
                self._part(key), "no-business-key", sentence, 'name one: "fieldroles"'
            )
        if events.is_ordered and self.settings.plain.get("delete_missing") is True:
            sentence = "delete_missing does not go with events: a slice of changes lacks rows"
            self.findings.report(
                self._part(key),
                "option-conflict",
                sentence,
                "tell what is deleted with delete_when",
            )
        if events.change_feed and isinstance(self.bronze, Slices):
            sentence = "change_feed reads a Delta table, and bronze is read slice by slice"
            hint = "set bronze_table, or bronze_read: whole (read: whole in a native file)"
            self.findings.report(self._part("change_feed"), "option-conflict", sentence, hint)
        if events.change_feed and self.process is ProcessType.FULL:
            sentence = "full would replace the table by the changed rows alone"
            self.findings.report(
                self._part("change_feed"), "option-conflict", sentence, "write merge or historic"
            )
        ordering = {name.lower() for name in (*events.sequence_by, events.valid_from)}
        for column in self.columns.columns:
            if column.volatile and column.final_name.lower() in ordering:
                sentence = f'"{column.final_name}" orders events and differs on every run'
                hint = f"make it of the row alone, without {' and '.join(column.volatile)}"
                self.findings.report(self._part(key), "volatile-key", sentence, hint)

    def _part(self, key: str) -> YamlNode:
        return self.settings.parts.get(key, self.whole)


_OF_EVENTS = ("sequence_by", "valid_from", "change_feed", "delete_when", "ignore_when")
