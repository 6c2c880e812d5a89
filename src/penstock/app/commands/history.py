"""The use case `history --checks`: what the checks of a model said so far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from penstock.app.checking.chosen import SKIPPED
from penstock.app.reports import HistoryReport, HistoryRow
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.core.check_results import CheckRecord
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.core.records import Execution, Status
from penstock.project.files.values import did_you_mean, some_of

SOURCE = "source:"
"""How the history names what is no model."""


@in_one_state
def check_history(
    services: Services, model: str, name: str | None = None, limit: int = 20
) -> tuple[CheckRecord, ...]:
    """Give results of a model's checks, newest first, at most `limit`; start no JVM.

    A check that is in no file any more is found by the name it had; `source:raw.events` gives what
    `penstock check --sources` said. Raises `unknown-model`, `unknown-check`, and `bad-value` for a
    limit below 1.
    """
    if limit < 1:
        raise UsageError("bad-value", f"--limit {limit} shows nothing", hint="--limit 20")
    if model.startswith(SOURCE) and model.removeprefix(SOURCE) in services.project.sources:
        return services.reading.checks.checks_of(model, name, limit)
    found = named_model(services, model)
    records = services.reading.checks.checks_of(found.name, name, limit)
    if name is not None and not records and name not in check_names(found):
        raise unknown_check(found, name)
    return records


def check_names(model: Model) -> frozenset[str]:
    """Give the names of the checks of all its versions."""
    each = [model.checks, *(version.checks for version in model.versions)]
    return frozenset(check.name for checks in each for check in checks.all)


def unknown_check(model: Model, name: str) -> UsageError:
    """Say that a model has no check of that name, with the nearest one."""
    known = check_names(model)
    there = f"there are: {some_of(known)}" if known else f"{model.name} has no checks"
    return UsageError(
        "unknown-check",
        f"{model.name} has no check called {name!r}",
        hint=did_you_mean(name, known) or there,
    )


@in_one_state
def history(
    services: Services,
    model: str,
    partition: str | None = None,
    limit: int = 20,
    *,
    show_sql: bool = False,
) -> HistoryReport:
    """Give a model's executions, newest first, at most `limit`; start no JVM.

    Raises `unknown-model`, `invalid-partition`, and `bad-value` for a limit below 1.
    """
    if limit < 1:
        raise UsageError("bad-value", f"--limit {limit} shows nothing", hint="--limit 20")
    found = named_model(services, model)
    key = found.grid.key(found.grid.parse(partition)) if partition is not None else None
    records = services.reading.records
    everything = records.history(found.name, None, key) if key else None
    executions = everything if everything is not None else records.history(found.name, limit)
    taken_back = _reverted(everything or executions)
    unchecked = services.reading.checks.steps_that_skipped(found.name, SKIPPED)
    rows = []
    for one in executions[:limit]:
        sql = (records.text(one.fingerprint.sql) or "") if show_sql else ""
        reverted = one.step in taken_back.get(one.partition, ())
        rows.append(HistoryRow(one, reverted, sql, one.step in unchecked))
    return HistoryReport(found.name, key or "", tuple(rows))


def _reverted(executions: Sequence[Execution]) -> dict[str, set[str]]:
    """Give the steps whose next success went back to SQL of an earlier one, by partition."""
    found: dict[str, set[str]] = {}
    by_partition: dict[str, list[Execution]] = {}
    for one in reversed(executions):
        if one.status is Status.SUCCESS:
            by_partition.setdefault(one.partition, []).append(one)
    for partition, rows in by_partition.items():
        earlier: set[str] = set()
        for one, after in pairwise(rows):
            again = after.fingerprint.sql
            if again in earlier and again != one.fingerprint.sql:
                found.setdefault(partition, set()).add(one.step)
            earlier.add(one.fingerprint.sql)
    return found
