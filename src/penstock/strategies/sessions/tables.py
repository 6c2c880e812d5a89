"""The tables of packages: columns of kept tables, and answers for other rooms."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Self

from penstock.core import strategy as port
from penstock.core.names import literal
from penstock.core.sessions.manifest import ManifestRow
from penstock.core.sessions.options import SessionOptions, SessionTable
from penstock.core.sessions.package import SessionModel, SessionPackage, SessionTableKind
from penstock.strategies.entities.moments import instant_literal

_ID = "session_identifier"
LIFECYCLE_COLUMNS: Mapping[str, str] = {
    _ID: "string",
    "user_identifier": "string",
    "start_tstamp": "timestamp",
    "end_tstamp": "timestamp",
    "start_date": "date",
    "user_tstamp": "timestamp",
    "user_event_id": "string",
    "past_user_identifiers": "array<string>",
    "past_start_dates": "array<date>",
    "first_run_id": "string",
    "last_run_id": "string",
}
QUARANTINE_COLUMNS: Mapping[str, str] = {
    _ID: "string",
    "since": "timestamp",
    "reason": "string",
    "run_id": "string",
    "start_tstamp": "timestamp",
    "events_dropped": "bigint",
    "dropped_to": "timestamp",
}
MAPPING_COLUMNS: Mapping[str, str] = {
    "user_identifier": "string",
    "user_id": "string",
    "mapped_tstamp": "timestamp",
    "mapped_event_id": "string",
    "changed_seq": "bigint",
    "run_id": "string",
}
MEMBERS = "user_identifiers"
"""The column of the visitors of a person."""
PAST_IDS = "past_session_identifiers"
"""The column of the ids of sessions that were joined to one."""


def kept_columns(part: SessionTable, options: SessionOptions) -> Mapping[str, str]:
    """Return the columns of a table whose rows last, with their types."""
    if part is SessionTable.LIFECYCLE:
        more = {PAST_IDS: "array<string>"} if options.finds_sessions else {}
        return {**LIFECYCLE_COLUMNS, **more}
    if part is SessionTable.USERS:  # what is read of it
        return {"user_identifier": "string", MEMBERS: "array<string>"}
    return QUARANTINE_COLUMNS if part is SessionTable.QUARANTINE else MAPPING_COLUMNS


def no_rows(part: SessionTable, options: SessionOptions) -> str:
    """Return an empty table in place of one that does not exist yet."""
    kept = kept_columns(part, options)
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in kept.items())
    return f"SELECT {columns} WHERE false"


MANIFEST_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "last_success": "timestamp",
    "covered_to": "timestamp",
    "advanced_to": "timestamp",
    "fingerprint": "string",
    "run_id": "string",
    "updated_at": "timestamp",
}
_FIELDS = {"run_id": "run"}
MANIFEST_OF = "penstock.manifestOf"
"""The property that names the package whose manifest a table holds."""


def manifest_export(target: str, package: str, rows: Sequence[ManifestRow], location: str) -> str:
    """Return the statement that replaces a table's rows by those of a manifest."""
    lines = [
        ", ".join(_cell(getattr(row, _FIELDS.get(name, name))) for name in MANIFEST_COLUMNS)
        for row in rows
    ]
    listed = ", ".join(MANIFEST_COLUMNS)
    found = f"VALUES {', '.join(f'({line})' for line in lines)} AS t({listed})"
    none = ", ".join(f"NULL AS {name}" for name in MANIFEST_COLUMNS)
    source = found if lines else f"(SELECT {none}) WHERE false"
    casts = ", ".join(
        f"CAST({name} AS {kind}) AS {name}" for name, kind in MANIFEST_COLUMNS.items()
    )
    placed = f"LOCATION {literal(location)} " if location else ""
    said = f"TBLPROPERTIES ({literal(MANIFEST_OF)} = {literal(package)})"
    made = f"CREATE OR REPLACE TABLE {target} USING delta {placed}{said}"
    return f"{made} AS SELECT {casts} FROM {source}"


def _cell(value: dt.datetime | str | None) -> str:
    if value is None:
        return "NULL"
    return literal(value) if isinstance(value, str) else instant_literal(value)


@dataclass(frozen=True, slots=True)
class Sessions(port.Strategy):
    """One table of a session package; only a pass of the package builds its rows."""

    package: SessionPackage
    model: SessionModel
    name = "sessions"
    is_written = False
    is_incremental = True
    rerun_is_safe = True
    by_passes = True
    keeps_rows = True
    dbt = ("incremental", "merge")

    @classmethod
    def read(cls, settings: port.GivenSettings) -> Self:
        """Read the package's table; that of limits is a view."""
        package, model = settings.session()
        made = LimitsView if model.kind is SessionTableKind.VIEW else cls
        return made(package, model)  # type: ignore[return-value]  # a view is a table of one, too

    def work(self, build: port.Build) -> NoReturn:
        """Raise: the work of a package's step depends on the limits of its pass."""
        raise TypeError(f"{build.model.name} is made by a pass of {self.package.name}")

    @property
    def writing(self) -> port.Writing:
        """Each pass replaces scratch tables, and merges into all others."""
        is_scratch = self.model.kind is SessionTableKind.SCRATCH
        return port.Writing.WHOLE if is_scratch else port.Writing.MERGED

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify its rows."""
        return self.model.key

    def fingerprint(self, layout: port.Layout) -> Mapping[str, object]:
        """Return the package's options that change rows."""
        del layout
        return {"package": self.package.fingerprint, "table": str(self.model.part)}


class LimitsView(Sessions):
    """The view of the limits of a package's last pass."""

    __slots__ = ()
    is_view = True
    is_incremental = False
    keeps_rows = False
    dbt = ("view", "")
