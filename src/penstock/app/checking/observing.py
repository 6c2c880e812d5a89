"""What rides on the write of a step's rows, and what it says of the step's checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.app.checking.output import Output
from penstock.app.checking.refusing import is_of_the_job
from penstock.app.checking.subject import Subject
from penstock.core.checks import CheckScope
from penstock.core.engine_ports import QuerySession
from penstock.core.errors import DataError, QueryError
from penstock.core.schema import Schema
from penstock.core.statement import OBSERVED_ROWS, Row
from penstock.strategies.checks.observe import observables
from penstock.strategies.checks.shared import Shared, described, shared


@dataclass(frozen=True, slots=True)
class Observation:
    """Aggregates by name that are computed while rows are written; none: nothing is observed.

    With a `split` they are the few calls, of these `types`, that the wanted ones are made of.
    """

    counts: Mapping[str, str] = field(default_factory=dict)
    split: Shared | None = None
    types: Schema = Schema()

    def answers(self, session: QuerySession, seen: Row | None) -> Row | None:
        """Give what was seen by the names of the aggregates that are wanted.

        None where nothing was seen, or where it cannot be put together: the rows are asked then.
        """
        if seen is None or self.split is None:
            return seen
        try:
            [row] = session.rows(self.split.put_together(seen, self.types))
        except (QueryError, DataError) as error:
            if is_of_the_job(error):
                raise
            return None
        return {**row, OBSERVED_ROWS: seen[OBSERVED_ROWS]}


def observation(subject: Subject, output: Output) -> Observation:
    """Choose what is observed of the rows of a step: nothing that Spark would refuse.

    A check never fails the write, so what cannot be described is left to the scan, which says why.
    """
    step = [check for check in subject.checks.after if check.scope is CheckScope.STEP]
    looks = subject.checks.looks_after and any(check.is_observable for check in step)
    if not looks or not output.is_one_group:
        return Observation()
    values = subject.values(subject.partitions[0][0])
    wanted = observables(step, output.columns, values)
    if not wanted or _types(subject, output, wanted) is None:
        return Observation()
    split = shared(wanted)
    types = _types(subject, output, split.calls) if split else None
    if split is None or types is None or not split.is_exact(types):
        return Observation(wanted)
    return Observation(split.counts, split, types)


def _types(subject: Subject, output: Output, aggregates: Mapping[str, str]) -> Schema | None:
    """Give the types of aggregates, None if Spark refuses one."""
    try:
        return subject.session.describe(described(aggregates, output.columns))
    except (QueryError, DataError):
        return None
