"""`seed`: files as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from penstock.app.flags import FlagSpec
from penstock.app.request import CommandRequest
from penstock.ui.cli.options import ask, command
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.run import done_line
from penstock.ui.render.values import error_text, first_line, row_counts, seconds

if TYPE_CHECKING:
    from penstock.app.run_report import RunReport


Seeds = Annotated[
    Sequence[str], FlagSpec("Seeds to load; default: all.", ("--select", "-s"), "NAME")
]


def seed_text(report: RunReport) -> str:
    """Return a line per seed, then errors, the summary and the command that resumes."""
    if not report.results:
        return "no seeds"
    width = max(len(result.name) for result in report.results)
    lines = []
    for result in report.results:
        found = [str(result.table), row_counts(result.rows), seconds(result.duration)]
        if result.status == "failed" and result.error is not None:
            found = ["FAILED", first_line(result.error)]
        elif result.status == "unchanged":
            found = ["up to date"]
        elif result.status == "skipped":
            found = [f"skipped: {result.reason}"]
        lines.append("  ".join([f"{result.name:<{width}}", *found]))
    lines += dict.fromkeys(error_text(r.error) for r in report.results if r.error is not None)
    lines.append(done_line(report.results))
    lines += [f"Resume: {report.resume}"] * bool(report.resume)
    return "\n".join(lines)


@command("penstock seed --select countries")
def seed_command(output: CommandOutput, request: CommandRequest, select: Seeds = ()) -> int:
    """Load the files under seeds/ as tables.

    Skips files that have not changed since they were loaded.
    """
    from penstock.app.commands.seed import seed

    return output.finish(request, ask(request, seed, tuple(select)), seed_text)
