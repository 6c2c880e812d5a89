"""What is asked of the commands that look, compare and check, and write no table."""

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from penstock.app.request.flags import FlagSpec
from penstock.app.request.shared import (
    BOTH,
    AsOf,
    CommandRequest,
    Date,
    Dated,
    Days,
    Exclude,
    FailFast,
    From,
    Name,
    Partition,
    Project,
    Select,
    States,
    To,
    WorkRequest,
    read_phases,
)
from penstock.core.checks import Phase


@dataclass(frozen=True, slots=True)
class CheckRequest(WorkRequest, Dated):
    """What is asked of `check`: models, groups and checks; nothing is written but results.

    `everything` is every model with checks and every partition that was built. `partition` is a
    key. `checks` are names, none means all. Without `record` nothing goes to the state.
    """

    project: Project = "."
    _: KW_ONLY
    everything: Annotated[
        bool, FlagSpec("Every model with checks, every built partition.", ("--all",))
    ] = False
    date: Date = None
    from_: From = None
    to: To = None
    partition: Annotated[str, FlagSpec("This partition.", metavar="P")] = ""
    phases: Annotated[
        Collection[Phase | str],
        FlagSpec(
            "The checks before the step.", ("--before",), read=read_phases, value=Phase.BEFORE
        ),
        FlagSpec("The checks after the step; default: both.", ("--after",), value=Phase.AFTER),
    ] = BOTH
    checks: Annotated[
        Sequence[str], FlagSpec("Only checks of this name.", ("--check",), "NAME", read=tuple)
    ] = ()
    sources: Annotated[bool, FlagSpec("How old sources are, instead of checks of models.")] = False
    strict: Annotated[bool, FlagSpec("Exit 1 for a failed warning, too.")] = False
    record: Annotated[bool, FlagSpec("Write nothing to the state.")] = True
    sample: Annotated[bool, FlagSpec("Read no rows that break a check.")] = True
    as_of: AsOf = None
    select: Select = ()
    exclude: Exclude = ()

    def refuse_conflicts(self) -> None:
        """Refuse what leaves something out beside --all, and two ways to name groups.

        Beside --sources, which evaluates no check of a model, everything about models is refused.
        """
        words = self.arguments.split()
        dated = ("date", "from_", "to")
        self.refuse("date", ("from_", "to"))
        self.refuse("everything", ("select", "exclude", *dated, "partition"), words)
        others = ("everything", "exclude", *dated, "partition", "phases", "checks")
        self.refuse("sources", others, words)
        self.refuse("partition", dated)


@dataclass(frozen=True, slots=True)
class UnitTestRequest(WorkRequest):
    """What is asked of `test`: tests of models, or with tags, that `select` finds, of these names.

    `threads` None leaves it to the project.
    """

    project: Project = "."
    _: KW_ONLY
    tests: Annotated[
        Sequence[str], FlagSpec("Only tests of this name.", ("--test",), "NAME", read=tuple)
    ] = ()
    threads: Annotated[int | None, FlagSpec("Tests at a time.", metavar="N", least=1)] = None
    fail_fast: FailFast = False
    select: Select = ()
    exclude: Exclude = ()


@dataclass(frozen=True, slots=True)
class VerifyRequest(WorkRequest):
    """What is asked of `snapshot verify` for one model."""

    project: Project
    model: Name


@dataclass(frozen=True, slots=True)
class ProjectRequest(CommandRequest):
    """What commands are asked that need a project and no more."""

    project: Project = "."


@dataclass(frozen=True, slots=True)
class ModelsRequest(CommandRequest):
    """What commands are asked that look at models."""

    project: Project = "."
    _: KW_ONLY
    select: Select = ()
    exclude: Exclude = ()


@dataclass(frozen=True, slots=True)
class AuditRequest(CommandRequest):
    """What is asked of `audit`."""

    project: Project = "."
    _: KW_ONLY
    modified_only: Annotated[bool, FlagSpec("Only modified ones; exit 1 if there are any.")] = False
    diffs: Annotated[bool, FlagSpec("Show what changed, too.", ("--diff",))] = False
    select: Select = ()
    exclude: Exclude = ()


@dataclass(frozen=True, slots=True)
class StatusRequest(CommandRequest, Dated):
    """What is asked of `status`; with `states` only partitions in one of them are given."""

    project: Project = "."
    _: KW_ONLY
    from_: From = None
    to: To = None
    days: Days = None
    states: States = ()
    as_of: AsOf = None
    select: Select = ()
    exclude: Exclude = ()

    def refuse_conflicts(self) -> None:
        """Refuse two ways to name partitions."""
        self.refuse("days", ("from_", "to"))


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
    show_sql: Annotated[bool, FlagSpec("Print the SQL of every execution, too.")] = False
    limit: Annotated[
        int,
        FlagSpec("Executions, or results of checks, at most; the newest.", metavar="N", least=1),
    ] = 20
