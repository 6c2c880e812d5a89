"""Law 3: kill -9 at any point of any strategy, run again: rows and records as undisturbed."""

import datetime as dt

import pytest

from fakes.faulted import HISTORIES, POINTS, UNDISTURBED, VERSIONS
from fakes.history_story import T2
from penstock.core.records import Status

MATRIX = [
    (model, point)
    for model in UNDISTURBED
    for point in POINTS
    if not (point == "during-staging" and model != "users")
]
RUN_AT_T2 = ("snapshot", "run", "--as-of", T2.isoformat())
GATE = (("marked", "before-commit"), ("pruned", "after-commit"))


def settled(crash, model):
    """Run again and give what a newcomer would look at: rows, version, record."""
    report = crash.place.snap(T2, model) if model in HISTORIES else crash.place.run(model)
    assert [result.error for result in report.values() if not result.ok] == []
    services = crash.place.services()
    record = services.reading.records.models()[model]
    leases = services.writing.leases.taken()
    running = services.writing.journal.running()
    history = services.reading.records.history(model, 10)
    services.close()
    assert (leases, running) == ((), ())
    return report, record, history


def is_fenced(point):
    """Whether the step of a kill was given up, so that its table has one commit more."""
    return point in ("after-begin", "during-staging", "before-commit")


def told_of(point, report, history, version):
    """Hold what the next run says of a step that was killed at a point."""
    if point == "after-finish":
        assert report.recovered == ()
    elif point in ("after-commit", "during-finish"):
        assert len(report.recovered) == 1
        assert report.recovered[0].endswith(f"had committed version {version}; recorded")
        assert history[0].triggered_by == "recover"
    else:
        assert report.recovered[0].endswith("had not committed; marked failed (crashed)")
        assert [each.status for each in history][:2] == [Status.SUCCESS, Status.FAILED]


OF_OWN_JVM = (
    ("totals", "after-begin"),
    ("users", "during-staging"),
    ("users", "after-commit"),
    ("totals", "during-finish"),
    ("log", "after-finish"),
)


BEYOND = pytest.mark.matrix


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("model", "point", "own_jvm"),
    [
        pytest.param("log", "before-commit", True, id="log-before-commit-own JVM"),
        *(pytest.param(*cell, False, id="-".join(cell), marks=BEYOND) for cell in MATRIX),
        *(
            pytest.param(*cell, True, id=f"{'-'.join(cell)}-own JVM", marks=BEYOND)
            for cell in OF_OWN_JVM
        ),
    ],
)
def test_a_killed_step_is_settled_by_the_next_run(crash, model, point, own_jvm) -> None:
    crash.kill(model, point, own_jvm=own_jvm)

    report, record, history = settled(crash, model)

    assert crash.place.rows(model) == UNDISTURBED[model]
    assert crash.place.version(model) == VERSIONS[model]
    assert record.status is Status.SUCCESS
    assert record.settled_version == VERSIONS[model] + is_fenced(point)
    told_of(point, report, history, VERSIONS[model])
    assert crash.place.run(model).plan.is_empty
    left = sorted(each.name for each in (crash.place.root / "warehouse" / "m").iterdir())
    assert left == ["log", "totals", "users"]


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("model", "point"),
    [
        pytest.param(model, point, marks=() if (model, point) in GATE else pytest.mark.matrix)
        for model in HISTORIES
        for point in POINTS
        if (model, point) != ("fed", "during-staging")  # the first stage of it is before `begin`
    ],
)
def test_a_killed_history_run_is_settled_by_the_next(crashed_history, model, point) -> None:
    crashed_history.kill(model, point, *RUN_AT_T2)

    report, record, history = settled(crashed_history, model)

    place = crashed_history.place
    assert place.versions(model) == HISTORIES[model]
    assert place.version(model) == 1
    version = 1 + is_fenced(point)
    assert (record.status, record.settled_version, record.high_time) == (
        Status.SUCCESS,
        version,
        T2,
    )
    told_of(point, report, history, 1)
    assert place.snap(T2, model).plan.is_empty
    left = sorted(each.name for each in (place.root / "warehouse" / "m").iterdir())
    assert left == sorted(HISTORIES)


@pytest.mark.matrix
def test_a_run_that_is_killed_while_it_reads_changed_rows_has_not_begun(crashed_history) -> None:
    crashed_history.kill("fed", "during-staging", *RUN_AT_T2)

    report, record, _ = settled(crashed_history, "fed")

    assert report.recovered == ()
    assert crashed_history.place.versions("fed") == HISTORIES["fed"]
    assert (record.status, record.settled_version) == (Status.SUCCESS, 1)


def test_a_crash_between_commit_and_finish_is_recorded_with_its_rows(crash) -> None:
    crash.kill("log", "after-commit")
    assert len(crash.place.rows("log")) == 3

    report, record, _ = settled(crash, "log")

    assert report["log"].status == "unchanged"
    assert len(crash.place.rows("log")) == 3
    assert (record.commit_version, record.rows_written) == (1, 1)
    assert str(record.watermarks[0].value) == "TIMESTAMP 2024-01-03T00:00:00.000000Z"


@pytest.mark.matrix
def test_a_crash_before_the_commit_is_failed_and_the_next_run_writes_once(crash) -> None:
    crash.kill("users", "before-commit")
    assert crash.place.version("users") == 0

    _, record, history = settled(crash, "users")

    assert [each.failure and each.failure.code for each in history] == [None, "crashed", None]
    assert crash.place.rows("users") == UNDISTURBED["users"]
    assert record.commit_version == 2  # version 1 is the fence


def test_a_crash_inside_the_finish_transaction_leaves_nothing_half_written(crash) -> None:
    crash.kill("totals", "during-finish")

    _, record, history = settled(crash, "totals")

    assert crash.place.rows("totals") == [(3, 24)]
    assert len(history) == 2
    assert record.executed_at <= dt.datetime.now(dt.UTC)


def test_a_table_killed_between_write_and_record_agrees_after_the_next_run(crash) -> None:
    crash.kill("totals", "after-commit")

    report, record, _ = settled(crash, "totals")

    assert report["totals"].status == "unchanged"
    assert crash.place.rows("totals") == [(3, 24)]
    assert (record.commit_version, record.rows_written) == (1, 1)
