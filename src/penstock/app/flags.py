"""How a flag is declared: once, at the field of a request.

    threads: Annotated[int | None, a_count("Steps at a time.")] = None

The field has the name, type and default, the `FlagSpec` everything else. `ui` builds command-line
options from it, and `takes` gives a Python function the same names as keywords.
"""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from penstock.core.checks.check import OnFailure, Phase
from penstock.core.entities.entity import ProcessType
from penstock.core.errors import UsageError
from penstock.core.masking import Json, mask

Keywords = ParamSpec("Keywords")
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_NO_NAME = re.compile("[={:]")
MOST = 2**31 - 1
"""The greatest number of any flag: the largest 32-bit integer of Spark and databases."""


@dataclass(frozen=True, slots=True)
class FlagSpec:
    """What the command line needs beside a field's name, type and default.

    Without `names`, the option has the name of the field; a name without dashes is an argument.
    `least` is the smallest accepted number, `MOST` the greatest. `read` converts the given value
    and raises `UsageError`. A flag with a `value` is a switch that sets it; `before` begins values.
    """

    help: str = ""
    names: tuple[str, ...] = ()
    metavar: str | None = None
    least: int | None = None
    choices: tuple[str, ...] = ()
    read: Callable[[Any], object] | None = None
    value: object = None
    before: str = ""


@dataclass(frozen=True, slots=True)
class FlagField:
    """A field of a request with the flags that set it, usually one."""

    name: str
    type: Any
    default: object
    flags: tuple[FlagSpec, ...]

    def names_of(self, flag: FlagSpec) -> tuple[str, ...]:
        """Return the option names; if the default is true, the name begins with `--no-`."""
        dashed = self.name.strip("_").replace("_", "-")
        return flag.names or (f"--no-{dashed}" if self.default is True else f"--{dashed}",)

    @property
    def kinds(self) -> frozenset[Any]:
        """The types of its values, without None and without type arguments."""
        members = get_args(self.type) if isinstance(self.type, UnionType) else (self.type,)
        return frozenset(get_origin(each) or each for each in members) - {NoneType}

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def options(self) -> list[str]:
        """Every option name with dashes, the main one first."""
        names = (name for flag in self.flags for name in self.names_of(flag))
        return [name for name in names if name.startswith("--")]

    def option_of(self, value: Any, words: Sequence[str]) -> str:  # noqa: ANN401  what the field holds
        """Return the option for this value: the one that was typed, otherwise the main one."""
        flags = tuple(each for each in self.flags if each.value is None or each.value in value)
        names = replace(self, flags=flags).options
        typed = (n for n in names for word in words if word == n or word.startswith(f"{n}="))
        return next(typed, names[0])

    def read(self, value: Any) -> object:  # noqa: ANN401  what the caller gave
        """Return the value in the form of the request; raise `UsageError` if it is invalid."""
        flag = self.flags[0]
        if flag.least is not None and value is not None and not flag.least <= value <= MOST:
            bounds = f"between {flag.least} and {MOST:,}"
            raise UsageError("bad-value", f"{self.options[0]} {value} is not {bounds}")
        return value if flag.read is None else flag.read(value)


def flag_fields(request: type) -> tuple[FlagField, ...]:
    """Return the flags of a request: its own first, then those of its base classes.

    A field that a subclass declares again, for example with another default, keeps its place.
    """
    defaults = {each.name: each.default for each in fields(request)}
    homes: dict[str, type] = {}
    declared: dict[str, object] = {}
    for owner in reversed(request.__mro__):
        for name, annotation in inspect.get_annotations(owner).items():
            homes.setdefault(name, owner)
            declared[name] = annotation
    ordered = [name for owner in request.__mro__ for name in homes if homes[name] is owner]
    return _declared({name: declared[name] for name in ordered}, defaults)


def parameter_flags(function: Callable[..., object]) -> tuple[FlagField, ...]:
    """Return the flags that a function takes as parameters."""
    parameters = inspect.signature(function).parameters.values()
    empty = inspect.Parameter.empty
    defaults = {p.name: MISSING if p.default is empty else p.default for p in parameters}
    return _declared(get_type_hints(function, include_extras=True), defaults)


def _declared(
    annotations: Mapping[str, object], defaults: Mapping[str, object]
) -> tuple[FlagField, ...]:
    found = []
    for name, annotation in annotations.items():
        kind, *said = get_args(annotation) or (object,)
        if flags := tuple(each for each in said if isinstance(each, FlagSpec)):
            found.append(FlagField(name, kind, defaults[name], flags))
    return tuple(found)


def given_flags(request: object, names: Iterable[str], words: Sequence[str] = ()) -> list[str]:
    """Return the names of the fields that were given, as spelled in `words` if they are there.

    A field with its default counts as not given.
    """
    known = {each.name: each for each in flag_fields(type(request))}
    values = ((known[name], getattr(request, name)) for name in names)
    return [each.option_of(value, words) for each, value in values if value != each.default]


def command_words(request: object, names: Iterable[str]) -> list[str]:
    """Return the words of a command line that sets these fields like the request."""
    known = {each.name: each for each in flag_fields(type(request))}
    words: list[str] = []
    for option in (known[name] for name in names if name in known):
        value = getattr(request, option.name)
        if value != option.default:
            words += _words(option.options[:1], value)
    return words


NARROWING = ("states", "date", "from_", "to", "days", "everything", "select", "exclude")
"""The fields that select models and partitions."""


def _words(name: list[str], value: object) -> list[str]:
    match value:
        case bool():
            return name
        case Mapping():
            texts = (
                f"{key}={each}"
                if isinstance(each, str) and not _NO_NAME.search(key)
                else json.dumps({key: each})
                for key, each in value.items()
            )
            return [word for text in texts for word in (*name, text)]
        case tuple():
            return [word for each in value for word in (*name, str(each))]
        case dt.datetime():
            text = value.isoformat().replace("+00:00", "Z")
            return [*name, text.removesuffix("T00:00:00Z") if name == ["--as-of"] else text]
        case _:
            return [*name, str(value)]


def takes(
    request: Callable[Keywords, Asked],
) -> Callable[[Callable[[Asked], Answer]], Callable[Keywords, Answer]]:
    """Make a function of a request callable with its fields as keywords.

    Type checkers and editors see the fields' names, types and defaults; `help()` also shows their
    help.
    """

    def decorate(answer: Callable[[Asked], Answer]) -> Callable[Keywords, Answer]:
        @functools.wraps(answer)
        def call(*args: Keywords.args, **keywords: Keywords.kwargs) -> Answer:
            return answer(request(*args, **keywords))

        declared = {each.name: each for each in flag_fields(request)}  # type: ignore[arg-type]
        shown = inspect.signature(request).parameters.values()
        parameters = [
            each.replace(annotation=declared[each.name].type) if each.name in declared else each
            for each in shown
        ]
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            parameters, return_annotation=inspect.signature(answer).return_annotation
        )
        lines = [answer.__doc__ or "", ""]
        for each in declared.values():
            names = ", ".join(each.options) or each.name.upper()
            says = " ".join(flag.help for flag in each.flags)
            lines.append(f"{each.name} ({names}): {says}".rstrip(": "))
        call.__doc__ = "\n".join(lines)
        return call

    return decorate


@dataclass(frozen=True, slots=True)
class Range:
    """Partitions by dates or keys of the grain, both inclusive; or the last `days` days."""

    first: str | None = None
    last: str | None = None
    days: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing is selected."""
        return self == Range()


def read_time(value: dt.datetime | str | None, flag: str = "--as-of") -> dt.datetime | None:
    """Parse an ISO-8601 time; without an offset it is UTC."""
    if value is None:
        return None
    try:
        time = dt.datetime.fromisoformat(str(value))
        return time.replace(tzinfo=time.tzinfo or dt.UTC).astimezone(dt.UTC)
    except (ValueError, OverflowError) as error:  # an offset may lead out of the calendar
        sentence, example = f"{flag}: {value!r} is not a time", "2024-03-01T12:00:00"
        raise UsageError("bad-value", sentence, hint=f"for example {example}") from error


def read_variables(
    value: Mapping[str, Json] | Iterable[str] | None,
) -> Mapping[str, Json] | None:
    """Parse NAME=VALUE with text values, and mappings in YAML or JSON; later ones win.

    >>> read_variables(["day=2024-03-01", "{days: 3}", '{"day": null}'])
    {'day': None, 'days': 3}
    """
    if value is None or isinstance(value, Mapping):
        return value
    found: dict[str, Json] = {}
    for text in [value] if isinstance(value, str) else value:
        name, sign, after = text.partition("=")
        if sign and name.strip() and not _NO_NAME.search(name):
            found[name.strip()] = after
            continue
        from penstock.project.files.documents import read_document  # only commands with YAML pay

        document = read_document("--vars", text)
        if not isinstance(document.tree, Mapping) or document.findings:
            said = "".join(f"; {each.sentence}" for each in document.findings[:1])
            sentence = f"--vars: {mask(text)[:80]!r} is not NAME=VALUE, nor YAML or JSON{said}"
            hint = "--vars day=2024-03-01 or --vars '{day: 2024-03-01, days: 3}'"
            raise UsageError("bad-value", sentence, hint=hint)
        found |= document.tree
    return found


def one_word(help_: str, name: str, kind: type[StrEnum]) -> FlagSpec:
    """Declare a flag that accepts one of the words of an enumeration."""

    def read(value: str | None) -> StrEnum | None:
        if value is not None and value not in list(kind):
            raise UsageError("bad-value", f"{name} is {value!r}", hint=", ".join(kind))
        return None if value is None else kind(value)

    return FlagSpec(help_, choices=tuple(map(str, kind)), read=read)


def read_phases(values: Iterable[Phase | str]) -> frozenset[Phase]:
    """Parse the words for when a check is evaluated."""
    for value in values:
        if value not in list(Phase):
            raise UsageError("bad-value", f"{value!r} is not a phase", hint="before, after")
    return frozenset(map(Phase, values))


def read_states(values: Iterable[str]) -> tuple[str, ...]:
    """Parse `a,b` as two states."""
    return tuple(part.strip() for text in values for part in text.split(",") if part.strip())


def a_count(help_: str) -> FlagSpec:
    """Declare a flag that accepts a number from 1 on."""
    return FlagSpec(help_, metavar="N", least=1)


# The flags that several commands take.
_FOLDER = FlagSpec("Project folder; default: the current one.", ("--project-dir",), "DIR")
FROM = FlagSpec("First date or partition (inclusive).", metavar="D")
TO = FlagSpec("Last date or partition (inclusive).", metavar="D")

Project = Annotated[str | Path, _FOLDER, FlagSpec(names=("PROJECT",))]
TargetName = Annotated[
    str | None, FlagSpec("Target to work on.", ("--target", "--env", "-t"), "NAME")
]
Variables = Annotated[
    Mapping[str, Json] | None,
    FlagSpec(
        "Set variables: NAME=VALUE, or a mapping in YAML or JSON.",
        ("--vars",),
        "TEXT",
        read=read_variables,
    ),
]
Name = Annotated[str, FlagSpec(names=("MODEL",))]
Package = Annotated[str, FlagSpec(names=("PACKAGE",))]
Select = Annotated[
    Sequence[str],
    FlagSpec(
        "Models to work on: name, +name, name+, tag:daily, path:models/staging.",
        ("--select", "-s"),
        "SELECTOR",
        read=tuple,
    ),
    FlagSpec("Like --select NAME.", ("--query", "--model", "--models", "-m"), "NAME"),
    FlagSpec("A selection of selectors.yml.", ("--selector",), "NAME", before="selector:"),
]
Exclude = Annotated[Sequence[str], FlagSpec("Models to leave out.", metavar="SELECTOR", read=tuple)]
Date = Annotated[str | None, FlagSpec("Only partitions that contain this date.", metavar="D")]
From = Annotated[str | None, FROM]
To = Annotated[str | None, TO]
Days = Annotated[int | None, a_count("The last N days, including today.")]
States = Annotated[
    Sequence[str],
    FlagSpec("Only partitions in these states.", ("--state",), "S,…", read=read_states),
]
DeferTo = Annotated[
    str | None,
    FlagSpec("Read models that are not built here from this target.", metavar="TARGET"),
]
ComparedWith = Annotated[
    str | None,
    FlagSpec("Target that state:modified and state:new compare with.", ("--state",), "TARGET"),
]
Partition = Annotated[str | None, FlagSpec("Only this partition.", metavar="P")]
AsOf = Annotated[
    dt.datetime | str | None,
    FlagSpec("Run as if it were this time (UTC).", metavar="TIME", read=read_time),
]
Wait = Annotated[
    float,
    FlagSpec("How long to wait for a table that another run writes.", metavar="SECONDS", least=0),
]
FailFast = Annotated[bool, FlagSpec("Start no new step after a failure.", ("--fail-fast", "-x"))]
DryRun = Annotated[bool, FlagSpec("Show the plan only.")]
Yes = Annotated[bool, FlagSpec("Do not ask for confirmation.")]
_REBUILD = "Rebuild the tables; a history table loses its versions."
FullRefresh = Annotated[bool, FlagSpec(_REBUILD, ("--full-refresh", "-f"))]
SkipChecks = Annotated[bool, FlagSpec("Skip all checks.", ("--skip-checks", "--skip-invariants"))]
OnFailureOf = Annotated[
    OnFailure | str | None,
    one_word("What happens to rows when a check fails.", "on_failure", OnFailure),
]
AllowSchemaChange = Annotated[bool, FlagSpec("Accept changed columns from Python models.")]
AllowBreaking = Annotated[bool, FlagSpec("Allow table rewrites for changed column types.")]
AllowMutation = Annotated[bool, FlagSpec("Allow SQL changes in immutable versions.")]
Adopt = Annotated[
    bool, FlagSpec("Adopt an existing table that penstock did not create; one model.")
]
Slice = Annotated[
    str, FlagSpec("Process this slice again, even if it was already processed.", metavar="NAME")
]
Process = Annotated[
    ProcessType | str | None,
    one_word("Override the strategy of one entity.", "strategy", ProcessType),
]
ProcessingTime = Annotated[
    dt.datetime | str | None,
    FlagSpec("Processing time of entities; without an offset in their time zone.", metavar="TIME"),
]
AllowBackdated = Annotated[bool, FlagSpec("Allow a processing time earlier than the last one.")]
KeepLast = Annotated[
    int | None,
    a_count("With --prune: versions to keep per key, instead of the model's retention."),
]
MaxPartitions = Annotated[int | None, a_count("Run at most N partitions; later runs do the rest.")]
Phases = Annotated[
    Collection[Phase | str],
    FlagSpec(
        "Only checks that run before the step.", ("--before",), read=read_phases, value=Phase.BEFORE
    ),
    FlagSpec("Only checks that run after the step.", ("--after",), value=Phase.AFTER),
]
CatchUp = Annotated[bool, FlagSpec("Run session packages window after window, up to now.")]
Strict = Annotated[bool, FlagSpec("Treat entity warnings as errors.")]
