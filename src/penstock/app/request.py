"""What the command line, or the Python entry point, asks of a run."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from penstock.core.checks import OnFailure
from penstock.core.errors import UsageError
from penstock.core.history import Retention
from penstock.plan.values import Options


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """What `penstock snapshot run` asks beside that.

    `prune` with `keep_last` replaces the models' retention for this run; without, they need one.
    """

    prune: bool = False
    keep_last: int | None = None
    no_prune: bool = False
    allow_empty: bool = False

    def words(self) -> list[str]:
        """Give the flags that say the same on a command line."""
        words = ["--prune"] * self.prune
        words += [] if self.keep_last is None else ["--keep-last", str(self.keep_last)]
        return words + ["--no-prune"] * self.no_prune + ["--allow-empty"] * self.allow_empty


def check_snapshot_flags(asked: SnapshotRequest) -> None:
    """Refuse flags that do not go together; raises `UsageError` `option-conflict`."""
    if asked.keep_last is not None and not asked.prune:
        raise UsageError("option-conflict", "--keep-last needs --prune", hint="add --prune")
    if asked.keep_last is not None and asked.keep_last < 1:
        raise UsageError("option-conflict", f"--keep-last {asked.keep_last} keeps nothing")
    if asked.prune and asked.no_prune:
        raise UsageError("option-conflict", "--prune and --no-prune exclude each other")


def failure_mode(given: OnFailure | str | None) -> OnFailure | None:
    """Read the word for what a failed gate does; raises `UsageError` `bad-value`."""
    modes = [str(mode) for mode in OnFailure]
    if given is not None and given not in modes:
        raise UsageError("bad-value", f"on_failure is {given!r}", hint=", ".join(modes))
    return None if given is None else OnFailure(given)


@dataclass(frozen=True, slots=True)
class Range:
    """Which partitions: dates, or keys of the grain, both included; or the last `days` days."""

    first: str | None = None
    last: str | None = None
    days: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing is narrowed."""
        return self.first is None and self.last is None and self.days is None


def asked_range(
    first: str | None, last: str | None, days: int | None = None, date: str | None = None
) -> Range:
    """Give the range of the flags; raise `option-conflict` for flags that exclude each other."""
    others = [name for name, given in (("--from", first), ("--to", last)) if given is not None]
    for name, given in (("--days", days), ("--date", date)):
        if given is not None and others:
            raise UsageError(
                "option-conflict",
                f"{name} and {' and '.join(others)} exclude each other",
                hint=f"leave {name} out",
            )
    return Range(date, date) if date is not None else Range(first, last, days)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the command line, or the Python entry point, asks of a run.

    With `snapshot` it is `penstock snapshot run`: snapshots and nothing else.
    """

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    full_refresh: bool = False
    adopt: bool = False
    threads: int | None = None
    fail_fast: bool = False
    as_of: dt.datetime | None = None
    wait_seconds: float = 0.0
    arguments: str = ""
    snapshot: SnapshotRequest | None = None
    range: Range = Range()
    batch_size: int | None = None
    allow_breaking: bool = False
    allow_source_mutation: bool = False
    skip_checks: bool = False
    on_failure: OnFailure | None = None

    @property
    def command(self) -> str:
        """The command as users type it."""
        return "snapshot run" if self.snapshot else "run"

    @property
    def options(self) -> Options:
        """What of it decides the plan."""
        asked = self.snapshot or SnapshotRequest()
        return Options(
            self.full_refresh,
            self.adopt,
            prune=asked.prune,
            no_prune=asked.no_prune,
            retention=Retention(keep_last=asked.keep_last) if asked.keep_last else None,
            allow_empty=asked.allow_empty,
            allow_breaking=self.allow_breaking,
            allow_source_mutation=self.allow_source_mutation,
            skip_checks=self.skip_checks,
            on_failure=self.on_failure,
        )


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """What is asked of `status`; with `states` only partitions in one of them are told."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    range: Range = Range()
    as_of: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """What is asked of `sync`, or of `backfill` where that names a model.

    `everything` is --all. `max_partitions` None leaves it to the project.
    """

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    range: Range = Range()
    backfill: str = ""
    everything: bool = False
    cascade: bool = False
    dry_run: bool = False
    max_partitions: int | None = None
    batch_size: int | None = None
    threads: int | None = None
    fail_fast: bool = False
    full_refresh: bool = False
    allow_breaking: bool = False
    allow_source_mutation: bool = False
    skip_checks: bool = False
    on_failure: OnFailure | None = None
    wait_seconds: float = 0.0
    as_of: dt.datetime | None = None
    arguments: str = ""

    @property
    def command(self) -> str:
        """The command as users type it."""
        return "backfill" if self.backfill else "sync"

    @property
    def options(self) -> Options:
        """What of it decides the plan."""
        return Options(
            self.full_refresh,
            allow_breaking=self.allow_breaking,
            allow_source_mutation=self.allow_source_mutation,
            skip_checks=self.skip_checks,
            on_failure=self.on_failure,
        )


@dataclass(frozen=True, slots=True)
class RollbackRequest:
    """What is asked of `rollback`; `step` may be any unique beginning of a step's id."""

    model: str
    step: str
    include_foreign: bool = False
    dry_run: bool = False
    wait_seconds: float = 0.0
    arguments: str = ""
