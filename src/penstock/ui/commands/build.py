"""`build`: unit tests, seeds, models and snapshots in one command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.app.documents import Json
from penstock.app.flags import Yes
from penstock.app.read_requests import BuildRequest
from penstock.app.run_report import RunReport, run_document
from penstock.ui.cli.options import command, open_request
from penstock.ui.cli.output import CommandOutput, confirm
from penstock.ui.render.check import unit_tests_document, unit_tests_text
from penstock.ui.render.run import run_text, seed_text
from penstock.ui.render.values import count

if TYPE_CHECKING:
    from penstock.app.commands.build import BuildReport, BuiltPart


def skipped_text(report: BuildReport) -> str:
    """Return the models that were skipped, with the reason of each."""
    if not report.skipped:
        return "nothing to build"
    lines = (f"  {name}: {reason}" for name, reason in report.skipped.items())
    return "\n".join([f"{count(len(report.skipped), 'model')} skipped:", *lines])


def build_document(report: BuildReport) -> Json:
    """Return the documents of the parts, and the results of all runs together."""
    tests = (each for each in report.parts if not isinstance(each, RunReport))
    runs = [run_document(each) for each in report.runs]
    left = [name for each in report.runs for name in each.left]
    left += [name for name in report.skipped if name not in left]
    return {
        "succeeded": report.exit_code == 0,
        "unit_tests": next(map(unit_tests_document, tests), None),
        "models": [model for each in runs for model in _models_of(each)],
        "skipped": [{"model": name, "reason": why} for name, why in report.skipped.items()],
        "resume": {"select": left, "command": "penstock build" if left else ""},
        "runs": runs,
    }


def _models_of(document: Json) -> Sequence[Json]:
    models = document["models"] if isinstance(document, dict) else ()
    return models if isinstance(models, list) else ()


@command(
    "penstock build --select +daily_user_stats\npenstock build --exclude-resource-type test",
    without=["dry_run"],
)
def build_command(output: CommandOutput, request: BuildRequest, *, yes: Yes = False) -> int:
    """Run unit tests, then load seeds and run all models.

    Snapshots are updated too, each after what it reads. A model with a failed unit test is skipped,
    and so is everything that reads it. Checks run with the step of their model. With a selection,
    only seeds that it reads are loaded.
    """
    from penstock.app.commands.build import build

    def show(part: BuiltPart) -> None:
        if output.as_json:
            return
        if isinstance(part, RunReport):
            output.finish(request, part, seed_text if part.command == "seed" else run_text)
        else:
            output.print(part, unit_tests_text, unit_tests_document, unless_quiet=part.ok)

    def ask(packages: Sequence[str]) -> bool:
        named = ", ".join(packages)
        return confirm(f"{named}: empty all tables and process all events again?", yes=yes)

    with open_request(request) as services:
        report = build(services, request, lambda: output.progress(services), show, ask)
    if output.as_json or report.skipped or not report.parts:
        output.print(report, skipped_text, build_document, unless_quiet=not report.skipped)
    return report.exit_code
