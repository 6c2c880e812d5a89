"""History tables in a plan: what their table says of itself, and what forbids or asks for a run."""

import datetime as dt
import json
from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_source, a_success
from penstock.core.columns.schema import Schema
from penstock.core.errors import UsageError
from penstock.core.facts import TableFacts
from penstock.core.history import ColumnsDiffer, HashDiffers, NewerThan, Retention, SystemColumns
from penstock.core.names import InputKind, InputName
from penstock.core.query import RUN_TIMESTAMP, Query
from penstock.core.records import ModelRecord, Status
from penstock.core.steps.inputs import DeltaPin, FilesPin, NoPin
from penstock.plan.history import (
    PROPERTY,
    always_event_time,
    check_prune,
    hash_columns,
    high_time,
    history_refusal,
    migrated_property,
    needs_refresh,
    property_of,
    read_property,
    refresh_reason,
    retention_of,
    rewriting_property,
    run_time_refusal,
    setting_differences,
)
from penstock.plan.values import Now, Observed, Options, Reason, State
from penstock.strategies.history.snapshot import Snapshot
from penstock.strategies.view import View

RAW = a_source("events")
PIN = DeltaPin("id-events", 3)
CHECK = Snapshot(("id",), ColumnsDiffer(None))
TIME = Snapshot(("id",), NewerThan("seen"))
HASH = Snapshot(("id",), HashDiffers("_ps_row_hash", ("b", "A")))
NAMES = ["_ps_valid_from", "_ps_valid_to", "_ps_is_current", "_ps_is_deleted", "_ps_row_hash"]


def users(strategy=CHECK, **changes):
    return a_model("users", "raw.events", strategy=strategy, **changes)


def reading(text, *inputs):
    return users(query=Query(text, text, text, inputs))


def table(messages=None, **properties):
    messages = property_of(users()) if messages is None else messages
    facts = TableFacts("id-users", 0, Schema(), properties={PROPERTY: messages} | properties)
    return Observed(True, facts=facts)


def at(run_timestamp=NOON, **targets):
    return Now(run_timestamp, targets, {"raw.events": PIN})


def refusal(model, seen, record=None, reason=None):
    error = history_refusal(model, seen, record, reason or Reason(State.CURRENT))
    return error and error.render()


# What the table says


def test_a_table_says_which_settings_its_rows_depend_on():
    assert read_property(property_of(users(replace(TIME, keys=("b", "A"), event_time=True)))) == {
        "format": 1,
        "model": "users",
        "strategy": "snapshot",
        "change": "timestamp",
        "keys": ["A", "b"],
        "updated_at": "seen",
        "valid_from": "updated_at",
        "hash_columns": None,
        "columns": NAMES,
    }


def test_a_row_hash_says_of_which_columns_it_is_made():
    messages = property_of(users(HASH))

    assert read_property(messages)["change"] == "check"
    assert read_property(messages)["hash_columns"] == ["A", "b"]
    assert hash_columns(messages) == ["a", "b"]
    assert hash_columns(property_of(users())) is None


@pytest.mark.parametrize("text", ["", "no json", "[1]", '"text"'])
def test_a_property_that_is_none_of_ours_says_nothing(text):
    assert read_property(text) == {}


@pytest.mark.parametrize("strategy", [CHECK, TIME, HASH, replace(TIME, event_time=True)])
def test_a_table_agrees_with_the_model_that_made_it(strategy):
    assert setting_differences(users(strategy), property_of(users(strategy))) == ()


def test_order_of_keys_and_letter_case_are_no_difference():
    made = property_of(users(Snapshot(("Id", "land"), HashDiffers("_ps_row_hash", ("X", "y")))))
    now = users(Snapshot(("LAND", "id"), HashDiffers("_ps_row_hash", ("Y", "x"))))

    assert setting_differences(now, made) == ()


def test_each_setting_that_differs_is_named_with_both_values():
    assert setting_differences(
        users(CHECK), property_of(users(replace(TIME, event_time=True)))
    ) == (
        "change is 'timestamp' in the table and 'check' in the model",
        "updated_at is 'seen' in the table and not set in the model",
        "valid_from is 'updated_at' in the table and 'run_timestamp' in the model",
    )
    assert setting_differences(
        users(HASH), property_of(users(replace(CHECK, keys=("id", "land"))))
    ) == (
        "keys is [id, land] in the table and [id] in the model",
        "hash_columns is not set in the table and [A, b] in the model",
    )


@pytest.mark.parametrize(
    "changed",
    [
        Snapshot(("id",), ColumnsDiffer(("name",))),
        replace(CHECK, hard_deletes="new_record"),
        replace(CHECK, match_null_keys=True, ignore_null_time=True, allow_empty=True),
        replace(CHECK, retention=Retention(keep_last=1)),
        replace(CHECK, by_current=False),
    ],
)
def test_other_settings_may_change_at_any_time(changed):
    assert setting_differences(users(changed), property_of(users(CHECK))) == ()


def test_rows_may_be_compared_or_not_at_any_time():
    compared = Snapshot(("id",), NewerThan("seen", compare_rows=True))

    assert setting_differences(users(compared), property_of(users(TIME))) == ()


def test_only_other_names_of_system_columns_need_a_full_refresh():
    renamed = replace(CHECK, columns=SystemColumns.with_prefix("dlf_", "pascal"))

    assert needs_refresh(setting_differences(users(renamed), property_of(users(CHECK))))
    assert not needs_refresh(setting_differences(users(TIME), property_of(users(CHECK))))


def test_a_table_that_moves_to_event_time_remembers_that_it_was_not_always_there():
    event = replace(TIME, event_time=True)

    moved = migrated_property(users(event), property_of(users(TIME)))
    again = migrated_property(users(event), moved)

    assert setting_differences(users(event), moved) == ()
    assert [always_event_time(text) for text in (moved, again)] == [False, False]
    assert always_event_time(property_of(users(event)))
    assert always_event_time(migrated_property(users(event), property_of(users(event))))


def test_a_migration_keeps_the_high_time_of_rows_that_penstock_did_not_make():
    adopted = property_of(users(), NOON)

    assert high_time(None, adopted) == NOON
    assert high_time(None, migrated_property(users(TIME), adopted)) == NOON


def test_while_hashes_are_rewritten_the_table_agrees_with_no_model():
    rewriting = rewriting_property(property_of(users(HASH)))

    assert setting_differences(users(HASH), rewriting) == (
        "hash_columns is 'being rewritten' in the table and [A, b] in the model",
    )


# What forbids a run


def test_a_first_run_needs_nothing_there():
    assert refusal(users(), Observed(), reason=Reason(State.NEVER_RUN)) is None


def test_a_table_as_its_model_made_it_is_run():
    assert refusal(users(), table(), a_success(users())) is None


def test_a_history_that_is_gone_is_no_first_run():
    reason = Reason(State.MISSING, "the table is gone")

    assert refusal(users(), Observed(), a_success(users()), reason) == (
        "models/users.sql:1: history-missing: the history of s.users is on record, but the table "
        "is gone\n"
        "  hint: restore it, or start over without its versions: penstock snapshot run "
        "--select users --full-refresh"
    )


def test_a_table_of_somebody_else_is_foreign():
    seen = replace(table(), facts=TableFacts("id-users", 0, Schema()))

    assert refusal(users(), seen, reason=Reason(State.FOREIGN_TABLE)) == (
        "models/users.sql:1: foreign-table: s.users exists and is not a history table of penstock\n"
        "  hint: to take it over: penstock snapshot migrate users --adopt"
    )


def test_a_folder_of_other_files_is_no_place_for_a_table():
    assert refusal(users(), Observed(clutter=True), reason=Reason(State.NEVER_RUN)) == (
        "models/users.sql:1: target-not-delta: the folder of s.users holds files and no Delta "
        "table\n"
        "  hint: move them away, or give the model another schema or alias"
    )


def test_files_that_a_first_run_of_ours_left_behind_are_no_obstacle():
    failed = ModelRecord("users", Status.FAILED, 1)

    assert refusal(users(), Observed(clutter=True), failed, Reason(State.FAILED)) is None


def test_other_settings_name_both_values_and_the_two_ways_out():
    assert refusal(users(TIME), table(), a_success(users())) == (
        "models/users.sql:1: history-settings-changed: s.users: change is 'check' in the table and "
        "'timestamp' in the model; updated_at is not set in the table and 'seen' in the model\n"
        "  hint: penstock snapshot migrate users takes them over; "
        "penstock snapshot run --select users --full-refresh drops its versions"
    )


def test_other_names_of_system_columns_have_one_way_out():
    renamed = users(replace(CHECK, columns=SystemColumns.with_prefix("_ff_")))

    assert refusal(renamed, table(), a_success(users())) == (
        f"models/users.sql:1: history-settings-changed: s.users: columns is [{', '.join(NAMES)}] "
        "in the table and [_ff_valid_from, _ff_valid_to, _ff_is_current, _ff_is_deleted, "
        "_ff_row_hash] in the model\n"
        "  hint: penstock snapshot run --select users --full-refresh drops its versions"
    )


def test_a_run_before_the_last_one_is_refused():
    early = NOON - dt.timedelta(microseconds=1)

    assert run_time_refusal(users(), NOON, early, "give a later one").render() == (
        "models/users.sql:1: run-time-before-history: run timestamp 2024-03-01 11:59:59.999999 is "
        "before 2024-03-01 12:00:00, the last run of 'users'\n"
        "  hint: give a later one"
    )
    assert run_time_refusal(users(), NOON, NOON, "") is None


def test_the_high_time_is_the_greater_of_record_and_table():
    later = NOON + dt.timedelta(days=1)
    record = replace(a_success(users()), high_time=NOON)

    assert high_time(record, property_of(users(), later)) == later
    assert high_time(record, property_of(users(), NOON - dt.timedelta(days=1))) == NOON
    assert high_time(record, property_of(users())) == NOON
    assert high_time(None, property_of(users())) is None


# What asks for a run


def looks(model, options=None, *more, **sources):
    project = a_project(model, RAW, *more)
    now = Now(NOON, {}, {"raw.events": PIN} | sources)
    return refresh_reason(project, model, now, options or Options())


def test_a_table_over_delta_inputs_is_left_alone():
    assert looks(users()) == ""
    assert looks(users(replace(CHECK, retention=Retention(keep_last=1)))) == ""


def test_prune_and_retention_by_days_look_always():
    by_days = replace(CHECK, retention=Retention(keep_last=1, keep_days=30))

    assert looks(users(), Options(prune=True)) == "prune asked for"
    assert looks(users(by_days)) == "retention by days"
    assert looks(users(by_days), Options(no_prune=True)) == ""


@pytest.mark.parametrize(
    "call",
    [
        "current_timestamp",
        "CURRENT_DATE()",
        "now()",
        "rand (1)",
        "randn()",
        "uuid()",
        "monotonically_increasing_id()",
        "spark_partition_id()",
        "input_file_name()",
        RUN_TIMESTAMP,
    ],
)
def test_functions_with_other_values_at_other_times_look_always(call):
    assert looks(reading(f"select id, {call} as x")) == (
        "its query gives other values at other times"
    )


@pytest.mark.parametrize("word", ["known(", "operand", "brand (x)", "current_timestamps"])
def test_words_that_only_resemble_them_do_not(word):
    assert looks(reading(f"select {word}")) == ""


def test_a_volatile_view_below_counts_too():
    view = a_model("view", "raw.events", strategy=View())
    moving = replace(view, query=replace(view.query, text="select now() as x"))
    reader = a_model("reader", "view", strategy=CHECK)

    assert looks(reader, None, moving) == "its query gives other values at other times"
    assert looks(reader, None, view) == ""


def test_inputs_without_versions_look_always_and_listings_have_versions():
    external = reading("select 1", InputName(InputKind.EXTERNAL, "lake.other"))

    assert looks(users(), None, **{"raw.events": NoPin()}) == "an input has no versions"
    assert looks(users(), None, **{"raw.events": FilesPin("aa", 1)}) == ""
    assert looks(external) != ""


# Retention


def test_the_retention_of_the_command_goes_before_the_models():
    model = users(replace(CHECK, retention=Retention(keep_days=7)))

    assert retention_of(model, Options()) == Retention(keep_days=7)
    assert retention_of(model, Options(prune=True, retention=Retention(2))) == Retention(2)
    assert retention_of(model, Options(no_prune=True)) is None
    assert retention_of(users(), Options()) is None


def test_prune_needs_to_know_how_many_versions_stay():
    kept = a_model("kept", strategy=replace(CHECK, retention=Retention(keep_last=3)))
    models = [users(), kept, a_model("more", strategy=CHECK), a_model("table")]

    with pytest.raises(UsageError) as caught:
        check_prune(models, Options(prune=True))

    assert caught.value.render() == (
        "error: retention-not-set: --prune: snapshot 'users' and 1 more have no retention\n"
        "  hint: add --keep-last N, or set retention in the model"
    )


def test_prune_with_a_number_and_runs_without_prune_need_no_setting():
    check_prune([users()], Options(prune=True, retention=Retention(keep_last=2)))
    check_prune([users()], Options())
    check_prune([a_model("table")], Options(prune=True))


def test_the_property_is_one_line_of_json():
    assert json.loads(property_of(users()))["format"] == 1
    assert "\n" not in property_of(users())
