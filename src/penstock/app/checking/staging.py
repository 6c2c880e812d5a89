"""Where rows lie that are looked at before they are published, and those that never are."""

from __future__ import annotations

import datetime as dt
import re

from penstock.app.shop import Shop
from penstock.core.check_results import Quarantine
from penstock.core.model import Model
from penstock.core.names import TableName
from penstock.core.ranges import Ranges
from penstock.core.step import Intent

_STEP = re.compile("[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def staging_root(shop: Shop) -> str:
    """Give the folder of everything that is staged or kept in quarantine."""
    warehouse = shop.project.target.warehouse.rstrip("/")
    return f"{warehouse}/{shop.project.checks.staging_schema}"


def staging_folder(shop: Shop, table: TableName, step: str) -> str:
    """Give the folder of one step's staged rows; it is gone when the step has ended."""
    return f"{staging_root(shop)}/{table.schema}__{table.table}__{step}"


def quarantine_of(shop: Shop, intent: Intent, failed: Ranges, rows: int) -> Quarantine:
    """Say where the rows of groups that failed a gate are kept, and until when."""
    name = quarantine_name(intent.table, intent.step)
    schema = shop.project.checks.staging_schema
    days = shop.project.checks.quarantine_days
    return Quarantine(
        step=intent.step,
        model=intent.model,
        uri=f"{staging_root(shop)}/{name}",
        table=f"{schema}.{name}",
        failed=failed,
        rows=rows,
        expires=shop.clock.now() + dt.timedelta(days=days),
    )


def quarantine_name(table: TableName, step: str) -> str:
    """Give the name of the table that keeps a step's failed rows."""
    return f"{table.schema}__{table.table}__{step.replace('-', '')}"


def keeps_rows(shop: Shop, model: Model) -> bool:
    """Whether rows that failed are kept; a view has none."""
    return shop.project.checks.quarantine_days > 0 and not model.is_view


def drop_staged(shop: Shop, table: TableName, step: str) -> None:
    """Remove what a step had staged."""
    shop.folders.drop(staging_folder(shop, table, step))


def sweep(shop: Shop) -> None:
    """Remove what steps left that died, and quarantines whose time is over."""
    root = staging_root(shop)
    names = shop.folders.names(root)
    if not names:
        return
    journal, now = shop.writing.journal, shop.clock.now()
    running = {record.intent.step for record in journal.running()}
    kept = {each.step for each in shop.writing.records.quarantines() if each.expires > now}
    alive = running | {step.replace("-", "") for step in running | kept}
    for name in names:
        step = name.rpartition("__")[2]
        if _STEP.fullmatch(step) and step not in alive:
            shop.folders.drop(f"{root}/{name}")
    for each in shop.writing.records.quarantines():
        if each.expires <= now:
            journal.forget_quarantine(each.step)


def drop_quarantine(shop: Shop, each: Quarantine) -> None:
    """Remove a quarantine, its rows first."""
    shop.folders.drop(each.uri)
    shop.writing.journal.forget_quarantine(each.step)
