"""Records that an entity leaves out, kept in a table beside its own until they expire.

They follow the commit protocol of the step: written after it began, recorded before its commit, and
removed if it never commits, or if a later step has read the same slice
(docs/decisions/0069-bad-records-in-tables-of-their-own.md).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from penstock.app.checking.flags import quarantine_of
from penstock.app.services.services import Services
from penstock.core.check_results import WHOLE_GROUP, Quarantine
from penstock.core.errors import StateError
from penstock.core.model import Model
from penstock.core.ports.engine import StepSession
from penstock.core.ports.ports import Fault
from penstock.core.records import Status
from penstock.core.steps.step import Intent

_WORD = "bad_records"
_IS_OURS = re.compile(f"__{_WORD}__[0-9a-f]+$")


def bad_records_of(services: Services, intent: Intent) -> Quarantine:
    """Return where the bad records of a step's slice are kept."""
    found = quarantine_of(services, intent, ())

    def renamed(text: str) -> str:
        start, _, step = text.rpartition("__")
        return f"{start}__{_WORD}__{step}"

    return replace(found, uri=renamed(found.uri), table=renamed(found.table))


def keep_bad_records(
    services: Services, session: StepSession, intent: Intent, sql: str, fault: Fault
) -> None:
    """Write the bad records of a slice beside its table, and record where they are.

    With `quarantine_days: 0` none are kept, as for checks.
    """
    if services.project.checks.quarantine_days <= 0:
        return
    kept = bad_records_of(services, intent)
    rows = session.side_tables.write_table(sql, kept.uri)
    fault("after-evaluating")
    services.writing.journal.keep_quarantine(intent.step, replace(kept, rows=rows))
    fault("after-checks")


def settle_bad_records(services: Services, model: Model) -> None:
    """Remove the bad records of steps whose slices they are no longer.

    A step that failed or was undone leaves its slice waiting, and a later one has read it again.
    """
    kept = services.writing.checks.quarantines()
    mine = [each for each in kept if each.model == model.name and _IS_OURS.search(each.uri)]
    if not mine:
        return
    running = {record.intent.step for record in services.writing.journal.running()}
    if model.strategy.reads_slices:
        recorded = services.writing.slices.recorded(model.name)
        ended = {each.step for each in recorded if each.status is Status.SUCCESS}
    else:
        history = services.writing.records.history(model.name, None, WHOLE_GROUP)
        ended = {each.step for each in history if each.status is Status.SUCCESS}
    for each in mine:
        if each.step not in running | ended:
            services.folders.drop(each.uri)
            services.writing.journal.keep_quarantine(each.step, None)


def settle_at_end(services: Services, model: Model) -> None:
    """Do that when a step ends; without the state, the next command does it."""
    with suppress(StateError):
        settle_bad_records(services, model)


def settle_all_bad_records(services: Services) -> None:
    """Do that for every entity; a run may have died before it did."""
    for model in services.project.models.values():
        entity = model.entity
        if entity and entity.keeps_bad_records:
            settle_bad_records(services, model)
