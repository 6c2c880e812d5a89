"""The rows that a step writes and the table it leaves, as checks get to see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from penstock.app.checking.ground import Rows
from penstock.app.checking.subject import Subject
from penstock.app.stages import Decided
from penstock.core.engine_ports import StepSession
from penstock.core.model import Model
from penstock.core.names import quoted
from penstock.core.ranges import Ranges
from penstock.core.schema import Schema
from penstock.core.statement import QUERY_VIEW, Commit, Kept
from penstock.core.step import Outcome
from penstock.strategies.checks.groups import key_sql
from penstock.strategies.partition import inside_spans

_ADDED = "check_added_rows"


class StagedOutput(Protocol):
    """The rows of a step whose stages have run: before its commit, and after it."""

    def rows(self) -> Rows:
        """Give the rows that are known before the commit."""
        ...

    def would_be(self) -> Rows:
        """Make the table as it will be readable as `check_after_target`."""
        ...

    def commit(self, passed: Ranges) -> Commit | None:
        """Give the commit of the partitions that passed; a view over path tables needs none."""
        ...

    def failing(self, failed: Ranges) -> str:
        """Give SQL for the rows of partitions that failed."""
        ...

    def written(self, outcome: Outcome) -> Rows | None:
        """Give the rows that the commit wrote; None where it wrote nothing."""
        ...


class Output(Protocol):
    """What a strategy writes."""

    @property
    def is_one_group(self) -> bool:
        """Whether all its rows are one group, so that they can be observed as they pass."""
        ...

    @property
    def columns(self) -> Schema:
        """The columns under which its rows are stored, where they pass through a feed."""
        ...

    def passing(self, statement: Commit, counts: Mapping[str, str]) -> Commit:
        """Give the statement with its rows observed as they pass, where that is possible."""
        ...

    def keep(self, folder: str, counts: Mapping[str, str]) -> Kept | None:
        """Write the rows to files, once; None where they are known without."""
        ...

    def staged(self, folder: str, decided: Decided) -> StagedOutput:
        """Give what is known once the stages have run; `folder` is the step's own."""
        ...


def key_of(model: Model) -> str:
    """Give SQL for the key of a row's partition."""
    settings = model.partition
    return key_sql(settings.grid, settings.field, settings.type) if settings else ""


def replaced_rows(subject: Subject, version: int | None) -> Rows | None:
    """Give the rows of a subject's partitions at a version of the target, by partition."""
    model, rows = subject.model, subject.at_version(version)
    if rows is None or model.partition is None:
        return rows
    grid = model.grid
    spans = tuple((grid.lower(low), grid.upper(high)) for low, high in subject.partitions)
    within = inside_spans(model.partition.field, model.partition.type, spans)
    return Rows(f"{rows.sql} WHERE {within}", rows.columns, key_of(model))


def added_rows(session: StepSession, uri: str, version: int, folder: str) -> Rows:
    """Give the rows of the files that one commit added; `folder` is the step's own."""
    columns = session.added(uri, version, f"{folder}/added", _ADDED)
    return Rows(f"SELECT * FROM {quoted(_ADDED)}", columns)


def whole(subject: Subject, outcome: Outcome) -> Rows | None:
    """Give every row of the target as the step left it."""
    if subject.model.is_view:
        return subject.as_table(f"SELECT * FROM {quoted(QUERY_VIEW)}")
    return subject.at_version(outcome.stands_at)
