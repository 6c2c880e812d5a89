"""The options of `run` and `plan`, given to both as one value."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.ui.cli.check_options import CHECK_OPTIONS
from penstock.ui.cli.options import Command, Scope, Selection
from penstock.ui.cli.shared import (
    ALLOWANCES,
    AS_OF,
    FAIL_FAST,
    FROM,
    THREADS,
    TO,
    WAIT,
    asked_range,
    run_timestamp_of,
)

if TYPE_CHECKING:
    from penstock.app.request import RunRequest, SnapshotRequest


@dataclass(frozen=True, slots=True)
class RunFlags:
    """What the command line says about a run."""

    full_refresh: bool = False
    adopt: bool = False
    threads: int | None = None
    fail_fast: bool = False
    as_of: str | None = None
    wait: float = 0.0
    yes: bool = False
    date: str | None = None
    first: str | None = None
    last: str | None = None
    batch_size: int | None = None
    allow_breaking: bool = False
    allow_source_mutation: bool = False
    skip_checks: bool = False
    on_failure: str | None = None

    def request(self, selection: Selection, snapshot: SnapshotRequest | None = None) -> RunRequest:
        """Give the request of the use case; `bad-value` for a time that cannot be read."""
        from penstock.app.request import RunRequest, failure_mode
        from penstock.core.masking import mask

        given = click.get_current_context().obj or []
        return RunRequest(
            select=selection.select,
            exclude=selection.exclude,
            full_refresh=self.full_refresh,
            adopt=self.adopt,
            threads=self.threads,
            fail_fast=self.fail_fast,
            as_of=run_timestamp_of(self.as_of),
            wait_seconds=self.wait,
            arguments=mask(shlex.join(given)),
            snapshot=snapshot,
            range=asked_range(self.first, self.last, date=self.date),
            batch_size=self.batch_size,
            allow_breaking=self.allow_breaking,
            allow_source_mutation=self.allow_source_mutation,
            skip_checks=self.skip_checks,
            on_failure=failure_mode(self.on_failure),
        )


def run_options(call: Command) -> Command:
    """Give the command `flags`, and the project's folder as its argument, too."""
    return _with_flags(call, [*_RANGE, *_OPTIONS, *CHECK_OPTIONS, *ALLOWANCES, _ADOPT])


def snapshot_options(call: Command) -> Command:
    """Give `snapshot run` the same flags; a history table is adopted by `snapshot migrate`."""
    return _with_flags(call, [*_OPTIONS, *CHECK_OPTIONS])


def _with_flags(call: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    @functools.wraps(call)
    def with_flags(scope: Scope, **values: Any) -> int | None:  # noqa: ANN401  click gives them
        names = [field.name for field in fields(RunFlags) if field.name in values]
        taken = {name: values.pop(name) for name in names}
        project = values.pop("project")
        return call(_placed(scope, project), flags=RunFlags(**taken), **values)

    wrapped: Command = with_flags
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def _placed(scope: Scope, project: str | None) -> Scope:
    if project is None:
        return scope
    if scope.root not in (Path(), Path(project)):
        raise click.UsageError(f"the project is {project!r} and --project-dir {str(scope.root)!r}")
    return Scope(Path(project), scope.target, scope.variables, scope.output)


_ADOPT = click.option(
    "--adopt", is_flag=True, help="Take over a table that penstock did not make; one model."
)
_RANGE = [
    click.option("--date", metavar="D", help="The partitions that hold this date."),
    FROM,
    TO,
]
_OPTIONS = [
    click.argument("project", required=False, type=click.Path(file_okay=False)),
    click.option(
        "--full-refresh", is_flag=True, help="Build the tables anew; a history loses its versions."
    ),
    THREADS,
    FAIL_FAST,
    AS_OF,
    WAIT,
    click.option("--yes", is_flag=True, help="Answer yes to every question."),
]
