"""A history that reads changed rows alone, beside one that reads all rows of the same source."""

import datetime as dt
import shutil

import pytest

from fakes import stranger
from fakes.history_place import CK, COLUMNS, TS, HistoryPlace, counts
from fakes.history_story import T1, T2, T3, T4

T5 = dt.datetime(2024, 9, 1, tzinfo=dt.UTC)
CLOSED = CK | {"hard_deletes": "invalidate"}
MARKED = TS | {"hard_deletes": "new_record", "allow_empty": True}
PAIRS = {
    "kept": CK,
    "marked": MARKED,
    "compared": TS | {"compare_rows": True},
    "hashed": CLOSED | {"row_hash": True},
    "every": CLOSED | {"check_cols": "all"},
}
FIRST = ("1 a 01-05", "2 b 01-06", "3 c 01-07", "4 out 01-08", "5 e 01-09", "6 f 01-09")


def placed(root, spark, pairs, where="where value <> 'out'"):
    """Write each snapshot twice: as it is, and as NAME_fed, which reads the change feed."""
    place = HistoryPlace(root, spark)
    place.source("people", COLUMNS, feed=True)
    place.folder = root / "landing" / "people"
    for name, config in pairs.items():
        place.snapshot(name, where=where, **config)
        place.snapshot(f"{name}_fed", where=where, **config, change_feed=True)
    place.has("people", *FIRST)
    assert place.snap(T1).succeeded
    return place


def remarks(result):
    """Give what is said of a result beside the plan's word that changes are read."""
    return tuple(each for each in result.notes if not each.startswith("reads the changes of "))


def change(place):
    """Change rows in every way, each in a commit of its own."""
    people = place.folder
    stranger.update(people, "id = 1", value="'A'", updated_at="'2024-02-01T00:00:00Z'")
    stranger.update(people, "id = 2", value="'x'")
    stranger.update(people, "id = 2", value="'b'")  # and back
    stranger.update(people, "id = 3", value="'out'")
    stranger.update(people, "id = 4", value="'in'")
    stranger.update(people, "id = 5", id="7")
    place.insert("people", "(8, 'h', TIMESTAMP '2024-02-02'), (9, 'i', TIMESTAMP '2024-02-02')")
    stranger.delete(people, "id = 9")


def test_it_is_the_history_of_runs_that_read_all_rows(spark, tmp_path):
    place = placed(tmp_path, spark, {"closed": CLOSED})
    change(place)

    report = place.snap(T2)

    assert report["closed_fed"].notes == ("reads the changes of raw.people since version 1",)
    assert counts(report["closed_fed"]) == {
        "source_rows": 4,  # 1, 4, 7 and 8; the others are gone, or as they were
        "opened_new": 3,
        "opened_changed": 1,
        "closed": 3,
        "deleted": 2,
    }
    assert place.versions("closed_fed") == [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, )",
        "3 c 01-07 [T1, T2)",
        "4 in 01-08 [T2, )",
        "5 e 01-09 [T1, T2)",
        "6 f 01-09 [T1, )",
        "7 e 01-09 [T2, )",
        "8 h 02-02 [T2, )",
    ]
    assert place.versions("closed") == place.versions("closed_fed")


@pytest.mark.matrix
def test_so_it_is_with_other_settings_and_after_further_runs(spark, tmp_path):
    place = placed(tmp_path, spark, PAIRS)
    change(place)

    told = [place.snap(T2)]
    place.has("people", "1 A 02-01", "2 B 02-03", "3 c 01-07", "7 e 01-09")
    stranger.update(place.folder, "id = 7", value="'z'", updated_at="'2024-03-01T00:00:00Z'")
    told.append(place.snap(T3))
    stranger.delete(place.folder, "id < 7")
    told.append(place.snap(T4))
    stranger.update(place.folder, "id = 7", value="'y'")
    stranger.update(place.folder, "id = 7", value="'z'")
    idle = place.snap(T5)

    assert [report.succeeded for report in told] == [True] * 3
    assert {result.status for result in idle.values()} == {"unchanged"}
    assert counts(idle["every_fed"]) == {}
    for name in PAIRS:
        assert (name, place.versions(f"{name}_fed")) == (name, place.versions(name))
    notes = {name: [remarks(r[f"{name}_fed"]) for r in told] for name in PAIRS}
    assert notes["kept"] == [(), ("all rows were read: 1 keys came back, or have another row",), ()]
    assert notes["every"] == notes["marked"] == [(), (), ()]


@pytest.mark.matrix
def test_rows_that_are_wrong_are_refused_as_if_all_had_been_read(spark, tmp_path):
    place = placed(tmp_path, spark, {"closed": CLOSED})
    before = place.versions("closed_fed")

    place.insert("people", "(2, 'twice', TIMESTAMP '2024-02-02')")
    doubled = place.snap(T2)
    stranger.delete(place.folder, "value = 'twice'")
    stranger.delete(place.folder, "true")
    emptied = place.snap(T3)

    for report, code in ((doubled, "duplicate-keys"), (emptied, "empty-source")):
        errors = [report[name].error for name in ("closed", "closed_fed")]
        assert [each.code for each in errors] == [code, code]
        assert errors[0].sentence.replace("'closed'", "") == errors[1].sentence.replace(
            "'closed_fed'", ""
        )
    assert place.versions("closed_fed") == before


@pytest.mark.matrix
def test_all_rows_are_read_where_the_changes_are_not_there_and_it_says_why(spark, tmp_path):
    place = placed(tmp_path, spark, {"closed": CLOSED})
    people, reports = place.folder, []
    keep = f"ALTER TABLE {place.landing('people')} SET TBLPROPERTIES (delta.enableChangeDataFeed ="

    place.sql(f"{keep} false)")
    stranger.update(people, "id = 1", value="'A'")
    reports.append(place.snap(T2))
    stranger.update(people, "id = 2", value="'B'")
    place.sql(f"{keep} true)")
    reports.append(place.snap(T3))
    stranger.update(people, "id = 6", value="'F'")
    shutil.rmtree(people / "_change_data")
    reports.append(place.snap(T4))
    stranger.update(people, "id = 6", value="'ff'")
    for name in ("closed", "closed_fed"):
        stranger.delete(tmp_path / "warehouse" / "m" / name, "id = 1")
    reports.append(place.snap(T5))
    planned = [note for r in reports for s in r.plan.steps if "fed" in s.model for note in s.notes]

    assert [report.succeeded for report in reports] == [True] * 4
    assert [report["closed_fed"].notes[-1][:60] for report in reports] == [
        "all rows were read: the changes of raw.people since version ",
        "all rows were read: the changes of raw.people since version ",
        "all rows were read: the changes of raw.people since version ",
        "all rows were read: its table was changed by others, or brou",
    ]
    assert place.versions("closed") == place.versions("closed_fed")
    assert planned[0] == "reads the changes of raw.people since version 1"
    assert planned[-1] == "reads all rows: its table was changed by others, or brought back"


@pytest.mark.matrix
def test_it_reads_through_a_view(spark, tmp_path):
    place = placed(tmp_path, spark, {"closed": CLOSED})
    place.model("clean", "select * from {{ source('raw', 'people') }}", materialized="view")
    read = "select id, upper(value) as value, updated_at from {{ ref('clean') }}"
    place.model("viewed", read, materialized="snapshot", **CLOSED, change_feed=True)
    assert place.run("clean").succeeded
    assert place.snap(T2, "viewed").succeeded
    change(place)

    report = place.snap(T3, "viewed")

    assert remarks(report["viewed"]) == ()
    assert report["viewed"].metrics["source_rows"] == 5  # with 3, whose value is out
