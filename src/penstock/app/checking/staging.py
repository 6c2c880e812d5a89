"""Where rows lie that are looked at before they are published, and those that never are."""

from __future__ import annotations

import datetime as dt
import re
import uuid

from penstock.app.services.services import Services
from penstock.core.check_results import Quarantine
from penstock.core.model import Model
from penstock.core.names import TableName
from penstock.core.partitions.ranges import Ranges, difference
from penstock.core.steps.step import Intent
from penstock.state.transitions.model_state import RECOVER

_STEP = re.compile("[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def staging_root(services: Services) -> str:
    """Give the folder of everything that is staged or kept in quarantine."""
    warehouse = services.project.target.warehouse.rstrip("/")
    return f"{warehouse}/{services.project.checks.staging_schema}"


def staging_folder(services: Services, table: TableName, step: str) -> str:
    """Give the folder of one step's staged rows; it is gone when the step has ended."""
    return f"{staging_root(services)}/{table.schema}__{table.table}__{step}"


def quarantine_of(services: Services, intent: Intent, failed: Ranges) -> Quarantine:
    """Say where the rows of groups that failed a gate are kept, and until when."""
    name = quarantine_name(intent.table, intent.step)
    schema = services.project.checks.staging_schema
    days = services.project.checks.quarantine_days
    return Quarantine(
        step=intent.step,
        model=intent.model,
        uri=f"{staging_root(services)}/{name}",
        table=f"{schema}.{name}",
        failed=failed,
        rows=0,
        expires=services.clock.now() + dt.timedelta(days=days),
    )


def quarantine_name(table: TableName, step: str) -> str:
    """Give the name of the table that keeps a step's failed rows."""
    return f"{table.schema}__{table.table}__{step.replace('-', '')}"


def keeps_rows(services: Services, model: Model) -> bool:
    """Whether rows that failed are kept; a view has none."""
    return services.project.checks.quarantine_days > 0 and not model.is_view


def drop_staged(services: Services, table: TableName, step: str) -> None:
    """Remove what a step had staged."""
    services.folders.drop(staging_folder(services, table, step))


def sweep(services: Services) -> None:
    """Remove what steps left that died, and quarantines whose time is over.

    A warehouse may hold tables of other projects or other stores: what lies there of a step that
    this store never began is theirs.
    """
    root = staging_root(services)
    staged = {name: step for name in services.folders.names(root) if (step := _step_of(name))}
    if not staged:
        return
    journal, now = services.writing.journal, services.clock.now()
    quarantines = services.writing.checks.quarantines()
    running = {record.intent.step for record in journal.running()}
    kept = {each.step for each in quarantines if each.expires > now}
    ours = services.writing.checks.known_steps(set(staged.values()))
    for name, step in staged.items():
        is_quarantine = name.endswith(step.replace("-", ""))
        if step in ours and step not in running and not (step in kept and is_quarantine):
            services.folders.drop(f"{root}/{name}")
    for each in quarantines:
        if each.expires <= now:
            journal.forget_quarantine(each.step)


def _step_of(name: str) -> str:
    """Give the step that a folder is named after, "" for a folder of no step."""
    step = name.rpartition("__")[2]
    return str(uuid.UUID(step)) if _STEP.fullmatch(step) else ""


def drop_repeated(services: Services, model: Model, newest: Quarantine) -> None:
    """Remove quarantines whose rows are held back again, of steps whose run died.

    Nobody was told of those. What a run has promised to keep stays until its time is over.
    """
    for each in services.writing.checks.quarantines():
        if each.model != model.name or each.step == newest.step:
            continue
        if not difference(each.failed, newest.failed) and _run_died(services, model, each):
            drop_quarantine(services, each)


def _run_died(services: Services, model: Model, kept: Quarantine) -> bool:
    """Whether recovery has ended the step that kept rows."""
    key = model.grid.key(kept.failed[0][0])
    found = services.writing.records.history(model.name, None, key)
    return any((each.step, each.triggered_by) == (kept.step, RECOVER) for each in found)


def drop_quarantine(services: Services, each: Quarantine) -> None:
    """Remove a quarantine, its rows first."""
    services.folders.drop(each.uri)
    services.writing.journal.forget_quarantine(each.step)
