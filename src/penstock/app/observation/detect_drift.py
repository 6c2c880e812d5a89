"""Judging the partitions of models: quickly where nothing happened, exactly where something did."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.app.observation.log_reader import Lazy, LogReader, is_newer
from penstock.app.observation.observe import (
    is_as_left,
    last_writer,
    not_read,
    of_this_project,
    others,
)
from penstock.app.services.services import Services
from penstock.core.errors import PenstockError, TableError
from penstock.core.facts import Touched
from penstock.core.model import Fingerprint, InputMapping, Model
from penstock.core.partitions.partition import write_grid
from penstock.core.partitions.ranges import Ranges, count, intersection, merged, union
from penstock.core.project import Project
from penstock.core.records import ModelRecord, PartitionRun, PartitionsRecord, Status
from penstock.core.steps.inputs import DeltaPin, NoPin, Pin, ViewPin
from penstock.plan.changes import Changes, PartitionsNow, TableNow, differences, sources_below
from penstock.plan.detect_drift import Evidence, detect_drift
from penstock.plan.resolve import due, resolve
from penstock.plan.values import Observed, error_line
from penstock.plan.verdict import Verdict, all_current, unreadable


@dataclass(slots=True)
class DriftDetection:
    """What verdicts of one command stand on; every verdict is made once.

    `sources` are the pins of sources as they stand now, `broken` those that cannot be read. The
    models of `project` have the SQL of the run date.
    """

    services: Services
    project: Project
    records: Mapping[str, ModelRecord]
    sources: Mapping[str, Pin]
    log_reader: LogReader
    run_timestamp: dt.datetime
    parts: Mapping[str, PartitionsRecord] = field(default_factory=dict)
    fingerprints: Mapping[int, Fingerprint] = field(default_factory=dict)
    broken: Mapping[str, PenstockError] = field(default_factory=dict)
    _verdicts: dict[str, Verdict] = field(default_factory=dict)
    _meanings: dict[str, str] = field(default_factory=dict)
    _changes: Changes | None = None
    _runs: dict[str, tuple[PartitionRun, ...]] = field(default_factory=dict)

    def verdict(self, name: str) -> Verdict:
        """Judge one model with partitions; one whose logs cannot be read is `unreadable`."""
        if name not in self._verdicts:
            try:
                self._verdicts[name] = self._drift_report(self.project.models[name])
            except (TableError, OSError) as error:
                self.give_up(name, error)
        return self._verdicts[name]

    def give_up(self, name: str, error: TableError | OSError) -> Verdict:
        """Judge a model `unreadable`, whatever was found of it before."""
        model = self.project.models[name]
        known = due(model, self.run_timestamp)
        segments = resolve(model, self.run_timestamp.date(), known)
        self._verdicts[name] = unreadable(name, known, segments, not_read(model, error))
        return self._verdicts[name]

    @property
    def changes(self) -> Changes:
        """What changed in inputs since anybody read them."""
        if self._changes is None:
            tables = {*self.sources, *self.project.models, *self.project.seeds} - set(self.parts)
            self._changes = Changes(
                Lazy(self.parts, self._partitions_now),
                Lazy(sorted(tables), self._table_now),
            )
        return self._changes

    def meaning(self, fingerprint: Fingerprint) -> str:
        """Give the canonical checksum of a recorded SQL as today's parser makes it."""
        if fingerprint.sql not in self._meanings:
            text, found = self.services.reading.records.text(fingerprint.sql), fingerprint.canonical
            if text is not None:
                from penstock.project.files.values import digest
                from penstock.project.sql.canonical import canonical_of  # imports sqlglot

                found = digest(canonical_of(text))
            self._meanings[fingerprint.sql] = found
        return self._meanings[fingerprint.sql]

    def _drift_report(self, model: Model) -> Verdict:
        wanted = due(model, self.run_timestamp)
        run_date = self.run_timestamp.date()
        parts = self.parts.get(model.name)
        relaid = self._relaid(model, parts) if parts is not None else ""
        quiet = parts is not None and not relaid and not self._unread(model)
        if parts is not None and quiet and self._is_quiet(model, parts, wanted):
            return all_current(model.name, wanted, resolve(model, run_date, wanted))
        evidence = self._evidence(model, parts, same=not relaid)
        known = union(wanted, merged((run.low, run.high) for run in evidence.runs))
        segments = resolve(model, run_date, known)
        found = detect_drift(model, known, segments, evidence, self.changes)
        if not relaid:
            return found
        line = f"partition-layout-changed: its partitions were {relaid}; sync --full-refresh"
        return replace(found, relaid=relaid, whole=None, lines=(*found.lines, line))

    def _relaid(self, model: Model, parts: PartitionsRecord) -> str:
        """Say how the partitions on record are cut, where the code cuts them otherwise."""
        if not parts.groups or model.partition is None:
            return ""
        if parts.grid != model.grid:
            return f"{write_grid(parts.grid)} and are {write_grid(model.grid)} now"
        fingerprints = (self.fingerprints.get(group.fingerprint) for group in parts.groups)
        if all(
            fingerprint is None or fingerprint.layout == model.fingerprint.layout
            for fingerprint in fingerprints
        ):
            return ""
        facts = self.services.log.facts(self.project.uri_of(model.table))
        columns = (*facts.partition_by, *facts.cluster_by) if facts is not None else ()
        before, now = next(iter(columns), ""), model.partition.field
        if not before or before.lower() == now.lower():
            return ""
        return f"by {before} and are by {now} now"

    def _is_quiet(self, model: Model, parts: PartitionsRecord, wanted: Ranges) -> bool:
        """Whether nothing differs, found without looking at single partitions."""
        groups = parts.groups
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
                if not any(differences(made, segment.body.fingerprint, self.meaning))
            )
            if intersection(((group.low, group.high),), fit) != ((group.low, group.high),):
                return False
        inputs = {m.input.name: m for s in segments for m in s.body.inputs}
        return self._untouched(model, parts) and all(
            not self._has_news(mapping, parts) for mapping in inputs.values()
        )

    def _untouched(self, model: Model, parts: PartitionsRecord) -> bool:
        """Whether nobody else changed the table since its partitions were made."""
        name = str(model.table)
        head = self.log_reader.head(self.project.uri_of(model.table), name)
        seen = self.log_reader.seen.get(name)
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
        facts = self.services.log.facts(self.project.uri_of(model.table))
        return facts is not None and facts.table_id == parts.table_id

    def _has_news(self, mapping: InputMapping, parts: PartitionsRecord) -> bool:
        """Whether an input changed at all after some step of the model read it."""
        name = mapping.input.name
        pin = parts.pins.get(name)
        above = self.parts.get(name)
        if above is not None:
            versions = (g.commit_high for g in above.groups if g.commit_high is not None)
            return is_newer(pin, parts.steps, above.table_id, max(versions, default=None))
        model = self.project.models.get(name)
        record = self.records.get(name)
        if model is not None or name in self.project.seeds:
            if model is not None and model.is_view:
                made = record.step_seq if record else 0
                return pin is None or pin.steps != parts.steps or made > pin.version
            table, changed = (record.table_id, record.commit_version) if record else ("", None)
            return is_newer(pin, parts.steps, table, changed)
        now = self.sources.get(name)
        if isinstance(now, DeltaPin):
            return is_newer(pin, parts.steps, now.table_id, now.version)
        return False

    def _evidence(self, model: Model, parts: PartitionsRecord | None, *, same: bool) -> Evidence:
        records = self.services.reading.records
        runs = self._runs_of(model.name) if parts is not None and same else ()
        return Evidence(
            runs=runs,
            pins=records.step_pins(model.name) if runs else {},
            fingerprints=self.fingerprints,
            recorded=parts.table_id if parts is not None else "",
            target=self._target(model, parts),
            meaning=self.meaning,
            unread=self._unread(model),
        )

    def _unread(self, model: Model) -> str:
        """Say why a source of a model cannot be read; "" if all can."""
        below = sources_below(self.project, model) if self.broken else ()
        lost = (self.broken[name] for name in below if name in self.broken)
        return "; ".join(error_line(error) for error in lost)

    def _target(self, model: Model, parts: PartitionsRecord | None) -> Observed:
        uri = self.project.uri_of(model.table)
        head = self.log_reader.head(uri, str(model.table))
        if head is None:
            return Observed()
        if parts is None or not parts.table_id:
            writer = last_writer(self.services.log.commits(uri, -1, partial=True))
            if of_this_project(self.services, writer):
                return Observed(there=True, ever_ours=True)
            return Observed(there=True, owner=others(self.services, writer))
        if self._untouched(model, parts):
            return Observed(there=True, table_id=parts.table_id, ever_ours=True)
        partition = model.partition
        settled = [g.settled_low for g in parts.groups if g.settled_low is not None]
        after = min(settled, default=-1)
        field_name = partition.field if partition else ""
        tail = self.log_reader.tail(str(model.table), uri, after, (field_name,))
        foreign = tuple(commit for commit in tail.commits if self.log_reader.foreign(commit))
        facts = self.services.log.facts(uri)
        table_id = facts.table_id if facts else ""
        lying = None
        if foreign and partition is not None and table_id == parts.table_id:
            lying = self.services.places.lying(uri, partition.field, partition.type)
        same, owner = table_id == parts.table_id, None
        ever_ours = same
        if not same or any(commit.step for commit in foreign):
            commits = self.services.log.commits(uri, -1, partial=True)
            owner = others(self.services, last_writer(commits))
            ever_ours = same or any(c.step and c.store == self.log_reader.store for c in commits)
        return Observed(
            there=True,
            table_id=table_id,
            ever_ours=ever_ours,
            foreign=foreign,
            lying=lying,
            gap=tail.gap,
            unrecorded=self.log_reader.unrecorded(tail.commits),
            owner=owner,
        )

    def _partitions_now(self, name: str) -> PartitionsNow:
        return PartitionsNow(self.parts[name].table_id, self.parts[name].grid, self._runs_of(name))

    def _runs_of(self, name: str) -> tuple[PartitionRun, ...]:
        """Read the records of a model once, for its own verdict and for those below it."""
        if name not in self._runs:
            self._runs[name] = self.services.reading.records.runs(name)
        return self._runs[name]

    def _table_now(self, name: str) -> TableNow:
        least = min(
            (p.pins[name].version for p in self.parts.values() if name in p.pins), default=0
        )
        if name in self.sources:
            pin = self.sources[name]
            if not isinstance(pin, DeltaPin) or pin.version <= least:
                return TableNow(pin)
            uri = self.project.sources[name].path
            return TableNow(pin, self._news(name, uri, least))
        model, record = self.project.models.get(name), self.records.get(name)
        if model is not None and model.is_view:
            return TableNow(ViewPin(record.step_seq if record else 0))
        if record is None or record.commit_version is None:
            return TableNow(NoPin())
        now = DeltaPin(record.table_id, record.commit_version)
        if now.version <= least:
            return TableNow(now)
        table = model.table if model is not None else self.project.seeds[name].table
        return TableNow(now, self._news(str(table), self.project.uri_of(table), least))

    def _news(self, name: str, uri: str, least: int) -> tuple[Touched, ...]:
        """Give the commits that changed a table; one that nobody can tell of may change all."""
        tail = self.log_reader.tail(name, uri, least, ())
        if tail.gap is None:
            return tail.commits
        lost = Touched(tail.gap[1], self.run_timestamp, "unknown")
        return (lost, *tail.commits)
