"""The use case `history`: the executions of a model, and the results of its checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.app.checking.chosen import SKIPPED
from penstock.app.read_requests import HistoryRequest
from penstock.app.reports import HistoryReport, HistoryRow
from penstock.app.services.services import Services, in_one_state, named_model
from penstock.core.check_results import CheckRecord
from penstock.core.errors import UsageError
from penstock.core.model import Model
from penstock.core.records import Execution, Status
from penstock.project.files.values import did_you_mean, some_of


@dataclass(frozen=True, slots=True)
class CheckHistory:
    """Results of a model's checks, newest first; `truncated` is whether there are older ones."""

    records: tuple[CheckRecord, ...] = ()
    truncated: bool = False


SOURCE = "source:"
"""The prefix of names in the history that are not models."""


@in_one_state
def check_history(
    services: Services, request: HistoryRequest, name: str | None = None
) -> CheckHistory:
    """Return results of a model's checks, newest first, at most `limit`; start no JVM.

    A check that is in no file any more is found by its old name; `source:raw.events` returns the
    results of `penstock check --sources`. Raises `unknown-model` and `unknown-check`.
    """
    model, checks = request.model, services.reading.checks
    if model.startswith(SOURCE) and model.removeprefix(SOURCE) in services.project.sources:
        return _cut(checks.checks_of(model, name, request.limit + 1), request)
    found = named_model(services, model)
    records = checks.checks_of(found.name, name, request.limit + 1)
    known = check_names(found)
    if name is not None and not records and name not in known:
        there = f"there are: {some_of(known)}" if known else f"{found.name} has no checks"
        sentence = f"{found.name} has no check called {name!r}"
        raise UsageError("unknown-check", sentence, hint=did_you_mean(name, known) or there)
    return _cut(records, request)


def _cut(records: tuple[CheckRecord, ...], request: HistoryRequest) -> CheckHistory:
    return CheckHistory(records[: request.limit], len(records) > request.limit)


def check_names(model: Model) -> frozenset[str]:
    """Return the names of the checks of all its versions."""
    return frozenset(check.name for check in model.all_checks)


@in_one_state
def history(services: Services, request: HistoryRequest) -> HistoryReport:
    """Return a model's executions, newest first, at most `limit`; start no JVM.

    Raises `unknown-model` and `invalid-partition`.
    """
    found, records = named_model(services, request.model), services.reading.records
    grid, key = found.grid, None
    if request.partition is not None:
        key = grid.key(grid.parse(request.partition))
    # all of one partition: what was taken back may be older than what is shown
    executions = records.history(found.name, None if key else request.limit + 1, key)
    taken_back = _reverted(executions)
    unchecked = services.reading.checks.steps_that_skipped(found.name, SKIPPED)
    steps = {each.intent.step: each for each in records.steps_of(found.name)}
    asked = {one.fingerprint.sql for one in executions[: request.limit]} if request.show_sql else ()
    texts, rows = records.texts(asked), []
    for one in executions[: request.limit]:
        sql = texts.get(one.fingerprint.sql, "")
        reverted = one.step in taken_back.get(one.partition, ())
        rows.append(HistoryRow(one, reverted, sql, one.step in unchecked, steps.get(one.step)))
    cut = len(executions) > request.limit
    return HistoryReport(found.name, key or "", tuple(rows), truncated=cut)


def _reverted(executions: Sequence[Execution]) -> dict[str, set[str]]:
    """Return the steps whose next success returned to SQL of an earlier one, by partition."""
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
