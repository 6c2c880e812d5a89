"""What `test` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.app.unit_testing.reports import (
    Difference,
    RowLine,
    RowsDiffer,
    UnitResult,
    UnitTestReport,
    summary,
)
from penstock.core.masking import mask
from penstock.ui.render.values import Json, count, one_line, seconds

_MOST = 20
_NOTES = {"-": "expected, not found", "+": "found, not expected"}


def unit_tests_text(report: UnitTestReport) -> str:
    """Give what differs of every test that failed, then one line that counts."""
    if not report.results:
        return "no unit tests"
    failed = [result_text(result) for result in report.results if result.status == "failed"]
    return "\n".join([*failed, done_line(report)])


def done_line(report: UnitTestReport) -> str:
    """Count the tests, all of them and by what became of them."""
    counts = [f"{report.count('passed')} passed", f"{report.count('failed')} failed"]
    if report.count("skipped"):
        counts.append(f"{report.count('skipped')} skipped")
    return f"{count(len(report.results), 'test')}: {', '.join(counts)}."


def result_text(result: UnitResult) -> str:
    """Give one test: a line that names it, and everything that differs, at most 20 rows of it."""
    test = result.test
    word = {"passed": "pass", "failed": "FAIL", "skipped": "skip"}[result.status]
    head = f"{word}  {test.written}  {test.name}   {test.where.path}:{test.where.line}   "
    lines = [head + seconds(result.seconds)]
    lines += [f"  run {result.run} of {len(test.runs)}"] * bool(result.run)
    for each in result.differences:
        lines += _rows(each) if isinstance(each, RowsDiffer) else [f"  {one_line(mask(each))}"]
    return "\n".join(lines)


def _rows(rows: RowsDiffer) -> Iterator[str]:
    yield f"  {summary(rows)}"
    widths = _widths(rows)
    yield f"      {_line(rows.columns, widths, rows)}"
    yield from (_row(line, widths, rows) for line in rows.lines[:_MOST])
    rest = len(rows.lines) - _MOST
    if rest > 0:
        yield f"      and {rest:,} more"


def _row(line: RowLine, widths: Sequence[int], rows: RowsDiffer) -> str:
    notes = [_NOTES[line.sign]] if line.sign in _NOTES else []
    notes += [f"x {line.times}"] * (line.times > 1)
    shown = "    ".join([_line(line.cells, widths, rows), *notes])
    return f"    {line.sign} {shown}".rstrip()


def _widths(rows: RowsDiffer) -> list[int]:
    """Give the widths of columns as wide as the widest of the rows that are shown."""
    shown = [rows.columns, *(line.cells for line in rows.lines[:_MOST])]
    return [max(len(one_line(cells[at])) for cells in shown) for at in range(len(rows.columns))]


def _line(cells: Sequence[str], widths: Sequence[int], rows: RowsDiffer) -> str:
    """Lay cells out: two blanks after a key, three after anything else."""
    keys = {name.lower() for name in rows.key}
    parts = [
        one_line(mask(cell)).ljust(width) + (" " * (2 if name.lower() in keys else 3))
        for cell, width, name in zip(cells, widths, rows.columns, strict=True)
    ]
    return "".join(parts).rstrip()


def unit_tests_document(report: UnitTestReport) -> Json:
    """Give every test with all that differs, nothing cut."""
    return {
        "ok": report.ok,
        "passed": report.count("passed"),
        "failed": report.count("failed"),
        "skipped": report.count("skipped"),
        "tests": [_result(result) for result in report.results],
    }


def _result(result: UnitResult) -> Json:
    test = result.test
    return {
        "model": test.model,
        "name": test.name,
        "file": test.where.path,
        "line": test.where.line,
        "tags": list(test.tags),
        "status": result.status,
        "seconds": result.seconds,
        "run": result.run or None,
        "differences": [_difference(each) for each in result.differences],
    }


def _difference(each: Difference) -> Json:
    if not isinstance(each, RowsDiffer):
        return {"message": each}
    return {
        "message": summary(each),
        "what": each.what,
        "expected": each.expected,
        "found": each.found,
        "key": list(each.key),
        "columns": list(each.columns),
        "rows": [
            {"mark": line.sign, "cells": list(line.cells), "times": line.times}
            for line in each.lines
        ],
    }
