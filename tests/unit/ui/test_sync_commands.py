"""The commands of drift: what their flags ask of the use cases, and how they end."""

import contextlib
import datetime as dt
import io
import json
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from fakes.reports import a_plan, a_report, a_result, a_step
from penstock.app.drift_reports import (
    AuditReport,
    AuditRow,
    DiffReport,
    HistoryReport,
    ModelStatus,
    Overwrite,
    StateCount,
    StatusReport,
)
from penstock.app.reports import State
from penstock.app.request import (
    BackfillRequest,
    Range,
    RollbackRequest,
    RunRequest,
    StatusRequest,
    SyncRequest,
)
from penstock.app.rolling_back import RollbackReport
from penstock.core.names import TableName
from penstock.ui.cli.main import main

NOON = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)
SHOP = SimpleNamespace(clock=SimpleNamespace(now=lambda: NOON))
NOTHING = a_report(a_plan(current=("daily",)))
DRIFTED = ModelStatus(
    "daily",
    TableName("s", "daily"),
    "partition",
    "DAY",
    22,
    (StateCount(State.MISSING, 1, (("2024-12-16", "2024-12-16"),), version=3),),
)


@pytest.fixture
def use_case(monkeypatch):
    """Put a function in the place of a use case; give what it was called with."""

    @contextlib.contextmanager
    def opened(_):
        yield SHOP

    monkeypatch.setattr("penstock.app.wire.opened", opened)

    def replaced(module, name, answer):
        asked = []

        def called(*words, **more):
            asked.append((*words, *more.values()))
            return answer(*words) if callable(answer) else answer

        stand_in = ModuleType(f"penstock.app.{module}")
        setattr(stand_in, name, called)
        monkeypatch.setitem(sys.modules, f"penstock.app.{module}", stand_in)
        return asked

    return replaced


@pytest.fixture
def call(capfd):
    def called(*words):
        capfd.readouterr()
        code = main(words)
        return (code, *capfd.readouterr())

    return called


def test_sync_asks_for_what_its_flags_say(use_case, call):
    asked = use_case("syncing", "sync", NOTHING)
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
    asked = use_case("syncing", "sync", NOTHING)

    call("sync", "--all", "--yes")
    call("sync", "--days", "30", "--yes")

    assert [request.everything for _, request, *_ in asked] == [True, False]
    assert [request.range for _, request, *_ in asked] == [Range(), Range(days=30)]


def test_backfill_names_a_model_and_a_range(use_case, call):
    asked = use_case("syncing", "preview_sync", NOTHING)

    call("backfill", "daily", "--from", "2024-12-02", "--to", "2024-12-04", "--dry-run")

    assert asked[0][1] == BackfillRequest(
        ".",
        "daily",
        from_="2024-12-02",
        to="2024-12-04",
        dry_run=True,
        arguments="backfill daily --from 2024-12-02 --to 2024-12-04 --dry-run",
    )


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
        ("status --as-of noon", "bad-value: --as-of: 'noon' is no time"),
    ],
)
def test_DD18_flags_that_do_not_go_together_exit_2(words, said, call):
    code, out, err = call(*words.split())

    assert (code, out) == (2, "")
    assert err.startswith(f"error: {said}")


def test_run_and_plan_take_dates(use_case, call):
    ran = use_case("run", "run", NOTHING)

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
            project="shop",
            from_="2024-12-01",
            to="2024-12-02",
            allow_source_mutation=True,
            arguments="run shop --from 2024-12-01 --to 2024-12-02 --allow-source-mutation",
        ),
    ]


def test_a_sync_that_is_not_confirmed_exits_1(use_case, call, monkeypatch):
    warnings = (Overwrite("daily", 15, (("2024-12-02", "2024-12-16"),)),)

    def refusing(_shop, _request, _listener, ask):
        return a_report(a_plan(a_step("daily")), aborted=not ask(warnings))

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    use_case("syncing", "sync", refusing)
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
    use_case("syncing", "sync", failed)

    code, out, _ = call("sync", "--yes", "--project-dir", "shop")

    assert code == 1
    assert out.splitlines()[-1] == "Resume: penstock sync --yes --project-dir shop"


def test_status_asks_for_what_its_flags_say(use_case, call):
    asked = use_case("status", "status", StatusReport(NOON))

    words = "status -s daily --exclude x --state failed,missing --days 7 --as-of 2024-12-16"

    code, out, _ = call(*words.split())

    assert (code, out) == (0, "No partition is failed or missing.\n")
    moment = dt.datetime(2024, 12, 16, tzinfo=dt.UTC)
    wanted = StatusRequest(
        select=("daily",), exclude=("x",), states=("failed", "missing"), days=7, as_of=moment
    )
    assert asked == [(SHOP, wanted)]


@pytest.mark.parametrize(
    ("models", "words", "code"),
    [((DRIFTED,), [], 0), ((DRIFTED,), ["--fail-on-drift"], 1), ((), ["--fail-on-drift"], 0)],
)
def test_status_fails_on_drift_only_if_asked(models, words, code, use_case, call):
    use_case("status", "status", StatusReport(NOON, models))

    assert call("status", *words)[0] == code


def test_diff_history_and_audit_pass_their_flags_on(use_case, call):
    diffed = use_case("diffing", "diff", DiffReport(NOON))
    told = use_case("executions", "history", HistoryReport("daily", "2024-12-01"))
    audited = use_case("auditing", "audit", AuditReport())

    call("diff")
    call("diff", "daily", "--partition", "2024-12-01", "--context", "2")
    call("history", "daily")
    call("history", "daily", "--partition", "2024-12-01", "--show-sql", "--limit", "3")
    call("audit", "-s", "daily", "--diff")

    assert [words[1:] for words in diffed] == [(None, None, None), ("daily", "2024-12-01", None)]
    assert [words[1:] for words in told] == [
        ("daily", None, 20, False),
        ("daily", "2024-12-01", 3, True),
    ]
    assert [words[1:] for words in audited] == [(("daily",), (), False, True)]


@pytest.mark.parametrize(("words", "code"), [([], 0), (["--modified-only"], 1)])
def test_an_audit_of_modified_versions_exits_1_if_there_are_any(words, code, use_case, call):
    row = AuditRow("daily", 3, 0, "daily.v3.sql", "modified", 15)
    use_case("auditing", "audit", AuditReport((row,)))

    assert call("audit", *words)[0] == code


def test_show_takes_a_date(use_case, call, monkeypatch):
    asked = use_case("showing", "show", "detail")
    stand_in = ModuleType("show")
    stand_in.show_text = stand_in.show_document = str
    monkeypatch.setitem(sys.modules, "penstock.ui.render.show", stand_in)

    call("show", "daily", "--date", "2024-12-02")

    assert asked == [(SHOP, "daily", "2024-12-02")]


ROLLED = RollbackReport(
    "daily",
    "0190a3c4",
    version=4,
    partitions=(("2024-12-02", "2024-12-16"),),
    count=15,
    deleted=1,
    lines=("downstream becomes upstream_changed: weekly_summary",),
)


def test_rollback_asks_for_what_its_flags_say(use_case, call):
    asked = use_case("rolling_back", "rollback", replace(ROLLED, dry_run=True))
    words = "rollback daily --to 0190a3 --include-foreign --dry-run --wait 5"

    code, out, _ = call(*words.split())

    assert asked[0][1] == RollbackRequest(
        ".", "daily", to="0190a3", include_foreign=True, dry_run=True, wait=5, arguments=words
    )
    assert code == 0
    assert out == (
        "daily: would be restored to version 4, before step 0190a3c4 (15 partitions)\n"
        "    2024-12-02 to 2024-12-16\n"
        "    1 partition without an earlier success: records deleted\n"
        "downstream becomes upstream_changed: weekly_summary\n"
        "Nothing was done.\n"
    )


@pytest.mark.parametrize(
    ("report", "code", "last"),
    [
        (replace(ROLLED, committed=9), 0, "Next: penstock status"),
        (replace(ROLLED, aborted=True), 1, "Aborted, nothing was done."),
    ],
)
def test_a_rollback_that_is_not_confirmed_exits_1(report, code, last, use_case, call):
    use_case("rolling_back", "rollback", report)
    words = ("rollback", "daily", "--to", "0190", "--yes")

    shown, as_json = call(*words), call(*words, "--json")

    assert (shown[0], as_json[0]) == (code, code)
    assert shown[1].splitlines()[-1] == last
    assert json.loads(as_json[1])["committed"] == report.committed
