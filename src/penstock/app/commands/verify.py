"""The use case `snapshot verify`: check the invariants of history tables. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.app.services.services import Services, named_model
from penstock.core.errors import TableError, UsageError
from penstock.core.facts import LogCommit, TableFacts
from penstock.core.history import HardDeletes
from penstock.core.model import Model
from penstock.core.names import InputKind, InputName
from penstock.core.ports.engine import StepSession
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.statement import TARGET_VIEW, Row
from penstock.core.steps.inputs import DeltaRead, Relation
from penstock.plan.history import PROPERTY, always_event_time, setting_differences
from penstock.strategies.history.verify import (
    SAMPLES,
    Claims,
    Violation,
    broken_laws,
    check_stage,
    claims_of,
    column_violations,
)

__all__ = ["VerifyReport", "Violation", "verify"]


@dataclass(frozen=True, slots=True)
class VerifyReport(ShownInNotebooks):
    """The contents of one Delta version of a history table, and the invariants that it breaks.

    The counts are None if its columns are so wrong that its rows could not be read.
    """

    _rows = "violations"
    _columns = "law title count of samples"
    _lines = "summary"

    model: str
    version: int
    versions: int | None
    keys: int | None
    current: int | None
    gaps: int | None
    violations: tuple[Violation, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether all invariants hold."""
        return not self.violations

    @property
    def summary(self) -> str:
        """The counts as text."""
        counts = f"{self.versions} versions of {self.keys} keys, {self.current} current"
        said = "all laws hold" if self.ok else "laws are broken"
        return f"{self.model} at version {self.version}: {counts}; {said}"


def verify(services: Services, names: Iterable[str]) -> tuple[VerifyReport, ...]:
    """Check the invariants on one Delta version of each table, read once.

    Names and tables are checked before Spark starts. It takes no lease and writes no record.
    """
    models = [history_model(services, name) for name in names]
    tables = [(model, facts_of(services, model)) for model in models]
    if tables:
        services.engine.require()
    return tuple(_verified(services, model, facts) for model, facts in tables)


def _verified(services: Services, model: Model, facts: TableFacts) -> VerifyReport:
    said = facts.properties.get(PROPERTY)
    claims = claims_on(services, model, said)
    with services.engine.session(model.name, model.where) as session:
        uri = services.project.uri_of(model.table)
        counted, violations = hold_laws(session, uri, facts, claims)
    # V9: the table says of itself what the model says
    wrong = (f"{PROPERTY} is not set",) if said is None else setting_differences(model, said)
    if wrong:
        settings = Violation("V9", "settings", len(wrong), "setting", wrong[:SAMPLES])
        violations = (*violations, settings)
    found = (counted.get(name) for name in ("versions", "keys", "current", "gaps"))
    versions, keys, current, gaps = (None if n is None else int(n) for n in found)
    return VerifyReport(model.name, facts.version, versions, keys, current, gaps, violations)


def history_model(services: Services, name: str) -> Model:
    """Return the model of that name; raise `not-a-history-model` if it keeps no versions."""
    model = named_model(services, name)
    if model.history is None:
        sentence = f"{model.name!r} is a {model.shown_strategy} model and keeps no versions"
        hint = "name a snapshot; penstock list shows the strategies"
        raise UsageError("not-a-history-model", sentence, hint=hint)
    return model


def facts_of(services: Services, model: Model) -> TableFacts:
    """Return the facts of a history model's table; raise `not-built-yet` if there is none."""
    uri = services.project.uri_of(model.table)
    facts = services.log.facts(uri)
    if facts is None:
        sentence = f"{model.name} has no table at {uri}"
        hint = f"penstock snapshot run --select {model.name}"
        raise TableError("not-built-yet", sentence, where=model.where, hint=hint)
    return facts


def claims_on(services: Services, model: Model, text: str | None) -> Claims:
    """Return what the table of a model must satisfy; `text` is its own property."""
    snapshot = model.history
    if snapshot is None:
        raise TypeError(f"{model.name} is not a snapshot")
    closes = snapshot.hard_deletes is HardDeletes.INVALIDATE or _closed_keys(
        services.log.commits(services.project.uri_of(model.table), -1, partial=True)
    )
    return claims_of(snapshot, closes_keys=closes, always_event_time=always_event_time(text))


def _closed_keys(commits: tuple[LogCommit, ...]) -> bool:
    """Return whether a run may have closed a key as missing since the table was created.

    True as well if the log no longer goes back that far.
    """
    for commit in reversed(commits):
        if commit.metrics.get("deleted", 0):
            return True
        if commit.operation.startswith(("CREATE", "REPLACE")):
            return False
    return bool(commits) and commits[0].version > 0


def hold_laws(
    session: StepSession, uri: str, facts: TableFacts, claims: Claims
) -> tuple[Row, tuple[Violation, ...]]:
    """Read one version of a table once: return its counts, and which of V1 to V8 it breaks."""
    wrong = column_violations(claims, facts.schema)
    if wrong:
        return {}, wrong
    read = DeltaRead(uri, facts.version)
    session.bind([Relation(InputName(InputKind.THIS, ""), TARGET_VIEW, read)])
    counts = session.stage(check_stage(claims, facts.schema))
    found = (
        Violation(law.law, law.title, count, law.of, session.sample(law.samples(claims)))
        for law, count in broken_laws(claims, counts)
    )
    return counts, tuple(found)
