"""The state of models, tables and inputs that plans and reports are based on.

Partitions are compared by group if nothing changed, exactly if something did.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from penstock.app.observation.deferral import Deferral, read_deferral
from penstock.app.observation.late_rows import changes_below
from penstock.app.observation.log_reader import (
    LogReader,
    changes_since,
    observe_changed,
    open_log_reader,
    settled_low,
)
from penstock.app.observation.observe import (
    ObservedTables,
    is_as_left,
    observe,
    unreadable_error,
    without_record,
)
from penstock.app.observation.recorded import RecordedModels, is_newer
from penstock.app.services.services import Services, dated_project, in_one_state
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts, Touched
from penstock.core.graph import ordered
from penstock.core.model import Fingerprint, InputMapping, Model
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.ranges import count, intersection, merged, union
from penstock.core.project import Project, read_uri
from penstock.core.records import ModelRecord, PartitionsRecord, Status
from penstock.core.steps.inputs import DeltaPin, FilesPin, NoPin, ViewPin
from penstock.plan.cascade import parents_among
from penstock.plan.changes import (
    Changes,
    PartitionsNow,
    TableNow,
    code_drift,
    current_pin,
    sources_below,
)
from penstock.plan.kinds.partitions import Evidence, detect_drift
from penstock.plan.kinds.tables import detect_table_drift
from penstock.plan.resolve import due_partitions, resolve
from penstock.plan.values import Observed, State, error_line
from penstock.plan.verdict import Verdict


@dataclass(slots=True)
class ProjectState:
    """What one command reads; every verdict on partitions is computed once.

    `project` has the SQL of the run date, `names` are the models in topological order.
    """

    services: Services
    project: Project
    names: tuple[str, ...]
    view: ObservedTables
    records: dict[str, ModelRecord]
    log_reader: LogReader
    run_timestamp: dt.datetime
    parts: Mapping[str, PartitionsRecord] = field(default_factory=dict)
    fingerprints: Mapping[int, Fingerprint] = field(default_factory=dict)
    deferral: Deferral = Deferral()
    """What is read from another target."""
    recorded: RecordedModels = field(init=False)
    _verdicts: dict[str, Verdict] = field(default_factory=dict)
    _untouched: dict[str, bool] = field(default_factory=dict)
    _changes: Changes | None = None
    _quiet: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare to read more of the records."""
        reading = self.services.reading.records
        self.recorded = RecordedModels(
            reading, self.project, self.records, self.parts, self.fingerprints
        )

    def verdict(self, name: str) -> Verdict:
        """Return which partitions of a model drifted; a table without partitions is `*`.

        A model whose logs cannot be read is `unreadable`.
        """
        model = self.project.models[name]
        if model.partition is None:
            return detect_table_drift(self.project, model, self.records, self.view.now)
        if name not in self._verdicts:
            try:
                self._verdicts[name] = self._detect(model)
            except (TableError, OSError) as error:
                self.give_up(name, error)
        return self._verdicts[name]

    def give_up(self, name: str, error: TableError | OSError) -> Verdict:
        """Mark a model as `unreadable`, overriding earlier results."""
        model, why = self.project.models[name], unreadable_error(self.project.models[name], error)
        known = due_partitions(model, self.run_timestamp)
        self._verdicts[name] = Verdict(
            name,
            known,
            resolve(model, self.run_timestamp.date(), known),
            whole=State.UNREADABLE,
            error=why,
            lines=(error_line(why),),
        )
        return self._verdicts[name]

    @property
    def changes(self) -> Changes:
        """The changes of inputs since they were read."""
        if self._changes is None:
            self._changes = Changes(cache(self._partitions_now), cache(self._table_now))
        return self._changes

    def meaning(self, fingerprint: Fingerprint) -> str:
        """Return the canonical checksum of a recorded SQL under the current parser."""
        return self.recorded.meaning(fingerprint)

    def _detect(self, model: Model) -> Verdict:
        wanted = due_partitions(model, self.run_timestamp)
        run_date = self.run_timestamp.date()
        parts = self.parts.get(model.name)
        if self._is_quiet(model.name):
            segments = resolve(model, run_date, wanted)
            return Verdict(model.name, wanted, segments, recorded=wanted)
        relaid = self._layout_change(model, parts) if parts is not None else ""
        evidence = self._evidence(model, parts, same=not relaid)
        known = union(wanted, merged((run.low, run.high) for run in evidence.runs))
        segments = resolve(model, run_date, known)
        found = detect_drift(model, known, segments, evidence, self.changes)
        if not relaid:
            return found
        line = f"partition-layout-changed: its partitions were {relaid}; sync --full-refresh"
        return replace(found, relaid=relaid, whole=None, lines=(*found.lines, line))

    def _layout_change(self, model: Model, parts: PartitionsRecord) -> str:
        """Return the recorded grain if the code declares another one."""
        return self.recorded.layout_change(model, parts, lambda: self._facts(model))

    def _facts(self, model: Model) -> TableFacts | None:
        return self.services.log.facts(self.project.uri_of(model.table))

    def _is_quiet(self, name: str) -> bool:
        """Return whether nothing differs, determined without single partitions."""
        if name not in self._quiet:
            model, parts = self.project.models[name], self.parts.get(name)
            self._quiet[name] = (
                parts is not None
                and not self._layout_change(model, parts)
                and not self._unread_reason(model)
                and self._has_no_difference(model, parts)
            )
        return self._quiet[name]

    def _has_no_difference(self, model: Model, parts: PartitionsRecord) -> bool:
        groups, wanted = parts.groups, due_partitions(model, self.run_timestamp)
        if sum(group.count for group in groups) != count(wanted) or not groups:
            return False
        segments = resolve(model, self.run_timestamp.date(), wanted)
        if count(merged(s.range for s in segments)) != count(wanted):
            return False
        for group in groups:
            made = self.fingerprints.get(group.fingerprint)
            if made is None or group.status is not Status.SUCCESS or group.unsettled:
                return False
            fit = merged(
                segment.range
                for segment in segments
                if not any(code_drift(made, segment.body.fingerprint, self.meaning))
            )
            if intersection(((group.low, group.high),), fit) != ((group.low, group.high),):
                return False
        inputs = {m.input.name: m for s in segments for m in s.body.inputs}
        unknown = model.partition is not None and model.partition.lookback is not None
        return self._is_untouched(model, parts) and all(
            not self._has_news(mapping, parts, unknown=unknown) for mapping in inputs.values()
        )

    def _is_untouched(self, model: Model, parts: PartitionsRecord) -> bool:
        """Return whether the table has no foreign changes since its partitions were built."""
        if model.name not in self._untouched:
            self._untouched[model.name] = self._look_untouched(model, parts)
        return self._untouched[model.name]

    def _look_untouched(self, model: Model, parts: PartitionsRecord) -> bool:
        name = str(model.table)
        seen = self.log_reader.noted.get(name)
        head = self.log_reader.head(self.project.uri_of(model.table), name) if seen else None
        if head is None or seen is None or head.version != seen.version:
            return False
        settled = [g.settled_low for g in parts.groups if g.settled_low is not None]
        if seen.table_id != parts.table_id or not settled:
            return False
        if seen.foreign is not None and seen.foreign > min(settled):
            return False
        record = self.records.get(model.name)
        if record is not None and is_as_left(head, record):
            return True
        facts = self._facts(model)
        return facts is not None and facts.table_id == parts.table_id

    def _has_news(self, mapping: InputMapping, parts: PartitionsRecord, *, unknown: bool) -> bool:
        """Return whether an input changed after a step read it; `unknown` if that is not known."""
        name = mapping.input.name
        pin = parts.pins.get(name)
        above = self._parts_of_input(name)
        if above is not None:
            versions = (g.commit_high for g in above.groups if g.commit_high is not None)
            return is_newer(pin, parts.steps, above.table_id, max(versions, default=None))
        match current_pin(self.project, self.records, self.view.now, name):
            case DeltaPin(table_id, version):
                return is_newer(pin, parts.steps, table_id, version)
            case ViewPin(made):
                return is_newer(pin, parts.steps, "", made)
            case None if name in self.project.models or name in self.project.seeds:
                return is_newer(pin, parts.steps, "", None)
            case _:
                return unknown

    def _evidence(self, model: Model, parts: PartitionsRecord | None, *, same: bool) -> Evidence:
        name = model.name
        if parts is not None and same and name not in self.recorded.pins:
            self._read_ahead(name, self._is_loud)
        runs = self.recorded.runs_of(name) if parts is not None and same else ()
        return Evidence(
            runs=runs,
            pins=self.recorded.pins[name] if runs else {},
            fingerprints=self.fingerprints,
            recorded=parts.table_id if parts is not None else "",
            target=self._target(model, parts),
            meaning=self.meaning,
            explain=self.recorded.explain,
            unread=self._unread_reason(model),
        )

    def _unread_reason(self, model: Model) -> str:
        """Return why a source of a model cannot be read; "" if all can."""
        below = sources_below(self.project, model) if self.view.now.broken else ()
        lost = (self.view.now.broken[name] for name in below if name in self.view.now.broken)
        return "; ".join(error_line(error) for error in lost)

    def _target(self, model: Model, parts: PartitionsRecord | None) -> Observed:
        uri = self.project.uri_of(model.table)
        head = self.log_reader.head(uri, str(model.table), self.records.get(model.name))
        if head is None:
            return Observed()
        if parts is None or not parts.table_id:
            return without_record(self.services, uri)
        if self._is_untouched(model, parts):
            return Observed(there=True, table_id=parts.table_id, ever_ours=True)
        return observe_changed(self.log_reader, model, parts)

    def _parts_of_input(self, name: str) -> PartitionsRecord | None:
        return (self.deferral if name in self.deferral.models else self).parts.get(name)

    def _partitions_now(self, name: str) -> PartitionsNow | None:
        parts = self._parts_of_input(name)
        if parts is None:
            return None
        runs = self.deferral.runs if name in self.deferral.models else self.recorded.runs_of
        return PartitionsNow(parts.table_id, parts.grid, runs(name))

    def _read_ahead(self, name: str, is_wanted: Callable[[str], bool]) -> None:
        """Read what one model needs together with what the next ones are likely to need."""
        after = self.names[self.names.index(name) + 1 :] if name in self.names else ()
        wanted = self.recorded.read_page(name, filter(is_wanted, after))
        known = dict.fromkeys(e.name for one in wanted for e in self.project.models[one].inputs)
        self.recorded.read_runs((*wanted, *known))
        self._read_notes(wanted, known)

    def _read_notes(self, names: Iterable[str], inputs: Iterable[str]) -> None:
        """Read the notes that verdicts need, and look up all commits of the tables at once."""
        changed: list[tuple[Model, PartitionsRecord]] = []
        for name in names:
            model, parts = self.project.models[name], self.parts.get(name)
            with suppress(TableError, OSError):  # its own verdict tells
                if parts and parts.table_id and not self._is_untouched(model, parts):
                    changed.append((model, parts))
        after = {str(model.table): settled_low(parts) for model, parts in changed}
        news = (
            news
            for name in inputs
            if self._parts_of_input(name) is None and (news := self._news_of(name))
        )
        for table, _, least in news:
            after[table] = min(least, after.get(table, least))
        self.log_reader.read_notes(after)
        commits: list[Touched] = []
        for model, parts in changed:
            with suppress(TableError, OSError):
                commits += changes_since(self.log_reader, model, parts).commits
        self.log_reader.unsettled(commits)

    def _is_loud(self, name: str) -> bool:
        """Return whether it has partitions that must be compared one by one."""
        if name not in self.parts or self.project.models[name].partition is None:
            return False
        try:
            return name not in self._verdicts and not self._is_quiet(name)
        except (TableError, OSError):
            return False  # its own verdict tells

    def _table_now(self, name: str) -> TableNow:
        pin = current_pin(self.project, self.records, self.view.now, name) or NoPin()
        news = self._news_of(name)
        return TableNow(pin) if news is None else TableNow(pin, self._news(*news))

    def _news_of(self, name: str) -> tuple[str, str, int] | None:
        """Return an input that changed after it was read: its table, place and lowest version."""
        pin = current_pin(self.project, self.records, self.view.now, name)
        least = self.recorded.least_pin(name)
        if not isinstance(pin, DeltaPin) or pin.version <= least:
            return None
        if name in self.view.now.sources:
            return name, self.project.sources[name].path, least
        source = InputName(InputKind.MODEL, name)
        return str(self.project.table_of(source)), read_uri(self.project, source), least

    def _news(self, name: str, uri: str, least: int) -> tuple[Touched, ...]:
        """Return the commits that changed a table; an unknown commit may change everything."""
        tail = self.log_reader.tail(name, uri, least, ())
        lost = tail.gap and Touched(tail.gap[1], self.run_timestamp, "unknown")
        return (lost, *tail.commits) if lost else tail.commits

    def files_lines(self, name: str) -> tuple[str, ...]:
        """Return which file inputs of a model changed; the affected partitions are unknown."""
        files = self._files_of(name)
        if files and name not in self.recorded.pins:
            self._read_ahead(name, lambda other: bool(self._files_of(other)))
        pins = self.recorded.pins[name] if files else {}
        return tuple(
            f"{source}: files changed, partitions unknown; "
            f"penstock sync --full-refresh or backfill {name}"
            for source, now in files.items()
            if any(step.get(source) not in (None, now) for step in pins.values())
        )

    def _files_of(self, name: str) -> Mapping[str, FilesPin]:
        """Return the listed files that partitions of a model were built from, by source."""
        sources, parts = self.view.now.sources.items(), self.parts.get(name)
        return {s: f for s, f in sources if isinstance(f, FilesPin) and parts and s in parts.pins}


@in_one_state
def survey(
    services: Services,
    names: Iterable[str],
    run_timestamp: dt.datetime,
    building: Collection[str] | None = None,
) -> ProjectState:
    """Read the state of some models; tables are opened only if something changed.

    Models that are not `building` may be read from another target; None: it builds all of them.
    Steps read them there once the services have the project of the result.
    """
    project = dated_project(services, run_timestamp)
    reading = services.reading.records
    records = dict(reading.models())
    chosen = tuple(ordered(parents_among(project, {*names})))
    deferral = read_deferral(services, chosen, chosen if building is None else building, records)
    project = replace(project, deferred=deferral.uris)
    view = observe(services, chosen, records, run_timestamp)
    found = ProjectState(
        services,
        project,
        chosen,
        view,
        records,
        open_log_reader(services, project),
        run_timestamp,
        reading.partitions(),
        reading.fingerprints(),
        deferral,
    )
    found.log_reader.read_ahead(project.models[name] for name in chosen)
    own = [name for name in chosen if name not in deferral.models]
    below, unreadable = changes_below(found.log_reader, own, deferral.upstreams(records))
    unreadable |= view.now.unreadable
    now = replace(
        view.now,
        meaning=found.meaning,
        explain=found.recorded.explain,
        below=below,
        unreadable=unreadable,
        deferred=deferral.models,
    )
    found.view = replace(view, now=now)
    return found
