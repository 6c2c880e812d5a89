"""Parameters of functions: values of a run, of `vars:`, or the default of the code.

The annotation is the type: a value is checked and converted while the project is loaded.
"""

from __future__ import annotations

import datetime as dt
import inspect
import json
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from itertools import combinations, product
from math import isfinite
from numbers import Integral
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from penstock.core.masking import SECRETS, is_secret_key, mask

T = TypeVar("T")
RESERVED = ("spark", "window", "df")
"""Parameters with a meaning of their own."""
_SWITCHES = {"true": True, "false": False}
_LISTS = (list, Sequence, tuple, set, frozenset)
_ANY = (inspect.Parameter.empty, Any, object)
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Decimal: "a decimal number",
    dt.date: "a date such as 2024-03-01",
    dt.datetime: "a time such as 2024-03-01T12:00:00",
    dt.timedelta: "a duration such as '1 day'",
    type(None): "nothing",
}


@dataclass(frozen=True)
class Param:
    """The default of an argument that runs may set."""

    default: object

    def __repr__(self) -> str:
        """Return it as it is written."""
        return f"param({self.default!r})"


def param(default: T) -> T:
    """Let runs set an argument: `def orders(events, rate: float = penstock.param(1.1))`.

    `app.run(params=...)`, `--vars` and `vars:` of the project give values; the annotation is their
    type. Outside a run the argument has its default.
    """
    return cast("T", Param(default))


def signature_of(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function; none for something that has no signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def with_defaults(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, Any]:
    """Return the keywords of a call, with the default of each parameter that it leaves out."""
    known = signature_of(function)
    defaults = {n: p.default.default for n, p in known.items() if isinstance(p.default, Param)}
    if not defaults:
        return dict(kwargs)
    try:
        bound = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except TypeError:  # the call itself says what is wrong
        bound = {}
    return {**{name: each for name, each in defaults.items() if name not in bound}, **kwargs}


@dataclass(frozen=True)
class Variant:
    """One model of a function that is declared `over` values: its own values, by parameter.

    `choices` are the values of all models, `labels` end the model's name. The first model of a
    function reports what is wrong with all of them.
    """

    choices: Mapping[str, object]
    values: Mapping[str, object]
    labels: tuple[str, ...]
    is_first: bool = True

    def call(
        self, function: Callable[..., T], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> T:
        """Call the function with its values; positions are those of the other parameters."""
        others = [name for name in signature_of(function) if name not in self.values]
        if len(args) > len(others):
            raise TypeError(f"takes {len(others)} positional arguments, and got {len(args)}")
        given = {**self.values, **dict(zip(others, args, strict=False)), **kwargs}
        return function(**with_defaults(function, (), given))

    def namesakes(self, name: str) -> Iterator[str]:
        """Yield the names that an input may have for these values: `clean_nl` before `clean`."""
        for count in range(len(self.labels), 0, -1):
            yield from ("_".join((name, *some)) for some in combinations(self.labels, count))

    def problems(self, function: Callable[..., object]) -> Iterator[tuple[str, str, str]]:
        """Yield what is wrong: the parameter, a sentence and a hint."""
        from penstock.project.files.values import did_you_mean  # imports 0.3 s of types

        known = signature_of(function)
        for name, written in self.choices.items() if self.is_first else ():
            labels = [label.lower() for label, _ in _labelled(written)]
            if not labels:
                what = f"over({name}=…) has no values: {written!r:.80}"
                yield name, what, "write a list of values, or a mapping from names to values"
            for twice in dict.fromkeys(each for each in labels if labels.count(each) > 1):
                what = f"over({name}=…) names {twice!r} twice, and both models alike"
                yield name, what, "take one out, or name both with a mapping"
            if name not in known:
                hint = did_you_mean(name, known) or "name a parameter of the function"
                yield name, f"over names {name!r}, which is not a parameter", hint
        if not self.choices:
            yield "", "over() names no parameter", "write over(parameter=[value, …])"
        for name, label in self.odd_labels:
            hint = f"give it a name: over({name}={{'name': {self.values[name]!r:.80}}})"
            yield name, f"{label[:80]!r} of over({name}=…) cannot end the name of a model", hint

    @property
    def odd_labels(self) -> list[tuple[str, str]]:
        """The labels that make no identifier, with their parameters."""
        named = zip(self.choices, self.labels, strict=False)
        return [(name, label) for name, label in named if not _LABEL.fullmatch(label)]


_LABEL = re.compile("[A-Za-z0-9_]+")


def variants_of(choices: Mapping[str, object]) -> Iterator[Variant]:
    """Yield a variant for each combination of values; one without values if some are missing."""
    found = []
    for each in choices.values():
        unique = {label.lower(): (label, value) for label, value in reversed(_labelled(each))}
        found.append([*reversed(unique.values())])
    if not found or not all(found):
        yield Variant(choices, {}, ())
        return
    for number, chosen in enumerate(product(*found)):
        values = {name: value for name, (_, value) in zip(choices, chosen, strict=True)}
        yield Variant(choices, values, tuple(label for label, _ in chosen), is_first=not number)


def _labelled(values: object) -> list[tuple[str, object]]:
    """Return the values of a parameter with the names that they give to models."""
    if isinstance(values, Mapping):
        return [(str(label), value) for label, value in values.items()]
    if not isinstance(values, list | tuple | range | set | frozenset):
        return []
    plain = (each.value if isinstance(each, Enum) else each for each in values)
    return [
        (str(text).lower() if isinstance(text, bool) else str(text), value)
        for text, value in zip(plain, values, strict=True)
    ]


@dataclass(frozen=True)
class ParameterValues:
    """The values of one function, from `over`, `vars` or defaults; `report` takes findings."""

    model: str
    vars: Mapping[str, object]
    report: Callable[[str, str, str, str], None]
    variant: Variant | None = None

    def values(
        self, function: Callable[..., object], show: Callable[[object], str]
    ) -> dict[str, object]:
        """Return the values by parameter; report those that do not fit."""
        found, own = {}, self.variant.values if self.variant else {}
        for name, sentence, hint in self.variant.problems(function) if self.variant else ():
            self.report(name, "bad-value", f"{self.model!r}: {sentence}", hint)
        for name, parameter in signature_of(function).items():
            if not isinstance(parameter.default, Param) and name not in own:
                continue
            label = f"parameter {name!r} of {self.model!r}"
            default = parameter.default.default if isinstance(parameter.default, Param) else None
            value = own.get(name, self.vars.get(name, default))
            if name in RESERVED:
                sentence = f"{label} has a value, and its name a meaning of its own"
                self.report(name, "reserved-name", sentence, "rename it")
                continue
            try:
                read = read_parameter(parameter, function, value)
                plain_value(read)
            except WrongParameterError as error:
                shown = "a secret" if is_secret(name, str(value)) else show(value)
                sentence = f"{label} is {shown}; it must be {error}"
                is_set = name in self.vars
                way_out = (
                    f"change {name} in --vars, params= or vars:" if is_set else "change param(…)"
                )
                way_out = f"change {name} in over(…)" if name in own else way_out
                self.report(name, "bad-value", sentence, way_out)
            else:
                found[name] = read
        return found


def shown_params(values: Mapping[str, object]) -> dict[str, object]:
    """Return values in order of their names. A secret counts for nothing, as in code."""
    plain = {name: plain_value(value) for name, value in sorted(values.items())}
    return {name: each for name, each in plain.items() if not is_secret(name, json.dumps(each))}


class WrongParameterError(ValueError):
    """A value does not fit the annotation; the text says what would."""


def read_parameter(parameter: inspect.Parameter, function: Any, value: object) -> object:  # noqa: ANN401
    """Return a value in the type of its annotation, or raise `WrongParameterError`."""
    kind: Any = parameter.annotation
    default = parameter.default.default if isinstance(parameter.default, Param) else None
    if isinstance(kind, str):
        names = getattr(inspect.unwrap(function), "__globals__", {})
        try:
            holder: Any = types.SimpleNamespace(__annotations__={"it": kind})
            kind = get_type_hints(holder, names)["it"]
        except Exception:  # noqa: BLE001  whatever its text raises
            said = f"of the type {kind}, whose name is not there while the project is loaded"
            raise WrongParameterError(said) from None
    if kind in _ANY and default is not None:
        kind = type(default)
    if value is None and default is None and isinstance(parameter.default, Param):
        return None
    return _read(kind, value)


def plain_value(value: object) -> Any:  # noqa: ANN401  JSON
    """Return a value as YAML would hold it; raise `WrongParameterError` for any other.

    >>> plain_value({"rate": Decimal("1.20"), "days": [dt.date(2024, 3, 1)]})
    {'rate': '1.20', 'days': ['2024-03-01']}
    """
    match value:
        case Enum():
            return plain_value(value.value)
        case float() if not isfinite(value):  # which JSON does not have
            return str(value)
        case None | bool() | int() | float() | str():
            return value
        case Decimal() | dt.timedelta():
            return str(value)
        case dt.date():
            return value.isoformat()
        case Mapping():
            return {str(key): plain_value(each) for key, each in value.items()}
        case list() | tuple():
            return [plain_value(each) for each in value]
        case set() | frozenset():
            return sorted(map(plain_value, value), key=str)
    raise WrongParameterError("text, numbers, dates, or lists and mappings of them")


def is_secret(name: str, text: str) -> bool:
    """Return whether a value is not to be stored or shown."""
    return is_secret_key(name) or SECRETS.hide(text) != text or mask(text) != text


def _read(kind: Any, value: Any) -> Any:  # noqa: ANN401  a type
    while hasattr(kind, "__metadata__") or hasattr(kind, "__supertype__"):  # Annotated, NewType
        kind = kind.__origin__ if hasattr(kind, "__metadata__") else kind.__supertype__
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _ANY:
        return value
    if origin is Literal:
        return _one_of({each: each for each in inner}, value)
    if origin in (Union, types.UnionType):
        return _first_of(inner, value)
    if origin is not None or kind in _LISTS or kind is dict:
        return _collection(origin or kind, inner, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return value if isinstance(value, kind) else _one_of({m.value: m for m in kind}, value)
    try:
        found = _scalar(kind, value)
    except (ValueError, OverflowError, InvalidOperation):
        found = None
    if found is None and not (kind is type(None) and value is None):
        raise WrongParameterError(_expected(kind))
    return found


def _expected(kind: Any) -> str:  # noqa: ANN401  a type
    return _WORDS.get(kind) or f"of the type {getattr(kind, '__name__', kind)}"


def _scalar(kind: Any, value: Any) -> Any:  # noqa: ANN401  a type
    """Return a value in a type without parts; None, or an error, if it does not fit."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    text = value.strip() if isinstance(value, str) else ""
    if kind is bool:
        return value if isinstance(value, bool) else _SWITCHES.get(text.lower())
    if kind is int:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return int(text) if text else int(value) if is_whole else None
    if kind is float:
        return float(text) if text else float(value) if is_number else None
    if kind is Decimal:
        return Decimal(str(value)) if text or is_number else None
    if kind is dt.datetime and text:
        return dt.datetime.fromisoformat(text)
    if kind is dt.date:
        is_day = isinstance(value, dt.date) and not isinstance(value, dt.datetime)
        return dt.date.fromisoformat(text) if text else value if is_day else None
    if kind is dt.timedelta and text:
        from penstock.project.files.values import parse_duration  # imports 0.3 s of types

        return parse_duration(text)
    return value if isinstance(kind, type) and isinstance(value, kind) else None


def _one_of(allowed: Mapping[Any, Any], value: object) -> Any:  # noqa: ANN401  one of them
    """Return what is meant by a value; the command line writes a number as text."""
    for key, meant in allowed.items():
        if (key == value and type(key) is type(value)) or value == str(key):
            return meant
    raise WrongParameterError(f"one of {', '.join(map(repr, allowed))}")


def _first_of(kinds: Sequence[Any], value: object) -> Any:  # noqa: ANN401  one of them
    """Return a value in the first type that fits; text fits others than text first."""
    if any(isinstance(each, type) and type(value) is each is not str for each in kinds):
        return value
    wrong = []
    for kind in sorted(kinds, key=lambda each: each is str):
        try:
            return _read(kind, value)
        except WrongParameterError as error:
            wrong.append(str(error))
    raise WrongParameterError(" or ".join(wrong))


def _collection(kind: Any, inner: Sequence[Any], value: Any) -> Any:  # noqa: ANN401  a type
    if isinstance(kind, type) and issubclass(kind, Mapping):
        if not isinstance(value, Mapping):
            raise WrongParameterError("a mapping such as {a: 1}")
        of = inner[1] if len(inner) > 1 else Any
        return {key: _read(of, each) for key, each in value.items()}
    if kind not in _LISTS:
        raise WrongParameterError(f"of the type {kind}, which no text can be read as")
    if not isinstance(value, list | tuple | set | frozenset):
        raise WrongParameterError("a list such as [a, b]")
    kinds = [inner[0] if inner else Any] * len(value)
    if kind is tuple and inner and inner[-1] is not Ellipsis:
        kinds = [*inner]
        if len(value) != len(kinds):
            raise WrongParameterError(f"a list of {len(kinds)} values")
    found = [_read(of, each) for of, each in zip(kinds, value, strict=True)]
    return found if kind in (list, Sequence) else kind(found)
