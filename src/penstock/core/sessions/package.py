"""The content of one session file: its options, under their names in the file, and its tables.

The terms are those of docs/sessions.md: `ts` is the column that `timestamp` names; the cap of a
session is `max_session_days` after its start; a tracked model has a row in the manifest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.sessions.options import SessionOptions, SessionTable


class SessionTableKind(StrEnum):
    """What happens to the rows of a table."""

    VIEW = "view"
    KEPT = "kept"
    SCRATCH = "scratch"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class SessionModel:
    """One table of a package as a model of the project.

    `reads` are its input models of the package, `after` those that only run before it. With
    `reads_events` it reads the events table itself.
    """

    name: str
    table: TableName
    part: SessionTable
    kind: SessionTableKind
    key: tuple[str, ...] = ()
    partition_by: str = ""
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    reads_events: bool = False
    tags: tuple[str, ...] = ()

    @property
    def is_tracked(self) -> bool:
        """Whether it has a row in the manifest."""
        return self.kind is SessionTableKind.MODULE


@dataclass(frozen=True, slots=True)
class SessionPackage:
    """One session file with every setting resolved; `where` is the place of its name.

    `events` is the model or source of the events. `models` are its tables in the order of their
    steps. `fingerprint` is that of its options, as `package_fingerprint` writes it. `places` are
    the places of the file's keys.
    """

    name: str
    events: InputName
    options: SessionOptions
    models: tuple[SessionModel, ...]
    manifest_schema: str
    where: Location = field(compare=False)
    fingerprint: str = ""
    places: Mapping[str, Location] = field(default_factory=dict, compare=False)

    @property
    def tag(self) -> str:
        """The tag of its tracked models."""
        return tag_of(self.name)

    @property
    def manifest_table(self) -> TableName:
        """The table to which its manifest is exported."""
        return TableName(self.manifest_schema, f"{self.name}_incremental_manifest")

    def model(self, part: SessionTable) -> SessionModel | None:
        """Return one of its tables, None if it is not built."""
        return next((each for each in self.models if each.part is part), None)

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of its modules, which are all tracked."""
        return tuple(each.name for each in self.models if each.is_tracked)


def package_fingerprint(base: str, other: str) -> str:
    """Combine the digests of the base tables' options and of all others into one text."""
    return f"{base[:16]}/{other[:16]}"


def same_base(one: str, other: str) -> bool:
    """Return whether two fingerprints have the same options of base tables.

    >>> same_base(package_fingerprint("a", "b"), package_fingerprint("a", "c"))
    True
    """
    return one.partition("/")[0] == other.partition("/")[0]


def tag_of(package: str) -> str:
    """Return the tag of the models that a package tracks."""
    return f"{package}_incremental"


@dataclass(frozen=True, slots=True)
class SessionSchemas:
    """The schemas of a package's tables: derived ones, kept ones, those of a run."""

    derived: str
    manifest: str
    scratch: str


_KINDS: Mapping[SessionTable, SessionTableKind] = {
    SessionTable.LIMITS: SessionTableKind.VIEW,
    SessionTable.LIFECYCLE: SessionTableKind.KEPT,
    SessionTable.QUARANTINE: SessionTableKind.KEPT,
    SessionTable.SESSIONS_THIS_RUN: SessionTableKind.SCRATCH,
    SessionTable.EVENTS_THIS_RUN: SessionTableKind.SCRATCH,
}
_SESSION = "session_identifier"
_KEYS: Mapping[SessionTable, tuple[str, ...]] = {
    SessionTable.LIFECYCLE: (_SESSION,),
    SessionTable.QUARANTINE: (_SESSION,),
    SessionTable.SESSIONS_THIS_RUN: (_SESSION,),
    SessionTable.PAGE_VIEWS: (_SESSION, "page_view_id"),
    SessionTable.SESSIONS: (_SESSION,),
    SessionTable.USERS: ("user_identifier",),
    SessionTable.USER_MAPPING: ("user_identifier",),
}
_PARTITIONS: Mapping[SessionTable, str] = {
    SessionTable.LIFECYCLE: "start_date",
    SessionTable.PAGE_VIEWS: "session_start_date",
    SessionTable.SESSIONS: "session_start_date",
}
_TOUCHED = (SessionTable.SESSIONS_THIS_RUN, SessionTable.EVENTS_THIS_RUN)
_READS: Mapping[SessionTable, tuple[SessionTable, ...]] = {
    SessionTable.LIFECYCLE: (SessionTable.LIMITS,),
    SessionTable.QUARANTINE: (SessionTable.LIMITS, SessionTable.LIFECYCLE),
    SessionTable.SESSIONS_THIS_RUN: (SessionTable.LIMITS, SessionTable.LIFECYCLE),
    SessionTable.EVENTS_THIS_RUN: (SessionTable.LIFECYCLE, SessionTable.SESSIONS_THIS_RUN),
    SessionTable.USER_MAPPING: (SessionTable.EVENTS_THIS_RUN,),
    SessionTable.PAGE_VIEWS: _TOUCHED,
    SessionTable.SESSIONS: _TOUCHED,
    SessionTable.USERS: (SessionTable.SESSIONS_THIS_RUN, SessionTable.SESSIONS),
}
_AFTER: Mapping[SessionTable, tuple[SessionTable, ...]] = {
    SessionTable.SESSIONS_THIS_RUN: (SessionTable.QUARANTINE,)
}
_READ_EVENTS = (SessionTable.LIFECYCLE, SessionTable.QUARANTINE, SessionTable.EVENTS_THIS_RUN)


def session_models(
    name: str, schemas: SessionSchemas, options: SessionOptions
) -> tuple[SessionModel, ...]:
    """Return the tables that a package is expanded into, in the order of their steps."""
    modules = options.built_modules
    built = [
        each
        for each in SessionTable
        if (each in modules or each in _KINDS)
        and (each is not SessionTable.QUARANTINE or options.quarantine)
    ]

    return tuple(_model(name, part, built, schemas, options) for part in built)


def _model(
    package: str,
    part: SessionTable,
    built: Collection[SessionTable],
    schemas: SessionSchemas,
    options: SessionOptions,
) -> SessionModel:
    def names_of(parts: tuple[SessionTable, ...]) -> tuple[str, ...]:
        return tuple(f"{package}_{each}" for each in parts if each in built)

    kind = _KINDS.get(part, SessionTableKind.MODULE)
    lies = {SessionTableKind.MODULE: schemas.derived, SessionTableKind.KEPT: schemas.manifest}
    after = _AFTER.get(part, ())
    if part in options.stitched:
        after = (SessionTable.USER_MAPPING,)
    reads = _READS.get(part, ())
    if part is SessionTable.USERS and options.by_person:
        reads = (*reads, SessionTable.USER_MAPPING)
    is_keyed_alone = part is SessionTable.PAGE_VIEWS and options.is_snowplow
    return SessionModel(
        name=f"{package}_{part}",
        table=TableName(lies.get(kind, schemas.scratch), f"{package}_{part}"),
        part=part,
        kind=kind,
        key=("page_view_id",) if is_keyed_alone else _KEYS.get(part, ()),
        partition_by=_PARTITIONS.get(part, ""),
        reads=names_of(reads),
        after=names_of(after),
        reads_events=part in _READ_EVENTS,
        tags=(tag_of(package),) if kind is SessionTableKind.MODULE else (),
    )


def unresolved(name: str = "") -> InputName:
    """Return the name of an events table that could not be resolved."""
    return InputName(InputKind.EXTERNAL, name)
