"""Steps of a pass of a session package: what they share with the others of their pass."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from penstock.app.execution.step_state import StepRun, StepState
from penstock.app.kinds import tables
from penstock.app.kinds.tables import examine, renewed_step
from penstock.app.preparing.old_sessions import find_old_sessions
from penstock.app.preparing.open_pass import PassRun
from penstock.app.preparing.pins import Inputs
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.step_inputs import Looking, StepInputs
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.errors import DataError, SchemaError
from penstock.core.facts import TableFacts
from penstock.core.names import InputKind, InputName, quoted
from penstock.core.ports.engine import StepSession
from penstock.core.project import read_uri
from penstock.core.sessions.manifest import EventCounts, PassEvents, PassStepKind
from penstock.core.sessions.options import SessionTable
from penstock.core.statement import QUERY_VIEW, Commit, Row, Work
from penstock.core.steps.inputs import DeltaPin, DeltaRead, QueryRead, Relation
from penstock.core.steps.step import Intent
from penstock.core.strategy import Build, Writing
from penstock.plan.evolution import Evolution
from penstock.plan.kinds.manifest import asks_for_later_events, is_caught_up
from penstock.plan.values import Step
from penstock.plan.work import PassWork
from penstock.project.sessions.columns import events_findings
from penstock.strategies.entities.moments import instant_literal
from penstock.strategies.relations import bind_tables
from penstock.strategies.sessions.events import EVENTS, ReleasedSession, as_time, texts
from penstock.strategies.sessions.tables import MEMBERS, no_rows
from penstock.strategies.sessions.this_run import limits_view
from penstock.strategies.sessions.users import replaced_days
from penstock.strategies.sessions.window import BEFORE
from penstock.strategies.sessions.work import (
    events_work,
    lifecycle_work,
    module_work,
    quarantine_work,
    requarantined,
    sessions_work,
    stitch_work,
    window_stages,
)

complete_intent = tables.complete_intent
prepare = tables.prepare
share_of = tables.share_of


def step_to_run(services: Services, context: Context, step: Step) -> Step | str:
    """Return the step, or why its model does not take part in the pass."""
    del services
    return context.passes.skip_reason(pass_work(step)) or step


def replan(services: Services, context: Context, step: Step) -> Step | None:
    """Continue: the package is leased, so its state has not changed."""
    return renewed_step(services, context, step, forced=True)


def pin_versions(run: StepRun) -> Inputs:
    """Pin the versions of the inputs; the events are those of the pass."""
    return run.context.passes.with_events(pass_work(run.step), tables.pin_versions(run))


def inspect(state: StepState) -> StepState:
    """Create views of what the step reads, in the session of its pass if it shares one."""
    return examine(state, PassLooking, state.run.context.passes.session(pass_work(state.run.step)))


def note_success(context: Context, step: Step) -> None:
    """Record the counts of events of the pass."""
    context.passes.note_events(pass_work(step))


_THIS_RUN = (SessionTable.SESSIONS_THIS_RUN, SessionTable.EVENTS_THIS_RUN)
_READ: Mapping[SessionTable, tuple[SessionTable, ...]] = {
    SessionTable.LIFECYCLE: (SessionTable.LIFECYCLE,),
    SessionTable.QUARANTINE: (SessionTable.LIFECYCLE,),
    SessionTable.SESSIONS_THIS_RUN: (SessionTable.LIFECYCLE,),
    SessionTable.USER_MAPPING: (*_THIS_RUN, SessionTable.USER_MAPPING),
    SessionTable.PAGE_VIEWS: (*_THIS_RUN, SessionTable.USER_MAPPING, SessionTable.PAGE_VIEWS),
    SessionTable.SESSIONS: (*_THIS_RUN, SessionTable.USER_MAPPING, SessionTable.SESSIONS),
    SessionTable.USERS: (*_THIS_RUN, SessionTable.SESSIONS, SessionTable.USERS),
}
"""The tables of the package that the SQL of each one reads, under their views."""
_EMPTY = (SessionTable.LIFECYCLE, SessionTable.USER_MAPPING, SessionTable.USERS)
"""The tables that are read before they exist."""
_REPLACED_IDS = "penstock_replaced_ids"
_MICROSECOND = dt.timedelta(microseconds=1)


def pass_work(step: Step) -> PassWork:
    """Return the work of a step in its pass."""
    if not isinstance(step.work, PassWork):
        raise TypeError(f"{step.key} is in no pass")
    return step.work


class PassLooking(Looking):
    """One step of a pass before it begins."""

    __slots__ = ()

    @property
    def work(self) -> PassWork:
        """The work of the step in its pass."""
        return pass_work(self.step)

    @property
    def is_cut(self) -> bool:
        """True: the pass has already limited the events."""
        return True

    @property
    def run(self) -> PassRun:
        """The pass."""
        return self.context.passes.of(self.work)

    def with_findings(self, intent: Intent, step_inputs: StepInputs) -> Intent:
        """Add to the intent what the step leaves in the manifest."""
        promise = self.context.passes.promise(self.work)
        return replace(super().with_findings(intent, step_inputs), session=promise)

    def inspect(self, session: StepSession) -> StepInputs:
        """Create views of the tables that the step's SQL names; read the table itself."""
        if self.work.part.kind is PassStepKind.MODEL:
            return self._with_sessions(session, super().inspect(session))
        run, is_base = self.run, self.work.part.kind is PassStepKind.BASE
        if is_base and not run.schema.columns:
            self._open_events(session, run)
        facts = self.services.log.facts(self.uri, counts=True) if self.uri else None
        whole = self.step.initial or self.model.writing is Writing.WHOLE
        table = None if facts is None or whole else facts.schema
        part = self._target_table()
        if self.work.part.kind is PassStepKind.STITCH:
            self._bind_tables(session, (SessionTable.USER_MAPPING, part), facts)
        else:
            by_person = run.package.options.by_person and part is SessionTable.USERS
            more = (SessionTable.USER_MAPPING,) if by_person else ()
            self._bind_tables(session, (*_READ.get(part, ()), *more), facts)
            if part is SessionTable.USERS and table is not None:
                self._require_users(run, table)
        query = Schema()
        if part is SessionTable.LIMITS:
            query = session.define(QUERY_VIEW, limits_view(run.begun.limits, run.begun.run))
        return StepInputs(
            query=query,
            evolution=Evolution(()),
            facts=facts,
            table=table,
            windows=None,
            late=None,
            work=lambda build: self._work(session, part, build),
        )

    def _with_sessions(self, session: StepSession, step_inputs: StepInputs) -> StepInputs:
        """Let a model replace the rows of the sessions of the pass, if it names their column."""
        strategy = self.model.strategy
        if not strategy.replace_by or step_inputs.table is None:
            return step_inputs
        self._bind_tables(session, (SessionTable.SESSIONS_THIS_RUN,), step_inputs.facts)
        session.define(
            _REPLACED_IDS, f"SELECT session_identifier FROM {replaced_days(self.run.sql)}"
        )
        ids = f"SELECT session_identifier AS id FROM {_REPLACED_IDS}"
        replaced = f"{quoted(strategy.replace_by)} IN ({ids})"
        return replace(
            step_inputs,
            work=lambda build: strategy.work(replace(build, reruns=True, replaced=replaced)),
        )

    def _require_users(self, run: PassRun, table: Schema) -> None:
        """Raise if rows are visitors and the package wants persons, or the other way round."""
        if (table.find(MEMBERS) is not None) is not run.package.options.by_person:
            package, wanted = run.package, run.package.options.users_by
            raise SchemaError(
                "options-changed",
                f"{self.model.name} has other users than users_by: {wanted} says",
                where=package.places.get("users_by", package.where),
                hint=f"penstock sessions forget {package.name} {self.model.name} --truncate",
            )

    def _target_table(self) -> SessionTable:
        """Return which table of the package the step writes."""
        name = self.work.part.model
        return next(each.part for each in self.run.package.models if each.name == name)

    def _open_events(self, session: StepSession, run: PassRun) -> None:
        """Create views of the events, and of what the pass must know before it begins."""
        project, events = self.services.project, run.package.events
        found = bind_tables(project, (events,), run.inputs.reads, run.begun.now, "in")
        session.bind(found[0])
        pin = next((each.pin for each in run.inputs.pins if each.input == events.name), None)
        if isinstance(pin, DeltaPin):
            column = run.package.options.timestamp
            run.files = self.services.log.spans(self._events_uri(), pin.version, column)
        run.schema = session.define(EVENTS, f"SELECT * FROM {found[1][events]}")
        for each in events_findings(run.package, run.schema):
            raise SchemaError(each.code, each.sentence, where=each.where, hint=each.hint)
        self._open_quarantine(session, run)
        find_old_sessions(self.services, session, run)

    def _open_quarantine(self, session: StepSession, run: PassRun) -> None:
        """Create a view of the quarantine at the start of the pass; note who is released."""
        quarantine = run.package.model(SessionTable.QUARANTINE)
        if quarantine is None:
            return
        releases = self.services.reading.sessions.releases(run.package.name)
        asked = [] if run.begun.rebuild else [each.session for each in releases]
        run.released_ids = tuple(asked)
        if run.quarantined_at is None:
            session.define(BEFORE, no_rows(SessionTable.QUARANTINE, run.package.options))
            return
        uri = self.services.project.uri_of(quarantine.table)
        self._bind_version(session, BEFORE, uri, run.quarantined_at)
        if asked:
            rows = session.rows(
                "SELECT session_identifier AS id, unix_micros(start_tstamp) AS start "
                f"FROM {BEFORE} WHERE session_identifier IN {texts(asked)}"
            )
            run.released = tuple(
                ReleasedSession(str(row["id"]), _instant_of(row["start"])) for row in rows
            )

    def _bind_tables(
        self, session: StepSession, parts: tuple[SessionTable, ...], facts: TableFacts | None = None
    ) -> None:
        """Create views of current tables; a table that does not exist yet has no rows."""
        if self.work.part.kind is not PassStepKind.BASE:
            for view, sql in self.run.old_views.items():
                session.bind([Relation(InputName(InputKind.THIS, ""), view, QueryRead(sql))])
        for part in parts:
            model = self.run.package.model(part)
            if model is None:
                continue
            if part in self.run.shared:
                name = InputName(InputKind.THIS, "")
                rows = QueryRead(self.run.shared[part])
                session.bind([Relation(name, f"penstock_{part}", rows)])
                continue
            uri = self.services.project.uri_of(model.table)
            head = facts if uri == self.uri else self.services.log.head(uri)
            if uri == self.uri and self.step.initial:  # its rows go: nothing builds on them
                head = None
            if head is not None:
                self._bind_version(session, f"penstock_{part}", uri, head.version)
            elif part in _EMPTY and (
                part is not SessionTable.USERS or self.run.package.options.by_person
            ):
                session.define(f"penstock_{part}", no_rows(part, self.run.package.options))

    def _bind_version(self, session: StepSession, view: str, uri: str, version: int) -> None:
        name = InputName(InputKind.THIS, "")
        session.bind([Relation(name, view, DeltaRead(uri, version))])

    def _work(self, session: StepSession, part: SessionTable, build: Build) -> Work:
        run = self.run
        sql = run.sql
        if self.work.part.kind is PassStepKind.STITCH:
            known = self.services.reading.sessions.stitched(run.package.name)
            return stitch_work(sql, part, build, known.get(self.model.name, 0))
        match part:
            case SessionTable.LIMITS:
                said = limits_view(run.begun.limits, run.begun.run)
                view = f"CREATE OR REPLACE VIEW {build.target} AS {said}"
                is_kept = self.services.project.target.catalog
                return Work.just(Commit(view, once=False) if is_kept else None)
            case SessionTable.LIFECYCLE:
                return self._lifecycle_work(build)
            case SessionTable.QUARANTINE:
                return self._quarantine_work(session, build)
            case SessionTable.SESSIONS_THIS_RUN:
                return self._sessions_work(session, build)
            case SessionTable.EVENTS_THIS_RUN:
                return self._events_work(session, build)
            case _:
                return module_work(sql, part, build, run.dates)

    def _lifecycle_work(self, build: Build) -> Work:
        """Store the counts of scan A."""
        run, work = self.run, lifecycle_work(self.run.sql, build)

        def decide(row: Row) -> Commit | None:
            run.window = row
            return work.decide(row)

        return replace(work, stages=(*window_stages(run.sql), *work.stages), decide=decide)

    def _quarantine_work(self, session: StepSession, build: Build) -> Work:
        """Store which of the released sessions are quarantined again."""
        run, work = self.run, quarantine_work(self.run.sql, build)

        def decide(row: Row) -> Commit | None:
            if run.released:
                held = session.rows(requarantined(run.sql))
                run.held_again = tuple(sorted(str(each["id"]) for each in held))
            return work.decide(row)

        return replace(work, decide=decide)

    def _sessions_work(self, session: StepSession, build: Build) -> Work:
        """Store the dates of the sessions to rebuild; keep the sessions for later steps."""
        run, work, part = self.run, sessions_work(self.run.sql, build), self._target_table()

        def decide(row: Row) -> Commit | None:
            dates = (each for each in str(row["dates"] or "").split(",") if each)
            run.dates = tuple(sorted({*dates, *(run.old_dates if run.sql.rebuilds else ())}))
            run.first = None if row["first"] is None else _instant_of(row["first"])
            run.shared[part] = session.share(run.sql.table(part))
            return work.decide(row)

        return replace(work, decide=decide)

    def _events_work(self, session: StepSession, build: Build) -> Work:
        """Build the events; their counts must add up before they are written."""
        run, part = self.run, self._target_table()
        work = events_work(run.sql, build, run.first)

        def decide(row: Row) -> Commit | None:
            run.events = self._checked_counts(session, {**run.window, **row})
            run.shared[part] = session.share(run.sql.table(part))
            return work.decide(row)

        return replace(work, decide=decide)

    def _checked_counts(self, session: StepSession, row: Row) -> PassEvents:
        """Check the sums of both scopes, and ask whether events wait after the window."""
        run = self.run
        scopes = {scope: _event_counts(row, scope) for scope in ("window", "history")}
        for scope, counts in scopes.items():
            if not counts.is_sound:
                raise DataError(
                    "counter-mismatch",
                    f"of {counts.read} events of the {scope} not each was counted once: {counts}",
                    where=run.package.where,
                    hint="this is a bug of penstock; report it with the package file",
                )
        greatest = None if row["greatest"] is None else _instant_of(row["greatest"])
        now, high = run.begun.now, run.begun.limits.upper_limit
        later, late = None, (run.late_loaded, run.beyond_horizon)
        if run.begun.rebuild is not None:
            return PassEvents(greatest, None, scopes["window"], scopes["history"])
        if asks_for_later_events(self.work.planned, now, greatest):
            bounds = (f"> {instant_literal(high)}", f"<= {instant_literal(now)}")
            later = not self._is_newest(high) and self._has_event(session, *bounds)
        if is_caught_up(run.begun.limits, now, later):
            after = f"> {instant_literal(now)}"
            run.future_events = not self._is_newest(now) and self._has_event(session, after)
        return PassEvents(greatest, later, scopes["window"], scopes["history"], *late)

    def _events_uri(self) -> str:
        """Return the location of the events table."""
        project, events = self.services.project, self.run.package.events
        if events.kind is InputKind.SOURCE:
            return project.sources[events.name].path
        return read_uri(project, events)

    def _is_newest(self, time: dt.datetime) -> bool:
        """Return whether the log alone proves that no event is after a time."""
        files, column = self.run.files, self.run.package.options.timestamp
        return files is not None and all(each.ends_before(column, time) for each in files)

    def _has_event(self, session: StepSession, *bounds: str) -> bool:
        """Return whether there is an event in a range of times."""
        ts = as_time(self.run.sql, self.run.package.options.timestamp)
        where = " AND ".join(f"{ts} {bound}" for bound in bounds)
        found = session.row(
            f"SELECT count(*) AS n FROM (SELECT 1 FROM {EVENTS} WHERE {where} LIMIT 1)"
        )
        return bool(found["n"])


_WORDS = tuple(EventCounts.__dataclass_fields__)


def _event_counts(row: Row, scope: str) -> EventCounts:
    return EventCounts(**{word: int(row.get(f"{scope}_{word}") or 0) for word in _WORDS})


def _instant_of(micros: object) -> dt.datetime:
    return dt.datetime.fromtimestamp(0, dt.UTC) + int(str(micros)) * _MICROSECOND
