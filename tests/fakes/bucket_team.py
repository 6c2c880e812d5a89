"""One of many processes that write the same tables in a bucket, as runs do, without a JVM.

The statement of a step is an append by `deltalake`, with the token and the transaction that Spark
would write; everything else is what a run does: leases, the log, fences, recovery.
"""

from __future__ import annotations

import os
import random
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from penstock.app.execution.commit import Committer
from penstock.app.execution.recover import recover
from penstock.app.execution.seed_step import run_plain_step
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.app.services.wire import Where, open_services
from penstock.app.services.workers import on_record
from penstock.core.statement import Commit, Row, Work
from penstock.core.steps.step import Intent, StepKind
from penstock.core.steps.token import write_token
from penstock.engine.disk.buckets import table_options_at

POINTS = ("after-begin", "before-commit", "after-commit", "during-finish")
"""Where a process may die."""


@dataclass
class RowSession:
    """The session of a step whose statement appends one row, which names the step."""

    services: Services

    def commit(self, statement: Commit, intent: Intent) -> None:
        token = write_token(intent, "0.1.0", self.services.store_id, self.services.project.name)
        row = pa.table({"step": [intent.step], "model": [intent.model]})
        signed = CommitProperties(
            custom_metadata={"userMetadata": token},
            app_transactions=[Transaction(intent.transaction, intent.step_seq)],
        )
        options = table_options_at(intent.uri)
        with suppress(CommitFailedError):  # the step of a dead process was fenced meanwhile
            return _append(intent.uri, row, options, signed)
        return _append(intent.uri, row, options, signed)

    def observed(self, rows: int) -> Row | None:
        return None


def _append(uri: str, row: pa.Table, options: dict[str, str], signed: CommitProperties) -> None:
    write_deltalake(uri, row, mode="append", storage_options=options, commit_properties=signed)


def write_all(root: str, number: int, models: int) -> None:
    """Make a step of each table, in an order of its own; every third process dies in one."""
    chance = random.Random(number)  # noqa: S311  # an order, no secret
    if number % 3 == 1:
        point, count = chance.choice(POINTS), chance.randrange(1, models + 1)
        os.environ["PENSTOCK_FAULT"] = f"{point}:{count}"
    services = open_services(Where(Path(root)))
    recover(services)
    now, run = services.clock.now(), services.clock.new_id()
    view, project = ObservedTables.empty(now), services.project
    context = Context(services.holder(run), now, project, view, {}, wait_seconds=900)
    names = [f"t{each}" for each in range(models)]
    chance.shuffle(names)
    with on_record(services, services.run_record(run, "run", now)) as succeeded:
        for name in names:
            _write(services, context, name)
        succeeded()
    services.close()


def _write(services: Services, context: Context, name: str) -> None:
    model = services.project.models[name]
    uri = services.project.uri_of(model.table)
    committer = Committer(services, context, model.where, None)
    committer.session = RowSession(services)  # type: ignore[assignment]  # what a statement needs
    intent = Intent(
        step=services.clock.new_id(),
        run=context.holder.run,
        model=name,
        table=model.table,
        uri=uri,
        kind=StepKind.BUILD,
        strategy="append",
        reason="a test",
        triggered_by="run",
        run_timestamp=context.run_timestamp,
        fingerprint=model.fingerprint,
    )
    committer.await_target(intent)
    head = services.log.head(uri)
    base = head.version if head else None
    run_plain_step(committer, replace(intent, base_version=base), Work.just(Commit("INSERT")))
