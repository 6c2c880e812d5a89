"""What is known of an input, and what was found of how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import RangeMapping
from penstock.core.partitions.partition import Grid
from penstock.project.files.values import digest

RULES = 2
"""Rises when the same SQL gives other mappings, so that what was kept is found anew."""


class Found(StrEnum):
    """How a mapping was found.

    `unclear` is an input that only conditions bound which are not recognised, `unread` SQL that
    nothing is known of: both are read whole, because nobody knows what less would be.
    """

    INFERRED = "inferred"
    WHOLE = "whole"
    VIEW = "view"
    UNCLEAR = "unclear"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class InputShape:
    """What is known of an input without looking at its table.

    `field` and `type` are those of its partitions, "" where it has none; with a `field` the grid
    may still be `*`: then it is the column that a mapping is asked about. `columns` are None where
    not all are known. `view` are the texts of its query if it is a view.
    """

    field: str = ""
    type: str = ""
    columns: tuple[str, ...] | None = None
    grid: Grid = Grid()
    view: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inferred:
    """What one input is read for, and how that was found."""

    mapping: RangeMapping
    found: Found


def as_input(name: InputName) -> InputName:
    """Give the name of a model for `this`, any other name as it is.

    >>> as_input(InputName(InputKind.THIS, "daily")).kind
    <InputKind.MODEL: 'model'>
    """
    return InputName(InputKind.MODEL, name.name) if name.kind is InputKind.THIS else name


def inference_key(
    texts: tuple[str, ...], grid: Grid, inputs: Mapping[InputName, InputShape]
) -> str:
    """Give the key under which the result of an inference may be kept."""
    everything = (RULES, texts, grid, sorted(inputs.items()))
    return digest(repr(everything))
