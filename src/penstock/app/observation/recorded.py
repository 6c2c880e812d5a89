"""The records of many models, read in pages when a verdict needs them; grants that changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.app.services.services import Services
from penstock.core.beside.hooks import shown_grants
from penstock.core.facts import TableFacts
from penstock.core.masking import MASK, mask
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.partition import write_grid
from penstock.core.ports.ports import Records
from penstock.core.project import Project
from penstock.core.records import LeastPin, ModelRecord, PartitionRun, PartitionsRecord, Status
from penstock.core.steps.inputs import Pin
from penstock.plan.verdict import outside_differences

_MODELS, _STEPS = 1_000, 20_000
"""How many models a page holds, and how many steps whose pins are in memory meanwhile."""


@dataclass(slots=True)
class RecordedModels:
    """Texts, runs and pins of models; the number of statements grows with pages, not models."""

    records: Records
    project: Project
    models: Mapping[str, ModelRecord]
    parts: Mapping[str, PartitionsRecord]
    fingerprints: Mapping[int, Fingerprint]
    pins: Mapping[str, Mapping[int, Mapping[str, Pin]]] = field(default_factory=dict)
    """The pins of one page: there may be one for every partition."""
    _runs: dict[str, tuple[PartitionRun, ...]] = field(default_factory=dict)
    _meanings: dict[str, str] = field(default_factory=dict)
    _sql: Mapping[str, str] | None = None
    _settings: dict[str, str] | None = None
    _least: dict[str, int] | None = None

    def layout_change(
        self, model: Model, parts: PartitionsRecord, facts: Callable[[], TableFacts | None]
    ) -> str:
        """Return the recorded grain if the code declares another one.

        `facts` reads the table, for which the columns of partitions are compared last.
        """
        if not parts.groups or model.partition is None:
            return ""
        if parts.grid != model.grid:
            return f"{write_grid(parts.grid)} and are {write_grid(model.grid)} now"
        fingerprints = (self.fingerprints.get(group.fingerprint) for group in parts.groups)
        layout = model.fingerprint.layout
        if all(made is None or made.layout == layout for made in fingerprints):
            return ""
        now = facts()
        columns = (*now.partition_by, *now.cluster_by) if now is not None else ()
        before, field_now = next(iter(columns), ""), model.partition.field
        if not before or before.lower() == field_now.lower():
            return ""
        return f"by {before} and are by {field_now} now"

    def runs_of(self, name: str) -> tuple[PartitionRun, ...]:
        """Return the partitions of a model, read once for its own verdict and for its readers."""
        self.read_runs((name,))
        return self._runs.get(name, ())

    def read_runs(self, names: Iterable[str]) -> None:
        """Read the partitions of the models that have any, unless that was done."""
        new = [each for each in names if each in self.parts and each not in self._runs]
        if new:
            self._runs |= self.records.runs(*new)

    def read_page(self, name: str, others: Iterable[str]) -> tuple[str, ...]:
        """Read the pins of a model, and of as many others as fit into a page; return them all."""
        wanted, steps = [name], 0
        for other in others:
            steps += self.parts[other].steps
            if len(wanted) == _MODELS or steps > _STEPS:
                break
            wanted.append(other)
        self.pins = self.records.step_pins(*wanted)
        return tuple(wanted)

    def least_pin(self, name: str) -> int:
        """Return the lowest version of an input that a partition was built from; 0 without any."""
        if self._least is None:
            self._least = {}
            for parts in self.parts.values():
                for read, pin in parts.pins.items():
                    self._least[read] = min(pin.version, self._least.get(read, pin.version))
        return self._least.get(name, 0)

    def meaning(self, fingerprint: Fingerprint) -> str:
        """Return the canonical checksum of a recorded SQL under the current parser."""
        if fingerprint.sql not in self._meanings:
            text, found = self._text(fingerprint.sql), fingerprint.canonical
            if text is not None and MASK in text:  # SQL without its secrets means another thing
                found = self._meanings_now().get(fingerprint.sql, found)
            elif text is not None:
                from penstock.project.files.values import digest
                from penstock.project.sql.canonical import canonical_of  # imports sqlglot

                found = digest(canonical_of(text))
            self._meanings[fingerprint.sql] = found
        return self._meanings[fingerprint.sql]

    def explain(self, recorded: Fingerprint, now: Fingerprint) -> str:
        """Return what changed between two checksums of settings."""
        if self._settings is None:
            self._settings = dict(self.records.texts(self._changed_settings()))
        if recorded.settings not in self._settings:
            self._settings |= self.records.texts((recorded.settings,))
        before = self._settings.get(recorded.settings)
        return outside_differences(before, self.project.outside(now))

    def _changed_settings(self) -> set[str]:
        """Return the recorded checksums of settings that are not those of the model's files."""
        found = set()
        for name, model in self.project.models.items():
            groups = self.parts[name].groups if name in self.parts else ()
            made = [self.fingerprints[each.fingerprint] for each in groups if each.fingerprint]
            if (record := self.models.get(name)) is not None and record.fingerprint is not None:
                made.append(record.fingerprint)
            found |= {each.settings for each in made if each.settings != model.fingerprint.settings}
        return found

    def _text(self, checksum: str) -> str | None:
        """Read the SQL of a fingerprint; one statement reads all recorded ones."""
        if self._sql is None:
            made = {one.fingerprint.sql for one in self.models.values() if one.fingerprint}
            groups = (each.fingerprint for parts in self.parts.values() for each in parts.groups)
            made |= {self.fingerprints[number].sql for number in groups if number}
            self._sql = self.records.texts({*made, checksum})
        return self._sql.get(checksum)

    def _meanings_now(self) -> Mapping[str, str]:
        """Return the canonical checksums of all SQL in the files, by the checksums of its text."""
        models = self.project.models.values()
        made = [body.fingerprint for m in models for v in m.versions for body in v.bodies]
        return {one.sql: one.canonical for one in [*made, *(m.fingerprint for m in models)]}


def is_newer(pin: LeastPin | None, steps: int, table_id: str, changed: int | None) -> bool:
    """Return whether an input changed after a step read it; None has never changed."""
    if pin is None or pin.steps != steps:
        return True
    if pin.kind == "delta" and pin.table_ids - {table_id}:
        return True
    return changed is not None and changed > pin.version


def regranted(
    services: Services, names: Sequence[str], building: Collection[str]
) -> Mapping[str, str]:
    """Return the `grants` of built models that differ from those granted last, as text, by model.

    Models that a plan is `building` are left out, because their steps grant them. A target without
    a catalog has none.
    """
    project = services.project
    if not project.target.catalog or not services.has_state():
        return {}
    chosen = (project.models[name] for name in names if name not in building)
    wanted = {each.name: shown_grants(each.grants) for each in chosen if each.grants is not None}
    last = services.reading.hooks.granted() if wanted else {}
    changed = (n for n, text in wanted.items() if n not in last or last[n].text != mask(text))
    return {name: wanted[name] for name in changed if last_success(services, name)}


def last_success(services: Services, name: str) -> str:
    """Return the last step of a model that succeeded, "" if it was never built."""
    steps = services.reading.records.steps_of(name)
    return next((e.intent.step for e in reversed(steps) if e.status is Status.SUCCESS), "")
