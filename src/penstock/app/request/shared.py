"""What is asked of every command: its project; and the flags that several commands take.

Annotations of requests are read, so these modules do not put them off.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from penstock.app.request.flags import FlagSpec, flag_fields, given
from penstock.core.checks import OnFailure, Phase
from penstock.core.errors import UsageError

if TYPE_CHECKING:
    from penstock.engine.spark_engine import SparkSession

BOTH = frozenset({Phase.BEFORE, Phase.AFTER})


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


def read_time(value: dt.datetime | str | None) -> dt.datetime | None:
    """Read an ISO-8601 time; without an offset it is UTC."""
    if value is None:
        return None
    try:
        time = dt.datetime.fromisoformat(str(value))
    except ValueError as error:
        sentence, example = f"--as-of: {value!r} is no time", "2024-03-01T12:00:00"
        raise UsageError("bad-value", sentence, hint=f"for example {example}") from error
    return time.replace(tzinfo=dt.UTC) if time.tzinfo is None else time.astimezone(dt.UTC)


def read_mode(value: OnFailure | str | None) -> OnFailure | None:
    """Read the word for what a failed gate does."""
    if value is not None and value not in list(OnFailure):
        raise UsageError("bad-value", f"on_failure is {value!r}", hint=", ".join(OnFailure))
    return None if value is None else OnFailure(value)


def read_phases(values: Iterable[Phase | str]) -> frozenset[Phase]:
    """Read the words for when a check is evaluated."""
    for value in values:
        if value not in list(Phase):
            raise UsageError("bad-value", f"{value!r} is no phase", hint="before, after")
    return frozenset(map(Phase, values))


def read_states(values: Iterable[str]) -> tuple[str, ...]:
    """Read `a,b` as two states."""
    return tuple(part.strip() for text in values for part in text.split(",") if part.strip())


# The flags that several commands take; `ProjectToo` is the folder as an argument as well.
_FOLDER = FlagSpec("The project's folder; default: this one.", ("--project-dir",), "DIR")
FROM = FlagSpec("From this date, or partition, on.", metavar="D")
TO = FlagSpec("Up to this date, or partition, with it.", metavar="D")

Project = Annotated[str | Path, _FOLDER]
ProjectToo = Annotated[str | Path, _FOLDER, FlagSpec(names=("PROJECT",))]
Name = Annotated[str, FlagSpec(names=("MODEL",))]
Select = Annotated[
    Sequence[str],
    FlagSpec(
        "Models to work on: name, +name, name+, tag:daily, path:models/staging.",
        ("--select", "-s"),
        "SELECTOR",
        read=tuple,
    ),
    FlagSpec("Like --select NAME.", ("--query", "--model"), "NAME"),
]
Exclude = Annotated[Sequence[str], FlagSpec("Models to leave out.", metavar="SELECTOR", read=tuple)]
Date = Annotated[str | None, FlagSpec("The partitions that hold this date.", metavar="D")]
From = Annotated[str | None, FROM]
To = Annotated[str | None, TO]
Days = Annotated[int | None, FlagSpec("The last N days, today with them.", metavar="N", least=1)]
States = Annotated[
    Sequence[str],
    FlagSpec("Only partitions in these states.", ("--state",), "S,…", read=read_states),
]
Partition = Annotated[str | None, FlagSpec("Only this partition.", metavar="P")]
AsOf = Annotated[
    dt.datetime | str | None,
    FlagSpec("Run as if it were this time; UTC.", metavar="TIME", read=read_time),
]
Wait = Annotated[
    float, FlagSpec("Wait for a target that another run writes.", metavar="SECONDS", least=0)
]
FailFast = Annotated[bool, FlagSpec("Start nothing new after a failure.")]
DryRun = Annotated[bool, FlagSpec("Show the plan and do nothing.")]


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """What every command on a project is asked: which one, for which target."""

    project: Project
    _: KW_ONLY
    target: Annotated[
        str | None, FlagSpec("The target to work on.", ("--target", "--env"), "NAME")
    ] = None
    variables: Annotated[
        Mapping[str, str] | None, FlagSpec("Set a variable.", ("--vars",), "NAME=VALUE")
    ] = None

    def __post_init__(self) -> None:
        """Read what was given as text; raise `UsageError` for what is wrong, alone or together."""
        for each in flag_fields(type(self)):
            object.__setattr__(self, each.name, each.read(getattr(self, each.name)))
        self.refuse_conflicts()

    def refuse_conflicts(self) -> None:
        """Raise `UsageError` `option-conflict` for flags that do not go together."""

    def refuse(self, name: str, others: Iterable[str], words: Sequence[str] = ()) -> None:
        """Refuse a flag beside any of these."""
        beside = given(self, others, words)
        for flag in given(self, [name], words) if beside else ():
            sentence = f"{flag} and {', '.join(beside)} exclude each other"
            raise UsageError("option-conflict", sentence, hint=f"leave {flag} out")


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
