"""What is asked of the commands that run steps, and of the one that takes them back."""

import datetime as dt
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Annotated

from penstock.app.request.flags import FlagSpec
from penstock.app.request.shared import (
    FROM,
    TO,
    AsOf,
    Date,
    Days,
    DryRun,
    Exclude,
    FailFast,
    From,
    Name,
    Project,
    ProjectToo,
    Range,
    Select,
    States,
    To,
    Wait,
    WorkRequest,
    read_mode,
    read_time,
)
from penstock.core.checks import OnFailure
from penstock.core.errors import UsageError
from penstock.core.history import Retention

if TYPE_CHECKING:
    from penstock.core.columns.typed import TypedValue
    from penstock.plan.values import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRequest(WorkRequest):
    """What every command that runs steps is asked."""

    threads: Annotated[int | None, FlagSpec("Steps at a time.", metavar="N", least=1)] = None
    fail_fast: FailFast = False
    full_refresh: Annotated[
        bool, FlagSpec("Build the tables anew; a history loses its versions.")
    ] = False
    skip_checks: Annotated[
        bool, FlagSpec("Evaluate no check.", ("--skip-checks", "--skip-invariants"))
    ] = False
    on_failure: Annotated[
        OnFailure | str | None,
        FlagSpec(
            "What a failed check does to the rows of its step.",
            choices=tuple(map(str, OnFailure)),
            read=read_mode,
        ),
    ] = None
    wait: Wait = 0.0
    as_of: AsOf = None

    @property
    def run_timestamp(self) -> dt.datetime | None:
        """When the run says it is; None is now."""
        return read_time(self.as_of)

    @property
    def options(self) -> "Options":
        """What of it decides the plan."""
        return self.of_steps

    @property
    def of_steps(self) -> "Options":
        """What of these flags decides the plan."""
        # a module that help has no need of
        from penstock.plan.values import Options

        mode = read_mode(self.on_failure)
        return Options(self.full_refresh, skip_checks=self.skip_checks, on_failure=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsRequest(StepsRequest):
    """What commands are asked that run steps of partitions."""

    batch_size: Annotated[
        int | None, FlagSpec("Partitions that one step makes at most.", metavar="N", least=1)
    ] = None
    allow_breaking: Annotated[bool, FlagSpec("Rewrite tables whose columns change their type.")] = (
        False
    )
    allow_source_mutation: Annotated[
        bool, FlagSpec("Let the SQL of immutable versions change.")
    ] = False

    @property
    def options(self) -> "Options":
        """What of it decides the plan."""
        return self.of_partitions

    @property
    def of_partitions(self) -> "Options":
        """What of these flags and of those of all steps decides the plan."""
        return replace(
            self.of_steps,
            allow_breaking=self.allow_breaking,
            allow_source_mutation=self.allow_source_mutation,
        )


@dataclass(frozen=True, slots=True)
class RunRequest(PartitionsRequest):
    """What is asked of `run`, and of `plan`, which is `run` with `dry_run`."""

    project: ProjectToo = "."
    _: KW_ONLY
    dry_run: DryRun = False
    select: Select = ()
    exclude: Exclude = ()
    date: Date = None
    from_: From = None
    to: To = None
    adopt: Annotated[bool, FlagSpec("Take over a table that penstock did not make; one model.")] = (
        False
    )

    command = "run"

    def refuse_conflicts(self) -> None:
        """Refuse two ways to name partitions."""
        self.refuse("date", ("from_", "to"))

    @property
    def range(self) -> Range:
        """The partitions that are asked for."""
        return Range(self.date or self.from_, self.date or self.to)

    @property
    def options(self) -> "Options":
        """What of it decides the plan."""
        return replace(self.of_partitions, adopt=self.adopt)


@dataclass(frozen=True, slots=True)
class SnapshotRequest(StepsRequest):
    """What is asked of `snapshot run`, which builds history tables and nothing else.

    `prune` with `keep_last` replaces the models' retention for this run; without, they need one.
    """

    project: ProjectToo = "."
    _: KW_ONLY
    prune: Annotated[bool, FlagSpec("Remove old versions, also where nothing changed.")] = False
    keep_last: Annotated[
        int | None,
        FlagSpec(
            "With --prune: versions per key that stay, instead of the model's retention.",
            metavar="N",
            least=1,
        ),
    ] = None
    no_prune: Annotated[bool, FlagSpec("Leave the models' retention out.")] = False
    allow_empty: Annotated[bool, FlagSpec("Let an empty source close every key.")] = False
    dry_run: Annotated[bool, FlagSpec("Count what would be done and write nothing.")] = False
    select: Select = ()
    exclude: Exclude = ()

    command = "snapshot run"
    range = Range()
    batch_size = None

    def refuse_conflicts(self) -> None:
        """Refuse flags of retention that contradict each other."""
        if self.keep_last is not None and not self.prune:
            raise UsageError("option-conflict", "--keep-last needs --prune", hint="add --prune")
        self.refuse("no_prune", ["prune"])

    @property
    def options(self) -> "Options":
        """What of it decides the plan."""
        return replace(
            self.of_steps,
            prune=self.prune,
            no_prune=self.no_prune,
            retention=Retention(keep_last=self.keep_last) if self.keep_last else None,
            allow_empty=self.allow_empty,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRequest(PartitionsRequest):
    """What `sync` and `backfill` are asked alike; `max_partitions` None is the project's."""

    cascade: Annotated[bool, FlagSpec("Run what reads the partitions as well.")] = False
    dry_run: DryRun = False
    max_partitions: Annotated[
        int | None,
        FlagSpec("Run the first N partitions; the others remain.", metavar="N", least=1),
    ] = None


@dataclass(frozen=True, slots=True)
class SyncRequest(DriftRequest):
    """What is asked of `sync`."""

    project: Project = "."
    _: KW_ONLY
    from_: From = None
    to: To = None
    days: Days = None
    states: States = ()
    everything: Annotated[
        bool, FlagSpec("Every model and partition, without any limit.", ("--all",))
    ] = False
    select: Select = ()
    exclude: Exclude = ()

    command = "sync"
    model = ""

    def refuse_conflicts(self) -> None:
        """Refuse two ways to name partitions, and what leaves something out beside --all."""
        self.refuse("days", ("from_", "to"))
        narrow = ("select", "exclude", "states", "from_", "to", "days", "max_partitions")
        self.refuse("everything", narrow, self.arguments.split())

    @property
    def range(self) -> Range:
        """The partitions that are asked for."""
        return Range(self.from_, self.to, self.days)


@dataclass(frozen=True, slots=True)
class BackfillRequest(DriftRequest):
    """What is asked of `backfill`: one model, and a range whatever the partitions' states."""

    project: Project
    model: Name
    _: KW_ONLY
    from_: Annotated[str, FROM]
    to: Annotated[str, TO]

    command = "backfill"
    select = exclude = states = ()
    everything = False

    @property
    def range(self) -> Range:
        """The partitions that are asked for."""
        return Range(self.from_, self.to)


@dataclass(frozen=True, slots=True)
class RerunRequest(RunRequest):
    """What is asked of `rerun`: a range of the time column of one model, ends included."""

    _: KW_ONLY
    bounds: "tuple[TypedValue, TypedValue]"

    command = "backfill"

    @property
    def options(self) -> "Options":
        """What of it decides the plan."""
        return replace(self.of_partitions, rerun=self.bounds)


AnyRun = RunRequest | SnapshotRequest
AnySync = SyncRequest | BackfillRequest


@dataclass(frozen=True, slots=True)
class RollbackRequest(WorkRequest):
    """What is asked of `rollback`; `to` may be any unique beginning of a step's id."""

    project: Project
    model: Name
    _: KW_ONLY
    to: Annotated[str, FlagSpec("The first step to take back.", metavar="STEP")]
    include_foreign: Annotated[bool, FlagSpec("Take commits of others back as well.")] = False
    dry_run: Annotated[bool, FlagSpec("Say what would be restored, and do nothing.")] = False
    wait: Wait = 0.0
