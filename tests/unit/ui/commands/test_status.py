"""The text and the document of `status`."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.app.reports import ModelStatus, StateCount, StatusReport
from penstock.app.request import StatusRequest
from penstock.core.names import TableName
from penstock.plan.values import State
from penstock.ui.commands.status import status_document, status_text

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
MONDAYS = (("2024-12-02", "2024-12-02"), ("2024-12-09", "2024-12-09"), ("2024-12-16", "2024-12-16"))
SINCE_V3 = StateCount(State.SQL_CHANGED, 15, (("2024-12-02", "2024-12-16"),), version=3)


def waits(count, ranges, after):
    return StateCount(
        State.UPSTREAM_CHANGED,
        count,
        ranges,
        pending=True,
        drifted=False,
        version=1,
        because=(after,),
    )


def days(name, *states, partitions=22, **changes):
    table = TableName("analytics", name)
    return ModelStatus(name, table, "partition", "DAY", partitions, states, **changes)


def whole(name, state=None, *because, strategy="table", **changes):
    found = StateCount(state, 1, (("*", "*"),), version=1, because=because, **changes)
    states = (found,) if state else ()
    return ModelStatus(name, TableName("s", name), strategy, "*", 1, states)


EDITED = StatusReport(
    NOON,
    (
        days("daily_user_stats", SINCE_V3),
        days("weekly_summary", waits(3, MONDAYS, "daily_user_stats")),
        ModelStatus(
            "monthly_report",
            TableName("reporting", "monthly_report"),
            "partition",
            "MONTH",
            2,
            (waits(1, (("2024-12", "2024-12"),), "weekly_summary"),),
        ),
    ),
)


def test_an_edited_version_drifts_and_what_reads_it_waits():
    assert status_text(EDITED) == (
        "daily_user_stats: sql_changed (15 partitions)\n"
        "    2024-12-02 to 2024-12-16   sql_changed        v3\n"
        "weekly_summary: upstream_changed (3 partitions, pending)\n"
        "    2024-12-02, 2024-12-09, 2024-12-16   upstream_changed   pending   after"
        " daily_user_stats\n"
        "monthly_report: upstream_changed (1 partition, pending)\n"
        "    2024-12   upstream_changed   pending   after weekly_summary\n"
        "\n"
        "15 of 46 partitions drifted, 4 pending. Next: penstock sync --cascade"
    )


def test_the_document_of_status_counts_partitions_by_state():
    report = StatusReport(NOON, EDITED.models[:1])

    assert status_document(report) == {
        "command": "status",
        "run_timestamp": "2024-12-16T12:00:00Z",
        "partitions": 22,
        "drifted": 15,
        "pending": 0,
        "models": [
            {
                "model": "daily_user_stats",
                "table": "analytics.daily_user_stats",
                "strategy": "partition",
                "grain": "DAY",
                "partitions": 22,
                "cosmetic": 0,
                "executed_at": None,
                "states": [
                    {
                        "state": "sql_changed",
                        "also": (),
                        "pending": False,
                        "drifted": True,
                        "count": 15,
                        "version": 3,
                        "revision": None,
                        "ranges": (("2024-12-02", "2024-12-16"),),
                        "because": (),
                    }
                ],
                "lines": (),
            }
        ],
    }


def test_a_model_in_several_states_counts_each():
    never = StateCount(State.NEVER_RUN, 2, (("2024-12-17", "2024-12-18"),), version=3, revision=1)
    failed = StateCount(
        State.FAILED, 1, (("2024-12-01", "2024-12-01"),), ("sql_changed",), version=2
    )

    assert status_text(StatusReport(NOON, (days("daily", SINCE_V3, never, failed),))) == (
        "daily: sql_changed (15 partitions), never_run (2 partitions), failed (1 partition)\n"
        "    2024-12-02 to 2024-12-16   sql_changed   v3\n"
        "    2024-12-17 to 2024-12-18   never_run     v3.r1\n"
        "    2024-12-01                 failed        v2   also sql_changed\n"
        "\n"
        "18 of 22 partitions drifted. Next: penstock sync"
    )


def test_a_table_without_partitions_is_one_with_its_detail():
    report = StatusReport(
        NOON,
        (
            whole("users", State.SQL_CHANGED),
            whole("orders", State.TAMPERED, "version 3 UPDATE by ann", also=("source_changed",)),
            whole("fine"),
        ),
    )

    assert status_text(report) == (
        "users: sql_changed\n"
        "orders: tampered\n"
        "    version 3 UPDATE by ann   also source_changed\n"
        "\n"
        "2 of 3 partitions drifted. Next: penstock sync"
    )


def test_a_detail_keeps_its_secrets():
    report = StatusReport(NOON, (whole("users", State.SOURCE_CHANGED, "s3://me:hunter2@b moved"),))

    assert "hunter2" not in status_text(report)


@pytest.mark.parametrize(
    "models",
    [
        (),
        (days("daily"),),
        (days("daily", StateCount(State.NOT_EFFECTIVE, 5, (("a", "b"),), drifted=False)),),
    ],
    ids=["nothing", "current", "not effective"],
)
def test_nothing_drifted_is_one_line(models):
    assert status_text(StatusReport(NOON, models)) == "All current ✓"


def test_what_is_worth_saying_is_said_though_nothing_drifted():
    kept = StateCount(
        State.NOT_EFFECTIVE,
        3,
        (("2024-11-25", "2024-11-27"),),
        ("has data of v1",),
        drifted=False,
    )
    report = StatusReport(
        NOON, (days("daily", kept), days("weekly", lines=("foreign rows: version 7",)))
    )

    assert status_text(report) == (
        "daily: not_effective (3 partitions)\n"
        "    2024-11-25 to 2024-11-27   not_effective   also has data of v1\n"
        "weekly: current (22 partitions)\n"
        "    foreign rows: version 7\n"
        "\n"
        "All current ✓"
    )


def test_verbose_shows_every_model_and_range():
    ranges = tuple((str(year), str(year)) for year in range(2001, 2008))
    report = StatusReport(
        NOON,
        (
            days("daily", cosmetic=15, executed_at=NOON),
            days("yearly", StateCount(State.MISSING, 7, ranges, version=1)),
        ),
    )

    assert status_text(report, verbose=True) == (
        "daily: current (22 partitions)\n"
        "    SQL text changed, meaning unchanged. (15 partitions)\n"
        "    analytics.daily, last run 2024-12-16 12:00:00\n"
        "yearly: missing (7 partitions)\n"
        "    2001, 2002, 2003, 2004, 2005, 2006, 2007   missing   v1\n"
        "    analytics.yearly, last run -\n"
        "\n"
        "7 of 44 partitions drifted. Next: penstock sync"
    )


def test_at_most_five_ranges_stand_in_a_line():
    ranges = tuple((str(year), str(year)) for year in range(2001, 2008))
    report = StatusReport(NOON, (days("m", StateCount(State.MISSING, 7, ranges, version=1)),))

    assert status_text(report).splitlines()[1] == (
        "    2001, 2002, 2003, 2004, 2005 and 2 more ranges   missing   v1"
    )


def test_at_most_fifty_models_are_shown():
    report = StatusReport(NOON, tuple(whole(f"m{n}", State.MISSING) for n in range(53)))

    lines = status_text(report).splitlines()

    assert lines[49:] == [
        "m49: missing",
        "and 3 more models",
        "",
        "53 of 53 partitions drifted. Next: penstock sync",
    ]


def test_asking_for_a_state_shows_what_is_in_it_or_says_that_nothing_is():
    before = StateCount(State.NOT_EFFECTIVE, 5, (("2024-11-20", "2024-11-24"),), drifted=False)

    waits = StatusRequest(states=("not_effective",))
    found = status_text(StatusReport(NOON, (days("d", before),)), request=waits)
    odd = StatusRequest(states=("tampered", "missing"))
    none = status_text(StatusReport(NOON, (days("d"),)), request=odd)

    assert found.splitlines()[0] == "d: not_effective (5 partitions)"
    assert none == "No partition is tampered or missing."


@pytest.mark.parametrize(
    ("model", "command"),
    [
        (whole("users", State.UNRECORDED), "state rebuild"),
        (whole("users", State.SOURCE_CHANGED, strategy="snapshot"), "snapshot run"),
        (whole("users", State.SOURCE_CHANGED, strategy="entity_merge"), "run"),
        (whole("users", State.NEVER_RUN, strategy="entity_full"), "run"),
        (whole("users", State.SQL_CHANGED, strategy="entity_historic"), "sync"),
    ],
)
def test_the_next_command_is_the_one_that_helps(model, command):
    assert status_text(StatusReport(NOON, (model,))).endswith(f"Next: penstock {command}")


@pytest.mark.parametrize(
    ("asked", "command"),
    [
        ({}, "sync"),
        ({"select": ("daily+",)}, "sync --select daily+"),
        ({"exclude": ("a b",)}, "sync --exclude 'a b'"),
        ({"states": ("failed", "tampered")}, "sync --state failed --state tampered"),
        ({"from_": "2024-12-02", "to": "2024-12-16"}, "sync --from 2024-12-02 --to 2024-12-16"),
        ({"days": 30, "as_of": "2024-12-16"}, "sync --days 30 --as-of 2024-12-16"),
        ({"as_of": "2024-12-16T08:30:00"}, "sync --as-of 2024-12-16T08:30:00Z"),
        (
            {"project": "my shop", "target": "prod", "variables": {"day": "1 2"}},
            "sync --project-dir 'my shop' --target prod --vars 'day=1 2'",
        ),
    ],
)
def test_the_next_command_is_about_what_was_asked_for(asked, command):
    report = StatusReport(NOON, (days("daily", SINCE_V3),))

    found = status_text(report, request=StatusRequest(**asked))

    assert found.endswith(f"drifted. Next: penstock {command}")


def test_an_entity_beside_a_table_that_drifted_leaves_the_command_to_sync():
    models = (
        whole("orders", State.SOURCE_CHANGED, strategy="entity_merge"),
        whole("users", State.SQL_CHANGED),
    )

    assert status_text(StatusReport(NOON, models)).endswith("Next: penstock sync")


def test_a_drifted_package_is_mended_by_its_run_after_all_that_a_sync_mends():
    sessions = replace(whole("web_sessions", State.SQL_CHANGED), package="web")
    asked = StatusRequest(select=("web_sessions",), as_of="2024-12-16")

    alone = status_text(StatusReport(NOON, (sessions,)), request=asked)
    both = status_text(StatusReport(NOON, (whole("users", State.SQL_CHANGED), sessions)))

    assert alone.endswith("Next: penstock run --select web --as-of 2024-12-16")
    assert both.endswith("Next: penstock sync")


def test_new_input_that_a_run_would_take_is_told_though_nothing_drifted():
    new = StateCount(State.SOURCE_CHANGED, 1, (("*", "*"),), drifted=False, because=("raw.log",))
    report = StatusReport(NOON, (days("log", new, partitions=1), days("daily")))

    assert status_text(report, request=StatusRequest(select=("log",))) == (
        "log: source_changed, new input\n"
        "    after raw.log\n"
        "\n"
        "0 of 23 partitions drifted, 1 with new input. Next: penstock run --select log"
    )


def test_a_next_command_that_takes_no_selection_gets_none():
    unknown = days("daily", StateCount(State.UNRECORDED, 1, (("2024-12-02", "2024-12-02"),)))
    asked = StatusRequest("shop", select=("daily",), days=3)

    found = status_text(StatusReport(NOON, (unknown,)), request=asked)

    assert found.endswith("Next: penstock state rebuild --project-dir shop")
