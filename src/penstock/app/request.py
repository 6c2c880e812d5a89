"""What a command is asked: one class per command, and everything there is to say of a flag.

A field is the flag: its name, type, default and help stand here and nowhere else. `ui` makes the
options of the command line from these fields, `app.entry` the keywords of `penstock.run` and its
kind (see `flags`), so annotations are not put off here.
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
    Date,
    Days,
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
    Partition,
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
    """What every command on a project is asked: which one, for which target."""

    project: Project = "."
    _: KW_ONLY
    target: TargetName = None
    variables: Variables = None

    def __post_init__(self) -> None:
        """Read what was given as text; raise `UsageError` for what is wrong, alone or together."""
        for each in flag_fields(type(self)):
            object.__setattr__(self, each.name, each.read(getattr(self, each.name)))
        for name in ("date", "days"):  # two ways to name partitions
            if hasattr(self, name):
                self.refuse(name, ("from_", "to"))
        self.refuse_conflicts()

    def refuse_conflicts(self) -> None:
        """Raise `UsageError` `option-conflict` for flags that do not go together."""

    def refuse(self, name: str, others: Iterable[str]) -> None:
        """Refuse a flag beside any of these."""
        words = getattr(self, "arguments", "").split()
        beside = given_flags(self, others, words)
        for flag in given_flags(self, [name], words) if beside else ():
            sentence = f"{flag} and {', '.join(beside)} exclude each other"
            raise UsageError("option-conflict", sentence, hint=f"leave {flag} out")

    def require(self, name: str, other: str) -> None:
        """Refuse a flag without another."""
        for flag in () if getattr(self, other) else given_flags(self, [name]):
            needed = f"--{other.replace('_', '-')}"
            raise UsageError("option-conflict", f"{flag} needs {needed}", hint=f"add {needed}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRequest(CommandRequest):
    """What commands are asked that start Spark or write.

    `spark` is a session of the caller, used and never stopped; so is one that runs in this process.
    `arguments` is what the record of a run says was typed.
    """

    spark: "SparkSession | None" = field(default=None, compare=False)
    arguments: str = ""


class Dated:
    """What requests that are about a time and dates say of them, by the flags that they have."""

    __slots__ = ()

    @property
    def run_timestamp(self) -> dt.datetime | None:
        """When it is looked at, or the run says it is; None is now."""
        return read_time(getattr(self, "as_of", None))

    @property
    def range(self) -> Range:
        """The partitions that are asked for."""
        names = ("date", "from_", "to", "days")
        date, first, last, days = (getattr(self, name, None) for name in names)
        return Range(date or first, date or last, days)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRequest(WorkRequest, Dated):
    """What every command that runs steps is asked."""

    threads: Annotated[int | None, a_count("Number of steps to run at once.")] = None
    fail_fast: FailFast = False
    full_refresh: FullRefresh = False
    skip_checks: SkipChecks = False
    on_failure: OnFailureOf = None
    wait: Wait = 0.0
    as_of: AsOf = None
    allow_schema_change: AllowSchemaChange = False

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

    batch_size: Annotated[int | None, a_count("Maximum partitions per step.")] = None
    allow_breaking: AllowBreaking = False
    allow_source_mutation: AllowMutation = False


@dataclass(frozen=True, slots=True)
class RunRequest(PartitionsRequest):
    """What is asked of `run`, and of `plan`, which is `run` with `dry_run`."""

    project: Project = "."
    _: KW_ONLY
    dry_run: DryRun = False
    select: Select = ()
    exclude: Exclude = ()
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
        """Refuse a bound without what it bounds."""
        self.require("max_windows", "catch_up")


@dataclass(frozen=True, slots=True)
class SnapshotRequest(StepsRequest):
    """What is asked of `snapshot run`, which builds history tables and nothing else.

    `prune` with `keep_last` replaces the models' retention for this run; without, they need one.
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

    command = "snapshot run"
    batch_size = None

    def refuse_conflicts(self) -> None:
        """Refuse flags of retention that contradict each other."""
        self.require("keep_last", "prune")
        self.refuse("no_prune", ["prune"])

    @property
    def retention(self) -> Retention | None:
        """What replaces the models' own; None leaves it."""
        return Retention(keep_last=self.keep_last) if self.keep_last else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftRequest(PartitionsRequest):
    """What `sync` and `backfill` are asked alike; `max_partitions` None is the project's."""

    cascade: Annotated[bool, FlagSpec("Also run partitions that read them.")] = False
    dry_run: DryRun = False
    max_partitions: MaxPartitions = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest(DriftRequest):
    """What is asked of `sync`."""

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
        """Refuse what leaves something out beside --all."""
        narrow = ("select", "exclude", "states", "from_", "to", "days", "max_partitions")
        self.refuse("everything", narrow)


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


@dataclass(frozen=True, slots=True)
class RollbackRequest(WorkRequest):
    """What is asked of `rollback`; `to` may be any unique beginning of a step's id."""

    project: Project
    model: Name
    _: KW_ONLY
    to: Annotated[str, FlagSpec("First step to undo.", metavar="STEP")]
    include_foreign: Annotated[bool, FlagSpec("Also undo commits made outside penstock.")] = False
    dry_run: Annotated[bool, FlagSpec("Show what would be restored; do nothing.")] = False
    wait: Wait = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest(WorkRequest, Dated):
    """What is asked of `check`: models, groups and checks; nothing is written but results.

    `everything` is every model with checks and every partition that was built. `partition` is a
    key. `checks` are names, none means all. Without `record` nothing goes to the state.
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

    def refuse_conflicts(self) -> None:
        """Refuse what leaves something out beside --all, and two ways to name groups.

        Beside --sources, which evaluates no check of a model, everything about models is refused.
        """
        dated = ("date", "from_", "to")
        self.refuse("everything", ("select", "exclude", *dated, "partition"))
        others = ("everything", "exclude", *dated, "partition", "phases", "checks")
        self.refuse("sources", others)
        self.refuse("partition", dated)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitTestRequest(WorkRequest):
    """What is asked of `test`: tests of models, or with tags, that `select` finds, of these names.

    `threads` None leaves it to the project.
    """

    tests: Annotated[
        Sequence[str], FlagSpec("Only tests with this name.", ("--test",), "NAME", read=tuple)
    ] = ()
    threads: Annotated[int | None, a_count("Number of tests to run at once.")] = None
    fail_fast: FailFast = False
    select: Select = ()
    exclude: Exclude = ()


@dataclass(frozen=True, slots=True)
class AcceptRequest(WorkRequest):
    """What is asked of `accept`."""

    project: Project
    model: Name
    _: KW_ONLY
    reason: Annotated[str, FlagSpec("Why the rows are right; kept in the history.", metavar="TEXT")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsRequest(CommandRequest):
    """What commands are asked that look at models."""

    select: Select = ()
    exclude: Exclude = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest(ModelsRequest):
    """What is asked of `audit`."""

    modified_only: Annotated[bool, FlagSpec("Only modified ones; exit 1 if there are any.")] = False
    diffs: Annotated[bool, FlagSpec("Also show what changed.", ("--diff",))] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest(ModelsRequest, Dated):
    """What is asked of `status`; with `states` only partitions in one of them are given."""

    from_: From = None
    to: To = None
    days: Days = None
    states: States = ()
    as_of: AsOf = None


@dataclass(frozen=True, slots=True)
class DiffRequest(CommandRequest, Dated):
    """What is asked of `diff`; without a model all of them."""

    project: Project = "."
    model: Annotated[str | None, FlagSpec(names=("MODEL",))] = None
    _: KW_ONLY
    partition: Partition = None
    as_of: AsOf = None


@dataclass(frozen=True, slots=True)
class HistoryRequest(CommandRequest):
    """What is asked of `history`: at most `limit` executions, the newest."""

    project: Project
    model: Name
    _: KW_ONLY
    partition: Partition = None
    show_sql: Annotated[bool, FlagSpec("Also print the SQL of every execution.")] = False
    limit: Annotated[int, a_count("Maximum executions or check results, newest first.")] = 20


AnyRun = RunRequest | SnapshotRequest
AnySync = SyncRequest | BackfillRequest
