"""Convert values to JSON documents and back, by the types of their fields.

A record is an object with its fields, a tuple a list, an enum its word, a time its ISO text.
Reading is strict: an invalid document raises `MisreadError` with the place of the error.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import partial
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from penstock.core.errors import UsageError

_MISREAD = (ArithmeticError, AttributeError, LookupError, TypeError, UsageError, ValueError)
_LINE = 60


class MisreadError(ValueError):
    """A document that is not a value of its type; `place` is the path to the error: `.table[0]`."""

    def __init__(self, sentence: str, place: str = "") -> None:
        super().__init__(f"{place}: {sentence}" if place else sentence)
        self.sentence, self.place = sentence, place

    @classmethod
    def of(cls, document: object, expected: str) -> MisreadError:
        """Return the error for an unexpected value."""
        return cls(f"is {short_json(document)}, expected {expected}")


class DocumentForm(NamedTuple):
    """How values of a type are written and read; `read` may raise errors for `read_part`."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class DocumentCodec:
    """The forms of types; `special` has types with a custom form.

    >>> DocumentCodec({}).of(tuple[int, ...]).read([1, "2"])
    Traceback (most recent call last):
    penstock.core.codec.MisreadError: [1]: is "2", expected a whole number
    """

    def __init__(self, special: Mapping[object, Callable[[DocumentCodec], DocumentForm]]) -> None:
        self._special = special
        self._forms: dict[object, DocumentForm] = {}

    def of(self, kind: Any) -> DocumentForm:  # noqa: ANN401  a type expression
        """Return the form of a type."""
        form = self._forms.get(kind)
        if form is None:
            special = self._special.get(kind)
            form = self._forms[kind] = special(self) if special else self._by_type(kind)
        return form

    def _by_type(self, kind: Any) -> DocumentForm:  # noqa: ANN401  a type expression
        inside, origin = get_args(kind), get_origin(kind)
        if kind in _PLAIN:
            return _PLAIN[kind]
        if NoneType in inside:
            return _optional(self.of(inside[0]))
        if origin is tuple:
            if inside[-1] is not ...:
                return _row([*map(self.of, inside)], _same, lambda *parts: parts, len(inside))
            write, read = self.of(inside[0])
            return DocumentForm(
                lambda value: [*map(write, value)],
                lambda parts: tuple(
                    read_part(f"[{at}]", read, part) for at, part in enumerate(_a(list, parts))
                ),
            )
        if origin is Mapping:
            write, read = self.of(inside[1])
            return DocumentForm(
                lambda value: {key: write(each) for key, each in value.items()},
                lambda parts: {
                    key: read_part(f".{key}", read, part) for key, part in _a(dict, parts).items()
                },
            )
        if isinstance(kind, type) and is_dataclass(kind):
            return self.record(kind)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _words(kind)
        return DocumentForm(_same, _same)

    def record(
        self,
        kind: Any,  # noqa: ANN401  a dataclass
        always: Collection[str] | None = None,
        keys: Mapping[str, str] | None = None,
        forms: Mapping[str, DocumentForm] | None = None,
    ) -> DocumentForm:
        """Return the form of a dataclass as an object; a missing field has its default.

        Fields with their default are omitted, except those in `always`; without `always`, all are
        written. `keys` maps fields to other keys, `forms` holds custom forms of single fields.
        """
        hints, of, called = get_type_hints(kind), forms or {}, keys or {}
        parts = [
            (each.name, called.get(each.name, each.name), _default(each), form)
            for each in fields(kind)
            if each.init
            for form in [of.get(each.name) or self.of(hints[each.name])]
        ]
        # Documents are read by the thousand, so places of errors are not written for each.
        readers = [(name, key, default, form.read) for name, key, default, form in parts]

        def write(value: object) -> dict[str, Any]:
            return {
                key: form.write(part)
                for name, key, default, form in parts
                for part in [getattr(value, name)]
                if always is None or name in always or part != default
            }

        def read(document: object) -> object:
            cells, values = _a(dict, document), {}
            for name, key, default, read_value in readers:
                if key in cells:
                    try:
                        values[name] = read_value(cells[key])
                    except _MISREAD as error:
                        raise _misread(f".{key}", cells[key], error) from error
                elif default is MISSING:
                    raise MisreadError(f"lacks {key!r}")
            return kind(**values)

        return DocumentForm(write, read)

    def row(self, kind: Any) -> DocumentForm:  # noqa: ANN401  a dataclass
        """Return the form of a dataclass as a list of its fields; the last ones may be missing."""
        hints, names = get_type_hints(kind), [each.name for each in fields(kind)]
        least = sum(_default(each) is MISSING for each in fields(kind))
        forms = [self.of(hints[name]) for name in names]
        return _row(forms, lambda value: [getattr(value, name) for name in names], kind, least)


def short_json(document: object) -> str:
    """Return a value as JSON, at most one line of it."""
    try:
        text = json.dumps(document, ensure_ascii=True)
    except (TypeError, ValueError):
        text = repr(document)
    return text if len(text) <= _LINE else f"{text[:_LINE]}..."


def read_part(place: str, read: Callable[[Any], Any], document: object) -> Any:  # noqa: ANN401
    """Read a part of a document; errors include the path to it."""
    try:
        return read(document)
    except _MISREAD as error:
        raise _misread(place, document, error) from error


def _misread(place: str, document: object, error: Exception) -> MisreadError:
    if isinstance(error, MisreadError):
        return MisreadError(error.sentence, place + error.place)
    why = error.sentence if isinstance(error, UsageError) else str(error)
    return MisreadError(f"is {short_json(document)}: {why or 'it cannot be read'}"[:300], place)


def _default(field: Field[Any]) -> Any:  # noqa: ANN401  of any type
    return field.default if field.default_factory is MISSING else field.default_factory()


def _same(value: Any) -> Any:  # noqa: ANN401  of any type
    return value


def _a(kind: type, document: object) -> Any:  # noqa: ANN401  of the type
    """Return a document if it has a given JSON type."""
    if type(document) is not kind:
        raise MisreadError.of(document, _CALLED[kind])
    return document


def _iso(kind: type[dt.date], called: str) -> DocumentForm:
    def read(document: Any) -> dt.date:  # noqa: ANN401  JSON
        try:
            time = kind.fromisoformat(document)
            if not isinstance(time, dt.datetime):
                return time
            if time.tzinfo is not None:
                time.astimezone(dt.UTC)  # some are no time there
                return time
        except (OverflowError, TypeError, ValueError):
            pass
        raise MisreadError.of(document, called)

    return DocumentForm(kind.isoformat, read)


_CALLED: Mapping[type, str] = {
    bool: "true or false",
    dict: "an object",
    int: "a whole number",
    list: "a list",
    str: "text",
}
_PLAIN: Mapping[object, DocumentForm] = {
    **{kind: DocumentForm(_same, partial(_a, kind)) for kind in (bool, int, str)},
    dt.date: _iso(dt.date, "a day, such as 2024-12-31"),
    dt.datetime: _iso(dt.datetime, "a time with its zone, such as 2024-12-31T12:00:00+00:00"),
}


def _words(kind: type[Enum]) -> DocumentForm:
    words = {each.value: each for each in kind}

    def read(document: object) -> Enum:
        if not isinstance(document, str | int) or document not in words:
            raise MisreadError.of(document, f"one of {', '.join(map(str, words))}")
        return words[document]

    return DocumentForm(lambda value: value.value, read)


def _optional(form: DocumentForm) -> DocumentForm:
    def read(document: object) -> object:
        try:
            return None if document is None else form.read(document)
        except MisreadError as misfit:
            raise MisreadError(
                misfit.sentence + " or null" * (not misfit.place), misfit.place
            ) from misfit

    return DocumentForm(lambda value: None if value is None else form.write(value), read)


def _row(
    forms: Sequence[DocumentForm],
    parts_of: Callable[[Any], Any],
    make: Callable[..., object],
    least: int,
) -> DocumentForm:
    readers = [form.read for form in forms]

    def read(document: object) -> object:
        parts = _a(list, document)
        if not least <= len(parts) <= len(forms):
            raise MisreadError.of(document, f"a list of {len(forms)}")
        try:
            return make(*[each(part) for each, part in zip(readers, parts, strict=False)])
        except _MISREAD:  # again, for the place of what is wrong
            pairs = enumerate(zip(readers, parts, strict=False))
            return make(*(read_part(f"[{at}]", each, part) for at, (each, part) in pairs))

    def write(value: object) -> list[Any]:
        return [form.write(part) for form, part in zip(forms, parts_of(value), strict=True)]

    return DocumentForm(write, read)
