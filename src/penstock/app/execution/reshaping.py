"""Bring a partitioned table to the columns and layout of its code."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.app.execution.commit import Committer, refresh_record
from penstock.app.preparing.run_context import Context
from penstock.app.services.services import Services
from penstock.core.columns.schema import Schema
from penstock.core.errors import SchemaError
from penstock.core.facts import TableFacts
from penstock.core.model import Model
from penstock.core.names import quoted
from penstock.core.statement import TARGET_VIEW, Commit
from penstock.core.steps.step import Intent, StepKind
from penstock.plan.evolution import check_names, raise_all
from penstock.plan.obstacles import incompatible_type
from penstock.plan.table_columns import (
    Migration,
    contract_findings,
    migration,
    target_schema,
    with_described,
)
from penstock.strategies.reshape import (
    allow_widening,
    alter_properties,
    create_empty,
    drop_not_null,
    rewrite,
    rewritten_rows,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A table ready for its rows: its columns after the build, its version before.

    `stays` is SQL, over the view `penstock_target`, for the remaining rows in their new form; "" if
    the table will be replaced, without rows. `partition_by` is the current layout of a table that
    is not created or rewritten, even if the code declares another.
    """

    columns: Schema
    version: int | None
    changes: tuple[str, ...] = ()
    stays: str = ""
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reshaping:
    """Reshaping of one model's table."""

    services: Services
    context: Context
    committer: Committer
    model: Model

    def require_declared(self) -> None:
        """Raise if a model reads itself and a version declares no columns."""
        if target_schema(self.model) is None:
            raise SchemaError(
                "schema-needed",
                f"{self.model.name} reads its own table, so its columns must be declared",
                where=self.model.where,
                hint="write a schema",
            )

    def check(self, described: Schema) -> None:
        """Raise for invalid names and type changes before anything is written."""
        facts = self._facts()
        stays = None if facts is None or self._is_replaced(facts) else facts
        named = check_names(self.model, described, stays.properties if stays else None)
        raise_all((*named, *contract_findings(self.model, described)))
        if facts is None or stays is None:
            return
        moved = self._migration(facts, described)
        if moved.uncastable:
            raise SchemaError(
                "incompatible-type",
                f"{self.model.table}: no cast for {', '.join(moved.uncastable)}",
                where=self.model.where,
                hint="give the column another name",
            )
        if moved.breaking and not self.context.options.allow_breaking:
            raise incompatible_type(self.model, moved.breaking)

    def create(self, intent: Intent, described: Schema) -> TableFacts:
        """Create the table if it does not exist, or if a foreign table is in its place."""
        facts = self._facts()
        if facts is not None and not self._is_replaced(facts):
            return facts
        wanted = self._wanted_schema(described)
        statement = create_empty(
            self.model, self._target, wanted, location=self._location, replaces=facts is not None
        )
        self._commit(intent, facts, statement, StepKind.CREATE)
        made = self._facts()
        if made is None:
            raise SchemaError("table-gone", f"{self.model.table} disappeared after it was made")
        return made

    @property
    def is_new_table(self) -> bool:
        """Whether there is no table yet for the rows."""
        facts = self._facts()
        return facts is None or self._is_replaced(facts)

    def expected_shape(self, described: Schema) -> Shape:
        """Return the shape that `reshape` will produce, at the current version; write nothing."""
        facts = self._facts()
        if facts is None or self._is_replaced(facts):
            return Shape(self._wanted_schema(described), facts.version if facts else None)
        moved = self._migration(facts, described)
        if self._needs_rewrite(moved):
            columns = self._rewritten_schema(moved)
            stays = rewritten_rows(self.model, quoted(TARGET_VIEW), columns, facts)
            return Shape(columns, facts.version, moved.lines, stays)
        stays = f"SELECT * FROM {quoted(TARGET_VIEW)}"
        changes = (*moved.added, *moved.widened)
        return Shape(moved.schema, facts.version, changes, stays, facts.partition_by)

    def reshape(self, intent: Intent, described: Schema) -> Shape:
        """Make the commits that must precede the rows; call `check` first."""
        facts = self.create(intent, described)
        moved = self._migration(facts, described)
        if self._needs_rewrite(moved):
            columns = self._rewritten_schema(moved)
            statement = rewrite(
                self.model,
                self._target,
                columns,
                facts,
                uri=self.services.project.uri_of(self.model.table),
                location=self._location,
            )
            version = self._commit(intent, facts, statement, StepKind.REWRITE)
            return Shape(columns, version, moved.lines)
        statements = drop_not_null(self._target, moved.nullable)
        if moved.needs_widening_property:
            statements = (*allow_widening(self._target, facts.properties), *statements)
        statements = (*statements, *alter_properties(self._target, self.model, facts))
        base: int | None = facts.version
        for sql in statements:
            base = self._commit(intent, replace(facts, version=base or 0), Commit(sql, once=False))
        changes = (*moved.added, *moved.widened)
        return Shape(moved.schema, base, changes, partition_by=facts.partition_by)

    def _needs_rewrite(self, moved: Migration) -> bool:
        """Return whether existing rows must be rewritten before new rows."""
        relays = bool(moved.moved)
        if self.context.options.full_refresh and not relays:  # are the records of another grid?
            known = self.services.reading.records.partitions().get(self.model.name)
            relays = known is not None and known.grid != self.model.grid
        relays = relays and self.context.options.full_refresh
        drops = bool(moved.droppable) and self.context.options.allow_breaking
        return bool(moved.breaking) or relays or drops

    def _rewritten_schema(self, moved: Migration) -> Schema:
        return moved.reduced_schema if self.context.options.allow_breaking else moved.schema

    def _commit(
        self,
        intent: Intent,
        facts: TableFacts | None,
        statement: Commit,
        kind: StepKind = StepKind.ALTER,
    ) -> int | None:
        base = facts.version if facts else None
        ended = self.committer.alter(replace(intent, base_version=base), statement, kind)
        refresh_record(self.services, self.context.records, self.model.name)
        return ended.outcome.settled_version

    def _facts(self) -> TableFacts | None:
        return self.services.log.facts(self.services.project.uri_of(self.model.table))

    def _is_replaced(self, facts: TableFacts) -> bool:
        """Return whether another table replaced the one on record."""
        record = self.context.records.get(self.model.name)
        return record is not None and record.table_id not in ("", facts.table_id)

    def _wanted_schema(self, described: Schema) -> Schema:
        declared = target_schema(self.model)
        loose = any(not version.schema.columns for version in self.model.versions)
        return with_described(declared, described) if loose or declared is None else declared

    def _migration(self, facts: TableFacts, described: Schema) -> Migration:
        return migration(self.model, self._wanted_schema(described), facts)

    @property
    def _target(self) -> str:
        return self.services.project.sql_of(self.model.table)

    @property
    def _location(self) -> str:
        project = self.services.project
        return project.uri_of(self.model.table) if project.target.catalog else ""
