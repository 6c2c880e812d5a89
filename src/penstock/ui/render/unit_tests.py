"""What `test` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.app.documents import Json, document_of
from penstock.app.unit_testing.differences import (
    Difference,
    RowsDiffer,
    UnitResult,
    UnitTestReport,
    summary,
)
from penstock.core.masking import mask
from penstock.ui.render.values import count, one_line, seconds

_MOST = 20
_NOTES = {"-": "expected, not found", "+": "found, not expected"}


def unit_tests_text(report: UnitTestReport) -> str:
    """Give what differs of every test that failed, then one line that counts."""
    if not report.results:
        return "no unit tests"
    failed = [result_text(result) for result in report.results if result.status == "failed"]
    counts = [f"{report.count(word)} {word}" for word in ("passed", "failed")]
    counts += [f"{report.count('skipped')} skipped"] * bool(report.count("skipped"))
    return "\n".join([*failed, f"{count(len(report.results), 'test')}: {', '.join(counts)}."])


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
    """Give the rows under their columns, which are as wide as the widest row that is shown."""
    yield f"  {summary(rows)}"
    lines = rows.lines[:_MOST]
    shown = zip(rows.columns, *(line.cells for line in lines), strict=True)
    widths = [max(len(one_line(cell)) for cell in column) for column in shown]
    yield f"      {_line(rows.columns, widths, rows)}"
    for line in lines:
        notes = [_NOTES[line.sign]] if line.sign in _NOTES else []
        notes += [f"x {line.times}"] * (line.times > 1)
        cells = "    ".join([_line(line.cells, widths, rows), *notes])
        yield f"    {line.sign} {cells}".rstrip()
    rest = len(rows.lines) - _MOST
    if rest > 0:
        yield f"      and {rest:,} more"


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
    place = "model=test.model name=test.name file=test.where.path line=test.where.line"
    tests = [
        {
            **document_of(result, f"{place} tags=test.tags status seconds run?"),
            "differences": [_difference(each) for each in result.differences],
        }
        for result in report.results
    ]
    counts = {status: report.count(status) for status in ("passed", "failed", "skipped")}
    return {"ok": report.ok, **counts, "tests": tests}


def _difference(each: Difference) -> Json:
    if not isinstance(each, RowsDiffer):
        return {"message": each}
    found = document_of(each, "what expected found key columns")
    rows = [document_of(line, "mark=sign cells times") for line in each.lines]
    return {"message": summary(each), **found, "rows": rows}
