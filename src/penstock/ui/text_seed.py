"""What `seed` prints."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.app.reports import ModelResult, RunReport
from penstock.ui.text_errors import error_text, first_line
from penstock.ui.text_run import done_line
from penstock.ui.text_values import row_counts, seconds


def seed_text(report: RunReport) -> str:
    """Give a line per seed, then errors, the summary and the command that resumes."""
    if not report.results:
        return "no seeds"
    width = max(len(result.name) for result in report.results)
    lines = [f"{r.name:<{width}}  {'  '.join(_outcome(r))}" for r in report.results]
    errors = [error_text(r.error) for r in report.results if r.error is not None]
    lines += dict.fromkeys(errors)
    lines.append(done_line(report.results))
    lines += [f"Resume: {report.resume}"] * bool(report.resume)
    return "\n".join(lines)


def _outcome(result: ModelResult) -> Iterator[str]:
    match result.status:
        case "failed" if result.error is not None:
            yield f"FAILED  {first_line(result.error)}"
        case "unchanged":
            yield "up to date"
        case "skipped":
            yield f"skipped: {result.reason}"
        case _:
            yield str(result.table)
            yield row_counts(result.rows)
            yield seconds(result.duration)
