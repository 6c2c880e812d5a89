"""Old sessions that a pass builds again: found among rows that arrived late, or named by a user."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from penstock.app.preparing.open_pass import PassRun, delta_versions
from penstock.app.services.services import Services
from penstock.core.errors import DataError, QueryError, SchemaError, TableError
from penstock.core.facts import AddedFile
from penstock.core.findings import some
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.sessions.manifest import INSTANT, RebuildRequest, instant_text
from penstock.core.sessions.options import LateRows, SessionTable
from penstock.core.statement import Stage
from penstock.core.steps.inputs import DeltaRead, Read, Relation
from penstock.strategies.relations import bind_tables
from penstock.strategies.sessions.events import Reread
from penstock.strategies.sessions.reread import (
    LATE,
    OLD_MAPPING,
    OLD_SESSIONS,
    REPLACED,
    RESET_USERS,
    late_counts,
    late_stages,
    rebuild_stages,
    spans_of,
)
from penstock.strategies.sessions.tables import PAST_IDS, no_rows
from penstock.strategies.sessions.timeouts import (
    asked_days,
    asked_stage,
    rebuilt_points,
    region_stage,
    session_stages,
    window_points,
)

_KEPT = {SessionTable.LIFECYCLE: OLD_SESSIONS, SessionTable.USER_MAPPING: OLD_MAPPING}


def find_old_sessions(services: Services, session: StepSession, run: PassRun) -> None:
    """Let a pass know which old sessions it builds again; the events are open, nothing is written.

    Raises `late-loaded` if late rows are to stop the run.
    """
    if run.begun.rebuild is not None:
        _open_before(services, session, run)
        if run.package.options.finds_sessions:
            _rebuild_by_timeout(session, run, run.begun.rebuild)
            return
        stages = rebuild_stages(run.sql, run.begun.rebuild, maps=run.maps)
        _stage(session, run, stages, rebuilds=True)
        return
    if run.package.options.finds_sessions:
        _find_by_timeout(services, session, run)
        return
    bound = _bound(run)
    if run.begun.limits.is_empty or bound is None:
        return
    if _takes_late(services, session, run, bound):
        _open_before(services, session, run)
        _stage(session, run, late_stages(run.sql, bound, maps=run.maps), rebuilds=False)


def _bound(run: PassRun) -> dt.datetime | None:
    """Return the last time at which a new row is out of order; None before the first events.

    The mapping of users is the latest event of each, so it depends on all rows that come after
    events that were processed. For everything else, the window is built again anyway.
    """
    below = run.begun.limits.lower_limit - INSTANT
    maps = run.package.model(SessionTable.USER_MAPPING) is not None
    is_exact = maps and run.package.options.takes_late_rows
    return None if run.head is None else max(below, run.head) if is_exact else below


def _find_by_timeout(services: Services, session: StepSession, run: PassRun) -> None:
    """Find the sessions of a pass whose events have no session ids."""
    _open_before(services, session, run)
    bound = None if run.begun.limits.is_empty else _bound(run)
    is_late = bound is not None and _takes_late(services, session, run, bound)
    session.stage(window_points(run.sql, bound if is_late else None))
    row = session.stage(region_stage(run.sql, rebuilds=False))
    spans = spans_of(str(row["long_days"] or ""))
    stages = session_stages(run.sql, spans, rebuilds=False, maps=run.maps and is_late)
    _stage(session, run, stages, rebuilds=False)


def _rebuild_by_timeout(session: StepSession, run: PassRun, request: RebuildRequest) -> None:
    """Find the sessions to rebuild if events have no session ids."""
    found = str(session.stage(asked_stage(run.sql, request))["days"] or "")
    days = asked_days(request, found)
    session.stage(rebuilt_points(run.sql, request, spans_of(days)))
    row = session.stage(region_stage(run.sql, rebuilds=True))
    spans = spans_of(str(row["long_days"] or ""))
    stages = session_stages(run.sql, spans, rebuilds=True, maps=run.maps)
    _stage(session, run, stages, rebuilds=True, days=days)


def _stage(
    session: StepSession, run: PassRun, stages: Iterable[Stage], *, rebuilds: bool, days: str = ""
) -> None:
    """Compute the sessions, and share what modules need of them; `days` are read in any case."""
    row: dict[str, object] = {}
    for stage in stages:
        row |= session.stage(stage)
    read = {*str(row["days"] or "").split(","), *days.split(",")} - {""}
    run.reread = Reread(spans_of(",".join(sorted(read))), rebuilds, maps=bool(row.get("reset")))
    run.old_dates = tuple(each for each in str(row["old_dates"] or "").split(",") if each)
    shared = (*([REPLACED] if rebuilds else []), *([RESET_USERS] if run.reread.maps else []))
    run.old_views = {view: session.share(view) for view in shared}


def _open_before(services: Services, session: StepSession, run: PassRun) -> None:
    """Create views of the kept tables as they were before the pass, or its first attempt."""
    asked = run.begun.rebuild.before if run.begun.rebuild else {}
    overwrites = services.writing.sessions.overwrites(run.package.name)
    for part, view in _KEPT.items():
        model = run.package.model(part)
        if model is None:
            continue
        uri = services.project.uri_of(model.table)
        known = asked.get(part)
        head = services.log.head(uri) if known is None and not asked else None
        version = known.version if known else head.version if head else None
        if version is None or model.name in overwrites:
            session.define(view, no_rows(part, run.package.options))
            continue
        relation = Relation(InputName(InputKind.THIS, ""), view, DeltaRead(uri, version))
        schema = session.bind([relation])[view]
        if (
            part is SessionTable.LIFECYCLE
            and run.package.options.finds_sessions
            and not schema.find(PAST_IDS)
        ):
            raise _has_other_sessions(run)
        run.maps |= part is SessionTable.USER_MAPPING


def _takes_late(services: Services, session: StepSession, run: PassRun, bound: dt.datetime) -> bool:
    """Count late rows; return whether their sessions are built again, or raise `late-loaded`."""
    early, options = _count(services, session, run, bound), run.package.options
    if run.late_loaded and options.late_loaded is LateRows.FAIL:
        raise _refused(run)
    return options.takes_late_rows and early > run.beyond_horizon


def _count(services: Services, session: StepSession, run: PassRun, bound: dt.datetime) -> int:
    """Count late rows among the new files, if there can be any; return those up to a bound."""
    views: list[str] = []
    for number, reads in enumerate(_new_files(services, run, bound)):
        relations, named = bind_tables(
            services.project, (run.package.events,), reads, run.begun.now, f"late{number}"
        )
        session.bind(relations)
        views.append(named[run.package.events])
    if not views:
        return 0
    union = " UNION ALL ".join(f"SELECT * FROM {quoted(view)}" for view in views)
    try:
        session.define(LATE, union)
        row = session.row(late_counts(run.sql, bound))
    except (DataError, QueryError, TableError) as error:
        # a file may be gone that was rewritten since
        run.late_error = error.sentence
        return 0
    run.late_loaded, run.beyond_horizon = int(row["late"] or 0), int(row["beyond"] or 0)
    return int(row["early"] or 0)


def _new_files(
    services: Services, run: PassRun, bound: dt.datetime
) -> Iterator[Mapping[InputName, Read]]:
    """Yield how to read the events as if they were only rows of new files.

    Statistics of the log leave out ranges of commits without late rows.
    """
    events = run.package.events
    for name, now in delta_versions(run.begun.pins).items():
        since = run.since.get(name)
        input_name = next((each for each in run.inputs.reads if each.name == name), None)
        read = run.inputs.reads.get(input_name) if input_name else None
        if since is None or input_name is None or not isinstance(read, DeltaRead):
            continue
        column = run.package.options.timestamp if input_name == events else ""
        versions = since.version, now.version
        for after, upto, files in _appends(services, run, read.uri, versions):
            if any(_may_be_late(each, column, run, bound) for each in files):
                below = run.begun.limits.lower_limit - INSTANT
                late = (each for each in files if _may_be_late(each, column, run, below))
                run.late_files += [each.path for each in late]
                own = replace(read, version=upto, since=after)
                yield {**run.inputs.reads, input_name: own}


def _appends(
    services: Services, run: PassRun, uri: str, versions: tuple[int, int]
) -> Iterator[tuple[int, int, list[AddedFile]]]:
    """Yield ranges of commits that only added files, and these; what others rewrote is unknown."""
    first, last = versions
    after, files = first, list[AddedFile]()
    for version in range(first + 1, last + 1):
        added = services.log.added(uri, version - 1, version)
        if added is None:
            run.rewritten = True
            yield after, version - 1, files
            after, files = version, []
        else:
            files += added
    yield after, last, files


def _may_be_late(file: AddedFile, column: str, run: PassRun, bound: dt.datetime) -> bool:
    start = run.package.options.start_date
    return not (file.begins_after(column, bound) or file.ends_before(column, start))


def _has_other_sessions(run: PassRun) -> SchemaError:
    package = run.package
    return SchemaError(
        "options-changed",
        f"{package.name} has sessions by id, and session_timeout finds other ones",
        where=package.places.get("session_timeout", package.where),
        hint=f"penstock run --select {package.name} --full-refresh",
    )


def _refused(run: PassRun) -> DataError:
    package, low = run.package, instant_text(run.begun.limits.lower_limit)
    where = package.places.get("late_loaded", package.where)
    return DataError(
        "late-loaded",
        f"{run.late_loaded:,} rows of {package.events.name} before {low} have arrived since they "
        f"were processed, in {some(run.late_files, 5)}",
        where=where,
        hint="late_loaded: take builds their sessions again, count leaves them out",
    )
