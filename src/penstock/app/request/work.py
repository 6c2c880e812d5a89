"""What is asked of the commands that run steps, and of the one that takes them back."""

from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Annotated

from penstock.app.request.flags import FlagSpec
from penstock.app.request.shared import (
    FROM,
    TO,
    AsOf,
    Date,
    Dated,
    Days,
    DryRun,
    Exclude,
    FailFast,
    From,
    Name,
    Project,
    ProjectToo,
    Select,
    States,
    To,
    Wait,
    WorkRequest,
    read_mode,
)
from penstock.core.checks import OnFailure
from penstock.core.errors import UsageError
from penstock.core.history import Retention

if TYPE_CHECKING:
    from penstock.plan.values import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRequest(WorkRequest, Dated):
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
    def options(self) -> "Options":
        """What of it decides the plan: what is called there as it is here."""
        # a module that help has no need of
        from penstock.plan.values import Options

        names = [each.name for each in fields(Options) if hasattr(self, each.name)]
        return Options(**{name: getattr(self, name) for name in names})


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
    batch_size = None

    def refuse_conflicts(self) -> None:
        """Refuse flags of retention that contradict each other."""
        if self.keep_last is not None and not self.prune:
            raise UsageError("option-conflict", "--keep-last needs --prune", hint="add --prune")
        self.refuse("no_prune", ["prune"])

    @property
    def retention(self) -> Retention | None:
        """What replaces the models' own; None leaves it."""
        return Retention(keep_last=self.keep_last) if self.keep_last else None


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
