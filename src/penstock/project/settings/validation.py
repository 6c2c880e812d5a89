"""Values as pydantic checks them, and what is said of those that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    GetPydanticSchema,
    StringConstraints,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from penstock.core.findings import IGNORED_CODE, Finding, Severity
from penstock.core.strategy import strategies
from penstock.project.files.nodes import Places, shown, unknown_key
from penstock.project.files.values import Path, Plain, duration_of
from penstock.project.settings.check_keys import checks_schema

# Any: pydantic hands over what the user wrote before it is checked.
Scalar = str | int | float | bool
_OTHER_FILES = {"historic": "entities", "sessions": "session packages"}
_ELSEWHERE = dict.fromkeys(
    ("pre_hook", "post_hook", "pre-hook", "post-hook", "on-run-start", "on-run-end"),
    "nothing runs beside a model: put it into the query, or run it before or after penstock",
) | {
    "access": "delete it; every model may read every other",
    "constraints": "write a check: checks or data_tests",
    "contract": "declare the columns with their types in a versioned YAML file, or write a check",
    "docs": "write description; penstock graph draws the models",
    "exposures": "delete it; meta or tags of a model can say who uses it",
    "full_refresh": "delete it; penstock run --full-refresh builds a table again",
    "grants": "grant rights in the catalog or on the files; penstock changes none",
    "group": "delete it, or write a tag",
    "groups": "delete it, or give the models a tag",
    "latest_version": "write a versioned YAML file; see docs/drift.md",
    "metrics": "delete it, or write a model that computes the metric",
    "persist_docs": "delete it; a model's description and those of its columns are in its table",
    "saved_queries": "delete it, or write a model",
    "semantic_models": "delete it, or write a model",
}
"""Keys of dbt's that do nothing here, and what to do instead."""
UNKNOWN_WORD = "unknown_word"
Tests = list[str | dict[str, Any]]
_TEST = {"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": True}]}
ColumnTests = Annotated[Any, WithJsonSchema({"type": "array", "items": _TEST})]
"""Tests of a column, which `checks/phases.py` reads."""
Checks = Annotated[Any, WithJsonSchema(checks_schema())]
_EXPECTED = {
    "string": "a text",
    "int": "an integer",
    "bool": "true or false",
    "list": "a list",
    **dict.fromkeys(("dict", "model", "mapping"), "a mapping"),
}
"""What a value must be, by the first word of what pydantic says of it."""


def duration(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    """Let a duration pass, and mappings, which another shape checks."""
    if isinstance(value, dict) or duration_of(value) is not None:
        return value
    raise ValueError("a duration such as 90m, 36h or 2 days")


def _lookback(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return value if isinstance(value, int) and not isinstance(value, bool) else duration(value)


def _materialized_words() -> tuple[str, ...]:
    """Return the values of `materialized`: strategies, and dbt's word for `merge` or `append`."""
    known = {word: each for word, each in strategies().items() if each.is_written}
    last = max(n for n, each in enumerate(known.values(), start=1) if each.is_incremental)
    return (*[*known][:last], "incremental", *[*known][last:])


def _supported(value: str) -> str:
    known = _materialized_words()
    if value in known:
        return value
    others = _OTHER_FILES.get(value)
    note = f" ({value} is for {others}, which have files of their own)" if others else ""
    raise ValueError(f"one of {', '.join(known)}{note}")


def _text(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def words(*allowed: str) -> GetPydanticSchema:
    """Let one of several words pass; the finding lists them in its hint."""

    def checked(value: str) -> str:
        if value not in allowed:
            context = {"allowed": ", ".join(allowed)}
            raise PydanticCustomError(UNKNOWN_WORD, "one of {allowed}", context)
        return value

    return GetPydanticSchema(
        lambda source, inner: core_schema.no_info_after_validator_function(checked, inner(source)),
        lambda schema, inner: {**inner(schema), "enum": list(allowed)},
    )


def _count(value: Any) -> Any:  # noqa: ANN401  what the user wrote
    if isinstance(value, bool):
        raise ValueError("an integer >= 1")  # noqa: TRY004  pydantic's way
    return value


def _spelt(pattern: str, expected: str) -> AfterValidator:
    def checked(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(expected)
        return value

    return AfterValidator(checked)


Texts = Annotated[
    list[str],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
Text = Annotated[str, BeforeValidator(_text)]
Duration = Annotated[str, BeforeValidator(duration), WithJsonSchema({"type": "string"})]
Lookback = Annotated[
    str | int, BeforeValidator(_lookback), WithJsonSchema({"type": ["string", "integer"]})
]
Materialized = Annotated[
    str,
    AfterValidator(_supported),
    Field(json_schema_extra=lambda schema: schema.update(enum=[*_materialized_words()])),
]
Count = Annotated[int, Field(ge=1), BeforeValidator(_count)]  # so that the schema has it, too
Whole = Annotated[int, BeforeValidator(_count)]
GrainWord = Annotated[
    str, StringConstraints(to_upper=True), words("HOUR", "DAY", "WEEK", "MONTH", "YEAR", "RANGE")
]
Days = Annotated[int, Field(ge=0), BeforeValidator(_count)]
OnFailureWord = Annotated[
    Literal["flag", "block", "rollback"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
]
SchemaName = Annotated[str, _spelt("[A-Za-z0-9_-]+", "letters, digits, _ and -")]
Prefix = Annotated[str, _spelt("[A-Za-z0-9_]*", "letters, digits and _")]


def shape_findings(shape: type[BaseModel], tree: Plain, places: Places) -> list[Finding]:
    """Check a tree; give one finding per node that does not fit."""
    try:
        shape.model_validate(tree)
    except ValidationError as error:
        found: dict[Path, Finding] = {}
        for detail in error.errors(include_url=False, include_input=False):
            path, value = _existing(tree, detail["loc"])
            if detail["type"] == "missing":
                path = (*path, detail["loc"][-1])
            found.setdefault(path, _finding(shape, path, value, detail, places))
        # where a value may have two shapes, the deeper complaint is the one about what was meant
        outer = {path[:depth] for path in found for depth in range(len(path))}
        return [finding for path, finding in found.items() if path not in outer]
    return []


def _existing(tree: Plain, loc: Path) -> tuple[Path, Plain]:
    """Return the path of what does not fit, and it."""
    path: list[str | int] = []
    for part in loc:
        if isinstance(tree, Mapping) and part in tree:
            tree = tree[str(part)]
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            continue  # pydantic's name of one of several shapes
        path.append(part)
    return tuple(path), tree


def _finding(
    shape: type[BaseModel], path: Path, value: Plain, detail: Mapping[str, Any], places: Places
) -> Finding:
    key, kind = str(path[-1]) if path else "the document", detail["type"]
    if kind == "extra_forbidden" and key in _ELSEWHERE:
        sentence = f"{key} is not taken over: nothing of it runs"
        where = places(path, True)  # noqa: FBT003  the key itself
        return Finding(where, IGNORED_CODE, sentence, _ELSEWHERE[key], Severity.WARNING)
    if kind == "extra_forbidden":
        return unknown_key(places(path, True), key, _keys(shape, path[:-1]))  # noqa: FBT003  the key itself
    if kind == "missing":
        return Finding(places(path[:-1], False), "missing-key", f"{key!r} is missing")  # noqa: FBT003
    where, said = places(path, False), shown(path, value)  # noqa: FBT003  the value
    if kind == UNKNOWN_WORD:
        hint = f"allowed: {detail['ctx']['allowed']}"
        return Finding(where, "bad-value", f"{key} {said} is not known", hint)
    dotted = ".".join(part for part in path if isinstance(part, str)) or "the document"
    if kind == "literal_error":
        words = detail["ctx"]["expected"].replace("'", "")
        expected = f"one of {words}" if " or " in words else words
    elif kind == "greater_than_equal":
        expected = f"an integer >= {detail['ctx']['ge']}"
    else:
        message = detail["msg"].removeprefix("Value error, ").replace("Input should be ", "")
        expected = _EXPECTED.get(kind.partition("_")[0], message)
    return Finding(where, "bad-value", f"{dotted} is {said}; it must be {expected}")


def _keys(shape: type[BaseModel], path: Path) -> set[str]:
    shapes = [shape]
    for part in path:
        fields = [item for s in shapes for item in s.model_fields.items()]
        named = [f for n, f in fields if part in (n, f.alias)]
        if named:
            shapes = [s for f in named for s in _shapes(f.annotation)]
    return {f.alias or n for s in shapes for n, f in s.model_fields.items()}


def _shapes(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401  a type expression
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (list, dict, Union, UnionType, Annotated):
        for inner in get_args(annotation):
            yield from _shapes(inner)
