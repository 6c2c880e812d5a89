"""Seeds: the types that dbt gives to their columns, and the values that it reads in their files.

dbt reads numbers with `,`, `%` and signs of currencies, and `null` as no value. Spark does not, so
such values are written as plain ones; other files stay byte for byte.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import partial

from penstock.project.dbt.editing.yaml_edits import scalar
from penstock.project.dbt.notes import FileLog
from penstock.project.files.values import Plain, text_of

_CURRENCIES = "؋$ƒ៛¥₡₱£€¢﷼₪₩₭₮₦฿₤₫"
_QUOTED_EMPTY = re.compile(r'(?:^|,)""(?=,|\r?$)', re.MULTILINE)
_INTEGER = re.compile(r"\s*-?\d+\s*")
_NUMBER = re.compile(r"\s*-?\d+(\.\d+)?([eE][+-]?\d+)?\s*")
_WORD = re.compile(r"[^\W\d]")
_NOT_WORDS = {"true", "false", "nan", "inf", "infinity"}
"""Words that Spark may read as a value of another type."""
_DIGITS = 308
"""The greatest exponent of a double: with more, a short text is an endless number."""
INTEGER, NUMBER, TEXT = "bigint", "double", "string"


def seed_types(rows: Sequence[Sequence[str]], typed: Iterable[str]) -> dict[str, str]:
    """Return the types of dbt by column, but for those of `typed` columns.

    A column of words has none here: Spark finds the same.
    """
    known = {each.lower() for each in typed}
    found = {}
    for index, name in enumerate(rows[0] if rows else ()):
        values = [row[index].strip() for row in rows[1:] if index < len(row)]
        kind = _kind([each for each in values if not _is_null(each)])
        if name.lower() not in known and not (kind == TEXT and any(map(_is_word, values))):
            found[name.strip()] = kind
    return found


def seed_rows(text: str, delimiter: str) -> list[list[str]]:
    """Return the rows of a file, the header first; none if it cannot be read."""
    with suppress(csv.Error):
        return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter[0]) if row]
    return []


def seed_text(text: str, delimiter: str, types: Mapping[str, Plain], log: FileLog) -> str:
    """Return the file of a seed: commas between values, and values as Spark reads them."""
    rows = seed_rows(text, delimiter)
    if not rows:
        log.take("rows")
        return text
    header = [name.strip() for name in rows[0]]
    kinds = [text_of(types.get(name)) for name in header]
    kinds += [""] * (len(max(rows, key=len)) - len(kinds))
    plain = [header, *([*map(_plain, row, kinds)] for row in rows[1:])]
    if delimiter[0] != ",":
        log.change("rows", f"seeds are separated by commas here, and not by {delimiter!r}")
    elif plain == rows and not _QUOTED_EMPTY.search(text):
        log.take("rows")
        return text
    else:
        log.change("rows", "empty values and numbers are written as Spark reads them")
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(plain)
    return written.getvalue()


def seeds_yaml(settings: Mapping[str, Mapping[str, Plain]]) -> str:
    """Return the entries of seeds that dbt has no YAML of, "" if they need none."""
    lines = []
    for name, values in settings.items():
        lines += [f"  - name: {name}", "    config:"] if values else []
        lines += (f"      {key}: {scalar(value)}" for key, value in values.items())
    head = "# Schemas and types of seeds without YAML.\nseeds:\n"
    return head + "\n".join(lines) + "\n" if lines else ""


def _is_null(value: str) -> bool:
    return value.strip().lower() in ("", "null")


def _is_word(value: str) -> bool:
    return bool(_WORD.match(value)) and value.lower() not in _NOT_WORDS and not _is_null(value)


def _plain(value: str, kind: str) -> str:
    """Return a value as Spark reads it into a column of a type."""
    if _is_null(value):
        return ""
    form = {INTEGER: _INTEGER, NUMBER: _NUMBER}.get(kind)
    number = _number(value) if form and not form.fullmatch(value) else None
    if number is None:
        return value
    return f"{number:f}" if kind == NUMBER else str(int(number))


def _kind(values: Sequence[str]) -> str:
    """Return the first type, in the order of dbt, that all values have."""
    numbers = [_number(each) for each in values]
    if None not in numbers:
        whole = all(each == each.to_integral_value() for each in numbers if each is not None)
        return INTEGER if whole else NUMBER
    held = (kind for kind, read in _READERS if all(map(read, values)))
    return next(held, TEXT)


def _number(value: str) -> Decimal | None:
    text = value.strip().strip("%")
    sign, text = (-1, text[1:]) if text[:1] == "-" else (1, text)
    for symbol in _CURRENCIES:
        text = text.strip(symbol)
    try:
        number = Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
    is_plain = number.is_finite() and abs(number.adjusted()) <= _DIGITS
    return number.copy_negate() if is_plain and sign < 0 else number if is_plain else None


def _has_form(form: str, value: str) -> bool:
    with suppress(ValueError):
        dt.datetime.strptime(value, form)  # noqa: DTZ007  only its form counts
        return True
    return False


def _is_iso(value: str) -> bool:
    with suppress(ValueError):
        return "T" in value and bool(dt.datetime.fromisoformat(value))
    return False


def _is_switch(value: str) -> bool:
    return value.lower().replace(",", "") in ("true", "false")


_READERS: Sequence[tuple[str, Callable[[str], bool]]] = (
    ("date", partial(_has_form, "%Y-%m-%d")),
    ("timestamp", partial(_has_form, "%Y-%m-%d %H:%M:%S")),
    ("timestamp", _is_iso),
    ("boolean", _is_switch),
)
