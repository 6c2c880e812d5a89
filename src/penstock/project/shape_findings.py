"""Shape mistakes as findings: unknown keys with the nearest, bad values with what they must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from penstock.core.findings import Finding, Location
from penstock.core.masking import mask, mask_value
from penstock.project.nearest import did_you_mean
from penstock.project.shape_words import UNKNOWN_WORD
from penstock.project.values import Path, Plain

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
