"""What a test expects: `expect` and `expect_error` (spec/checks.md §9.3)."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.unit_tests import (
    CellKind,
    Expectation,
    ExpectedError,
    GivenTable,
    GivenWatermark,
)
from penstock.project.nearest import did_you_mean
from penstock.project.unit_tests.nodes import Node
from penstock.project.unit_tests.reading import Notes
from penstock.project.unit_tests.tables import FORMS, form_of, rows_table, table_of

KEYS = (
    *FORMS,
    "columns",
    "columns_exact",
    "unchanged",
    "row_count",
    "commits",
    "metrics",
    "watermark",
    "quarantine",
    "checks",
    "status",
    "tolerance",
)
STATUSES = ("success", "failed", "skipped", "unchanged")
CHECK_STATUSES = ("passed", "failed", "skipped")


def expectation_of(node: Node, notes: Notes) -> Expectation:
    """Read `expect`; a list is its `rows`."""
    if node.items is not None:
        return Expectation(node.where, rows_table(node, {}, notes))
    if node.members == {}:
        hint = "give rows, or another key of expect"
        notes.say(node.where, "test-without-expectation", "expect says nothing", hint)
    for key, inner in (node.members or {}).items():
        if key in KEYS and inner.is_null:
            notes.bad(inner, key, "a value, or left out")
    found = notes.members(node, "expect", KEYS)
    rows: GivenTable | None = None
    if any(form in found for form in FORMS):
        rows = form_of(found, node.where, notes, "expect")
    types = rows.columns if rows else notes.types(found.get("columns"), "columns")
    quarantine = found.get("quarantine")
    return Expectation(
        where=node.where,
        rows=rows,
        columns=types,
        columns_exact=notes.flag(found.get("columns_exact"), "columns_exact"),
        unchanged=notes.flag(found.get("unchanged"), "unchanged"),
        row_count=notes.number(found.get("row_count"), "row_count"),
        commits=notes.number(found.get("commits"), "commits"),
        metrics=_metrics(found.get("metrics"), notes),
        watermarks=marks_of(found.get("watermark"), notes),
        quarantine=table_of(quarantine, notes, "quarantine") if quarantine else None,
        checks=_checks(found.get("checks"), notes),
        status=_one_of(found.get("status"), "status", STATUSES, notes),
        tolerance=_tolerance(found.get("tolerance"), notes),
    )


def error_of(node: Node, notes: Notes) -> ExpectedError:
    """Read `expect_error`; a text alone is its code."""
    if node.cell is not None:
        return ExpectedError(node.where, node.text)
    found = notes.members(node, "expect_error", ("code", "contains"))
    code = notes.text(found.get("code"), "code")
    if not code:
        notes.say(node.where, "missing-key", "expect_error needs code")
    return ExpectedError(node.where, code, notes.text(found.get("contains"), "contains"))


def marks_of(node: Node | None, notes: Notes) -> tuple[GivenWatermark, ...]:
    """Read a watermark: a value, or values by `input.column`."""
    if node is None or node.is_null:
        return ()
    if node.members is None:
        return (GivenWatermark("", notes.text(node, "watermark"), node.where),)
    pairs = node.members.items()
    return tuple(
        GivenWatermark(name, notes.text(inner, name), inner.where) for name, inner in pairs
    )


def _metrics(node: Node | None, notes: Notes) -> Mapping[str, int]:
    if node is None or node.members is None:
        if node is not None:
            notes.bad(node, "metrics", "a mapping of names to numbers")
        return {}
    found = {name: notes.number(inner, name) for name, inner in node.members.items()}
    return {name: number for name, number in found.items() if number is not None}


def _checks(node: Node | None, notes: Notes) -> Mapping[str, str]:
    if node is None or node.members is None:
        if node is not None:
            notes.bad(node, "checks", "a mapping of names to passed, failed or skipped")
        return {}
    return {
        name: _one_of(inner, name, CHECK_STATUSES, notes) for name, inner in node.members.items()
    }


def _one_of(node: Node | None, what: str, allowed: tuple[str, ...], notes: Notes) -> str:
    text = notes.text(node, what)
    if node is not None and text not in allowed:
        hint = did_you_mean(text, allowed) or f"allowed: {', '.join(allowed)}"
        notes.say(node.where, "bad-value", f"{what} {text!r} is not known", hint)
        return ""
    return text


def _tolerance(node: Node | None, notes: Notes) -> float:
    if node is None:
        return 0.0
    try:
        found = float(notes.text(node, "tolerance"))
    except ValueError:
        found = -1.0
    if node.cell is None or node.cell.kind is CellKind.BOOLEAN or not 0 <= found < 1:
        notes.bad(node, "tolerance", "a number from 0 to below 1, for example 1e-9")
        return 0.0
    return found
