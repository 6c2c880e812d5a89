"""`target clone`: tables of another target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.app.read_requests import CloneRequest
from penstock.ui.cli.options import ask, command, group
from penstock.ui.cli.output import CommandOutput
from penstock.ui.render.run import done_line
from penstock.ui.render.values import error_text, first_line, seconds

if TYPE_CHECKING:
    from penstock.app.run_report import RunReport


def clone_text(report: RunReport) -> str:
    """Return a line per model, then errors and the summary."""
    width = max((len(result.name) for result in report.results), default=0)
    lines = []
    for result in report.results:
        found = [str(result.table), result.reason, seconds(result.duration)]
        if result.error is not None:
            found = ["FAILED", first_line(result.error)]
        lines.append("  ".join([f"{result.name:<{width}}", *found]))
    lines += dict.fromkeys(error_text(r.error) for r in report.results if r.error is not None)
    return "\n".join([*lines, done_line(report.results)])


target_command = group(
    "penstock target clone prod dev --select +orders",
    """Copy tables between targets.

    A target is an environment of penstock.yml: a warehouse, a state, and their settings.
    """,
)


@command("penstock target clone prod dev --select +orders", of=target_command)
def target_clone(output: CommandOutput, request: CloneRequest) -> int:
    """Clone tables of FROM into TO without copying their files.

    Creates Delta shallow clones, each with records of its own, and the views. What is current in
    FROM is current in TO. A clone reads the files of FROM: after VACUUM in FROM it may be
    unreadable, and must be cloned again. Replaces earlier clones, other tables only with --force.
    """
    from penstock.app.commands.clone import clone

    return output.finish(request, ask(request, clone, request), clone_text)
