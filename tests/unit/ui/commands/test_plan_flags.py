"""`penstock run`, `sync` and `backfill`: what their flags ask, and how they end."""

import datetime as dt
import io
import json
from pathlib import Path

import pytest

from fakes.builders import NOON
from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.commands.plan import Preview
from penstock.app.flags import Range
from penstock.app.reports import Overwrite
from penstock.app.request import (
    BackfillRequest,
    RunRequest,
    SyncRequest,
)
from penstock.core.errors import CheckFailedError, LeaseHeldError, TableError
from penstock.core.records import Lease

NOTHING = a_report(a_plan(current=("daily",)))


def test_run_and_plan_take_dates(use_case, call):
    ran = use_case("commands.run", "run", NOTHING)

    call("run", "--date", "2024-12-09", "--batch-size", "3", "--allow-breaking")
    call("run", "shop", "--from", "2024-12-01", "--to", "2024-12-02", "--allow-source-mutation")

    assert [request for _, request, *_ in ran] == [
        RunRequest(
            date="2024-12-09",
            batch_size=3,
            allow_breaking=True,
            arguments="run --date 2024-12-09 --batch-size 3 --allow-breaking",
        ),
        RunRequest(
            project=Path("shop"),
            from_="2024-12-01",
            to="2024-12-02",
            allow_source_mutation=True,
            arguments="run shop --from 2024-12-01 --to 2024-12-02 --allow-source-mutation",
        ),
    ]


def test_sync_asks_for_what_its_flags_say(use_case, call):
    asked = use_case("commands.sync", "sync", NOTHING)
    words = (
        "sync --query daily --exclude tag:x --state sql_changed,failed --state missing"
        " --from 2024-12-01 --to 2024-12-15 --cascade --yes --max-partitions 10 --batch-size 5"
        " --threads 2 --fail-fast --full-refresh --allow-breaking --allow-source-mutation"
        " --wait 60 --as-of 2024-12-16"
    )

    code, out, _ = call(*words.split())

    assert (code, out) == (0, "nothing to do (1 model up to date)\n")
    assert asked[0][1] == SyncRequest(
        select=("daily",),
        exclude=("tag:x",),
        states=("sql_changed", "failed", "missing"),
        from_="2024-12-01",
        to="2024-12-15",
        cascade=True,
        max_partitions=10,
        batch_size=5,
        threads=2,
        fail_fast=True,
        full_refresh=True,
        allow_breaking=True,
        allow_source_mutation=True,
        wait=60,
        as_of=dt.datetime(2024, 12, 16, tzinfo=dt.UTC),
        arguments=words,
    )


def test_sync_of_everything_and_of_the_last_days(use_case, call):
    asked = use_case("commands.sync", "sync", NOTHING)

    call("sync", "--all", "--yes")
    call("sync", "--days", "30", "--yes")

    assert [request.everything for _, request, *_ in asked] == [True, False]
    assert [request.range for _, request, *_ in asked] == [Range(), Range(days=30)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "sync --days 3 --from 2024-12-01",
            "option-conflict: --days and --from exclude",
        ),
        ("status --days 3 --to 2024-12-01", "option-conflict: --days and --to exclude each other"),
        ("run --date 2024-12-01 --to 2024-12-02", "option-conflict: --date and --to exclude"),
        ("plan --date 2024-12-01 --from 2024-12-02", "option-conflict: --date and --from exclude"),
        ("sync --all --days 3", "option-conflict: --all and --days exclude each other"),
        ("sync --all --query daily", "option-conflict: --all and --query exclude each other"),
        ("sync --all --state missing --to 2024-12-02", "option-conflict: --all and --state, --to"),
        ("sync --all --max-partitions 3", "option-conflict: --all and --max-partitions exclude"),
        ("sync --batch-size 0", "bad-usage: Invalid value for '--batch-size'"),
        ("backfill daily --from 2024-12-01", "bad-usage: Missing option '--to'"),
        ("rollback daily", "bad-usage: Missing option '--to'"),
        ("status --as-of noon", "bad-value: --as-of: 'noon' is not a time"),
        ("plan --as-of 0001-01-01T00:00:00+10:00", "bad-value: --as-of: '0001-01-01T00:00:00+10"),
    ],
)
def test_flags_that_do_not_go_together_exit_2(words, said, call):
    code, out, err = call(*words.split())

    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")


def test_a_sync_that_is_not_confirmed_exits_1(use_case, call, monkeypatch):
    warnings = (Overwrite("daily", 15, (("2024-12-02", "2024-12-16"),)),)

    def refusing(_services, _request, _listener, ask):
        return a_report(a_plan(a_step("daily")), aborted=not ask(warnings))

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    use_case("commands.sync", "sync", refusing)
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))

    code, out, err = call("sync")

    assert (code, out) == (1, "Aborted, nothing was done.\n")
    assert err == (
        "WARNING: This will overwrite 15 partitions\n"
        "  Query: daily\n"
        "  Range: 2024-12-02 to 2024-12-16\n"
        "\n"
        "Type 'yes' to confirm: "
    )


def test_a_failed_sync_exits_1_and_resumes_at_the_same_place(use_case, call):
    failed = a_report(
        a_plan(a_step("daily")), a_result("daily", "failed"), resume="penstock sync --yes"
    )
    use_case("commands.sync", "sync", failed)

    code, out, _ = call("sync", "--yes", "--project-dir", "shop")

    assert code == 1
    assert out.splitlines()[-1] == "Resume: penstock sync --yes --project-dir shop"


HELD = LeaseHeldError(
    Lease("s.log", "run-7", "host-b", 22, 1, NOON, NOON, NOON + dt.timedelta(minutes=5)), "wait"
)
GATE = CheckFailedError("gate-failed", "raw.events: 2 rows")
LOST = TableError("table-unreadable", "a table")


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ([HELD], 75),
        ([HELD, HELD], 75),
        ([GATE], 3),
        ([GATE, HELD], 3),
        ([LOST], 1),
        ([LOST, HELD], 1),
        ([LOST, GATE], 1),
    ],
)
def test_a_run_exits_75_for_a_lease_3_for_a_check_and_1_where_something_else_failed(
    use_case, call, errors, code
):
    results = [a_result(f"m{n}", "failed", error=each) for n, each in enumerate(errors)]
    use_case("commands.run", "run", a_report(a_plan(a_step("m0")), *results))

    assert call("run", "--json")[0] == code


def test_a_run_that_was_interrupted_exits_130_whatever_failed(use_case, call):
    failed = a_result("m", "failed", error=HELD)
    use_case("commands.run", "run", a_report(a_plan(a_step("m")), failed, interrupted=True))

    assert call("run")[0] == 130


def test_the_document_of_a_run_says_who_holds_the_lease_and_what_is_left(use_case, call):
    failed = a_result("log", "failed", error=HELD)
    resume = {"resume": "penstock run --select log", "left": ("log",)}
    use_case("commands.run", "run", a_report(a_plan(a_step("log")), failed, **resume))

    code, out, _ = call("run", "--json")
    document = json.loads(out)

    assert code == 75
    assert document["models"][0]["error"]["code"] == "lease-held"
    assert document["models"][0]["error"]["holder"] == {
        "target": "s.log",
        "run": "run-7",
        "host": "host-b",
        "pid": 22,
        "since": "2024-03-01T12:00:00Z",
        "expires": "2024-03-01T12:05:00Z",
    }
    assert document["resume"] == {"select": ["log"], "command": "penstock run --select log"}


def test_a_lease_that_stops_the_whole_command_is_told_in_the_same_words(use_case, call):
    def held(*_):
        raise HELD

    use_case("commands.run", "run", held)

    code, out, _ = call("run", "--json")
    document = json.loads(out)

    assert code == 75
    assert document["error"]["holder"]["run"] == "run-7"
    assert (document["models"], document["resume"]) == ([], {"select": [], "command": None})


def test_backfill_names_a_model_and_a_range(use_case, call):
    asked = use_case("commands.sync", "preview_sync", Preview(NOTHING))

    call("backfill", "daily", "--from", "2024-12-02", "--to", "2024-12-04", "--dry-run")

    assert asked[0][1] == BackfillRequest(
        ".",
        "daily",
        from_="2024-12-02",
        to="2024-12-04",
        dry_run=True,
        arguments="backfill daily --from 2024-12-02 --to 2024-12-04 --dry-run",
    )
