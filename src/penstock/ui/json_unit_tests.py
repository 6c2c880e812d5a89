"""Unit tests as JSON."""

from __future__ import annotations

from penstock.app.unit_testing.reports import (
    Difference,
    RowsDiffer,
    UnitResult,
    UnitTestReport,
    summary,
)
from penstock.ui.json_document import Json


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
            {"mark": line.mark, "cells": list(line.cells), "times": line.times}
            for line in each.lines
        ],
    }
