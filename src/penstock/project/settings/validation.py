"""Values as pydantic checks them, and what is said of those that do not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from penstock.core.findings import Finding, Location
from penstock.core.masking import mask, mask_value
from penstock.core.strategy import strategies
from penstock.project.files.values import Path, Plain, did_you_mean, parse_duration
from penstock.project.settings.check_keys import checks_schema

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

# Any: pydantic hands over what the user wrote before it is checked.
Scalar = str | int | float | bool
_LATER = {
    "historic": "entities",
    "sessions": "session packages",
}
INCREMENTAL = "incremental"
"""dbt's word: it is `merge` with a key and `append` without."""
UNKNOWN_WORD = "unknown_word"
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Tests = list[str | dict[str, Any]]
_TEST = {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": True}]}
ColumnTests = Annotated[Any, WithJsonSchema({"type": "array", "items": _TEST})]
"""Tests of a column, which `checks/phases.py` reads."""
Checks = Annotated[Any, WithJsonSchema(checks_schema())]
Places = Callable[[Path, bool], Location]
_SHOWN = 80
_EXPECTED = {
    "string_type": "a text",
    "int_type": "an integer",
    "int_parsing": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _listed(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return [value] if isinstance(value, str) else value


def duration(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    """Let a duration pass, and mappings, which another shape checks."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise ValueError("a duration such as 90m, 36h or 2 days")  # noqa: TRY004  pydantic's way
    try:
        parse_duration(value)
    except ValueError as error:
        raise ValueError("a duration such as 90m, 36h or 2 days") from error
    return value


def _lookback(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return value if isinstance(value, int) and not isinstance(value, bool) else duration(value)


def materialized_words() -> tuple[str, ...]:
    """Give what may stand at `materialized`: the strategies that there are, and dbt's word."""
    known = {word: each for word, each in strategies().items() if each.is_written}
    last = max(n for n, each in enumerate(known.values(), start=1) if each.is_incremental)
    return (*[*known][:last], INCREMENTAL, *[*known][last:])


def _supported(value: str) -> str:
    words = materialized_words()
    if value in words:
        return value
    later = _LATER.get(value)
    note = f" ({later} come with a later release)" if later else ""
    raise ValueError(f"one of {', '.join(words)}{note}")


def _text(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


@dataclass(frozen=True, slots=True)
class Words:
    """One of several words; the finding lists them in its hint."""

    allowed: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, source: object, inner: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Check the word after all else."""
        return core_schema.no_info_after_validator_function(self._checked, inner(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, inner: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """List the words for editors."""
        return {**inner(schema), "enum": list(self.allowed)}

    def _checked(self, value: str) -> str:
        if value not in self.allowed:
            context = {"allowed": ", ".join(self.allowed)}
            raise PydanticCustomError(UNKNOWN_WORD, "one of {allowed}", context)
        return value


def _grain(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return value.upper() if isinstance(value, str) else value


def _small(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return value.lower() if isinstance(value, str) else value


def _count(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    if isinstance(value, bool):
        raise ValueError("an integer >= 1")  # noqa: TRY004  pydantic's way
    return value


def _prefix(value: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_]*", value):
        raise ValueError("letters, digits and _")
    return value


def _schema_name(value: str) -> str:
    if not re.fullmatch("[A-Za-z0-9_-]+", value):
        raise ValueError("letters, digits, _ and -")
    return value


Texts = Annotated[list[str], BeforeValidator(_listed), WithJsonSchema(_TEXTS)]
Text = Annotated[str, BeforeValidator(_text)]
Duration = Annotated[str, BeforeValidator(duration), WithJsonSchema({"type": "string"})]


@dataclass(frozen=True, slots=True)
class _Supported:
    """One of the strategies; they are asked when a value is checked, not when this is loaded."""

    def __get_pydantic_core_schema__(
        self, source: object, inner: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(_supported, inner(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, inner: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {**inner(schema), "enum": list(materialized_words())}


Lookback = Annotated[
    str | int, BeforeValidator(_lookback), WithJsonSchema({"type": ["string", "integer"]})
]
Materialized = Annotated[str, _Supported()]
Count = Annotated[int, BeforeValidator(_count), Field(ge=1)]
Whole = Annotated[int, BeforeValidator(_count)]
GrainWord = Annotated[
    str, BeforeValidator(_grain), Words(("HOUR", "DAY", "WEEK", "MONTH", "YEAR", "RANGE"))
]
Days = Annotated[Whole, Field(ge=0)]
OnFailureWord = Annotated[Literal["flag", "block", "rollback"], BeforeValidator(_small)]
SchemaName = Annotated[str, AfterValidator(_schema_name)]
Prefix = Annotated[str, AfterValidator(_prefix)]


def shape_findings(shape: type[BaseModel], tree: Plain, places: Places) -> list[Finding]:
    """Check a tree; give one finding per node that does not fit.

    `places(path, key)` gives where a node's value or, with `key`, its key stands.
    """
    try:
        shape.model_validate(tree)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        found: dict[Path, Finding] = {}
        for detail in details:
            path = _existing(tree, detail["loc"])
            if detail["type"] == "missing":
                path = (*path, detail["loc"][-1])
            found.setdefault(path, _finding(shape, tree, path, detail, places))
        # where a value may have two shapes, the deeper complaint is the one about what was meant
        outer = {path[:depth] for path in found for depth in range(len(path))}
        return [finding for path, finding in found.items() if path not in outer]
    return []


def _finding(
    shape: type[BaseModel], tree: Plain, path: Path, detail: Mapping[str, Any], places: Places
) -> Finding:
    key = str(path[-1]) if path else "the document"
    if detail["type"] == "extra_forbidden":
        known = _keys(shape, path[:-1])
        return Finding(
            places(path, True),  # noqa: FBT003  the key itself
            "unknown-key",
            f"unknown key {key!r}",
            did_you_mean(key, known) or f"known here: {', '.join(known)}",
        )
    if detail["type"] == "missing":
        return Finding(places(path[:-1], False), "missing-key", f"{key!r} is missing")  # noqa: FBT003
    value = _shown(path, _at(tree, path))
    if detail["type"] == UNKNOWN_WORD:
        hint = f"allowed: {detail['ctx']['allowed']}"
        return Finding(places(path, False), "bad-value", f"{key} {value} is not known", hint)  # noqa: FBT003
    sentence = f"{_dotted(path)} is {value}; it must be {_expected(detail)}"
    return Finding(places(path, False), "bad-value", sentence)  # noqa: FBT003  the value


def _expected(detail: Mapping[str, Any]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    if kind == "literal_error":
        return f"one of {str(context['expected']).replace(chr(39), '')}"
    if kind == "greater_than_equal":
        return f"an integer >= {context['ge']}"
    return str(detail["msg"]).removeprefix("Value error, ").replace("Input should be ", "")


def _shown(path: Path, value: Plain) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    text = value if isinstance(value, str) else str(value)
    text = mask(text)
    for key in path:
        text = mask_value(str(key), text)
    cut = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return repr(cut) if isinstance(value, str) else cut.lower()


def _dotted(path: Path) -> str:
    shown = [str(part) for part in path if isinstance(part, str)]
    return ".".join(shown) or "the document"


def _existing(tree: Plain, loc: Path) -> Path:
    path: list[str | int] = []
    for part in loc:
        if isinstance(tree, Mapping) and part in tree:
            tree = tree[str(part)]
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            continue  # pydantic's name of one of several shapes
        path.append(part)
    return tuple(path)


def _at(tree: Plain, path: Path) -> Plain:
    for part in path:
        if isinstance(tree, Mapping):
            tree = tree.get(str(part))
        elif isinstance(tree, list) and isinstance(part, int):
            tree = tree[part]
    return tree


def _keys(shape: type[BaseModel], path: Path) -> list[str]:
    shapes = [shape]
    for part in path:
        inner = [s.model_fields.items() for s in shapes]
        named = [f for fields in inner for n, f in fields if part in (n, f.alias)]
        if named:
            shapes = [s for f in named for s in _shapes(f.annotation)]
    return sorted({f.alias or n for s in shapes for n, f in s.model_fields.items()})


def _shapes(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401  a type expression
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (list, dict, Union, UnionType, Annotated):
        for inner in get_args(annotation):
            yield from _shapes(inner)
