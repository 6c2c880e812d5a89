"""`snapshot verify` and `snapshot migrate`."""

import json

import pytest

from fakes.history_place import CK, COLUMNS, EV, TS, HistoryPlace
from fakes.history_story import T1, T2, T3, T4
from penstock import snapshot_verify
from penstock.app.commands.migrate import migrate
from penstock.app.commands.verify import verify
from penstock.app.services import wire
from penstock.core.errors import TableError, UsageError
from penstock.ui.cli.main import main

pytestmark = pytest.mark.matrix

LISTED = {"strategy": "check", "unique_key": "id", "row_hash": True}
FIRST = ("1 a 01-05", "2 b 01-06")
HASHED = (LISTED | {"check_cols": ["value"]}, LISTED | {"check_cols": ["value", "updated_at"]})


@pytest.fixture(scope="module")
def shared(tmp_path_factory, spark):
    """Histories of three runs; the last source closes and opens in one commit."""
    place = HistoryPlace(tmp_path_factory.mktemp("verify"), spark)
    for name in ("people", "few"):
        place.source(name, COLUMNS)
        place.has(name, *FIRST)
    for name in ("users", "broken"):
        place.snapshot(name, **TS)
    place.snapshot("gone", "few", hard_deletes="invalidate", **CK)
    place.snapshot("event", "few", hard_deletes="invalidate", **EV)
    place.model("mart", "select 1 as id", materialized="table")
    place.snap(T1)
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 02-02")
    place.has("few", "1 a 01-05")
    place.snap(T2)
    place.has("few", *FIRST)
    place.snap(T3)
    return place


@pytest.fixture
def two(tmp_path, spark):
    """Histories of two runs whose settings change later."""
    place = HistoryPlace(tmp_path, spark)
    place.source("people", COLUMNS)
    place.has("people", *FIRST)
    place.snapshot("timed", **TS)
    place.snapshot("plain", **CK)
    place.snapshot("hashed", **HASHED[0])
    place.snap(T1)
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 02-02")
    place.snap(T2)
    return place


@pytest.fixture
def call(shared, monkeypatch, capfd):
    """Call penstock on the shared project and its Spark; give exit code and stdout."""
    real = wire.open_services
    monkeypatch.setattr(wire, "open_services", lambda where, _: real(where, shared.spark))
    monkeypatch.chdir(shared.root)

    def called(*words):
        capfd.readouterr()
        return main(["snapshot", *words]), capfd.readouterr().out

    return called


def migrated(place, name, fault=None, **asked):
    services = place.services()
    services.fault = fault or services.fault
    try:
        return migrate(services, name, **asked)
    finally:
        services.close()


def refused(place, name, **asked):
    before = place.tree()
    with pytest.raises(TableError) as caught:
        migrated(place, name, **asked)
    after = place.tree()
    assert after == before
    return caught.value


def again(place, at, name):
    """Run a snapshot over the same rows, written anew."""
    place.has("people", "1 A 02-01", "2 b 01-06", "3 c 02-02")
    return place.snap(at, name)[name]


def test_verify_reads_a_whole_history_and_writes_nothing(shared, call) -> None:
    before = shared.tree()

    assert call("verify", "users") == (
        0,
        "users  Delta version 1  4 versions, 3 keys, 3 current, 0 gaps\nall laws hold\n",
    )
    assert shared.tree() == before


def test_a_second_current_version_breaks_V4_and_V5(shared, call) -> None:
    table = shared.table("broken")
    shared.sql(
        f"INSERT INTO {table} VALUES (3, 'x', TIMESTAMP'2024-01-01 00:00:00Z', "
        "TIMESTAMP'2024-06-20 08:30:00Z', NULL, true)"
    )

    code, out = call("verify", "users", "broken")

    assert code == 3
    assert out.splitlines() == [
        "users  Delta version 1  4 versions, 3 keys, 3 current, 0 gaps",
        "all laws hold",
        "broken  Delta version 2  5 versions, 3 keys, 4 current, 0 gaps",
        "V4 current: 1 key   id=3  2 current versions",
        "V5 overlap: 1 key   id=3  [2024-06-01, ) and [2024-06-20 08:30:00, )",
        "2 laws broken",
    ]


def test_gaps_of_deleted_keys_are_counted_also_when_deletes_are_ignored_later(shared, call) -> None:
    document = json.loads(call("verify", "gone", "event", "--json")[1])
    shared.snapshot("gone", "few", **CK)

    assert [(each["model"], each["ok"], each["gaps"]) for each in document["models"]] == [
        ("gone", True, 1),
        ("event", True, 1),
    ]
    assert snapshot_verify(shared.root, "gone", spark=shared.spark).ok


def test_verify_is_for_history_models(shared) -> None:
    services = shared.services()

    with pytest.raises(UsageError, match="'mart' is a table model and keeps no versions"):
        verify(services, ["users", "mart"])


def test_a_migrated_table_gets_a_property_and_no_version(two) -> None:
    two.snapshot("timed", **CK)
    error = two.snap(T3, "timed")["timed"].error
    before = two.tree()
    shown = migrated(two, "timed", dry_run=True)
    untouched = two.tree() == before

    report = migrated(two, "timed")

    assert error.code == "history-settings-changed"
    assert "change is 'timestamp' in the table and 'check' in the model" in error.sentence
    assert untouched
    assert (report.changes, report.version) == (shown.changes, 2)
    assert [(each.opens, each.closes, each.rehashed) for each in (shown, report)] == [
        (0, 0, False)
    ] * 2
    assert [list(action) for action in two.commit("timed", 2)] == [
        ["commitInfo"],
        ["metaData"],
    ]
    assert again(two, T4, "timed").status == "unchanged"
    assert two.version("timed") == 2
    assert not migrated(two, "timed").differs


def test_a_migrated_row_hash_is_made_anew_also_after_a_crash_halfway(two) -> None:
    two.snapshot("hashed", **HASHED[1])
    code = two.snap(T3, "hashed")["hashed"].error.code
    with pytest.raises(RuntimeError):
        migrated(two, "hashed", fault=at_third_commit())
    two.snapshot("hashed", **HASHED[0])
    halfway = two.snap(T3, "hashed")["hashed"].error
    two.snapshot("hashed", **HASHED[1])

    report = migrated(two, "hashed")

    assert code == halfway.code == "history-settings-changed"
    assert "hash_columns is 'being rewritten' in the table" in halfway.sentence
    assert (report.opens, report.closes, report.rehashed) == (0, 0, True)
    version = two.version("hashed")
    assert again(two, T4, "hashed").status == "unchanged"
    assert two.version("hashed") == version == report.version
    assert two.snap(T4, "hashed")["hashed"].reason == "current"
    assert snapshot_verify(two.root, "hashed", spark=two.spark).ok


def at_third_commit():
    """Die before the commit that would say the new settings."""
    seen = []

    def fault(point):
        seen.extend([point] * (point == "before-commit"))
        if len(seen) == 3:
            raise RuntimeError

    return fault


def test_a_row_hash_can_come_later(two) -> None:
    two.snapshot("plain", **HASHED[0])

    report = migrated(two, "plain")

    assert (report.opens, report.closes, report.rehashed) == (0, 0, True)
    assert again(two, T4, "plain").metrics["unchanged"] == 3


def test_does_not_bind_a_table_that_was_in_run_time_mode(two) -> None:
    two.snapshot("timed", **EV)

    migrated(two, "timed")

    assert snapshot_verify(two.root, "timed", spark=two.spark).ok


def test_other_names_of_system_columns_cannot_be_migrated(shared) -> None:
    shared.snapshot("users", **TS, system_columns={"prefix": "_x_"})
    try:
        error = refused(shared, "users")
        seen = snapshot_verify(shared.root, "users", spark=shared.spark)
    finally:
        shared.snapshot("users", **TS)

    assert error.code == "history-settings-changed"
    assert error.hint == "penstock snapshot run --select users --full-refresh drops its versions"
    assert (seen.versions, [each.law for each in seen.violations]) == (None, ["V1", "V9"])


def test_a_new_key_that_the_versions_do_not_have_is_refused(shared) -> None:
    shared.snapshot("users", **TS | {"unique_key": "updated_at"})
    try:
        error = refused(shared, "users")
    finally:
        shared.snapshot("users", **TS)

    assert error.code == "not-a-history-table"
    assert error.sentence == (
        "m.users keeps no history by the key (updated_at): V4 current: 1 key, for example "
        "updated_at=2024-01-05 00:00:00  0 current versions"
    )


def foreign(place, name, *versions):
    """Write a table as somebody else would."""
    rows = ", ".join(versions)
    place.sql(
        f"CREATE TABLE {place.table(name)} USING delta AS SELECT id, value, "
        "CAST(updated_at AS TIMESTAMP), CAST(_ps_valid_from AS TIMESTAMP), "
        f"CAST(_ps_valid_to AS TIMESTAMP), _ps_is_current FROM VALUES {rows} "
        "AS v(id, value, updated_at, _ps_valid_from, _ps_valid_to, _ps_is_current)"
    )


def test_a_foreign_table_is_named_and_not_adopted_with_two_current_versions(
    shared,
) -> None:
    shared.snapshot("strange", **TS)
    foreign(
        shared,
        "strange",
        "(7, 'a', '2024-01-05', '2024-05-01', NULL, true)",
        "(7, 'b', '2024-01-06', '2024-06-01', NULL, true)",
    )

    named, refusal = refused(shared, "strange"), refused(shared, "strange", adopt=True)

    assert (named.code, named.hint) == (
        "foreign-table",
        "to take it over: penstock snapshot migrate strange --adopt",
    )
    assert refusal.code == "not-a-history-table"
    assert "V4 current: 1 key, for example id=7  2 current versions" in refusal.sentence


def test_each_law_that_rows_can_break_is_named_with_a_key(shared) -> None:
    shared.snapshot("wrong", **EV)
    foreign(
        shared,
        "wrong",
        "(1, 'a', '2024-01-01', NULL, NULL, true)",
        "(2, 'a', '2024-01-05', '2024-01-05', '2024-01-04', false)",
        "(3, 'a', '2024-01-05', '2024-01-05', '2024-02-01', true)",
        "(4, 'a', '2024-01-05', '2024-01-05', '2024-02-01', false)",
        "(4, 'b', '2024-03-01', '2024-03-01', NULL, true)",
        "(NULL, 'a', '2024-01-05', '2024-01-05', NULL, true)",
        "(6, 'a', '2024-01-05 12:00:00', '2024-01-05', NULL, true)",
    )

    sentence = refused(shared, "wrong", adopt=True).sentence

    assert sentence.split(": ", 1)[1].split("; ") == [
        "V1 system columns: 1 version, for example id=1  [NULL, )",
        "V2 interval: 1 version, for example id=2  [2024-01-05, 2024-01-04)",
        "V3 is_current: 1 version, for example id=3  [2024-01-05, 2024-02-01)",
        "V4 current: 1 key, for example id=2  0 current versions",
        "V6 gap: 1 key, for example id=4  [2024-01-05, 2024-02-01) and [2024-03-01, )",
        "V7 null key: 1 version, for example id=NULL  [2024-01-05, )",
        "V8 start: 1 version, for example id=6  [2024-01-05, ) updated_at 2024-01-05 12:00:00",
    ]


def test_an_adopted_table_goes_on_where_it_stood(shared) -> None:
    shared.snapshot("adopted", **TS)
    foreign(
        shared,
        "adopted",
        "(1, 'o', '2024-01-01', '2024-04-01', '2024-05-01', false)",
        "(1, 'a', '2024-01-05', '2024-05-01', NULL, true)",
        "(2, 'b', '2024-01-06', '2024-05-01', NULL, true)",
    )
    report = migrated(shared, "adopted", adopt=True)
    early = shared.snap(T1.replace(day=1, month=4), "adopted")["adopted"].error

    result = shared.snap(T2, "adopted")["adopted"]

    assert (report.adopted, report.opens, report.closes, report.version) == (True, 2, 1, 1)
    assert early.code == "run-time-before-history"
    assert (result.status, result.metrics["opened_new"], result.metrics["closed"]) == (
        "success",
        1,
        1,
    )
    assert shared.versions("adopted") == [
        "1 o 01-01 [04-01, T1)",
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, )",
        "3 c 02-02 [T2, )",
    ]
    assert snapshot_verify(shared.root, "adopted", spark=shared.spark).ok
    assert shared.snap(T3, "adopted")["adopted"].reason == "current"
