"""The arguments of commands: one class per command, and the full declaration of each flag.

A field is a flag: its name, type, default and help are written only here. `ui` builds the
command-line options from these fields, and `app.entry` the keywords of `penstock.run` and similar
functions (see `flags`). So annotations are evaluated in this module.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated

from penstock.app.flags import (
    FROM,
    TO,
    Adopt,
    AllowBackdated,
    AllowBreaking,
    AllowMutation,
    AllowSchemaChange,
    AsOf,
    CatchUp,
    ComparedWith,
    Date,
    Days,
    DeferTo,
    DryRun,
    Exclude,
    FailFast,
    FlagSpec,
    From,
    FullRefresh,
    KeepLast,
    MaxPartitions,
    Name,
    OnFailureOf,
    Phases,
    Process,
    ProcessingTime,
    Project,
    Range,
    Select,
    SkipChecks,
    Slice,
    States,
    Strict,
    TargetName,
    To,
    Variables,
    Wait,
    a_count,
    flag_fields,
    given_flags,
    read_time,
)
from penstock.core.checks.check import Phase
from penstock.core.errors import UsageError
from penstock.core.history import Retention

if TYPE_CHECKING:
    from penstock.engine.spark_engine import SparkSession
    from penstock.plan.values import Options

BOTH = frozenset({Phase.BEFORE, Phase.AFTER})


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """Arguments of every command on a project: which project, for which target."""

    project: Project = "."
    _: KW_ONLY
    target: TargetName = None
    variables: Variables = None

    def __post_init__(self) -> None:
        """Parse arguments that are text; raise `UsageError` if one is invalid or two conflict."""
        for each in flag_fields(type(self)):
            object.__setattr__(self, each.name, each.read(getattr(self, each.name)))
        for name in ("date", "days"):  # two ways to name partitions
            if hasattr(self, name):
                self.refuse(name, ("from_", "to"))
        self.refuse_conflicts()

    def refuse_conflicts(self) -> None:
        """Raise `UsageError` `option-conflict` for flags that exclude each other."""

    def refuse(self, name: str, others: Iterable[str]) -> None:
        """Raise if a flag is used together with any of these."""
        words = getattr(self, "arguments", "").split()
        beside = given_flags(self, others, words)
        for flag in given_flags(self, [name], words) if beside else ():
            sentence = f"{flag} and {', '.join(beside)} exclude each other"
            raise UsageError("option-conflict", sentence, hint=f"leave {flag} out")

    def require(self, name: str, other: str) -> None:
        """Raise if a flag is used without another."""
        for flag in () if getattr(self, other) else given_flags(self, [name]):
            needed = f"--{other.replace('_', '-')}"
            raise UsageError("option-conflict", f"{flag} needs {needed}", hint=f"add {needed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRequest(CommandRequest):
    """Arguments of commands that start Spark or write.

    `spark` is a session of the caller, used and never stopped; so is one that runs in this process.
    `arguments` is the command line for the record of a run.
    """

    spark: "SparkSession | None" = field(default=None, compare=False)
    arguments: str = ""


class Dated:
    """Properties of requests with a time or dates, computed from the flags that they have."""

    __slots__ = ()

    @property
    def run_timestamp(self) -> dt.datetime | None:
        """The time that the command uses as now; None is the current time."""
        return read_time(getattr(self, "as_of", None))

    @property
    def range(self) -> Range:
        """The selected partitions."""
        names = ("date", "from_", "to", "days")
        date, first, last, days = (getattr(self, name, None) for name in names)
        return Range(date or first, date or last, days)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRequest(WorkRequest, Dated):
    """Arguments of every command that runs steps."""

    threads: Annotated[int | None, a_count("Number of steps to run at once.")] = None
    fail_fast: FailFast = False
    full_refresh: FullRefresh = False
    skip_checks: SkipChecks = False
    on_failure: OnFailureOf = None
    wait: Wait = 0.0
    as_of: AsOf = None
    defer_to: DeferTo = None
    allow_schema_change: AllowSchemaChange = False

    @property
    def options(self) -> "Options":
        """The fields that affect the plan, under the same names."""
        # a module that help has no need of
        from penstock.plan.values import Options

        names = [each.name for each in fields(Options) if hasattr(self, each.name)]
        return Options(**{name: getattr(self, name) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsRequest(StepsRequest):
    """Arguments of commands that run steps of partitions."""

    batch_size: Annotated[int | None, a_count("Maximum partitions per step.")] = None
    allow_breaking: AllowBreaking = False
    allow_source_mutation: AllowMutation = False


@dataclass(frozen=True, slots=True)
class RunRequest(PartitionsRequest):
    """Arguments of `run`, and of `plan`, which is `run` with `dry_run`."""

    project: Project = "."
    _: KW_ONLY
    dry_run: DryRun = False
    select: Select = ()
    exclude: Exclude = ()
    state: ComparedWith = None
    """The target of `state:modified`; by default that of `defer_to`."""
    date: Date = None
    from_: From = None
    to: To = None
    adopt: Adopt = False
    slice: Slice = ""
    strategy: Process = None
    processing_time: ProcessingTime = None
    allow_backdated: AllowBackdated = False
    strict: Strict = False
    catch_up: CatchUp = False
    max_windows: Annotated[int | None, a_count("With --catch-up: stop after N windows.")] = None

    command = "run"

    def refuse_conflicts(self) -> None:
        """Raise for a flag that limits something that is not selected."""
        self.require("max_windows", "catch_up")


@dataclass(frozen=True, slots=True)
class SnapshotRequest(StepsRequest):
    """Arguments of `snapshot run`, which builds only history tables.

    `prune` with `keep_last` replaces the models' retention for this run; without it, the models
    must set one.
    """

    project: Project = "."
    _: KW_ONLY
    prune: Annotated[bool, FlagSpec("Remove old versions even if nothing changed.")] = False
    keep_last: KeepLast = None
    no_prune: Annotated[bool, FlagSpec("Ignore the models' retention.")] = False
    allow_empty: Annotated[bool, FlagSpec("Allow an empty source to close every key.")] = False
    dry_run: Annotated[bool, FlagSpec("Count what would change; write nothing.")] = False
    select: Select = ()
    exclude: Exclude = ()
    state: ComparedWith = None

    command = "snapshot run"
    batch_size = None

    def refuse_conflicts(self) -> None:
        """Raise for retention flags that contradict each other."""
        self.require("keep_last", "prune")
        self.refuse("no_prune", ["prune"])

    @property
    def retention(self) -> Retention | None:
        """The retention that replaces the models' own; None keeps theirs."""
        return Retention(keep_last=self.keep_last) if self.keep_last else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRequest(PartitionsRequest):
    """Common arguments of `sync` and `backfill`; `max_partitions` None uses the project's limit."""

    cascade: Annotated[bool, FlagSpec("Also run partitions that read them.")] = False
    dry_run: DryRun = False
    max_partitions: MaxPartitions = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest(DriftRequest):
    """Arguments of `sync`."""

    from_: From = None
    to: To = None
    days: Days = None
    states: States = ()
    everything: Annotated[
        bool, FlagSpec("All models and partitions, without a limit.", ("--all",))
    ] = False
    select: Select = ()
    exclude: Exclude = ()

    command = "sync"
    model = ""

    def refuse_conflicts(self) -> None:
        """Raise for flags that narrow the selection together with --all."""
        narrow = ("select", "exclude", "states", "from_", "to", "days", "max_partitions")
        self.refuse("everything", narrow)


@dataclass(frozen=True, slots=True)
class BackfillRequest(DriftRequest):
    """Arguments of `backfill`: one model, and a range of partitions in any state."""

    project: Project
    model: Name
    _: KW_ONLY
    from_: Annotated[str, FROM]
    to: Annotated[str, TO]

    command = "backfill"
    select = exclude = states = ()
    everything = False


@dataclass(frozen=True, slots=True)
class RollbackRequest(WorkRequest):
    """Arguments of `rollback`; `to` may be any unique prefix of a step's id."""

    project: Project
    model: Name
    _: KW_ONLY
    to: Annotated[str, FlagSpec("First step to undo.", metavar="STEP")]
    include_foreign: Annotated[bool, FlagSpec("Also undo commits made outside penstock.")] = False
    dry_run: Annotated[bool, FlagSpec("Show what would be restored; do nothing.")] = False
    wait: Wait = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest(WorkRequest, Dated):
    """Arguments of `check`: models, groups and checks. The command writes only results.

    `everything` selects every model with checks and every built partition. `partition` is a key.
    `checks` are names; empty means all. With `record=False` the state is not written.
    """

    everything: Annotated[
        bool, FlagSpec("All models with checks, all built partitions.", ("--all",))
    ] = False
    date: Date = None
    from_: From = None
    to: To = None
    partition: Annotated[str, FlagSpec("Only this partition.", metavar="P")] = ""
    phases: Phases = BOTH
    checks: Annotated[
        Sequence[str], FlagSpec("Only checks with this name.", ("--check",), "NAME", read=tuple)
    ] = ()
    sources: Annotated[bool, FlagSpec("Check the freshness of sources instead of models.")] = False
    strict: Annotated[bool, FlagSpec("Treat failed warnings as errors.")] = False
    record: Annotated[bool, FlagSpec("Do not record the results.")] = True
    sample: Annotated[bool, FlagSpec("Do not read sample rows.")] = True
    as_of: AsOf = None
    select: Select = ()
    exclude: Exclude = ()
    state: ComparedWith = None

    def refuse_conflicts(self) -> None:
        """Raise if --all is used with flags that narrow it, or if groups are named in two ways.

        --sources evaluates no check of a model, so it excludes every flag about models.
        """
        dated = ("date", "from_", "to")
        self.refuse("everything", ("select", "exclude", *dated, "partition"))
        others = ("everything", "exclude", *dated, "partition", "phases", "checks")
        self.refuse("sources", others)
        self.refuse("partition", dated)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTestRequest(WorkRequest):
    """Arguments of `test`: which tests to run, by name, by tag or by the models they test.

    `threads` None uses the project's setting.
    """

    tests: Annotated[
        Sequence[str], FlagSpec("Only tests with this name.", ("--test",), "NAME", read=tuple)
    ] = ()
    threads: Annotated[int | None, a_count("Number of tests to run at once.")] = None
    fail_fast: FailFast = False
    select: Select = ()
    exclude: Exclude = ()
    state: ComparedWith = None


@dataclass(frozen=True, slots=True)
class AcceptRequest(WorkRequest):
    """Arguments of `accept`."""

    project: Project
    model: Name
    _: KW_ONLY
    reason: Annotated[str, FlagSpec("Why the rows are right; kept in the history.", metavar="TEXT")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsRequest(CommandRequest):
    """Arguments of commands that read models."""

    select: Select = ()
    exclude: Exclude = ()
    state: ComparedWith = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest(ModelsRequest):
    """Arguments of `audit`."""

    modified_only: Annotated[bool, FlagSpec("Only modified ones; exit 1 if there are any.")] = False
    diffs: Annotated[bool, FlagSpec("Also show what changed.", ("--diff",))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest(CommandRequest, Dated):
    """Arguments of `status`; with `states`, return only partitions in one of them."""

    from_: From = None
    to: To = None
    days: Days = None
    states: States = ()
    as_of: AsOf = None
    defer_to: DeferTo = None
    select: Select = ()
    exclude: Exclude = ()


AnyRun = RunRequest | SnapshotRequest
AnySync = SyncRequest | BackfillRequest
