"""The steps of clones: what they record of the rows of another target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.app.execution.clone_records import OtherTarget, PackageClones, cloned_slices
from penstock.app.observation.project_state import ProjectState
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.errors import TableError
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.partition import write_ranges
from penstock.core.partitions.ranges import Ranges, difference, intersection, merged
from penstock.core.query import Query
from penstock.core.records import ModelRecord
from penstock.core.steps.inputs import DeferredInput, InputPin, Pin, ViewPin
from penstock.core.steps.step import Intent, StepKind
from penstock.core.strategy import Writing
from penstock.plan.changes import code_drift, current_pin
from penstock.plan.values import State
from penstock.plan.verdict import Verdict

CLONE = "clone"
"""What triggered a step that cloned a table."""
_NEVER = ViewPin(-1)
"""The pin of a view that the rows were not read through: they drift."""
Code = tuple[Query, Fingerprint]


def _codes(model: Model) -> Mapping[tuple[int, int], Code]:
    """Return the queries of a model by version and revision."""
    bodies = [body for version in model.versions for body in version.bodies]
    found = [(body.query, body.fingerprint) for body in bodies]
    found = found or [(model.query, model.fingerprint)]
    return {(own.version, own.revision): (query, own) for query, own in found}


def _is_same_code(one: Code, other: Code) -> bool:
    """Return whether two queries are equal but for the names of tables, with equal settings."""
    (query, own), (query_there, own_there) = one, other
    if (own.settings, own.schema) != (own_there.settings, own_there.schema):
        return False
    if own.canonical == own_there.canonical:
        return True
    texts = (query.text, query.incremental)
    return query.parsed and texts == (query_there.text, query_there.incremental)


@dataclass(slots=True)
class CloneIntents:
    """Makes the steps of clones; `cloned` are the models that this command has made so far."""

    services: Services
    context: Context
    here: ProjectState
    other: OtherTarget
    cloned: set[str] = field(default_factory=set)
    packages: PackageClones = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the records of packages."""
        project = self.here.project
        self.packages = PackageClones(self.services, self.context, self.other, project)

    @property
    def there(self) -> ProjectState:
        """The state of the target to copy from."""
        return self.other.state

    @property
    def source(self) -> str:
        """The name of the target to copy from."""
        return self.there.project.target.name

    def nothing(self, model: Model, sentence: str, command: str) -> TableError:
        """Return the error for a model without rows to clone."""
        hint = f"penstock {command} --target {self.source} --select {model.name}, then clone it"
        return TableError("nothing-to-clone", sentence, where=model.where, hint=hint)

    def of(self, model: Model, verdict: Verdict) -> list[Intent]:
        """Return the step that clones, and one without a commit for every other code.

        Partitions that have drifted in the other target are not recorded: here they never ran.
        """
        record, uri = self.there.records[model.name], self.here.project.uri_of(model.table)
        head = self.services.log.head(uri)
        inputs, deferred = self._inputs(model, record, verdict)
        own = Intent(
            step="",
            run=self.context.holder.run,
            model=model.name,
            table=model.table,
            uri=uri,
            kind=StepKind.BUILD,
            strategy=model.strategy_name,
            reason=f"cloned from {self.source}",
            triggered_by=CLONE,
            run_timestamp=record.high_time or self.context.run_timestamp,
            fingerprint=self._own_code(model, record.fingerprint or model.fingerprint),
            inputs=inputs,
            deferred=deferred,
            watermarks=record.watermarks,
            lowers_watermarks=True,
            writing=Writing.WHOLE,
            base_version=head.version if head else None,
            grid=model.grid,
            lane=model.name if model.entity and model.entity.scope else "",
            unchanged=cloned_slices(self.other.slices.get(model.name, ())),
            session=self.packages.promise(model, self._has_same_code),
        )
        if model.partition is None:
            return [replace(own, step=self.services.clock.new_id())]
        return [
            replace(
                own,
                step=self.services.clock.new_id(),
                fingerprint=fingerprint,
                partitions=write_ranges(model.grid, ranges),
            )
            for fingerprint, ranges in self._groups(model, verdict).items()
        ]

    def _groups(self, model: Model, verdict: Verdict) -> Mapping[Fingerprint, Ranges]:
        """Return the partitions that are current in the other target, by what built them."""
        found: dict[Fingerprint, Ranges] = {}
        runs = self.there.services.reading.records.runs(model.name)[model.name]
        good = difference(verdict.recorded, merged(piece.range for piece in verdict.pieces))
        for run in runs:
            made = self.there.fingerprints.get(run.fingerprint)
            if made is not None and (here := intersection(((run.low, run.high),), good)):
                own = self._own_code(model, made)
                found[own] = merged((*found.get(own, ()), *here))
        if not found:
            sentence = f"all partitions of {model.name} have drifted in target {self.source}"
            raise self.nothing(model, sentence, "sync")
        return found

    def _own_code(self, model: Model, recorded: Fingerprint) -> Fingerprint:
        """Return the fingerprint of the same code here, where tables have other names.

        If the code here is another one, because it uses variables of the target or was changed,
        the rows keep the fingerprint of what built them, and drift.
        """
        there, meaning = _codes(self.there.project.models[model.name]), self.there.meaning
        for label, (query, own) in _codes(model).items():
            if label not in there:
                continue
            other, built = there[label]
            states = {state for state, _ in code_drift(recorded, built, meaning)}
            if states <= {State.CURRENT} and _is_same_code((query, own), (other, built)):
                return own
        return recorded

    def _has_same_code(self, model: Model) -> bool:
        """Return whether the newest code of a model is that of the other target."""
        there = self.there.project.models[model.name]
        return _is_same_code((model.query, model.fingerprint), (there.query, there.fingerprint))

    def pins_here(self, pins: Mapping[str, Pin]) -> dict[str, Pin]:
        """Return the pins of a pass, at the versions of the clones for inputs that were cloned."""
        now, project, found = self.here.view.now, self.here.project, dict(pins)
        for name in self.cloned.intersection(pins):
            found[name] = current_pin(project, self.context.records, now, name) or pins[name]
        return found

    def _has_own_code(self, name: str) -> bool:
        """Return whether a view has another query here than in the other target."""
        here, there = self.here.project.models.get(name), self.there.project.models.get(name)
        if here is None or there is None or not here.is_view:
            return False
        return not _is_same_code((here.query, here.fingerprint), (there.query, there.fingerprint))

    def _inputs(
        self, model: Model, record: ModelRecord, verdict: Verdict
    ) -> tuple[tuple[InputPin, ...], tuple[DeferredInput, ...]]:
        """Return what the rows were read from, as this target sees it.

        If they are current, an input that was cloned in this run has its version here; one that is
        not built here has that of the other target. Any other pin stays what it was: the rows
        drift. Of partitions only the current ones are recorded.
        """
        is_current = not verdict.pieces or model.partition is not None
        pins, above = [], self.here.view.now.deferred
        deferred = {each.input: each for each in record.deferred}
        for name, was in record.pins.items():
            is_here = name in self.cloned and is_current
            if name in above:
                deferred[name] = above[name].source
            elif is_here:
                deferred.pop(name, None)
            state = self.here if is_here else self.there
            records = self.context.records if is_here else self.there.records
            now = current_pin(state.project, records, state.view.now, name) if is_current else None
            pins.append(InputPin(name, _NEVER if self._has_own_code(name) else now or was))
        return tuple(pins), tuple(deferred.values())

    def texts(self, of: Fingerprint) -> Mapping[str, str]:
        """Return the texts behind a fingerprint, from the other state."""
        sums = [each for each in (of.sql, of.canonical, of.settings, of.schema) if each]
        return self.there.services.reading.records.texts(sums)
