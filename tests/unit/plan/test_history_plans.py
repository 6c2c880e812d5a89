"""Plans of history tables: first runs, full refreshes, adopted tables, and what reads them."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_source, a_success
from penstock.core.columns.schema import Schema
from penstock.core.facts import TableFacts, Touched
from penstock.core.history import ColumnsDiffer, NewerThan, Retention
from penstock.core.model import Fingerprint
from penstock.core.records import ModelRecord, Status
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.step import StepFailure
from penstock.plan.history import PROPERTY, property_of
from penstock.plan.planner import plan
from penstock.plan.values import Now, Observed, Options
from penstock.strategies.history.snapshot import Snapshot

CHECK = Snapshot(("id",), ColumnsDiffer(None))
RAW = a_source("events")
USERS = a_model("users", "raw.events", strategy=CHECK)
DIM = a_model("dim", "users")
PIN = DeltaPin("id-events", 3)
DONE = a_success(USERS, raw__events=PIN)


def history(model=USERS, version=0, **changes):
    facts = TableFacts(
        f"id-{model.name}", version, Schema(), properties={PROPERTY: property_of(model)}
    )
    return Observed(True, **({"facts": facts} | changes))


def planned(*models, records=(), options=None, select=(), **targets):
    project = a_project(*models, RAW)
    now = Now(NOON, targets, {"raw.events": PIN})
    known = {record.model: record for record in records}
    return plan(project, select or tuple(project.models), known, now, options or Options())


def steps(made):
    return [(step.model, str(step.reason), step.initial) for step in made.steps]


def errors(made):
    return [(each.model, each.error.code) for each in made.blocked]


def test_a_first_run_is_initial_and_a_later_one_builds_on_what_is_there():
    stale = a_success(USERS, raw__events=DeltaPin("id-events", 2))

    assert steps(planned(USERS)) == [("users", "never_run", True)]
    assert steps(planned(USERS, records=[stale], users=history())) == [
        ("users", "source_changed: raw.events v2 -> v3", False)
    ]


def test_what_is_as_recorded_is_left_alone():
    made = planned(USERS, records=[DONE], users=history())

    assert (made.steps, made.current) == ((), ("users",))


def test_prune_looks_at_what_is_current_and_is_no_drift():
    made = planned(
        USERS,
        records=[DONE],
        users=history(),
        options=Options(prune=True, retention=Retention(keep_last=2)),
    )

    assert steps(made) == [("users", "prune asked for", False)]
    assert not made.steps[0].reason.drift


def test_new_input_of_a_history_is_drift():
    stale = a_success(USERS, raw__events=DeltaPin("id-events", 2))

    assert planned(USERS, records=[stale], users=history()).steps[0].reason.drift


def test_full_refresh_starts_over_whatever_settings_the_table_has():
    other = a_model("users", "raw.events", strategy=Snapshot(("id",), NewerThan("seen")))
    seen = history(other)

    assert errors(planned(USERS, records=[DONE], users=seen)) == [
        ("users", "history-settings-changed")
    ]
    assert steps(
        planned(USERS, records=[DONE], users=seen, options=Options(full_refresh=True))
    ) == [("users", "full refresh asked for", True)]


def test_a_history_that_is_gone_waits_for_a_full_refresh():
    gone = Observed()

    assert errors(planned(USERS, records=[DONE], users=gone)) == [("users", "history-missing")]
    assert steps(
        planned(USERS, records=[DONE], users=gone, options=Options(full_refresh=True))
    ) == [("users", "missing: the table is gone", True)]


def test_another_table_in_the_place_of_a_history_is_not_built_on():
    made = planned(USERS, records=[DONE], users=history(table_id="id-other"))

    assert errors(made) == [("users", "history-missing")]
    assert "another table took its place" in made.blocked[0].error.sentence


@pytest.mark.parametrize("options", [Options(), Options(full_refresh=True)])
def test_a_strangers_table_in_the_place_of_a_history_is_moved_away_before_it_is_begun_anew(options):
    there = history(table_id="id-other")

    made = planned(USERS, records=[DONE], users=there, options=options)

    assert errors(made) == [("users", "history-missing")]
    assert made.blocked[0].error.hint == (
        "move that table away, then restore it, or start over without its versions: "
        "penstock snapshot run --select users --full-refresh"
    )


@pytest.mark.parametrize("options", [Options(), Options(adopt=True), Options(full_refresh=True)])
def test_a_foreign_table_is_not_touched_by_any_flag(options):
    foreign = Observed(True, facts=TableFacts("id-x", 3, Schema()))

    made = planned(USERS, users=foreign, options=options)

    assert errors(made) == [("users", "foreign-table")]
    assert made.blocked[0].error.hint.endswith("penstock snapshot migrate users --adopt")


def test_an_adopted_table_is_built_on_though_no_run_is_on_record():
    adopted = Observed(True, facts=history().facts)

    assert steps(planned(USERS, users=adopted)) == [
        ("users", "foreign_table: the table exists and was not built by penstock", False)
    ]


def test_a_first_run_that_failed_is_initial_again():
    failed = ModelRecord("users", Status.FAILED, 1, failure=StepFailure("duplicate-keys", "…"))

    made = planned(USERS, records=[failed], users=Observed(clutter=True))

    assert steps(made) == [("users", "was failed: duplicate-keys", True)]


def test_a_table_of_ours_without_records_asks_for_state_rebuild():
    lost = Observed(True, ever_ours=True, facts=history().facts)

    made = planned(USERS, users=lost)

    assert errors(made) == [("users", "unrecorded")]


def test_changed_sql_and_foreign_rows_are_noted_as_staying():
    changed = replace(USERS, fingerprint=Fingerprint("new", "new"))
    foreign = Touched(1, NOON, "UPDATE")

    made = planned(changed, records=[DONE], users=history(version=1, foreign=(foreign,)))

    kept, foreign = made.steps[0].notes
    assert kept == (
        "versions opened before keep what the earlier SQL made; --full-refresh would drop them all"
    )
    assert foreign == (
        "rows that others changed stay as they are; penstock snapshot run --select users "
        "--full-refresh would drop all versions, penstock accept users --reason TEXT keeps "
        "them"
    )


def test_a_reader_of_a_snapshot_without_a_table_fails_and_names_the_command():
    other = a_model("other", "raw.events")

    made = planned(USERS, DIM, other, select=("dim", "other"))

    assert made.blocked[0].error.render() == (
        "models/dim.sql:1: snapshot-not-built: model 'dim' reads snapshot 'users', which has no "
        "table yet\n"
        "  hint: penstock snapshot run --select users"
    )
    assert steps(made) == [("other", "never_run", True)]


def test_a_snapshot_over_a_model_without_a_table_names_the_command_that_builds_it():
    clean = a_model("clean", "raw.events")
    over = a_model("over", "clean", strategy=CHECK)

    made = planned(clean, over, select=("over",))

    assert made.blocked[0].error.render() == (
        "models/over.sql:1: upstream-not-built: over reads clean, which was never built\n"
        "  hint: run: penstock run --select clean"
    )


def test_a_snapshot_over_a_snapshot_waits_for_it():
    over = a_model("over", "users", strategy=CHECK)

    made = planned(over, USERS)

    assert [(step.model, step.upstream) for step in made.steps] == [
        ("users", ()),
        ("over", ("users",)),
    ]


def test_a_new_commit_of_a_snapshot_changes_its_readers():
    record = a_success(DIM, 2, users=DeltaPin("id-users", 0))
    newer = a_success(USERS, 3, version=1, raw__events=PIN)

    made = planned(USERS, DIM, records=[newer, record], select=("dim",), dim=Observed(True))

    assert steps(made) == [("dim", "upstream_changed: users", False)]
