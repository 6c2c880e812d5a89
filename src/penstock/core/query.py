"""A query whose tables are still open: text with one token per table it mentions.

`project` writes the tokens, `strategies` binds them to the relations of a step. The text keeps the
lines of the user's file, so a position that Spark reports is a position in that file.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from penstock.core.names import InputKind, InputName, quoted

_TOKEN = re.compile(r"`penstock:(model|source|external|this):([^`:]+)(:bare:[^`:]+)?`")
_PRESENT = re.compile(r"`penstock:present:(model|source|external|this):([^`:]+)`")

RUN_TIMESTAMP = "penstock__run_timestamp"
PARAMETERS = ("partition_date", "start_date", "end_date", "run_date")
"""The names that SQL may write after `@`."""
PARAMETER = re.compile(r"`penstock:param:(\w+)`")
_STAMPED = re.compile(
    r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/)|""" + RUN_TIMESTAMP,
    re.DOTALL,
)


def mention(name: InputName, alias: str = "") -> str:
    """Write the token of one table.

    `alias` is the name under which the rest of the query knows a table that it does not alias
    itself; a bound relation is given that alias, a shown name is not.

    >>> mention(InputName(InputKind.MODEL, "users"), alias="users")
    '`penstock:model:users:bare:users`'
    """
    bare = f":bare:{alias}" if alias else ""
    return f"`penstock:{name.kind}:{name.name}{bare}`"


def present(name: InputName) -> str:
    """Write the token of the condition that leaves the tombstones of a history table out.

    What it stands for is decided when the step is bound: the table may lack the column.
    """
    return f"`penstock:present:{name.kind}:{name.name}`"


def live(is_deleted: str) -> str:
    """Return the condition of rows that are no tombstones, where the table has the column."""
    return f"coalesce({quoted(is_deleted)}, false) = false"


def parameter(name: str) -> str:
    """Write the token of a parameter."""
    return f"`penstock:param:{name}`"


@dataclass(frozen=True, slots=True)
class Query:
    """The SQL of a model after its template was rendered.

    `text` is what a run of the whole history executes, `incremental` what a run on top of an
    existing table executes; they differ only where the template asks `is_incremental()`.
    `deleted_flags` names the `is_deleted` column of every history table that is read as of a time
    without its tombstones. Of the `deltas` among its inputs a step reads what is new alone.
    """

    text: str
    incremental: str
    canonical: str
    inputs: tuple[InputName, ...]
    parsed: bool = True
    deleted_flags: tuple[tuple[InputName, str], ...] = ()
    deltas: tuple[InputName, ...] = ()

    def shown_sql(self, names: Mapping[InputName, str]) -> str:
        """Return the text with every table under the name that users know it by.

        It leaves the tombstones of histories out by name, whether their tables have any, and
        calls parameters as their writer does: `@partition_date`.
        """
        conditions = {name: live(column) for name, column in self.deleted_flags}
        return PARAMETER.sub(r"@\1", self.written(names, conditions))

    def written(self, names: Mapping[InputName, str], present: Mapping[InputName, str]) -> str:
        """Return the text for a catalog; `present` as in `bound`."""
        return _decided(substitute(self.text, lambda name, _: names[name]), present)


def substitute(text: str, relation: Callable[[InputName, str], str]) -> str:
    """Replace every token by what `relation(input, alias)` gives; alias is "" where there is one.

    >>> token = mention(InputName(InputKind.SOURCE, "raw.events"), alias="events")
    >>> substitute(f"select * from {token}", lambda name, alias: f"v1 as {alias}")
    'select * from v1 as events'
    """

    def replace(match: re.Match[str]) -> str:
        name = InputName(InputKind(match[1]), match[2])
        return relation(name, (match[3] or "").removeprefix(":bare:"))

    return _TOKEN.sub(replace, text)


def mentioned(text: str) -> tuple[InputName, ...]:
    """Return the tables that a text has tokens for, each once, in the order of the text."""
    found = (InputName(InputKind(each[1]), each[2]) for each in _TOKEN.finditer(text))
    return tuple(dict.fromkeys(found))


def bound(
    text: str,
    views: Mapping[InputName, str],
    present: Mapping[InputName, str] = MappingProxyType({}),
) -> str:
    """Bind every token to a view of the step's session, aliased to what the query calls it.

    `present` gives the condition that leaves the tombstones of a history table out, as `live`
    writes it; of a table that it does not name no row is a tombstone.

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
    """Return the names of the parameters that a text has tokens for."""
    return frozenset(PARAMETER.findall(text))


def with_parameters(text: str, values: Mapping[str, str]) -> str:
    """Put typed literals in the place of parameters; those without a value keep their token."""
    return PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)


def at(text: str, run_timestamp: dt.datetime) -> str:
    """Put the run timestamp where a template asked for `run_timestamp`, its date for `@run_date`.

    The template renders to the word `penstock__run_timestamp`, which fingerprints see: the time of
    a run is no change of code. Inside quotes and comments it becomes bare text, elsewhere a typed
    literal.
    """
    utc = run_timestamp.astimezone(dt.UTC)
    text = with_parameters(text, {"run_date": f"DATE '{utc.date().isoformat()}'"})
    if RUN_TIMESTAMP not in text:
        return text
    stamp = f"{utc:%Y-%m-%dT%H:%M:%S.%fZ}"

    def stamped(match: re.Match[str]) -> str:
        return match[1].replace(RUN_TIMESTAMP, stamp) if match[1] else f"TIMESTAMP '{stamp}'"

    return _STAMPED.sub(stamped, text)
