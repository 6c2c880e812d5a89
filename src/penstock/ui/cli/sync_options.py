"""The options that `sync` and `backfill` share, given to both as one value."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from penstock.ui.cli.check_options import CHECK_OPTIONS
from penstock.ui.cli.options import Command
from penstock.ui.cli.shared import ALLOWANCES, AS_OF, FAIL_FAST, THREADS, WAIT, run_timestamp_of

if TYPE_CHECKING:
    from penstock.app.request import SyncRequest


@dataclass(frozen=True, slots=True)
class SyncFlags:
    """What the command line says about how partitions are run."""

    cascade: bool = False
    dry_run: bool = False
    yes: bool = False
    max_partitions: int | None = None
    batch_size: int | None = None
    threads: int | None = None
    fail_fast: bool = False
    full_refresh: bool = False
    allow_breaking: bool = False
    allow_source_mutation: bool = False
    skip_checks: bool = False
    on_failure: str | None = None
    wait: float = 0.0
    as_of: str | None = None

    def request(self) -> SyncRequest:
        """Give the request without its models; `bad-value` for a time that cannot be read."""
        from penstock.app.request import SyncRequest, failure_mode
        from penstock.core.masking import mask

        given = click.get_current_context().obj or []
        return SyncRequest(
            cascade=self.cascade,
            dry_run=self.dry_run,
            max_partitions=self.max_partitions,
            batch_size=self.batch_size,
            threads=self.threads,
            fail_fast=self.fail_fast,
            full_refresh=self.full_refresh,
            allow_breaking=self.allow_breaking,
            allow_source_mutation=self.allow_source_mutation,
            skip_checks=self.skip_checks,
            on_failure=failure_mode(self.on_failure),
            wait_seconds=self.wait,
            as_of=run_timestamp_of(self.as_of),
            arguments=mask(shlex.join(given)),
        )


def sync_options(call: Command) -> Command:
    """Give the command `flags`, too."""

    @functools.wraps(call)
    def with_flags(*given: Any, **values: Any) -> int | None:  # noqa: ANN401  click gives them
        taken = {field.name: values.pop(field.name) for field in fields(SyncFlags)}
        return call(*given, flags=SyncFlags(**taken), **values)

    wrapped: Command = with_flags
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


_OPTIONS: list[Callable[[Command], Command]] = [
    click.option("--cascade", is_flag=True, help="Run what reads the partitions as well."),
    click.option("--dry-run", is_flag=True, help="Show the plan and do nothing."),
    click.option("--yes", is_flag=True, help="Do not ask."),
    click.option(
        "--max-partitions",
        metavar="N",
        type=click.IntRange(min=1),
        help="Run the first N partitions; the others remain.",
    ),
    THREADS,
    FAIL_FAST,
    click.option(
        "--full-refresh", is_flag=True, help="Build the tables anew; a history loses its versions."
    ),
    *CHECK_OPTIONS,
    *ALLOWANCES,
    WAIT,
    AS_OF,
]
