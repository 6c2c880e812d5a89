"""A history made out of a source's versions, beside one that was updated after each of them."""

import pytest
from deltalake import DeltaTable

from fakes.history_place import CK, COLUMNS, HistoryPlace, counts
from penstock.app.commands.snapshot_backfill import snapshot_backfill
from penstock.app.read_requests import HistoryBackfillRequest
from penstock.engine.log.delta_log import DeltaLog

DELIVERED = (
    ("1 a 01-05", "2 b 01-06"),
    ("1 A 02-01", "2 b 01-06", "3 c 02-02"),
    ("1 A 02-01", "3 c 02-02"),
    ("1 a 02-03", "2 b 02-03", "3 c 02-02"),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory, spark):
    """`lived` after each delivery, `made` at the end, `late` after the log lost some versions."""
    place = HistoryPlace(tmp_path_factory.mktemp("backfill"), spark)
    place.source("people", COLUMNS)
    for name in ("lived", "made", "late"):
        place.snapshot(name, **CK, hard_deletes="invalidate")
    place.folder = place.root / "landing" / "people"
    for rows in DELIVERED:
        place.has("people", *rows)
        place.snap(DeltaLog().commits(str(place.folder), -1)[-1].time, "lived")
    place.report = filled(place, "made")
    DeltaTable(str(place.folder), version=3).create_checkpoint()
    for version in (0, 1):
        (place.folder / "_delta_log" / f"{version:020d}.json").unlink()
    place.late = filled(place, "late")
    return place


def filled(place, name):
    services = place.services()
    try:
        return snapshot_backfill(services, HistoryBackfillRequest(place.root, name))
    finally:
        services.close()


def test_it_is_the_history_of_runs_after_each_version(place):
    lived, made = place.rows("lived"), place.rows("made")

    assert sorted(map(str, made)) == sorted(map(str, lived))
    assert len(made) == 6
    assert counts(place.report["made"]) == {
        "source_rows": 3,
        "opened_new": 4,  # a key that comes back is new
        "opened_changed": 2,
        "closed": 3,
        "deleted": 1,
        "unchanged": 1,
    }


def test_versions_that_the_log_can_no_longer_give_are_left_out(place):
    assert place.late.succeeded
    assert place.late.notes[-2].startswith("begins with raw.people v3")


def test_nothing_is_left_to_be_read(place):
    again = filled(place, "made")

    assert again.notes[0].startswith("nothing is left to be read after raw.people v")
    assert again["made"].status == "unchanged"
