"""What is observed while Delta writes: every form of INSERT, and what must not be believed."""

import shutil

import pytest

from penstock.core.errors import DataError, QueryError
from penstock.core.statement import Feed, Passing, Stage, TableOverwrite
from penstock.engine import session
from spark.engine.conftest import Bench

COUNTS = {"_ps_n": "count(*)", "low": "min(id)", "day": "CAST(max(d) AS STRING)"}
FIVE = Feed("fed", "SELECT id, DATE '2024-01-01' AS d FROM range(5)", COUNTS)
SEEN = {"_ps_n": 5, "low": 0, "day": "2024-01-01"}
FORMS = {
    "append": "INSERT INTO {t} BY NAME SELECT * FROM `fed`",
    "evolving": "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT * FROM `fed`",
    "range": "INSERT INTO {t} BY NAME REPLACE WHERE d = DATE '2024-01-01' SELECT * FROM `fed`",
    "whole": "INSERT OVERWRITE {t} BY NAME SELECT * FROM `fed`",
    "merge": "MERGE INTO {t} t USING `fed` s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *",
}


@pytest.fixture(scope="module")
def folder_of_table(spark, tmp_path_factory):
    made = Bench(spark, tmp_path_factory.mktemp("table") / "a b ü")
    made.commit("CREATE TABLE {t} (id BIGINT, d DATE) USING delta PARTITIONED BY (d)")
    made.commit("INSERT INTO {t} VALUES (9, DATE '2024-01-01'), (9, DATE '2024-01-02')")
    return made.folder


@pytest.fixture
def table(bench, folder_of_table):
    """A copy of a table of two partitions, made by the two steps before."""
    shutil.copytree(folder_of_table, bench.folder, dirs_exist_ok=True)
    bench.steps = 2
    return bench


@pytest.mark.matrix
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_writing_is_observed(table, form):
    table.commit(FORMS[form], FIVE)

    assert table.session.observed(5) == SEEN


def test_the_replacing_of_partitions_that_occur_is_observed(table):
    dynamic = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    table.commit(FORMS["whole"], FIVE, confs=dynamic)

    assert table.session.observed(5) == SEEN
    assert len(table.rows("SELECT * FROM {t}")) == 6


def test_a_whole_overwrite_with_another_layout_is_observed(table):
    table.commit("SELECT * FROM `fed`", FIVE, overwrite=TableOverwrite(table.at("t"), ()))

    assert table.session.observed(5) == SEEN


def test_a_range_that_is_emptied_is_observed_as_empty(table):
    none = Feed("fed", f"{FIVE.sql} WHERE id > 10", COUNTS)
    table.commit(FORMS["range"], none)

    assert table.session.observed(0) == {"_ps_n": 0, "low": None, "day": None}


def test_counts_that_a_global_order_doubles_are_thrown_away(table):
    many = Feed("fed", "SELECT id, DATE '2024-01-01' AS d FROM range(0, 5, 1, 2)", COUNTS)
    ordered = "INSERT INTO {t} BY NAME SELECT * FROM `fed` ORDER BY id"
    table.commit(ordered, many, confs={"spark.sql.shuffle.partitions": "4"})

    assert (table.session.observed(5), len(table.rows("SELECT * FROM {t}"))) == (None, 7)
    assert table.session._watch.counts() == SEEN | {"_ps_n": 10}


def test_an_order_that_comes_before_the_observation_doubles_nothing(table):
    ordered = Feed("fed", f"{FIVE.sql} ORDER BY id", COUNTS)
    table.commit(FORMS["append"], ordered, confs={"spark.sql.shuffle.partitions": "4"})

    assert table.session.observed(5) == SEEN


def test_settings_of_a_feed_hold_while_it_is_written_and_no_longer(table):
    wide = Feed(
        "fed", "SELECT CAST('x' AS BIGINT) AS id, DATE '2024-01-01' AS d", COUNTS, {ANSI: "false"}
    )
    table.commit(FORMS["append"], wide)

    assert table.session.observed(1) == {"_ps_n": 1, "low": None, "day": "2024-01-01"}
    with pytest.raises((DataError, QueryError)):
        table.session.rows("SELECT CAST('x' AS BIGINT)")


ANSI = "spark.sql.ansi.enabled"


def test_a_commit_that_failed_is_not_waited_for(table):
    broken = "SELECT id, CAST(raise_error('no') AS DATE) AS d FROM range(5)"
    with pytest.raises(QueryError):
        table.commit(FORMS["append"], Feed("fed", broken, COUNTS))

    assert table.session.observed(5) is None


def test_nobody_waits_for_ever_for_a_write_that_never_reads_its_feed(table, monkeypatch):
    monkeypatch.setattr(session, "_PATIENCE_SECONDS", 0.1)
    table.commit("INSERT INTO {t} VALUES (1, NULL)", FIVE)

    assert table.session.observed(5) is None


@pytest.mark.parametrize("adaptive", ["false", "true"])
@pytest.mark.parametrize(
    ("one", "two", "met"), [(3, 4, 4), (0, 4, 4), (3, 0, 3), (0, 0, 0)], ids=str
)
def test_rows_of_both_sides_are_counted_as_they_are_read(bench, adaptive, one, two, met):
    """Of a side that it finds empty, Spark leaves the plan out while it runs."""
    sides = {
        name: f"SELECT id FROM range(0, 9, 1, 2) WHERE id < {n}"
        for name, n in (("a", one), ("b", two))
    }
    rows = "SELECT a.id, b.id AS other FROM a FULL OUTER JOIN b ON a.id = b.id"
    passing = Passing("met", rows, {"n": "count(*)"}, sides)
    confs = {"spark.sql.adaptive.enabled": adaptive}

    seen = bench.session.stage(Stage("kept", "SELECT * FROM met", passing=passing, confs=confs))

    assert seen == {"n": met, "a": one, "b": two}
    assert bench.session.row("SELECT count(*) AS n FROM kept") == {"n": met}
