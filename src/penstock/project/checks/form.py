"""One check while it is read: its keys, and their values in the place of the check."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar

from penstock.core.checks.check import Phase
from penstock.core.checks.check_type import CheckKey, CheckType, Condition, KeyKind
from penstock.core.columns.types import is_text
from penstock.core.findings import Finding, Location, Severity
from penstock.core.names import InputKind, InputName
from penstock.core.query import Query
from penstock.project.checks.kept import condition_of, linked_query, query_of
from penstock.project.checks.phases import TEST, unknown_test
from penstock.project.checks.scene import UNKNOWN, ConditionKind, KnownColumns, Scene
from penstock.project.files import parsed
from penstock.project.files.kinds import DURATION, FLAG, POSITIVE, whole, word
from penstock.project.files.nodes import TemplateText, YamlNode
from penstock.project.files.parsed import ReadText
from penstock.project.files.references import SqlText, TextFiles, sql_under
from penstock.project.files.values import text_of
from penstock.project.settings.check_keys import CheckSection, column_types
from penstock.project.sql.names import QueryOwner, input_named
from penstock.project.unit_tests.casting import CellError, scalar

T = TypeVar("T")
Scalar = str | int | float | bool
Place = Decimal | dt.date | dt.datetime | str
"""A value by which bounds are compared."""

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double", "decimal")
TIMES = ("date", "timestamp", "timestamp_ntz")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))?\s*(Z|[+-]\d\d:?\d\d)?"
)
_FOLDED = re.compile(r"[^#]*:\s+>[-+0-9]*\s*(#.*)?")
_HUNDRED = Decimal(100)
_BOUNDS = ("min", "max")


def bound_text(value: Scalar, kind: str) -> str | None:
    """Return the text of a value of a column, None if its type cannot hold it exactly.

    `kind` is the column's Spark type, "" if unknown. A value that YAML reads as a number or a
    boolean is not accepted as text: `007` has already become 7.

    >>> bound_text(1.5, "bigint"), bound_text(5.0, "bigint"), bound_text(0.1, "decimal(3,1)")
    (None, '5', '0.1')
    >>> bound_text(7, "string"), bound_text("007", "string"), bound_text(1e20, "")
    (None, '007', '100000000000000000000')
    """
    text, number = text_of(value), number_of(value)
    if is_text(kind):
        return value if isinstance(value, str) else None
    if kind == "boolean":
        return text.lower() if text.lower() in ("true", "false") else None
    if kind in TIMES:
        return text if place_of(value, kind) else None
    if not (_is_number(kind) or isinstance(value, float)):
        return text
    if number is None:
        return None
    with suppress(CellError):
        held = scalar(str(number), kind) if kind else number
        return str(held) if kind in _INTEGERS else format(number, "f")
    return None


def _is_number(kind: str) -> bool:
    return kind.partition("(")[0] in _NUMBERS


def place_of(value: Scalar, kind: str) -> Place | None:
    """Return the value by which a bound is compared; None if unknown.

    >>> place_of("2024-12-02", "date") < place_of("2024-12-10", "date")
    True
    """
    text = text_of(value)
    if _is_number(kind):
        return number_of(value)
    if kind and kind not in TIMES:
        return text if is_text(kind) else None
    if not kind and isinstance(value, int | float):
        return number_of(value)
    try:
        if kind == "date":
            return dt.date.fromisoformat(text) if _DATE.fullmatch(text) else None
        found = TIMESTAMP.fullmatch(text)
        if found is None or (found[3] and kind == "timestamp_ntz"):
            return None
        # without an offset it is UTC
        return dt.datetime.fromisoformat(f"{found[1]}T{found[2] or '00:00'}{found[3] or 'Z'}")
    except ValueError:
        return None


def number_of(value: Scalar) -> Decimal | None:
    """Return a finite number exactly as written.

    >>> number_of(33.33), number_of("abc")
    (Decimal('33.33'), None)
    """
    if isinstance(value, bool):
        return None
    try:
        found = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _as_written(text: SqlText, files: TextFiles) -> str:
    if text.file or not text.path.endswith((".yml", ".yaml")):
        return ""
    lines = files.data(text.path).decode("utf-8", "replace").splitlines()
    if not _FOLDED.fullmatch(lines[text.line - 2] if 2 <= text.line <= len(lines) else ""):  # noqa: PLR2004  the line before
        return ""
    block = lines[text.line - 1 :]
    first = next((line for line in block if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join(takewhile(lambda line: not line.strip() or line.startswith(indent), block))


@dataclass(slots=True)
class Form:
    """The keys of a check; `columns` are those of the rows that it reads."""

    section: CheckSection
    phase: Phase
    scene: Scene
    columns: KnownColumns = UNKNOWN
    column: str = ""
    """Its one column, once it is read."""
    others: KnownColumns = UNKNOWN
    """The columns of the table that it names, once it is read."""

    def rule(self, kind: type[CheckType]) -> CheckType | None:
        """Read the keys of its type; None if a required one is missing or invalid."""
        values: dict[str, Any] = {}
        read: dict[str, Any] = {}
        for field, key in kind.own_keys():
            value = _READERS[key.kind](self, key)
            if key.text_field:
                value, values[key.text_field] = value or (None, "")
            read[key.name] = value
            if key.unset is not None or value not in (None, "", ()):
                values[field] = key.default if value is None else value
        for key in (key for _, key in kind.own_keys() if key.name == "min"):
            self._check_bounds(key.kind is KeyKind.COUNT, read)
        values = kind.settle(self.section, values)
        is_whole = all(key.unset is not None or field in values for field, key in kind.own_keys())
        return kind(**values) if is_whole else None

    def read_column(self, key: str) -> str:
        """Return the name of its one column."""
        self.column = self.section.text(key)
        if self.column:
            self._check_column(self.column, self.section.place(key), self.columns)
        return self.column

    def time_column(self, key: str) -> str:
        """Return the name of a column that must have dates or timestamps."""
        kind = self.columns.type_of(name := self.read_column(key))
        if kind and kind not in TIMES:
            needs = f"{self.section.rule.name} needs DATE, TIMESTAMP or TIMESTAMP_NTZ"
            sentence, hint = f"{needs}; {name!r} is {kind.upper()}", "name the column of a time"
            self.section.report(key, "wrong-column-type", sentence, hint)
        return name

    def column_names(self, key: str, columns: KnownColumns) -> tuple[str, ...]:
        """Return one or more of some columns, without duplicates."""
        names: list[str] = []
        for item in self.section.texts(key):
            name = str(item.value)
            self._check_column(name, item.where, columns)
            if name.lower() in {each.lower() for each in names}:
                sentence = f"column {name!r} is there twice"
                self._note(item.where, "bad-value", sentence, "keep one of them")
            names.append(name)
        node = self.section.find(key)
        if node is not None and node.value == ():
            self.section.report(
                key, "bad-value", f"{key} is an empty list", "name one column or more"
            )
        return tuple(names)

    def percent(self, key: str, most: Decimal | None = _HUNDRED) -> Decimal | None:
        """Return a percentage from 0 up."""
        node = self.section.find(key)
        if node is None:
            return None
        value = node.value
        number = number_of(value) if isinstance(value, str | int | float) else None
        if number is None:
            self.section.bad(key, "a percentage")
        elif number < 0 or (most is not None and number > most):
            hint = "0 or more" if most is None else f"0 to {most}"
            sentence = f"{key} {value} is not a percentage"
            self.section.report(key, "percent-out-of-range", sentence, hint)
            number = None
        return number

    def choice(self, key: str, words: tuple[str, ...]) -> bool:
        """Return whether a key has the second of two words."""
        return self.section.read(key, word(words)) == words[1]

    def age(self, key: str) -> tuple[dt.timedelta, str] | None:
        """Return a duration, and its text."""
        age = self.section.read(key, DURATION)
        return (age, self.section.text(key).strip()) if age else None

    def _check_bounds(self, are_counts: bool, read: Mapping[str, Any]) -> None:  # noqa: FBT001
        """Report bounds that no number can satisfy."""
        values = [getattr(self.section.find(key), "value", None) for key in _BOUNDS]
        if values == [None, None]:
            hint = "give min, max or both"
            self.section.report("type", "missing-bounds", "none of min, max is given", hint)
        kind = "bigint" if are_counts else self.columns.type_of(self.column)
        fits = [not are_counts or read[key] is not None for key in _BOUNDS]
        low, high = (
            place_of(value, kind) if fit and isinstance(value, Scalar) else None
            for fit, value in zip(fits, values, strict=True)
        )
        if low is None or type(low) is not type(high):  # what cannot be compared is in order
            return
        (least, most), strict = map(str, values), read.get("strict")
        if low > high:  # type: ignore[operator]  # of one type
            sentence = f"min {least} is above max {most}"
            self.section.report("min", "min-above-max", sentence, "exchange them")
        elif strict and low == high:
            sentence = f"min and max are both {least}, and strict leaves both out"
            hint = "take strict out, or widen the bounds"
            self.section.report("min", "min-above-max", sentence, hint)

    def values(self, key: str) -> tuple[str, ...]:
        """Return a list of values as texts in the type of its column, without duplicates."""
        node = self.section.find(key)
        if node is None:
            return ()
        if not isinstance(node.value, tuple):
            self.section.bad(key, "a list of values")
            return ()
        if not node.items:
            sentence = f"{key} is an empty list, which no value is in"
            self.section.report(key, "empty-values", sentence, "list the values")
        texts = [self.value(item, key) for item in node.items]
        return tuple(dict.fromkeys(text for text in texts if text is not None))

    def value(self, node: YamlNode | None, key: str) -> str | None:
        """Return a value as text in the type of its column; None if absent, or with a finding."""
        if node is None:
            return None
        value, kind = node.value, self.columns.type_of(self.column)
        if not isinstance(value, str | int | float):
            self._note(node.where, "bad-value", f"{key} must be a number, a date or a text")
            return None
        text = bound_text(value, kind)
        if text is None:
            word = f"value of {kind.upper()}" if kind else "finite number"
            hint = f"the column is {kind.upper()}" if kind else ""
            hint = "quote it" if is_text(kind) else hint
            self._note(node.where, "bad-bound", f"{key} {text_of(value)} is not a {word}", hint)
        return text

    def query(self, key: str) -> tuple[Query | None, str]:
        """Return the query of a key, and its file, "" for inline SQL."""
        scene, node = self.scene, self.section.find(key)
        if node is not None and isinstance(node.value, TemplateText):
            return self._rendered(node.value, node.where)
        text = sql_under(self.section, key, scene.files, f"{key} is empty")
        if text is None:
            return None, ""
        read = partial(
            query_of,
            reader=QueryOwner(text.path, scene.model),
            resolver=scene.resolver,
            allowed=scene.allowed,
            cache=scene.cache,
        )
        column = 0 if text.file else self.section.place(key).column
        return self._understood(text, column, read), text.file

    def _rendered(self, text: TemplateText, where: Location) -> tuple[Query | None, str]:
        """Return the query of a template, and its file; "" for the call of a parametrised test."""
        scene, known = self.scene, self.scene.files.known_tests()
        if text.test and text.test not in known:
            named = [name for name, macro in known.items() if macro.startswith(TEST)]
            sentence, hint = unknown_test(text.test, named)
            self._note(where, "unknown-check-type", sentence, hint)
            return None, ""
        file = scene.files.check_template(where.path, text, where.line)
        owner = QueryOwner(where.path, scene.model)
        found = linked_query(file, owner, scene.resolver, scene.allowed)
        self.section.findings += found.problems
        if text.test and file.config:
            sentence = f"the settings that {text.test} gives itself with config have no effect"
            hint = "write them under config where the test is used"
            code, warning = "option-without-effect", Severity.WARNING
            self.section.findings.append(Finding(where, code, sentence, hint, warning))
        return found.value, "" if text.test else where.path

    def condition(self, key: str, kind: ConditionKind = ConditionKind.CHECK) -> Condition | None:
        """Return a condition; in a column check `{column}` stands for its column."""
        node = self.section.find(key)
        if node is None:
            return None
        if not isinstance(node.value, str) or not node.value.strip():
            self.section.bad(key, "a condition, such as amount >= 0")
            return None
        read = partial(
            condition_of,
            kind=kind,
            column=self.column if kind is ConditionKind.CHECK else "",
            allowed=self.scene.allowed,
            columns=self.columns,
            cache=self.scene.cache,
        )
        where = node.where
        return self._understood(SqlText(node.value, where.path, where.line), where.column, read)

    def table(self, key: str) -> tuple[InputName, str] | None:
        """Return the model or source of a key, and its display name."""
        written = self.section.text(key)
        if not written:
            return None
        found, hint = input_named(written, self.scene.resolver, self.scene.inputs or ())
        if found is None:
            sentence = f"{key}: {written!r} is not a model or source"
            self.section.report(key, "unknown-reference", sentence, hint)
            return None
        is_own = found.kind is InputKind.MODEL and found == self.scene.model.input
        name = InputName(InputKind.THIS, found.name) if is_own else found
        self.others = self.scene.columns_of(name)
        return name, self.scene.label_of(name)

    def _check_column(self, name: str, where: Location, of: KnownColumns) -> None:
        if of.lacks(name):
            self._note(where, "unknown-column", *of.without(name))

    def _understood(
        self, text: SqlText, column: int, read: Callable[[str], ReadText[T]]
    ) -> T | None:
        """Parse SQL, and report its problems at the lines of its file.

        A folded text is read again as written; if that has another meaning, only its first line is
        known.
        """
        found = read(text.text)
        problems = found.problems
        if problems and (written := _as_written(text, self.scene.files)):
            again = read(written).problems
            said, now = ([(p.code, p.sentence) for p in each] for each in (problems, again))
            first = Location(text.path)
            problems = again if said == now else tuple(replace(p, where=first) for p in problems)
        for each in parsed.located(problems, text.path, text.line):
            is_first = each.where.line == text.line
            where = Location(text.path, text.line, column) if is_first else each.where
            self.section.findings.append(replace(each, where=where))
        return found.value

    def _note(self, where: Location, code: str, sentence: str, hint: str = "") -> None:
        self.section.findings.append(Finding(where, code, sentence, hint))


_READERS: Mapping[KeyKind, Callable[[Form, CheckKey], Any]] = {
    KeyKind.COLUMN: lambda form, key: form.read_column(key.name),
    KeyKind.TIME: lambda form, key: form.time_column(key.name),
    KeyKind.COLUMNS: lambda form, key: form.column_names(key.name, form.columns),
    KeyKind.FIELDS: lambda form, key: form.column_names(key.name, form.others),
    KeyKind.COUNT: lambda form, key: form.section.read(key.name, whole(0)),
    KeyKind.NATURAL: lambda form, key: form.section.read(key.name, whole(1)),
    KeyKind.VALUE: lambda form, key: form.value(form.section.find(key.name), key.name),
    KeyKind.VALUES: lambda form, key: form.values(key.name),
    KeyKind.PERCENT: lambda form, key: form.percent(key.name),
    KeyKind.CHANGE: lambda form, key: form.percent(key.name, most=None),
    KeyKind.FLAG: lambda form, key: form.section.read(key.name, FLAG),
    KeyKind.CHOICE: lambda form, key: form.choice(key.name, key.choice),
    KeyKind.AGE: lambda form, key: form.age(key.name),
    KeyKind.TYPES: lambda form, key: column_types(form.section, key.name),
    KeyKind.POSITIVE: lambda form, key: form.section.read(key.name, POSITIVE),
    KeyKind.CONDITION: lambda form, key: form.condition(key.name),
    KeyKind.MEASURE: lambda form, key: form.condition(key.name, ConditionKind.MEASURE),
    KeyKind.QUERY: lambda form, key: form.query(key.name),
    KeyKind.TABLE: lambda form, key: form.table(key.name),
}
