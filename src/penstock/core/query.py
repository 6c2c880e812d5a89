"""A query with unbound tables: text with one token per table it mentions.

`project` writes the tokens, `strategies` binds them to the relations of a step. The text keeps the
lines of the user's file, so positions from Spark are positions in that file.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from zoneinfo import ZoneInfo

from penstock.core.names import InputKind, InputName, quoted

_TOKEN = re.compile(r"`penstock:(model|source|external|this):([^`:]+)(:bare:[^`:]+)?`")
_PRESENT = re.compile(r"`penstock:present:(model|source|external|this):([^`:]+)`")

RUN_TIMESTAMP = "penstock__run_timestamp"
RUN_WORD = "penstock__run__"
"""How a word begins that becomes plain text at the time of the run, see `run_word`."""
PARAMETERS = ("partition_date", "start_date", "end_date", "run_date")
"""The parameter names that SQL may write after `@`."""
PARAMETER = re.compile(r"`penstock:param:(\w+)`")
_STAMPED = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/)|""" + RUN_TIMESTAMP,
    re.DOTALL,
)
_RUN_WORDS = re.compile(RUN_WORD + "((?:[0-9a-f]{2})+)__")
_RUN_ID = "id"
_WAITS = "-- without the rows that its template reads; no run uses this text\n"


def mention(name: InputName, alias: str = "") -> str:
    """Return the token of one table.

    `alias` is the table's name in the rest of the query if the query does not alias it; a bound
    relation gets that alias, a displayed name does not.

    >>> mention(InputName(InputKind.MODEL, "users"), alias="users")
    '`penstock:model:users:bare:users`'
    """
    bare = f":bare:{alias}" if alias else ""
    return f"`penstock:{name.kind}:{name.name}{bare}`"


def present(name: InputName) -> str:
    """Return the token of the condition that excludes the tombstones of a history table.

    It is replaced when the step is bound, because the table may lack the column.
    """
    return f"`penstock:present:{name.kind}:{name.name}`"


def live(is_deleted: str) -> str:
    """Return the condition of rows that are not tombstones, if the table has the column."""
    return f"coalesce({quoted(is_deleted)}, false) = false"


def parameter(name: str) -> str:
    """Return the token of a parameter."""
    return f"`penstock:param:{name}`"


@dataclass(frozen=True, slots=True)
class TemplateRows:
    """The rows that a template reads: names and types of columns, and every value as text."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str | None, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class TemplateQuery:
    """A query whose rows a template reads, with tokens for its tables; `key` names its rows."""

    key: str
    text: str
    inputs: tuple[InputName, ...]
    line: int
    is_ordered: bool = False
    """Whether it says in which order its rows come."""

    @property
    def query(self) -> Query:
        """It as a query of its own."""
        return Query(self.text, self.text, self.text, self.inputs)


@dataclass(frozen=True, slots=True)
class Query:
    """The SQL of a model after its template was rendered.

    `text` is for a full run, `incremental` for a run on an existing table; they differ only if the
    template calls `is_incremental()`. `deleted_flags` names the `is_deleted` column of every
    history table that is read as of a time without its tombstones. Of the inputs in `deltas`, a
    step reads only new rows. The template read the rows of `reads`; while the text `waits` for rows
    that no run has read, no step may run it.
    """

    text: str
    incremental: str
    canonical: str
    inputs: tuple[InputName, ...]
    parsed: bool = True
    deleted_flags: tuple[tuple[InputName, str], ...] = ()
    deltas: tuple[InputName, ...] = ()
    reads: tuple[TemplateQuery, ...] = ()
    waits: bool = False

    def shown_sql(self, names: Mapping[InputName, str]) -> str:
        """Return the text with every table under its name in the project.

        It excludes tombstones of histories by column name, even if their tables have none, and
        writes parameters as users do: `@partition_date`.
        """
        conditions = {name: live(column) for name, column in self.deleted_flags}
        return PARAMETER.sub(r"@\1", self.written(names, conditions))

    def noted(self, text: str) -> str:
        """Return its text for users, with a comment if it stands for another."""
        return f"{_WAITS}{text}" if self.waits else text

    def written(self, names: Mapping[InputName, str], present: Mapping[InputName, str]) -> str:
        """Return the text for a catalog; `present` as in `bound`."""
        return _decided(substitute(self.text, lambda name, _: names[name]), present)


def substitute(text: str, relation: Callable[[InputName, str], str]) -> str:
    """Replace every token with the result of `relation(input, alias)`; alias may be "".

    >>> token = mention(InputName(InputKind.SOURCE, "raw.events"), alias="events")
    >>> substitute(f"select * from {token}", lambda name, alias: f"v1 as {alias}")
    'select * from v1 as events'
    """

    def replace(match: re.Match[str]) -> str:
        name = InputName(InputKind(match[1]), match[2])
        return relation(name, (match[3] or "").removeprefix(":bare:"))

    return _TOKEN.sub(replace, text)


def mentioned(text: str) -> tuple[InputName, ...]:
    """Return the tables with tokens in a text, each once, in the order of the text."""
    found = (InputName(InputKind(each[1]), each[2]) for each in _TOKEN.finditer(text))
    return tuple(dict.fromkeys(found))


def bound(
    text: str,
    views: Mapping[InputName, str],
    present: Mapping[InputName, str] = MappingProxyType({}),
) -> str:
    """Replace every token by a view of the step's session, aliased as the query expects.

    `present` maps history tables to the condition that excludes their tombstones, as `live` writes
    it; other tables have none.

    >>> events = InputName(InputKind.SOURCE, "raw.events")
    >>> bound(f"select * from {mention(events, alias='events')}", {events: "in_1"})
    'select * from `in_1` AS `events`'
    >>> bound(f"{present(events)} or {present(events)}", {}, {events: "x"})
    'x or x'
    """

    def relation(name: InputName, alias: str) -> str:
        view = quoted(views[name])
        return f"{view} AS {quoted(alias)}" if alias else view

    return substitute(_decided(text, present), relation)


def _decided(text: str, conditions: Mapping[InputName, str]) -> str:
    def condition(match: re.Match[str]) -> str:
        return conditions.get(InputName(InputKind(match[1]), match[2]), "true")

    return _PRESENT.sub(condition, text)


def parameters(text: str) -> frozenset[str]:
    """Return the names of the parameters with tokens in a text."""
    return frozenset(PARAMETER.findall(text))


def with_parameters(text: str, values: Mapping[str, str]) -> str:
    """Replace parameters by typed literals; those without a value keep their token."""
    return PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)


def at(text: str, run_timestamp: dt.datetime) -> str:
    """Replace `run_timestamp` of templates by the run timestamp, and `@run_date` by its date.

    The template renders to the word `penstock__run_timestamp`, which fingerprints see: the time of
    a run is not a change of code. Inside quotes and comments it becomes bare text, elsewhere a
    typed literal.
    """
    utc = run_timestamp.astimezone(dt.UTC)
    if RUN_WORD in text:
        text = _RUN_WORDS.sub(lambda found: _run_text(found[1], utc), text)
    text = with_parameters(text, {"run_date": f"DATE '{utc.date().isoformat()}'"})
    if RUN_TIMESTAMP not in text:
        return text
    stamp = f"{utc:%Y-%m-%dT%H:%M:%S.%fZ}"

    def stamped(match: re.Match[str]) -> str:
        return match[1].replace(RUN_TIMESTAMP, stamp) if match[1] else f"TIMESTAMP '{stamp}'"

    return _STAMPED.sub(stamped, text)


def run_word(
    form: str = "", shift: dt.timedelta = dt.timedelta(0), zone: str = "UTC", sep: str = " "
) -> str:
    """Return the word that `at` replaces by the shifted run timestamp in a format of `strftime`.

    Without a format it is written as ISO 8601, with `sep` between date and time.

    >>> at(run_word("%Y%m%d", dt.timedelta(days=-1)), dt.datetime(2024, 3, 1, tzinfo=dt.UTC))
    '20240229'
    """
    return _word_of([form, shift // dt.timedelta(microseconds=1), zone, sep])


def run_id_word() -> str:
    """Return the word that `at` replaces by a UUID made from the run timestamp."""
    return _word_of([_RUN_ID])


def run_words(text: str) -> int:
    """Return the number of words of the run in a text."""
    return len(_RUN_WORDS.findall(text))


def _word_of(parts: Sequence[object]) -> str:
    return f"{RUN_WORD}{json.dumps(parts).encode().hex()}__"


def _run_text(word: str, utc: dt.datetime) -> str:
    form, *rest = json.loads(bytes.fromhex(word))
    if not rest:
        parts = re.fullmatch("(.{8})(.{4})(.{4})(.{4})(.{12}).*", _digest(utc.isoformat()))
        return "-".join(parts.groups()) if parts else ""
    shift, zone, sep = rest
    moved = (utc + dt.timedelta(microseconds=shift)).astimezone(ZoneInfo(zone))
    return moved.strftime(form) if form else moved.isoformat(sep)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
