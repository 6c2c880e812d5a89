"""`snapshot run --dry-run` over a lake in memory: it counts for real and writes nothing."""

import copy
from dataclasses import replace

from fakes.builders import a_model, a_source
from fakes.place import statuses
from fakes.workshop import Workshop
from penstock.app.commands.plan import rehearse
from penstock.app.request import SnapshotRequest
from penstock.core.columns.schema import Column
from penstock.core.history import ColumnsDiffer
from penstock.strategies.history.snapshot import Snapshot

EVENTS = a_source("events")
CHECK = Snapshot(("id",), ColumnsDiffer(None))
USERS = a_model("users", "raw.events", strategy=CHECK)
LATER = a_model("later", "users", strategy=CHECK)
SEEN = "penstock_seen"
SAME = {"source_rows": 3, "unchanged": 3}
MORE = {"source_rows": 3, "unchanged": 2, "opened_new": 1}


def asked(*select, **flags):
    return SnapshotRequest(select=select, **flags)


def rehearsed(workshop, *select, **flags):
    return rehearse(workshop.services(), asked(*select, **flags))


def snapped(workshop, *select):
    return workshop.run(*select, snapshot=SnapshotRequest())


def started(*parts):
    workshop = Workshop(EVENTS, *(parts or (USERS,)))
    snapped(workshop)
    workshop.lake.land(EVENTS.path)
    return workshop


def numbers(result):
    return {name: n for name, n in result.metrics.items() if n and not name.startswith("num")}


def kept(workshop):
    """What lake and store hold."""
    return copy.deepcopy(workshop.lake.tables), workshop.store.archive.export()


def test_a_rehearsal_counts_what_the_run_then_counts():
    workshop = started()
    workshop.lake.answers(SEEN, MORE)

    dry = rehearsed(workshop)["users"]
    real = snapped(workshop)["users"]

    assert numbers(dry) == numbers(real) == MORE
    assert (dry.status, dry.reason, dry.version) == ("planned", "would commit", 0)
    assert (real.status, real.version) == ("success", 1)


def test_nothing_is_written_and_no_lease_is_taken():
    workshop = started()
    workshop.lake.answers(SEEN, MORE)
    before = kept(workshop)
    workshop.lake.ran.clear()
    workshop.store.calls.clear()

    report = rehearsed(workshop)

    assert (report.dry_run, report.run_id, report.command) == (True, "", "snapshot run")
    words = [word for _, word, _ in workshop.lake.ran]
    assert words == ["session", "bind", "define", "bind", "stage"]
    assert kept(workshop) == before
    assert workshop.store.calls == {}


def test_a_first_run_is_counted_by_a_look_that_makes_no_table():
    workshop = Workshop(EVENTS, USERS)
    workshop.lake.answers(SEEN, {"source_rows": 2, "opened_new": 2})

    result = rehearsed(workshop)["users"]

    assert numbers(result) == {"source_rows": 2, "opened_new": 2}
    assert (result.status, result.version) == ("planned", None)
    assert "/w/s/users" not in workshop.lake.tables


def test_a_run_that_would_change_nothing_says_so():
    workshop = started()
    workshop.lake.answers(SEEN, SAME)

    result = rehearsed(workshop)["users"]

    assert (result.status, result.reason, numbers(result)) == ("unchanged", "no change", SAME)


def test_what_is_up_to_date_is_not_looked_at():
    workshop = started()
    workshop.lake.answers(SEEN, SAME)
    snapped(workshop)
    workshop.lake.ran.clear()

    result = rehearsed(workshop)["users"]

    assert (result.status, result.reason, result.metrics) == ("unchanged", "current", {})
    assert workshop.lake.ran == []


def test_data_errors_fail_the_model_and_not_the_others():
    other = a_model("other", "raw.events", strategy=CHECK)
    workshop = started(USERS, other)
    workshop.lake.answers(SEEN, SAME)
    copied = iter([{**SAME, "copied": 2}] * 2 + [SAME])  # told, then looked at once more
    workshop.lake.answers(SEEN, lambda: next(copied))
    workshop.lake.answers("AS n FROM penstock_staged", {"n": 1})

    report = rehearsed(workshop)

    assert statuses(report) == {"other": "failed", "users": "unchanged"}
    assert report["other"].error.code == "duplicate-keys"
    assert not report.succeeded


def test_what_cannot_be_planned_fails_and_is_not_looked_at():
    workshop = started()
    del workshop.lake.tables["/w/s/users"]
    workshop.lake.ran.clear()

    report = rehearsed(workshop)

    assert report["users"].error.code == "history-missing"
    assert workshop.lake.ran == []


def test_a_snapshot_over_another_is_counted_against_that_ones_table_as_it_is():
    workshop = started(USERS, LATER)
    workshop.lake.answers(SEEN, SAME)

    report = rehearsed(workshop)

    assert statuses(report) == {"users": "unchanged", "later": "unchanged"}
    assert numbers(report["later"]) == SAME


def test_a_snapshot_over_one_that_has_no_table_yet_cannot_be_counted():
    workshop = Workshop(EVENTS, USERS, LATER)

    report = rehearsed(workshop)

    assert statuses(report) == {"users": "planned", "later": "failed"}
    assert report["later"].error.code.endswith("-not-built")


def test_new_columns_are_told_only_where_a_commit_would_add_them():
    workshop = started()
    workshop.lake.tables[EVENTS.path].schema = replace(
        workshop.lake.tables[EVENTS.path].schema,
        columns=(Column("id", "int"), Column("n", "int"), Column("city", "string")),
    )

    workshop.lake.answers(SEEN, SAME)
    same = rehearsed(workshop)["users"]
    workshop.lake.answers(SEEN, MORE)
    more = rehearsed(workshop)["users"]

    assert (same.schema_changes, more.schema_changes) == ((), ("added city",))


def test_a_dry_prune_counts_what_would_go():
    workshop = started()
    workshop.lake.answers(SEEN, {**SAME, "pruned": 2})

    result = rehearsed(workshop, prune=True, keep_last=1)["users"]

    assert (result.status, numbers(result)) == ("planned", {**SAME, "pruned": 2})


def test_the_session_that_counted_is_closed_also_after_an_error():
    workshop = started()
    workshop.lake.answers(SEEN, {**SAME, "copied": 2})
    workshop.lake.answers("AS n FROM penstock_staged", {"n": 1})

    report = rehearsed(workshop)

    assert statuses(report) == {"users": "failed"}
    assert workshop.lake.sessions == []
