"""Watermarks of a test: which `input.column` one means, and its value in that column's type."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.core.steps.window import Watermark
from penstock.core.unit_tests import GivenWatermark
from penstock.plan.windows import windowed_inputs

Carriers = Mapping[tuple[str, str], str]
"""The type of every column that carries a watermark, by input and column."""


def carriers(model: Model, schemas: Mapping[str, Schema]) -> Carriers | None:
    """Give the columns that carry watermarks of a model that reads these; None if it has none.

    Raises what the step will raise where no input has such a column.
    """
    settings = model.strategy.window
    if settings is None:
        return None
    found = windowed_inputs(model, settings, schemas)
    return {(each.input, each.column): each.type for each in found}


def no_watermark(model: Model, watermark: GivenWatermark) -> UsageError:
    """Word the error of a watermark for a model that has none."""
    sentence = f"{model.name} has no watermark"
    return UsageError("bad-value", sentence, where=watermark.where, hint="leave it out")


def watermark_of(watermark: GivenWatermark, known: Carriers) -> Watermark:
    """Find the column that is meant and read the value in its type."""
    asked = watermark.column.lower()
    found = [key for key in known if not asked or f".{'.'.join(key)}".lower().endswith(f".{asked}")]
    if len(found) != 1:
        there = ", ".join(".".join(key) for key in known)
        sentence = f"watermark {watermark.column!r}: the model has {there}"
        raise UsageError("unknown-column", sentence, where=watermark.where, hint="name one of them")
    kind = known[found[0]]
    try:
        return Watermark(*found[0], TypedValue.parse(kind, watermark.text))
    except UsageError as error:
        raise UsageError("bad-test-value", error.sentence, where=watermark.where) from error
