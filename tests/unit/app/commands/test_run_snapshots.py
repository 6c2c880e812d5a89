"""Runs of history tables over a lake in memory: commits, counts, conflicts, crashes."""

import json
from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.place import statuses
from fakes.workshop import DEAD, Workshop
from penstock.app.commands import runner as running
from penstock.app.request import SnapshotRequest
from penstock.core.errors import ConcurrentWriterError, DataError
from penstock.core.history import ColumnsDiffer, HardDeletes, NewerThan, Retention
from penstock.core.records import Status
from penstock.core.steps.token import write_token
from penstock.strategies.history.commit import IdentityError
from penstock.strategies.history.snapshot import Snapshot

EVENTS = a_source("events")
CHECK = Snapshot(("id",), ColumnsDiffer(None))
EVENT_TIME = Snapshot(("id",), NewerThan("n"), event_time=True)
USERS = a_model("users", "raw.events", strategy=CHECK)
LATER = a_model("later", "users", strategy=CHECK)
SEEN = "penstock_seen"
SAME = {"source_rows": 3, "unchanged": 3}
H21 = {
    "source_rows": 3,
    "opened_new": 1,
    "opened_changed": 1,
    "closed": 1,
    "closes": 1,
    "unchanged": 1,
}
CONFLICT = ConcurrentWriterError("concurrent-append", "files were added to s.users")


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(running, "_CONFLICT_PAUSES", (0.0, 0.0, 0.0))


def snapped(workshop, *select, **asked):
    flags = ("prune", "keep_last", "no_prune", "allow_empty")
    own = {name: asked.pop(name) for name in flags if name in asked}
    return workshop.run(*select, snapshot=SnapshotRequest(**own), **asked)


def started(*parts, **changes):
    """A workshop whose history tables were made by a first run, and whose source is new since."""
    workshop = Workshop(EVENTS, *(parts or (replace(USERS, **changes),)))
    snapped(workshop)
    workshop.lake.land(EVENTS.path)
    return workshop


def counts(result):
    staged = ("source_rows", "opened", "unchanged", "closed", "deleted", "pruned", "ignored")
    return {name: n for name, n in result.metrics.items() if n and name.startswith(staged)}


def words(workshop):
    return [word for _, word, _ in workshop.lake.ran]


def test_a_run_over_a_model_that_drifted_names_the_command_that_mends_it():
    workshop = Workshop(
        EVENTS, a_model("stage", "raw.events"), a_model("users", "stage", strategy=CHECK)
    )
    workshop.run()
    snapped(workshop)
    assert snapped(workshop).notes == ()
    workshop.lake.land(EVENTS.path)

    report = snapped(workshop)

    assert statuses(report) == {"users": "unchanged"}
    (note,) = report.notes
    assert note == (
        "upstream-drifted: stage has drifted, and what reads it sees it as it is; first:"
        " penstock run --select stage"
    )
    workshop.run()
    assert snapped(workshop).notes == ()


def test_a_first_run_is_one_statement_that_says_in_the_table_what_it_is():
    workshop = Workshop(EVENTS, USERS)

    report = snapped(workshop)

    assert words(workshop) == ["session", "bind", "define", "commit"]
    assert counts(report["users"]) == {"source_rows": 1, "opened_new": 1}
    assert (report["users"].status, report["users"].version) == ("success", 0)
    assert '"change":"check"' in workshop.lake.tables["/w/s/users"].properties["penstock.history"]


def test_a_change_is_one_commit_whose_token_and_record_have_its_counts():
    workshop = started()
    workshop.lake.answers(SEEN, H21)

    result = snapped(workshop)["users"]

    assert workshop.lake.commits_of("users") == ["CREATE", "MERGE"]
    assert counts(result) == {name: n for name, n in H21.items() if name != "closes"}
    assert (result.status, result.version, result.rows.inserted, result.rows.updated) == (
        "success",
        1,
        2,
        1,
    )
    commit = workshop.lake.tables["/w/s/users"].commits[-1]
    assert '"metrics":{"source_rows":3,"opened_new":1,"opened_changed":1' in commit.token
    assert commit.step == workshop.records()["users"].step


def test_nothing_staged_is_no_commit_and_the_inputs_are_recorded():
    workshop = started()
    workshop.lake.answers(SEEN, SAME)

    result = snapped(workshop)["users"]

    assert (result.status, result.version) == ("unchanged", 0)
    assert counts(result) == SAME
    assert workshop.lake.commits_of("users") == ["CREATE"]
    assert workshop.records()["users"].pins["raw.events"].version == 1


def test_after_a_run_without_a_change_the_next_is_up_to_date_and_opens_no_session():
    workshop = started()
    workshop.lake.answers(SEEN, SAME)
    snapped(workshop)
    workshop.lake.ran.clear()

    result = snapped(workshop)["users"]

    assert (result.status, result.metrics, result.version) == ("unchanged", {}, 0)
    assert workshop.lake.ran == []


def test_a_run_without_a_commit_does_not_move_the_high_time():
    workshop = started()
    first = workshop.records()["users"].high_time
    workshop.lake.answers(SEEN, SAME)

    snapped(workshop)

    assert workshop.records()["users"].high_time == first


def test_a_run_before_the_last_one_is_refused_before_data_is_read():
    workshop = started()
    workshop.lake.ran.clear()
    earlier = workshop.clock.now().replace(year=2023)

    result = snapped(workshop, as_of=earlier)["users"]

    assert result.error.code == "run-time-before-history"
    assert workshop.lake.ran == []


def test_data_errors_are_told_together_and_nothing_is_written():
    workshop = started()
    workshop.lake.answers(SEEN, {**SAME, "copied": 2, "null_keys": 1})
    workshop.lake.answers("AS n FROM penstock_staged", {"n": 1})
    workshop.lake.answers("concat(concat('id='", {"e.g.": "id=1 ×2"})

    error = snapped(workshop)["users"].error

    assert isinstance(error, DataError)
    assert error.sentence.startswith(
        "1 keys occur more than once in the source of 'users' (e.g. id=1 ×2); null-key: "
        "1 rows in the source of 'users' have NULL in their key (id)"
    )
    assert workshop.lake.commits_of("users") == ["CREATE"]
    assert workshop.records()["users"].status is Status.FAILED


def test_a_refused_first_run_looks_again_to_tell_whose_rows_are_wrong():
    workshop = Workshop(EVENTS, USERS)
    workshop.lake.trouble("users", "commit", DataError("history-guard", "bad rows"))
    workshop.lake.answers(SEEN, {"source_rows": 2, "opened_new": 2, "copied": 2})
    workshop.lake.answers("AS n FROM penstock_staged", {"n": 1})

    error = snapped(workshop)["users"].error

    assert error.code == "duplicate-keys"
    assert "/w/s/users" not in workshop.lake.tables
    assert snapped(workshop)["users"].status == "success"


def test_counts_that_disagree_write_nothing_and_are_a_bug():
    workshop = started()
    workshop.lake.answers(SEEN, {"source_rows": 3, "opened_new": 1})

    with pytest.raises(IdentityError, match="M1: source_rows is 3, its parts are 1"):
        snapped(workshop)

    assert workshop.lake.commits_of("users") == ["CREATE"]
    assert workshop.records()["users"].failure.code == "metrics-mismatch"


def test_a_commit_that_did_something_else_than_was_staged_is_a_bug_that_names_both():
    workshop = started()
    workshop.lake.answers(SEEN, H21)

    def lie():
        commits = workshop.lake.tables["/w/s/users"].commits
        commits[-1] = replace(commits[-1], metrics={"numTargetRowsInserted": 1})

    workshop.lake.trouble("users", "committed", lie)

    with pytest.raises(IdentityError, match=r"M3.* of version 1 is 1, staged were 2"):
        snapped(workshop)

    failure = workshop.records()["users"].failure
    assert failure.code == "metrics-mismatch"
    assert failure.message.endswith("penstock snapshot verify users")


def test_a_conflict_is_classified_again():
    workshop = started()
    workshop.lake.answers(SEEN, H21)
    workshop.lake.trouble("users", "commit", CONFLICT)

    result = snapped(workshop)["users"]

    assert result.status == "success"
    assert words(workshop).count("stage") == 2
    assert workshop.lake.commits_of("users") == ["CREATE", "MERGE"]


def test_who_always_meets_another_writer_gives_up_after_four_tries():
    workshop = started()
    workshop.lake.answers(SEEN, H21)
    workshop.lake.trouble("users", "commit", *[CONFLICT] * 9)

    result = snapped(workshop)["users"]

    assert (result.status, result.error.code) == ("failed", "concurrent-writer")
    assert words(workshop).count("stage") == 4
    assert workshop.lake.commits_of("users") == ["CREATE"]


def test_a_table_that_moved_after_it_was_read_is_not_written_but_read_again():
    workshop = started()
    workshop.lake.answers(SEEN, H21)
    workshop.lake.trouble("users", "stage", lambda: workshop.lake.land("/w/s/users"))

    result = snapped(workshop)["users"]

    assert result.status == "success"
    assert workshop.operations("users")[1:] == ["WRITE", "MERGE"]


def test_a_commit_that_was_not_recorded_is_found_with_the_counts_of_its_token():
    workshop = started()
    step = workshop.begin(DEAD, "users", base_version=0)
    told = {"source_rows": 3, "unchanged": 2, "opened_new": 1}
    token = write_token(step, *workshop.signature(), metrics=told)
    workshop.lake.write("/w/s/users", "MERGE", None, token)

    report = snapped(workshop)

    assert report.recovered == ("step step-other of users had committed version 1; recorded",)
    assert statuses(report) == {"users": "unchanged"}
    assert workshop.records()["users"].commit_version == 1
    steps = json.loads(workshop.store.archive.export())["tables"]["steps"]
    assert steps[-1]["metrics"] == {"numOutputRows": 1, **told}


def test_a_step_that_had_not_committed_runs_once():
    workshop = started()
    workshop.begin(DEAD, "users", base_version=0)
    workshop.lake.answers(SEEN, H21)

    report = snapped(workshop)

    assert report.recovered == (
        "step step-other of users had not committed; marked failed (crashed)",
    )
    assert workshop.lake.commits_of("users") == ["CREATE", "MERGE"]


def test_snapshots_over_snapshots_come_after_them_and_stay_when_those_made_no_commit():
    workshop = started(USERS, LATER)
    workshop.lake.answers(SEEN, SAME)

    report = snapped(workshop)

    assert list(report) == ["users", "later"]
    assert statuses(report) == {"users": "unchanged", "later": "unchanged"}
    assert report["later"].reason == "its upstream made no change"


def test_what_fails_stops_what_hangs_on_it_and_the_last_line_resumes():
    other = a_model("other", "raw.events", strategy=CHECK)
    base = a_model("base", "raw.events")
    blocked = a_model("blocked", "base", strategy=CHECK)
    workshop = Workshop(EVENTS, USERS, LATER, other, base, blocked)
    workshop.lake.trouble("users", "define", DataError("null-key", "1 rows"))

    report = snapped(workshop)

    assert statuses(report) == {
        "blocked": "failed",
        "other": "success",
        "users": "failed",
        "later": "skipped",
    }
    assert report["blocked"].error.code == "upstream-not-built"
    assert report["blocked"].error.hint == "run: penstock run --select base"
    assert report.resume == "penstock snapshot run --select 'blocked users later'"


def test_the_command_that_resumes_keeps_the_flags():
    workshop = started(strategy=replace(CHECK, retention=Retention(keep_last=3)))
    workshop.lake.trouble("users", "define", DataError("null-key", "1 rows"))

    report = snapped(workshop, prune=True, keep_last=2, allow_empty=True)

    assert report.resume == (
        "penstock snapshot run --select users --prune --keep-last 2 --allow-empty"
    )


def test_prune_looks_at_a_table_that_is_up_to_date():
    workshop = started(strategy=replace(CHECK, retention=Retention(keep_last=3)))
    workshop.lake.answers(SEEN, SAME)
    snapped(workshop)
    workshop.lake.answers(SEEN, {**SAME, "pruned": 2})

    result = snapped(workshop, prune=True, keep_last=1)["users"]

    assert (result.reason, result.status) == ("prune asked for", "success")
    assert counts(result) == {**SAME, "pruned": 2}
    assert result.rows.deleted == 2


def test_tombstones_are_looked_for_only_when_keys_are_gone():
    workshop = started(strategy=replace(CHECK, hard_deletes=HardDeletes.NEW_RECORD))
    workshop.lake.answers("gone_seen", {"tombstones": 1})
    gone = {"source_rows": 1, "unchanged": 1, "deleted": 1, "closed": 1, "closes": 1}
    workshop.lake.answers(SEEN, gone)

    result = snapped(workshop)["users"]

    assert words(workshop).count("stage") == 2
    assert (result.rows.inserted, result.rows.updated) == (1, 1)
    assert "UNION ALL SELECT 'open'" in workshop.lake.ran[-1][2]


def test_closed_versions_are_read_only_when_rows_need_them():
    workshop = Workshop(EVENTS, replace(USERS, strategy=EVENT_TIME))
    workshop.lake.gives("in_0_events", "id int, n timestamp")
    snapped(workshop)
    workshop.lake.land(EVENTS.path)
    workshop.lake.ran.clear()
    workshop.lake.answers(SEEN, {"source_rows": 2, "unchanged": 1, "pending": 1})
    workshop.lake.answers("late_seen", {"late_opened_late": 1, "late_moves": 1})

    result = snapped(workshop)["users"]

    assert counts(result) == {"source_rows": 2, "opened_late": 1, "unchanged": 1}
    assert words(workshop).count("stage") == 2
    assert (result.rows.inserted, result.rows.updated) == (1, 1)


def test_a_first_run_without_rows_warns_that_the_table_is_empty():
    workshop = Workshop(EVENTS, replace(USERS, strategy=replace(CHECK, ignore_null_time=True)))
    workshop.lake.answers(SEEN, {})

    result = snapped(workshop)["users"]

    assert (result.status, result.version) == ("success", 0)
    assert result.notes == ("the source has no rows: the table is empty",)


def test_a_history_that_is_gone_is_not_begun_anew_but_by_full_refresh():
    workshop = started()
    del workshop.lake.tables["/w/s/users"]

    refused = snapped(workshop)["users"]
    renewed = snapped(workshop, full_refresh=True)["users"]

    assert (refused.status, refused.error.code) == ("failed", "history-missing")
    assert (renewed.status, renewed.version) == ("success", 0)


def test_models_that_read_a_history_are_built_by_run_and_leave_it_alone():
    dim = a_model("dim", "users")
    workshop = Workshop(EVENTS, USERS, dim)

    before = workshop.run()
    snapped(workshop)
    after = workshop.run()

    assert before["dim"].error.code == "snapshot-not-built"
    assert before["dim"].error.hint == "penstock snapshot run --select users"
    assert statuses(after) == {"dim": "success"}
    assert (after.not_run, after.notes) == (
        ("users",),
        ("1 snapshot model not run; use 'penstock snapshot run'",),
    )
    assert workshop.lake.commits_of("users") == ["CREATE"]
