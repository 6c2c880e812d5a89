"""`penstock run --skip-checks` and `penstock check`."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fakes.check_place import MOMENT, P1, P2, P4, STATS, CheckPlace
from fakes.clock import FixedClock
from penstock.app.services import wire
from penstock.engine.session import SparkStepSession
from penstock.strategies.checks.suggest import Details
from penstock.ui.cli.main import main

EMPTY = {"name": "has_rows", "sql": "SELECT * FROM raw.events WHERE date(created_at) = @start_date"}
MIN = {"type": "row_count", "min": 3}
NULLS = {"type": "null_percentage", "column": "region", "max_percentage": 5, "severity": "warning"}
SECRET = "S3CRET"  # noqa: S105  a value that must not be shown


@dataclass(frozen=True)
class Answer:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


class Shell:
    """A folder with fixture S, and penstock called there as a user calls it."""

    def __init__(self, place: CheckPlace, call: Callable[..., Answer]) -> None:
        self.place = place
        self.call = call


@pytest.fixture
def shell(tmp_path, spark, two_days, monkeypatch, capfd):
    """Give a copy of it; commands share the session, at the time of the fixture."""
    root = tmp_path / "shop"
    shutil.copytree(two_days, root)
    monkeypatch.chdir(root)
    clock = FixedClock(MOMENT)
    clock.advance(seconds=60)

    def open_services(where: wire.Where, _: object) -> object:
        clock.advance(seconds=1)
        return wire.wired(wire.open_project(where), clock, spark)

    monkeypatch.setattr(wire, "open_services", open_services)

    def call(*words: str) -> Answer:
        capfd.readouterr()
        code = main(words)
        return Answer(code, *capfd.readouterr())

    return Shell(CheckPlace(root, spark, {}, clock), call)


@pytest.fixture
def asked(monkeypatch):
    """Remember what checks ask Spark."""
    found, describe, rows = [], SparkStepSession.describe, SparkStepSession.rows
    monkeypatch.setattr(
        SparkStepSession, "describe", lambda own, sql: found.append(sql) or describe(own, sql)
    )
    monkeypatch.setattr(
        SparkStepSession, "rows", lambda own, sql: found.append(sql) or rows(own, sql)
    )
    return found


def lines(text: str) -> list[str]:
    """Give the lines that speak of checks, with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.matrix
def test_checks_that_are_skipped_ask_nothing_and_stop_nothing(shell, asked) -> None:
    before = {"type": "row_count", "min": 99, "input": "raw.events"}
    shell.place.checks({"type": "row_count", "min": 99}, before=[before])

    answer = shell.call("run", "--query", "user_stats", "--date", P4, "--skip-checks", "--json")

    (model,) = json.loads(answer.out)["models"]
    assert (answer.code, model["status"]) == (0, "success")
    told = [(each["status"], each["message"]) for each in model["invariant_report"]["before"]]
    told += [(each["status"], each["message"]) for each in model["invariant_report"]["after"]]
    assert told == [("skipped", "--skip-checks")] * 2
    assert asked == []
    assert shell.place.statuses()[P4] == "SUCCESS"
    assert shell.place.staged() == []


def test_both_phases_are_evaluated_or_the_one_that_is_asked_for(shell) -> None:
    shell.place.checks(MIN, NULLS, before=[{"name": "none", "sql": "SELECT 1 WHERE false"}])
    version = shell.place.version(STATS)
    words = ("check", "--query", "user_stats", "--date", P1)

    both, before, after = (shell.call(*words, *more) for more in ((), ("--before",), ("--after",)))

    shown = [lines(each.out) for each in (both, before, after)]
    assert [each.code for each in (both, before, after)] == [0, 0, 0]
    assert [sum("none" in line for line in each) for each in shown] == [1, 1, 0]
    assert [sum("row_count" in line for line in each) for each in shown] == [1, 0, 1]
    assert (shell.place.version(STATS), shell.place.leases()) == (version, 0)


def test_an_unknown_check_is_refused_and_a_failed_gate_exits_1(shell) -> None:
    shell.place.checks({**MIN, "name": "min_rows", "min": 4}, NULLS)
    words = ("check", "--query", "user_stats", "--date", P1)

    unknown = shell.call(*words, "--check", "min_row")
    failed = shell.call(*words, "--check", "min_rows")

    assert unknown.code == 2
    assert "did you mean 'min_rows'?" in unknown.err
    assert failed.code == 3
    assert "rows 3 < min 4" in failed.out + failed.err
    assert "nulls" not in failed.out + failed.err


def test_silence_is_no_success(shell) -> None:
    shell.place.checks(MIN)
    never = shell.call("check", "--query", "user_stats", "--date", "2024-12-04", "--after")
    everything = shell.call("check", "--all")
    both = shell.call("check", "--all", "--date", P1)

    assert never.code == 1
    assert "nothing-checked: 1 check skipped, none evaluated" in never.err
    assert "partition 2024-12-04 was never built" in never.out + never.err
    assert everything.code == 3
    assert f"1 of 2 partitions failed: {P2}: rows 2 < min 3" in everything.out + everything.err
    assert (both.code, "option-conflict" in both.err) == (2, True)


def test_a_failed_warning_exits_3_if_it_is_asked_to(shell) -> None:
    shell.place.checks(NULLS)
    words = ("check", "--query", "user_stats", "--date", P1)

    assert shell.call(*words).code == 0
    assert shell.call(*words, "--strict").code == 3


def test_a_check_that_passes_now_closes_the_flag(shell) -> None:
    place = shell.place
    place.checks({**MIN, "min": 4})
    assert not place.backfill("user_stats", P1, P1).succeeded
    assert [flag.partition for flag in place.flags()] == [P1]
    assert place.statuses()[P1] == "FAILED"
    place.checks(MIN)

    answer = shell.call("check", "--query", "user_stats", "--date", P1)

    assert answer.code == 0
    assert place.flags() == ()
    assert place.statuses() == {P1: "SUCCESS", P2: "SUCCESS"}


def test_a_success_never_fails_by_a_check(shell) -> None:
    shell.place.checks({**MIN, "min": 4})

    answer = shell.call("check", "--query", "user_stats", "--date", P1)

    assert answer.code == 3
    assert shell.place.statuses() == {P1: "SUCCESS", P2: "SUCCESS"}
    assert shell.place.flags() == ()


@pytest.mark.matrix
@pytest.mark.parametrize(
    "modes", [("block",), pytest.param(("flag", "rollback"), marks=pytest.mark.matrix)]
)
def test_no_cell_of_a_row_is_anywhere(shell, modes) -> None:
    """Law 9, in every mode."""
    place = shell.place
    events = f"delta.`{place.root}/lake/events`"
    place.sql(f"INSERT INTO {events} VALUES (TIMESTAMP '{P1} 12:00:00', '{SECRET}', 1, -7.5)")
    place.checks(
        {"type": "column_check", "column": "region", "check": "{column} = 'eu'"},
        {"type": "accepted_values", "column": "region", "values": ["eu"]},
        {"name": "negative", "sql": "SELECT region, revenue FROM {destination} WHERE revenue < 0"},
        before=[{"name": "low", "sql": "SELECT * FROM raw.events", "severity": "warning"}],
    )
    config = place.root / "penstock.yml"
    config.write_text(config.read_text() + "checks: {sample: false, quarantine_days: 0}\n")
    told = ""
    for mode in modes:
        for form in ((), ("--json",)):
            words = ("backfill", "user_stats", "--from", P1, "--to", P1, "--yes", *form)
            answer = shell.call(*words, "--on-failure", mode)
            assert answer.code == 3
            told += answer.out + answer.err
    for form in ((), ("--json",)):
        answer = shell.call("check", "--query", "user_stats", "--date", P1, *form)
        told += answer.out + answer.err
        answer = shell.call("history", "user_stats", "--checks", *form)
        told += answer.out + answer.err

    assert "negative" in told
    assert SECRET not in told
    hidden = place.root / ".penstock"
    kept = [each for each in hidden.rglob("*") if each.is_file()]
    assert len(kept) > 3
    assert [each.name for each in kept if SECRET.encode() in each.read_bytes()] == []


@pytest.mark.matrix
def test_results_are_told_in_the_words_of_catalogues(shell) -> None:
    shell.place.checks(
        {"type": "row_count", "name": "p", "min": 1},
        {"type": "row_count", "name": "f", "min": 9},
        {**NULLS, "name": "w"},
        {"type": "column_check", "name": "e", "column": "date", "check": "abs({column}) > 1"},
        before=[{"type": "row_count", "name": "s", "min": 1, "input": "raw.events"}],
    )
    shell.place.backfill("user_stats", P1, P1)
    path = shell.place.root / ".penstock" / "target" / "run_results.json"
    ran = json.loads(path.read_text())
    shell.place.backfill("user_stats", P1, P1, skip_checks=True)
    skipped = json.loads(path.read_text())

    assert statuses(ran) == {
        "model.stats.user_stats": "error",
        "test.stats.user_stats.before.s": "pass",
        "test.stats.user_stats.after.p": "pass",
        "test.stats.user_stats.after.f": "fail",
        "test.stats.user_stats.after.w": "warn",
        "test.stats.user_stats.after.e": "error",
    }
    assert set(statuses(skipped).values()) == {"success", "skipped"}


def statuses(results: dict) -> dict[str, str]:
    return {each["unique_id"]: each["status"] for each in results["results"]}


def test_a_source_that_is_late_warns(shell) -> None:
    source = "models/sources.yml"
    limits = "{column: created_at, warn_after: 1 day, error_after: 2 days}"
    table = f"{{name: events, path: ../lake/events, freshness: {limits}}}"
    shell.place.write({source: f"sources: [{{name: raw, tables: [{table}]}}]\n"})
    events = f"delta.`{shell.place.root}/lake/events`"
    shell.place.sql(f"INSERT INTO {events} VALUES (TIMESTAMP '2024-12-04 00:00:00', 'n', 1, 1)")

    answer = shell.call("check", "--sources", "--as-of", "2024-12-05T12:00:00")

    assert answer.code == 0
    assert "age 1d 12h > max 1d" in answer.out + answer.err
    assert "warning" in answer.out + answer.err


def test_proposed_checks_hold_for_the_rows_they_come_from(shell, spark) -> None:
    answer = shell.call("check", "--suggest", "user_stats", "--json")
    document = json.loads(answer.out)
    proposed = [each["check"] for each in document["checks"]]

    shell.place.checks(*proposed)
    checked = shell.call("check", "--all")
    rows = "SELECT id, if(id % 2 = 0, 'a', 'b') AS s FROM range(10)"
    (row,) = spark.sql(Details((("id",), ("s", "id")), ("s",)).query(rows)).collect()

    assert (answer.code, document["rows"]) == (0, 5)
    assert [(each["type"], each.get("column")) for each in proposed] == [
        ("row_count", None),
        ("not_null", None),
        ("null_percentage", "region"),
        ("null_percentage", "user_count"),
        ("value_range", "user_count"),
        ("value_range", "revenue"),
    ]
    assert checked.code == 0
    assert row.asDict() == {"k0": 10, "k1": 10, "e0": '["a","b"]'}
