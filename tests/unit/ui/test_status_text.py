"""The text of `status`."""

from fakes.builders import NOON
from penstock.app.reports import State
from penstock.app.status import ModelStatus, StatusReport
from penstock.core.names import TableName
from penstock.ui.json_models import status_document
from penstock.ui.text_status import status_text


def a_status(model, state=State.CURRENT, **changes):
    drifted = state is not State.CURRENT and not changes.get("pending", False)
    settings = {"drifted": drifted} | changes
    return ModelStatus(model, TableName("s", model), "table", state, **settings)


def test_each_drifted_model_shows_its_state_and_why():
    report = StatusReport(
        NOON,
        (
            a_status("users", State.SQL_CHANGED),
            a_status(
                "orders",
                State.TAMPERED,
                detail="version 4 UPDATE by ann at 2024-03-01 11:00:00 UTC",
                also=(State.SOURCE_CHANGED,),
            ),
            a_status("daily", State.UPSTREAM_CHANGED, detail="after users", pending=True),
            a_status("fine"),
        ),
    )

    assert status_text(report) == (
        "users: sql_changed\n"
        "orders: tampered\n"
        "    version 4 UPDATE by ann at 2024-03-01 11:00:00 UTC\n"
        "    also source_changed\n"
        "daily: upstream_changed (pending)\n"
        "    after users\n"
        "\n"
        "2 of 4 models drifted, 1 pending. Next: penstock run"
    )


def test_nothing_drifted_is_one_line():
    report = StatusReport(
        NOON, (a_status("users"), a_status("log", State.SOURCE_CHANGED, drifted=False))
    )

    assert status_text(report) == "All current ✓"


def test_no_models_are_all_current():
    assert status_text(StatusReport(NOON)) == "All current ✓"


def test_verbose_shows_every_model():
    report = StatusReport(NOON, (a_status("users", cosmetic=True, executed_at=NOON),))

    assert status_text(report, verbose=True) == (
        "users: current\n"
        "    SQL text changed, meaning unchanged.\n"
        "    s.users, last run 2024-03-01 12:00:00\n"
        "\n"
        "All current ✓"
    )


def test_at_most_fifty_models_are_shown():
    report = StatusReport(NOON, tuple(a_status(f"m{n}", State.MISSING) for n in range(53)))

    lines = status_text(report).splitlines()

    assert lines[49:] == [
        "m49: missing",
        "and 3 more models",
        "",
        "53 of 53 models drifted. Next: penstock run",
    ]


def test_tables_without_records_ask_for_a_rebuild_of_the_state():
    report = StatusReport(NOON, (a_status("users", State.UNRECORDED),))

    assert status_text(report).endswith("Next: penstock state rebuild")


def test_the_document_has_one_partition_per_model():
    report = StatusReport(NOON, (a_status("users", State.MISSING, detail="the table is gone"),))

    assert status_document(report) == {
        "command": "status",
        "run_timestamp": "2024-03-01T12:00:00Z",
        "partitions": 1,
        "drifted": 1,
        "pending": 0,
        "models": [
            {
                "model": "users",
                "table": "s.users",
                "grain": "*",
                "cosmetic": 0,
                "executed_at": None,
                "states": [
                    {
                        "state": "missing",
                        "also": [],
                        "pending": False,
                        "drifted": True,
                        "count": 1,
                        "version": 1,
                        "revision": None,
                        "ranges": [["*", "*"]],
                        "because": ["the table is gone"],
                    }
                ],
            }
        ],
    }
