"""More arguments of commands; annotations are evaluated here too."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated

from penstock.app.flags import (
    AsOf,
    Exclude,
    FlagSpec,
    From,
    Name,
    Package,
    Partition,
    Project,
    Select,
    SkipChecks,
    To,
    Wait,
    a_count,
    read_time,
)
from penstock.app.request import (
    CommandRequest,
    Dated,
    ModelsRequest,
    RunRequest,
    StepsRequest,
    WorkRequest,
)
from penstock.core.errors import UsageError
from penstock.core.sessions.manifest import RebuildRequest


def _read_end(value: dt.datetime | str | None) -> dt.datetime | None:
    """Parse an ISO-8601 time; a date alone means the end of that day.

    >>> str(_read_end("2024-05-01")), str(_read_end("2024-05-01T06:00"))
    ('2024-05-01 23:59:59.999999+00:00', '2024-05-01 06:00:00+00:00')
    """
    time = read_time(value, flag="--to")
    if time is None or len(str(value)) != len("2024-05-01"):
        return time
    return time + dt.timedelta(days=1, microseconds=-1)


_SINCE = FlagSpec(
    "Begin with what the sources held at this time.",
    metavar="TIME",
    read=partial(read_time, flag="--from"),
)
_UNTIL = FlagSpec("Read no version that is later.", metavar="TIME", read=_read_end)
_EVERY = FlagSpec("Read every version, or the last of each UTC day.", choices=("commit", "day"))
_KINDS = ("model", "snapshot", "seed", "test", "unit_test", "all")
"""The kinds of things that `build` runs; `all` is each of them."""


def _read_kinds(values: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part for text in values for part in text.split() if part))
    for each in found:
        if each not in _KINDS:
            sentence = f"{each!r} is not something that build runs"
            raise UsageError("bad-value", sentence, hint=", ".join(_KINDS))
    return found


@dataclass(frozen=True, slots=True)
class BuildRequest(RunRequest):
    """Arguments of `build`: those of `run`, and which kinds of things to build."""

    resource_type: Annotated[
        Sequence[str],
        FlagSpec(
            "Only these: model, snapshot, seed, test, unit_test.",
            ("--resource-type", "--resource-types"),
            "TYPE",
            read=_read_kinds,
        ),
    ] = ()
    exclude_resource_type: Annotated[
        Sequence[str],
        FlagSpec(
            "All but these.",
            ("--exclude-resource-type", "--exclude-resource-types"),
            "TYPE",
            read=_read_kinds,
        ),
    ] = ()

    def refuse_conflicts(self) -> None:
        """Raise if no model, snapshot, seed or unit test is left to build."""
        self.require("max_windows", "catch_up")
        if not self.parts - {"test"}:
            sentence = "nothing is left to build: checks run with the step of their model"
            raise UsageError("option-conflict", sentence, hint="penstock check runs checks alone")

    @property
    def parts(self) -> frozenset[str]:
        """The kinds of things to build."""
        every = frozenset(_KINDS) - {"all"}
        wanted = every if "all" in self.resource_type else every & {*self.resource_type}
        return (wanted if self.resource_type else every) - {*self.exclude_resource_type}


@dataclass(frozen=True, slots=True)
class LimitsRequest(CommandRequest, Dated):
    """Arguments of `sessions limits`."""

    project: Project
    package: Package
    _: KW_ONLY
    as_of: AsOf = None


@dataclass(frozen=True, slots=True)
class RebuildSessionsRequest(StepsRequest):
    """Arguments of `sessions rebuild`: sessions that begin in a range of days, or by name."""

    project: Project
    package: Package
    _: KW_ONLY
    from_: From = None
    to: To = None
    session: Annotated[
        Sequence[str], FlagSpec("Build this session again.", metavar="ID", read=tuple)
    ] = ()

    def refuse_conflicts(self) -> None:
        """Raise for a range beside names of sessions."""
        self.refuse("session", ("from_", "to"))


@dataclass(frozen=True, slots=True)
class RebuildRun(RunRequest):
    """A run of one package that only builds old sessions again."""

    _: KW_ONLY
    rebuild: RebuildRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsRequest(ModelsRequest):
    """Arguments of `metrics`; `output` "" prints them."""

    output: Annotated[str, FlagSpec("Write the metrics to this file.", ("--output",), "FILE")] = ""


@dataclass(frozen=True, slots=True)
class QueryRequest(WorkRequest):
    """Arguments of `query`."""

    project: Project
    sql: Annotated[str, FlagSpec(names=("SQL",))]


@dataclass(frozen=True, slots=True)
class CloneRequest(WorkRequest):
    """Arguments of `target clone`: the target to copy from, and the one that is written."""

    project: Project
    _: KW_ONLY
    source: Annotated[str, FlagSpec(names=("FROM",))]
    target: Annotated[str, FlagSpec(names=("TO",))]
    force: Annotated[bool, FlagSpec("Replace tables that steps of TO have built.")] = False
    select: Select = ()
    exclude: Exclude = ()
    wait: Wait = 0.0

    def refuse_conflicts(self) -> None:
        """Raise if the target to copy from is also the one that is written."""
        if self.source == self.target:
            sentence = f"{self.target} cannot be cloned into itself"
            raise UsageError("option-conflict", sentence, hint="name another target to write")


@dataclass(frozen=True, slots=True)
class HistoryBackfillRequest(WorkRequest):
    """Arguments of `snapshot backfill`: one model, and from when on its sources are read."""

    project: Project
    model: Name
    _: KW_ONLY
    from_: Annotated[dt.datetime | str | None, _SINCE] = None
    to: Annotated[dt.datetime | str | None, _UNTIL] = None
    every: Annotated[str, _EVERY] = "commit"
    skip_checks: SkipChecks = False
    wait: Wait = 0.0

    @property
    def since(self) -> dt.datetime | None:
        """The time of the first version that is read."""
        return read_time(self.from_)

    @property
    def until(self) -> dt.datetime | None:
        """The time after which no version is read."""
        return _read_end(self.to)


@dataclass(frozen=True, slots=True)
class VerifyRequest(WorkRequest):
    """Arguments of `snapshot verify` for one model."""

    project: Project
    model: Name


@dataclass(frozen=True, slots=True)
class WatermarkRequest(CommandRequest):
    """Arguments of `watermark set`."""

    project: Project
    model: Name
    value: Annotated[str, FlagSpec(names=("VALUE",))]
    column: Annotated[str, FlagSpec("Which one, if there are several.", metavar="INPUT.COLUMN")] = (
        ""
    )
    type_: Annotated[str, FlagSpec("Its Spark type, if unknown.", metavar="TYPE")] = ""
    reason: Annotated[str, FlagSpec("Why; kept in the history.", metavar="TEXT")] = ""


@dataclass(frozen=True, slots=True)
class DiffRequest(CommandRequest, Dated):
    """Arguments of `diff`; without a model, all models."""

    project: Project = "."
    model: Annotated[str | None, FlagSpec(names=("MODEL",))] = None
    _: KW_ONLY
    partition: Partition = None
    as_of: AsOf = None


Source = Annotated[
    str,
    FlagSpec("With --data: the version, step or target to compare with.", ("--from",), "WHAT"),
]
Key = Annotated[
    Sequence[str],
    FlagSpec("With --data: a column that identifies rows.", ("--key",), "COLUMN", read=tuple),
]


@dataclass(frozen=True, slots=True)
class DataDiffRequest(WorkRequest):
    """Arguments of `diff --data`: `from_` is a version, a step or a target.

    Without it, the version before the last step is compared. `key` replaces the model's own keys.
    """

    project: Project
    model: Name
    _: KW_ONLY
    from_: Source = ""
    key: Key = ()


@dataclass(frozen=True, slots=True)
class HistoryRequest(CommandRequest):
    """Arguments of `history`; `limit` is the greatest number of executions, newest first."""

    project: Project
    model: Name
    _: KW_ONLY
    partition: Partition = None
    show_sql: Annotated[bool, FlagSpec("Also print the SQL of every execution.")] = False
    limit: Annotated[int, a_count("Maximum executions or check results, newest first.")] = 20


@dataclass(frozen=True, slots=True)
class SiteRequest(CommandRequest, Dated):
    """Arguments of `docs generate`; `output` is relative to the project."""

    project: Project = "."
    _: KW_ONLY
    output: Annotated[str, FlagSpec("Write the site to this folder.", ("--output",), "DIR")] = (
        "site"
    )
    as_of: AsOf = None
    select: Select = ()
    exclude: Exclude = ()


@dataclass(frozen=True, slots=True)
class ServeRequest(CommandRequest, Dated):
    """Arguments of `docs serve`; port 0 takes a free one, `every` is in seconds."""

    project: Project = "."
    _: KW_ONLY
    port: Annotated[int, FlagSpec("Port to listen on.", metavar="N", least=0)] = 8080
    host: Annotated[
        str, FlagSpec("Address to listen on; any but 127.0.0.1 lets others read.", metavar="HOST")
    ] = "127.0.0.1"
    every: Annotated[
        float, FlagSpec("How often to look for changes.", metavar="SECONDS", least=0.1)
    ] = 2.0
    as_of: AsOf = None
    select: Select = ()
    exclude: Exclude = ()
