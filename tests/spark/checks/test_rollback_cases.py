"""Rows that failed a gate are taken back."""

import pytest
from deltalake import DeltaTable

from fakes.check_place import P1, P2, STATS, CheckPlace
from spark.checks.conftest import copied

MANY = {"type": "row_count", "min": 5}
TWO = {"type": "row_count", "max": 2}
OLD = (P1, "old", 1, 1.0)
LOG = "staging/log"
LOG_SQL = "SELECT created_at, region FROM {{ source('raw', 'events') }}\n"


@pytest.fixture
def place(tmp_path, spark):
    place = CheckPlace(tmp_path, spark)
    place.events([OLD])
    return place


@pytest.fixture(scope="module")
def folder_of_one(tmp_path_factory, spark):
    """A folder in which P1 was built."""
    place = CheckPlace(tmp_path_factory.mktemp("one") / "shop", spark)
    place.events([OLD])
    place.on(P1)
    return place.root


@pytest.fixture
def built(tmp_path, spark, folder_of_one):
    """A copy of it, a minute later."""
    return copied(folder_of_one, tmp_path / "shop", spark)


def operations(place: CheckPlace, path: str = STATS) -> list[str]:
    """Give the operations of a table's commits, oldest first."""
    history = DeltaTable(f"{place.root}/warehouse/{path}").history()
    return [str(entry["operation"]) for entry in reversed(history)]


def steps(place: CheckPlace, model: str = "user_stats") -> list[tuple[str, str]]:
    """Give kind and status of the steps that changed rows, oldest first."""
    found = place.stored(lambda store: store.records.steps_of(model))
    made = [each for each in found if each.intent.kind != "create"]
    return [(str(each.intent.kind), str(each.status)) for each in made]


def detail(place: CheckPlace) -> tuple[object, ...]:
    """Give the schema and properties of the table."""
    table = place.table(STATS)
    return place.sql(f"SHOW TBLPROPERTIES {table}"), place.sql(f"DESCRIBE TABLE {table}")


@pytest.mark.matrix
def test_a_failed_step_is_restored_and_stays_on_record(built) -> None:
    before = (built.rows(), built.partitions()[P1])
    assert before[0] == [(P1, "old", "1", "1.0")]
    built.checks(MANY, on_failure="rollback")
    built.edit("models/analytics/user_stats.v1.sql", "user_count,", "user_count + 1 AS user_count,")
    built.events()

    report = built.on(P1)

    result = report["user_stats"]
    assert (result.status, result.error.code) == ("failed", "after-check-failed")
    assert result.consequence == "restored to version 1"
    assert operations(built) == ["CREATE TABLE", "WRITE", "WRITE", "RESTORE"]
    assert len(built.texts(f"{built.root}/warehouse/{STATS}", 2)) == 4
    assert built.rows() == before[0]
    assert steps(built) == [("build", "SUCCESS"), ("build", "FAILED"), ("rollback", "SUCCESS")]
    run = built.partitions()[P1]
    assert (str(run.status), run.step_seq) == ("FAILED", before[1].step_seq)
    assert run.fingerprint == before[1].fingerprint
    told = [(e.triggered_by, str(e.status)) for e in built.executions()]
    assert told[:2] == [("rollback", "SUCCESS"), ("run", "FAILED")]
    assert built.flags() == ()


@pytest.mark.matrix
def test_a_wider_type_is_taken_back_and_the_feature_that_stays_is_told(place) -> None:
    place.edit(
        "models/analytics/user_stats.yml", "user_count, type: BIGINT", "user_count, type: INT"
    )
    cast = "CAST(user_count AS INT) AS user_count,"
    place.edit("models/analytics/user_stats.v1.sql", "user_count,", cast)
    place.on(P1)
    before = detail(place)[1]
    place.checks(MANY, on_failure="rollback")
    place.edit("models/analytics/user_stats.v1.sql", cast, "user_count,")

    result = place.on(P1)["user_stats"]

    assert (result.schema_changes, result.consequence) == (
        ("user_count INT -> BIGINT",),
        "restored to version 1",
    )
    assert detail(place)[1] == before
    kept = "analytics.user_stats keeps the table feature typeWidening"
    assert result.notes == (f"features-left: {kept}, which version 1 did not have",)


@pytest.mark.matrix
def test_schema_and_properties_are_those_before(built) -> None:
    """Law 5."""
    before = detail(built)
    built.checks(MANY, on_failure="rollback")
    built.edit(
        "models/analytics/user_stats.yml",
        "type: DOUBLE}",
        "type: DOUBLE}\n      - {name: more, type: STRING}",
    )
    built.edit("models/analytics/user_stats.v1.sql", "revenue\n", "revenue, 'm' AS more\n")

    report = built.on(P1, allow_breaking=True)

    assert report["user_stats"].error.code == "after-check-failed"
    assert detail(built) == before
    assert built.rows() == [(P1, "old", "1", "1.0")]


@pytest.mark.matrix
def test_a_comment_that_was_set_for_the_step_goes_with_it(built) -> None:
    """Law 5."""
    before = described(built)
    built.checks(MANY, on_failure="rollback")
    built.edit(
        "models/analytics/user_stats.yml", "name: user_stats", "name: user_stats\ndescription: All"
    )
    built.events()

    report = built.on(P1)

    assert report["user_stats"].consequence == "restored to version 1"
    assert operations(built)[2:] == ["SET TBLPROPERTIES", "WRITE", "RESTORE"]
    assert (described(built), built.rows()) == (before, [(P1, "old", "1", "1.0")])
    assert built.statuses() == {P1: "FAILED"}


def described(place: CheckPlace) -> object:
    """Give the comment of the table."""
    (detail,) = place.sql(f"DESCRIBE DETAIL {place.table(STATS)}")
    return detail[3]


def test_a_first_build_runs_as_block(place) -> None:
    place.checks(MANY, on_failure="rollback")

    report = place.on(P1)

    assert report["user_stats"].error.code == "after-check-failed"
    assert place.version(STATS) == -1
    assert place.quarantined() == [(P1, "old", "1", "1.0")]


@pytest.mark.matrix
def test_all_partitions_of_the_step_are_undone(place) -> None:
    place.backfill("user_stats", P1, P2)
    place.checks(TWO, on_failure="rollback")
    place.events([(P1, "eu", 2, 2.0), (P2, "a", 1, 1.0), (P2, "b", 1, 1.0), (P2, "c", 1, 1.0)])

    report = place.sync("user_stats", first=P1, last=P2)

    (result,) = report.results
    assert result.error.code == "after-check-failed"
    assert result.error.sentence.startswith("user_stats 2024-12-02: row_count: ")
    assert result.notes == ("rolled-back: user_stats 2024-12-01: undone with 2024-12-02",)
    assert place.rows() == [(P1, "old", "1", "1.0")]
    assert place.statuses() == {P1: "FAILED", P2: "FAILED"}
    told = [(e.partition, e.triggered_by, e.failure and e.failure.code) for e in place.executions()]
    assert told[:4] == [
        (P1, "rollback", "rolled-back"),
        (P2, "rollback", None),
        (P1, "sync", None),
        (P2, "sync", "after-check-failed"),
    ]
    planned = place.preview("user_stats", first=P1, last=P2).plan.steps
    assert [(step.keys, str(step.reason)) for step in planned] == [(((P1, P2),), "was failed")]


@pytest.mark.matrix
def test_an_append_leaves_its_watermark_and_adds_rows_once_after_the_repair(place) -> None:
    options = {"materialized": "append", "time_column": "created_at", "on_failure": "rollback"}
    place.model(LOG, LOG_SQL, {"type": "not_null", "column": "region"}, **options)
    assert place.run("log").succeeded
    before = place.record("log").watermarks
    place.events([("2024-12-02T10:00:00", None, 1, 1.0)])

    report = place.run("log")

    assert report["log"].error.code == "after-check-failed"
    assert place.record("log").watermarks == before
    assert [row[1] for row in place.rows(LOG)] == ["old"]
    place.sql(f"UPDATE delta.`{place.root}/lake/events` SET region = 'new' WHERE region IS NULL")
    assert place.run("log", allow_source_mutation=True).succeeded
    assert [row[1] for row in place.rows(LOG)] == ["old", "new"]
    assert str(place.record("log").status) == "SUCCESS"


REFUSED = (
    "rollback-refused: user_stats: version 3 (WRITE, not ours) lies after version 2; "
    "rows stay and are flagged"
)


def append_at(place: CheckPlace, point: str, nth: int = 1) -> None:
    """Let somebody else append a row when a step passes a point for the nth time."""
    left = [nth]

    def append(passed: str) -> None:
        left[0] -= passed == point
        if passed == point and left[0] == 0:
            place.sql(f"INSERT INTO {place.table(STATS)} VALUES (DATE '2024-12-09', 'f', 1, 1)")

    place.fault = append


@pytest.fixture
def waiting(built):
    """P1 was built; now it fails a gate."""
    built.checks(MANY, on_failure="rollback")
    built.events()
    return built


@pytest.mark.parametrize(
    "point", ["after-evaluating", pytest.param("after-checks", marks=pytest.mark.matrix)]
)
def test_rows_that_others_wrote_meanwhile_keep_it_from_being_undone(waiting, point) -> None:
    append_at(waiting, point)

    report = waiting.on(P1)

    result = report["user_stats"]
    assert result.error.code == "after-check-failed"
    assert result.consequence == "rows written and flagged"
    assert result.notes == (REFUSED,)
    stays_flagged(waiting)


@pytest.mark.matrix
def test_rows_that_come_right_before_the_restore_are_safe(waiting) -> None:
    append_at(waiting, "before-commit", 2)

    first = waiting.on(P1)["user_stats"]
    waiting.fault = None
    waiting.checks({"type": "row_count", "min": 1}, on_failure="rollback")
    then = waiting.run("user_stats", first="2024-12-04", last="2024-12-04")

    assert first.error.code == "after-check-failed"
    (note,) = first.notes
    assert note.startswith("not rolled back yet: another writer committed to analytics.user_stats")
    assert then.results[0].notes == (REFUSED,)
    stays_flagged(waiting, ("rollback", "FAILED"))


def stays_flagged(place: CheckPlace, *tried: tuple[str, str]) -> None:
    """Hold that the rows of the step and those of the other are there, and the flag."""
    assert operations(place)[:4] == ["CREATE TABLE", "WRITE", "WRITE", "WRITE"]
    assert "RESTORE" not in operations(place)
    regions = [row[1] for row in place.rows() if row[0] in (P1, "2024-12-09")]
    assert regions == ["eu", "old", "us", None, "f"]
    assert [(flag.partition, flag.version) for flag in place.flags()] == [(P1, 2)]
    made = [("build", "SUCCESS"), ("build", "FAILED"), *tried]
    assert steps(place)[: len(made)] == made
