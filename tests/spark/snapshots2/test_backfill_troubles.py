"""Histories out of the versions of sources that were vacuumed, replaced, or got new columns."""

import shutil

import pytest
from deltalake import DeltaTable

from fakes.command import kill_at
from fakes.history_place import HistoryPlace
from penstock.app.commands.snapshot_backfill import snapshot_backfill
from penstock.app.read_requests import HistoryBackfillRequest
from penstock.engine.log.delta_log import DeltaLog

pytestmark = pytest.mark.matrix

CHECKED = {"strategy": "check", "unique_key": "id", "check_cols": "all"}
NEW = "CREATE OR REPLACE TABLE {} USING delta"


class Backfilled:
    """`lived` is run after each statement that changes the source, `made` is filled later."""

    def __init__(self, root, spark):
        self.place = HistoryPlace(root, spark)
        self.place.source("people", "id INT, value STRING")
        self.folder = str(root / "landing" / "people")
        for name in ("lived", "made"):
            sql = "select * from {{ source('raw', 'people') }}"
            config = {**CHECKED, "hard_deletes": "invalidate"}
            self.place.model(name, sql, materialized="snapshot", **config)

    def change(self, statement, *, lives=True):
        if self.place.spark is not None:
            self.place.sql(statement.format(f"delta.`{self.folder}`"))
        if lives:
            self.place.snap(DeltaLog().commits(self.folder, -1)[-1].time, "lived")

    def fill(self, **asked):
        services = self.place.services()
        try:
            return snapshot_backfill(
                services, HistoryBackfillRequest(self.place.root, "made", **asked)
            )
        finally:
            services.close()

    def rows(self, name):
        """Give rows as texts; columns by name, as their order depends on when they came."""
        found = self.place.spark.newSession().sql(f"SELECT * FROM {self.place.table(name)}")
        return sorted(str(sorted(row.asDict().items())) for row in found.collect())


@pytest.fixture
def filled(tmp_path, spark):
    return Backfilled(tmp_path, spark)


def test_columns_that_came_went_and_became_wider_are_those_of_runs_then(filled, spark):
    table = "AS SELECT * FROM VALUES"
    for statement in (
        f"{NEW} {table} (1, 'a'), (2, 'b') AS t(id, value)",
        f"{NEW} {table} (1, 'a', CAST(1 AS SMALLINT)), (2, 'b', NULL) AS t(id, value, more)",
        f"{NEW} {table} (1, 'a', 100000), (2, 'c', 2) AS t(id, value, more)",
        f"{NEW} {table} (1, 5), (3, 6) AS t(id, more)",
    ):
        filled.change(statement)
    words = ("snapshot", "backfill", "made")
    for fault in ("after-commit:2", "before-commit:1", "during-finish:1"):
        kill_at(fault, filled.place.root, *words, spark=spark)
    report = filled.fill()

    assert report.succeeded
    assert filled.rows("made") == filled.rows("lived")
    assert len(filled.rows("made")) == 7


def test_versions_whose_files_vacuum_removed_are_left_out(filled):
    filled.change("INSERT INTO {} VALUES (1, 'a'), (2, 'b')", lives=False)
    filled.change("UPDATE {} SET value = 'A' WHERE id = 1", lives=False)
    table = DeltaTable(filled.folder)
    table.optimize.compact()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    filled.change("INSERT INTO {} VALUES (3, 'c')", lives=False)

    report = filled.fill(every="commit")

    assert report.succeeded, report.results[0].error
    assert any("are gone" in note for note in report.notes), report.notes
    assert [row for row in filled.rows("made") if "'A'" in row or "'c'" in row]
    assert len(filled.rows("made")) == 3


@pytest.mark.parametrize("how", ["in place", "another folder"])
def test_a_source_that_was_replaced_goes_on_with_its_new_versions(filled, how):
    filled.change("INSERT INTO {} VALUES (1, 'a'), (2, 'b')")
    filled.change("INSERT INTO {} VALUES (3, 'c')")
    first = filled.fill()
    if how == "another folder":
        shutil.rmtree(filled.folder)
    filled.change(f"{NEW} AS SELECT 1 AS id, 'A' AS value")
    filled.change("INSERT INTO {} VALUES (2, 'b')")

    second = filled.fill()

    assert (first.succeeded, second.succeeded) == (True, True)
    assert filled.rows("made") == filled.rows("lived")
    assert second.notes[-1].startswith("2 of 2 versions: raw.people v"), second.notes
