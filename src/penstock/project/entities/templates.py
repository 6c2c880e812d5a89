"""Templates of paths and watermarks: `${expr}` in text, parsed and interpreted (docs/entities.md).

No part runs as code, SQL or a format string, and no value is parsed again: a value with quotes or
`${` in it is data. Every value is a `TypedValue`; text is a STRING.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import InvalidOperation
from difflib import get_close_matches

from penstock.core.columns.typed import TypedValue
from penstock.core.errors import UsageError
from penstock.project.entities.template_functions import (
    FUNCTIONS,
    UNKNOWN,
    BadExpressionError,
    check_range,
    family,
    fits,
    pattern_runs,
)

_DEEPEST = 20
_TOKEN = re.compile(
    r"\s*(?:(?P<integer>[+-]?[0-9]{1,18}(?![\w.]))|'(?P<text>[^']*)'|(?P<sign>[(),}])"
    r"|(?P<name>settings_[^,(){}'$]*|[^\s,(){}'$]+))"
)


@dataclass(frozen=True, slots=True)
class NameTerm:
    """A name in the template's scope."""

    name: str


@dataclass(frozen=True, slots=True)
class ValueTerm:
    """A literal integer or text in the template."""

    value: TypedValue


@dataclass(frozen=True, slots=True)
class CallTerm:
    """A call of a function in the template's scope."""

    function: str
    arguments: tuple[Term, ...]


Term = NameTerm | ValueTerm | CallTerm


@dataclass(frozen=True, slots=True)
class TemplateScope:
    """The names, with their types, and functions that a template may use."""

    names: Mapping[str, str]
    functions: frozenset[str]

    @property
    def hint(self) -> str:
        """A hint with everything that is allowed."""
        listed = ", ".join(each for each in FUNCTIONS if each in self.functions)
        return f"names: {', '.join(self.names)}; functions: {listed}"


@dataclass(frozen=True, slots=True)
class EntityTemplate:
    """Alternating text and terms, as written.

    >>> parse_template("/${lower(connection)}/x").render({"connection": TypedValue("STRING", "A")})
    '/a/x'
    """

    parts: tuple[str | Term, ...]

    def names(self) -> frozenset[str]:
        """Return the names in it."""
        return frozenset(
            name for part in self.parts if not isinstance(part, str) for name in names_in(part)
        )

    def check(self, scope: TemplateScope) -> None:
        """Raise `BadExpressionError` unless every term has a type."""
        for part in self.parts:
            if not isinstance(part, str):
                type_of(part, scope)

    def render(self, values: Mapping[str, TypedValue]) -> str:
        """Return the text with the values of its terms; a DATE gives its digits."""
        shown = (part if isinstance(part, str) else _term_text(part, values) for part in self.parts)
        return "".join(shown)


def path_scope(names: Mapping[str, str]) -> TemplateScope:
    """Return the scope of paths and table names: names with their types, and `today`."""
    return TemplateScope({**names, "today": "DATE"}, frozenset(FUNCTIONS))


def watermark_scope(column_type: str = UNKNOWN) -> TemplateScope:
    """Return the scope of a watermark's expression on a column."""
    names = {"last_value": column_type, "watermark": column_type}
    functions = frozenset(FUNCTIONS) - {"format", "lower", "upper"}
    return TemplateScope({**names, "today": "DATE", "now": "TIMESTAMP"}, functions)


def parse_template(text: str) -> EntityTemplate:
    """Parse a template; raise `BadExpressionError` if it is invalid.

    >>> parse_template("a${today}").parts
    ('a', NameTerm(name='today'))
    """
    parts: list[str | Term] = []
    at = 0
    while (start := text.find("${", at)) >= 0:
        if start > at:
            parts.append(text[at:start])
        term, at = _Parsing(text, start + 2).whole()
        parts.append(term)
    if at < len(text):
        parts.append(text[at:])
    return EntityTemplate(tuple(parts))


def parse_watermark(text: str, column_type: str = UNKNOWN) -> Term:
    """Parse the expression of a watermark, whose column may have an unknown type.

    >>> parse_watermark("'${last_value}'", "DATE")
    NameTerm(name='last_value')
    """
    scope = watermark_scope(column_type)
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] == "'":
        bare = bare[1:-1]
    parts = parse_template(bare).parts
    if len(parts) != 1 or isinstance(parts[0], str):
        sentence = f"{text!r} is not exactly one ${{…}}, with nothing around it but quotes"
        raise BadExpressionError(sentence, f"for example '${{last_value}}'; {scope.hint}")
    found = type_of(parts[0], scope)
    if not fits(found, column_type):
        raise BadExpressionError(
            f"{text!r} gives a {found}, and the column is a {column_type}", scope.hint
        )
    return parts[0]


def low_bound(expression: Term, stored: TypedValue, moment: dt.datetime, zone: str) -> TypedValue:
    """Return the low bound for a stored watermark; `zone` determines the current day."""
    from zoneinfo import ZoneInfo  # it is looked for on disk

    utc = moment.astimezone(dt.UTC)
    now = TypedValue.parse("TIMESTAMP", utc.isoformat())
    today = TypedValue.parse("DATE", utc.astimezone(ZoneInfo(zone)).date().isoformat())
    type_of(expression, watermark_scope(stored.type))
    values = {"last_value": stored, "watermark": stored, "today": today, "now": now}
    return TypedValue.parse(stored.type, value_of(expression, values).text)


def names_in(term: Term) -> Iterator[str]:
    """Yield the names in a term."""
    match term:
        case NameTerm(name):
            yield name
        case CallTerm(_, arguments):
            for each in arguments:
                yield from names_in(each)


def type_of(term: Term, scope: TemplateScope) -> str:
    """Return the type of a term, `UNKNOWN` if it depends on a name of unknown type."""
    match term:
        case ValueTerm(value):
            return value.type
        case NameTerm(name):
            if name not in scope.names:
                raise BadExpressionError(
                    f"{name!r} is not a name that is known here", _near(name, scope)
                )
            return scope.names[name]
        case CallTerm(name, arguments):
            if name not in scope.functions:
                raise BadExpressionError(
                    f"{name!r} is not a function that is known here", _near(name, scope)
                )
            return _result(name, arguments, scope)


def _near(name: str, scope: TemplateScope) -> str:
    close = get_close_matches(name, [*scope.names, *sorted(scope.functions)], 1)
    return f"did you mean {close[0]}? {scope.hint}" if close else scope.hint


def _result(name: str, arguments: tuple[Term, ...], scope: TemplateScope) -> str:
    function = FUNCTIONS[name]
    if len(arguments) != len(function.takes):
        raise BadExpressionError(
            f"{name} takes {len(function.takes)} arguments, not {len(arguments)}", scope.hint
        )
    types = [type_of(each, scope) for each in arguments]
    for kind, families in zip(types, function.takes, strict=True):
        if kind != UNKNOWN and family(kind) not in families:
            words = " or ".join(families)
            raise BadExpressionError(f"{name} takes {words}, not {kind}", scope.hint)
    if name == "format":
        if not isinstance(arguments[1], ValueTerm):
            raise BadExpressionError("the pattern of format is a text in quotes", scope.hint)
        pattern_runs(arguments[1].value.text)
        return "STRING"
    return types[0]


def value_of(term: Term, values: Mapping[str, TypedValue]) -> TypedValue:
    """Return the value of a term that has a type."""
    match term:
        case ValueTerm(value):
            return value
        case NameTerm(name):
            return values[name]
        case CallTerm(name, arguments):
            given = [value_of(each, values) for each in arguments]
            try:
                return check_range(FUNCTIONS[name].call(*given))
            except (OverflowError, ValueError, InvalidOperation, UsageError) as error:
                shown = ", ".join(each.text for each in given)
                raise BadExpressionError(f"{name}({shown}) has no value of its type") from error


def _term_text(term: Term, values: Mapping[str, TypedValue]) -> str:
    value = value_of(term, values)
    return value.text.replace("-", "") if value.type == "DATE" else value.text


class _Parsing:
    """The parser of one term in a text, from left to right."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._start = self._at = at

    def whole(self) -> tuple[Term, int]:
        """Parse a term up to its closing brace."""
        term = self._term(1)
        if self._next()["sign"] != "}":
            raise self._wrong()
        return term, self._at

    def _term(self, depth: int) -> Term:
        found = self._next()
        if depth > _DEEPEST:
            raise self._wrong()
        if found["integer"] is not None:
            return ValueTerm(TypedValue("BIGINT", str(int(found["integer"]))))
        if found["text"] is not None:
            return ValueTerm(TypedValue("STRING", found["text"]))
        if found["name"] is None:
            raise self._wrong()
        if not self._text.startswith("(", self._at):
            return NameTerm(found["name"].strip())
        self._next()
        arguments = [self._term(depth + 1)]
        while (sign := self._next()["sign"]) == ",":
            arguments.append(self._term(depth + 1))
        if sign != ")":
            raise self._wrong()
        return CallTerm(found["name"], tuple(arguments))

    def _next(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            raise self._wrong()
        self._at = found.end()
        return found

    def _wrong(self) -> BadExpressionError:
        shown = self._text[self._start : self._start + 40]
        return BadExpressionError(
            f"${{{shown} cannot be read at character {self._at + 1}",
            "an expression is a name, a function(…), an integer or a 'text', closed by }",
        )
