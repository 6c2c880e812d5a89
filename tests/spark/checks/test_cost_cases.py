"""What checks cost and what their SQL gets to see."""

import datetime as dt
import re
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fakes.check_place import P1, STATS, STATS_SQL, STATS_YAML, CheckPlace, after
from fakes.spark_jobs import jobs_of
from penstock.core.check_results import Sample
from penstock.engine.session import ObservedWrite, SparkStepSession
from spark.checks.conftest import copied

TWELVE = [
    {"type": "row_count", "min": 1},
    {"type": "row_count", "name": "at_most", "max": 9},
    {"type": "not_null", "column": "date"},
    {"type": "not_null", "column": "revenue"},
    {"type": "null_percentage", "column": "region", "max_percentage": 50},
    {"type": "value_range", "column": "revenue", "min": 0},
    {"type": "value_range", "column": "user_count", "max": 1000},
    {"type": "accepted_values", "column": "region", "values": ["eu", "us"]},
    {"type": "column_check", "column": "revenue", "name": "rows", "check": "{column} >= 0"},
    {"type": "column_check", "column": "revenue", "name": "sum", "check": "SUM({column}) = 35"},
    {"type": "column_check", "column": "region", "name": "top", "check": "max({column}) = 'us'"},
    {"type": "freshness", "column": "date", "max_age": "9 days"},
]
BREAKING = [
    {"type": "column_check", "column": "revenue", "name": f"c{n}", "check": f"{{column}} > {n}00"}
    for n in range(1, 13)
]


class Queries(list[str]):
    """The SQL of all queries that checks run, and the files that the last one read."""

    files: tuple[str, ...] = ()


@pytest.fixture
def queries(monkeypatch):
    """Remember each query and the files that it reads."""
    found, real = Queries(), SparkStepSession.rows

    def rows(session: SparkStepSession, sql: str) -> object:
        found.append(sql)
        found.files = tuple(session._spark.sql(sql).inputFiles())
        return real(session, sql)

    monkeypatch.setattr(SparkStepSession, "rows", rows)
    return found


@pytest.fixture
def copies(tmp_path, spark, built_folder):
    """Give fresh copies of the folder."""

    return lambda name: copied(built_folder, tmp_path / name, spark)


def jobs(place: CheckPlace) -> int:
    """Rebuild P1 and count the jobs of Spark."""
    return jobs_of(place.spark, lambda: place.backfill("user_stats", P1, P1))


def test_observed_checks_run_no_job_of_their_own(copies, queries) -> None:
    unchecked, observed = copies("unchecked"), copies("observed")
    observed.checks(*TWELVE)

    assert jobs(observed) == jobs(unchecked)
    assert [sql for sql in queries if " FROM VALUES " not in sql] == []
    found = {each.result.name: str(each.result.status) for each in observed.check_records()}
    assert len(found) == 12
    assert set(found.values()) == {"passed"}


def test_a_check_that_cannot_be_observed_scans_its_column_and_that_of_the_partition(
    copies, queries
) -> None:
    place = copies("scanned")
    place.checks(*TWELVE, {"type": "unique", "column": "region"})

    place.backfill("user_stats", P1, P1)

    (scan,) = [sql for sql in queries if " FROM VALUES " not in sql]
    assert "region" in scan
    assert not re.search("revenue|user_count", scan)
    plan = place.spark.sql("EXPLAIN " + plain(scan, place)).collect()[0][0]  # laid out by date
    assert "ReadSchema: struct<region:string>" in plan


def plain(sql: str, place: CheckPlace) -> str:
    """Give the query on the table by its name, for any session."""
    return sql.replace("`check_after_target`", place.table(STATS))


@pytest.fixture
def seen(monkeypatch):
    """Remember what was observed, in sessions whose sorts look at their rows beforehand."""
    found, real, init = [], ObservedWrite.counts, SparkStepSession.__init__

    def remembered(watch: ObservedWrite) -> object:
        found.append(real(watch))
        return found[-1]

    def sampled(session: SparkStepSession, *given: object) -> None:
        init(session, *given)
        session._spark.conf.set("spark.sql.shuffle.partitions", "4")

    monkeypatch.setattr(ObservedWrite, "counts", remembered)
    monkeypatch.setattr(SparkStepSession, "__init__", sampled)
    return found


BOTH = [{"type": "row_count", "min": 9}, {"type": "not_null", "column": "region"}]
SAID = {"row_count": "failed rows 3 < min 9", "not_null_region": "failed 1 NULL in region"}


def test_a_query_that_ends_in_a_sort_gives_the_right_values(copies, seen) -> None:
    place = copies("sorted")
    place.write({STATS_SQL: (place.root / STATS_SQL).read_text() + "ORDER BY user_count\n"})
    place.checks(*BOTH)

    assert after(place.backfill("user_stats", P1, P1)) == SAID
    assert [row["_ps_n"] for row in seen] == [3]


def test_values_that_were_seen_twice_are_thrown_away(copies, queries, monkeypatch) -> None:
    real = ObservedWrite.counts
    monkeypatch.setattr(
        ObservedWrite,
        "counts",
        lambda watch: {name: 2 * count for name, count in real(watch).items()},
    )
    place = copies("doubled")
    place.checks(*BOTH)

    assert after(place.backfill("user_stats", P1, P1)) == SAID
    scan, _sample = queries
    assert "count(*)" in scan


@pytest.mark.matrix
@pytest.mark.parametrize("there", [1_000, pytest.param(1_000_000, marks=pytest.mark.matrix)])
def test_ten_rows_that_are_appended_are_the_rows_that_are_read(tmp_path, spark, queries, there):
    place = CheckPlace(tmp_path, spark)
    numbers = pa.schema({"id": pa.int64(), "at": pa.timestamp("us", "UTC")})
    days = [dt.datetime(2024, 12, day, tzinfo=dt.UTC) for day in (1, 2)]
    place.write(
        {
            "models/sources.yml": "sources: [{name: raw, tables: "
            "[{name: numbers, path: ../lake/numbers}]}]\n",
        }
    )
    for name in (STATS_YAML, STATS_SQL):
        (tmp_path / name).unlink()
    place.land("numbers", [(n, days[0]) for n in range(there)], numbers)
    sql = "SELECT id, at FROM {{ source('raw', 'numbers') }}\n"
    unique = {"type": "unique", "column": "id", "scope": "step"}
    place.model("m/log", sql, unique, materialized="append", time_column="at")
    assert place.run().succeeded
    place.land("numbers", [(n, days[1]) for n in range(there, there + 10)], numbers)
    queries.clear()

    report = place.run()

    assert report["log"].rows.inserted == 10
    assert after(report, "log") == {"unique_id": "passed unique"}
    assert ["check_added_rows" in sql for sql in queries] == [False, True]  # the first: its window
    assert sum(pq.read_metadata(path_of(file)).num_rows for file in queries.files) == 10


def path_of(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))


@pytest.mark.matrix
@pytest.mark.parametrize(("sample", "most"), [(True, 12), (False, 0)])
def test_a_failed_check_runs_one_query_for_its_sample(copies, queries, sample, most) -> None:
    place = copies("samples")
    place.checks(*({**check, "sample": sample} for check in BREAKING))

    report = place.backfill("user_stats", P1, P1)

    results = report["user_stats"].invariant_report.after
    assert {str(each.message) for each in results} == {"3 rows break the condition"}
    assert len([sql for sql in queries if " FROM VALUES " not in sql]) == most
    assert all((each.sample is not None) is sample for each in results)


NAMES = ("`{destination}`", "{destination}", "analytics.user_stats")


def test_the_target_is_named_in_three_ways_and_strings_are_left_alone(copies) -> None:
    place = copies("named")
    text = "'@partition_date {x}' AS t, date FROM {} WHERE date = @partition_date -- {y}"
    place.checks(
        *(
            {"name": f"n{number}", "sql": f"SELECT {text.replace('{}', name)}"}
            for number, name in enumerate(NAMES)
        )
    )

    report = place.backfill("user_stats", P1, P1)

    row = ("@partition_date {x}", P1)
    results = report["user_stats"].invariant_report.after
    assert [each.message for each in results] == ["3 rows (expected 0)"] * 3
    assert [each.sample for each in results] == [Sample(("t", "date"), (row, row, row))] * 3


def cut_model(name: str, field: str, of: str, kind: str, sql: str) -> dict[str, str]:
    """Give the files of a model whose check shows the literals of one partition."""
    shown = "typeof(@partition_date) AS t, @partition_date AS p, @end_date AS e"
    return {
        f"models/a/{name}.yml": (
            f"name: {name}\n"
            f"destination: {{dataset: a, table: {name}, partition: {{field: {field}, {kind}}}}}\n"
            f"checks: [{{name: literals, sql: 'SELECT {shown}'}}]\n"
            f"versions:\n  - {{version: 1, effective_from: 2024-12-01, sql: {name}.v1.sql, "
            f"schema: [{{name: {field}, type: {of}}}]}}\n"
        ),
        f"models/a/{name}.v1.sql": sql,
    }


@pytest.mark.matrix
def test_literals_have_the_type_of_the_partition(tmp_path, spark) -> None:
    place = CheckPlace(tmp_path, spark)
    place.events()
    hours = cut_model(
        "hours",
        "at",
        "TIMESTAMP",
        "type: HOUR",
        "SELECT created_at AS at FROM raw.events\n"
        "WHERE date_trunc('hour', created_at) = @partition_date\n",
    )
    spans = cut_model(
        "spans",
        "user_count",
        "INT64",
        "type: RANGE, start: 0, end: 200, interval: 100",
        "SELECT user_count FROM raw.events\n"
        "WHERE user_count >= @partition_date AND user_count < @end_date\n",
    )
    place.write(hours | spans)

    hour = place.backfill("hours", "2024-12-01T00", "2024-12-01T00")
    span = place.backfill("spans", "100", "100")

    first = ("timestamp", "2024-12-01 00:00:00", "2024-12-01 01:00:00")
    assert hour["hours"].invariant_report.after[0].sample == Sample(("t", "p", "e"), (first,))
    second = ("int", "100", "200")
    assert span["spans"].invariant_report.after[0].sample == Sample(("t", "p", "e"), (second,))
