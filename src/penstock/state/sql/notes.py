"""What was noted of tables' logs: a cache, so that status need not read a log twice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import delete, exists, func, select

from penstock.core.facts import Seen, Touched
from penstock.state.document import read_spans, write_spans
from penstock.state.schema import project, seen_tables, steps, table_commits
from penstock.state.sql.database import Database, put


class SqlNotes:
    """Keeps commits that changed rows, and how far logs were read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seen(self) -> Mapping[str, Seen]:
        """Give what was noted of tables, by the names under which they were noted.

        `foreign` is found among the noted commits: those without a step that is on record here.
        """
        commit = table_commits.c
        ours = exists().where(steps.c.id == commit.step)
        foreign = (
            select(commit.name, func.max(commit.version).label("version"))
            .where(~ours, commit.store != select(project.c.store_id).scalar_subquery())
            .group_by(commit.name)
            .subquery()
        )
        query = (
            select(seen_tables, foreign.c.version)
            .outerjoin(foreign, foreign.c.name == seen_tables.c.name)
            .order_by(seen_tables.c.name)
        )
        with self._database.read() as connection:
            return {
                row.name: Seen(row.name, row.table_id, row.seen_version, row.version)
                for row in connection.execute(query)
            }

    def touched(self, name: str, after: int) -> tuple[Touched, ...]:
        """Give the noted commits of a table above a version, oldest first."""
        commit = table_commits.c
        query = (
            select(table_commits)
            .where(commit.name == name, commit.version > after)
            .order_by(commit.version)
        )
        with self._database.read() as connection:
            return tuple(
                Touched(
                    version=row.version,
                    time=row.time,
                    operation=row.operation,
                    step=row.step,
                    store=row.store,
                    user=row.user,
                    spans=read_spans(json.loads(row.spans)),
                )
                for row in connection.execute(query)
            )

    def note(self, seen: Seen, commits: Sequence[Touched]) -> None:
        """Note commits of a table and how far its log was read; one of another id starts anew.

        A commit that is noted again replaces what was noted of it. Of two versions that the log
        was read up to the greater one counts.
        """
        rows = [
            {
                "name": seen.name,
                "version": commit.version,
                "table_id": seen.table_id,
                "step": commit.step,
                "store": commit.store,
                "operation": commit.operation,
                "user": commit.user,
                "time": commit.time,
                "spans": json.dumps(write_spans(commit.spans), separators=(",", ":")),
            }
            for commit in commits
        ]
        with self._database.write() as connection:
            table = seen_tables.c.name == seen.name
            known = connection.execute(select(seen_tables).where(table)).first()
            version = seen.version
            if known is not None and known.table_id == seen.table_id:
                version = max(version, known.seen_version)
            else:
                noted = table_commits.c.name == seen.name
                connection.execute(delete(table_commits).where(noted))
            head = {"name": seen.name, "table_id": seen.table_id, "seen_version": version}
            put(connection, seen_tables, [head])
            put(connection, table_commits, rows)
