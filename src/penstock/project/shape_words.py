"""The values of YAML files and config headers, as pydantic checks them one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from penstock.core.strategy import strategies
from penstock.project.check_keys import checks_schema
from penstock.project.durations import parse_duration

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
    known = strategies()
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


_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Texts = Annotated[list[str], BeforeValidator(_listed), WithJsonSchema(_TEXTS)]
Text = Annotated[str, BeforeValidator(_text)]
Duration = Annotated[str, BeforeValidator(duration), WithJsonSchema({"type": "string"})]
Lookback = Annotated[
    str | int, BeforeValidator(_lookback), WithJsonSchema({"type": ["string", "integer"]})
]


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
Tests = list[str | dict[str, Any]]
_TEST = {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": True}]}
ColumnTests = Annotated[Any, WithJsonSchema({"type": "array", "items": _TEST})]
"""Tests of a column, which `checks/column_tests.py` reads."""
Checks = Annotated[Any, WithJsonSchema(checks_schema())]
