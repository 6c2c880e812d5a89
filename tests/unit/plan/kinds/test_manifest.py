"""Runs of a package, one after the other, as far as times alone decide them."""

from dataclasses import replace

import pytest

from fakes.builders import a_model, a_project
from fakes.session_world import CORE, SessionWorld, at, package
from penstock.core.sessions.manifest import executed
from penstock.core.sessions.options import BackfillOrder
from penstock.plan.kinds.manifest import (
    KnownPackage,
    PackageInputs,
    planned_passes,
    tracked_models,
)

PER_MODEL = {"backfill": BackfillOrder.PER_MODEL}


def world(*events, tracked=(), **keys):
    return SessionWorld(package(**keys), [at(each) for each in events], tracked)


def after_a_first_run():
    told = world("01-01 10:00", "01-01 20:00", "01-02 01:00")
    assert told.run("01-02") == ["1 01-01..01-02"]
    return told


def test_a_first_run_and_a_standard_one():
    told = after_a_first_run()
    first = told.all_rows

    assert first == ("01-01 20:00", "01-02", None)
    assert told.run("01-03") == ["4 01-01 14:00..01-03"]
    assert told.all_rows == ("01-02 01:00", "01-03", None)


def test_a_run_without_a_new_commit_has_an_empty_plan():
    told = after_a_first_run()
    told.run("01-03")
    before = dict(told.rows)

    assert told.run("01-04") == []
    assert told.rows == before


def test_what_the_last_run_did_not_select_is_not_done():
    told = after_a_first_run()
    told.tracked = (*CORE, "m5")
    told.run("01-02")
    told.run("01-03", select=("m5",))
    told.tracked = CORE

    assert told.run("01-03") == ["4 01-01 14:00..01-03"]
    assert told.run("01-03") == []


def test_a_new_commit_is_not_skipped():
    told = after_a_first_run()
    told.run("01-03")
    told.add("01-03 05:00")

    assert told.run("01-04") == ["4 01-01 19:00..01-04"]
    assert told.all_rows[0] == "01-03 05:00"


def test_both_ends_belong_to_the_window():
    told = world("01-01", "01-31", "01-31 00:00:00.000001", "2020-12-31 23:59:59")

    assert told.run("06-01") == ["1 01-01..01-31"]
    assert told.all_rows[0] == "01-31"


def test_catching_up_ends_and_no_window_is_longer_than_its_limit():
    told = world("01-01 10:00", "02-20 10:00", backfill_limit_days=2)

    for _ in range(100):
        if not told.run("03-01"):
            break

    assert told.caught_up
    assert told.all_rows[0] == "02-20 10:00"
    spans = {each.limits.upper_limit - each.limits.lower_limit for each in told.passes}
    assert max(spans) == at("01-03 06:00") - at("01-01")


def test_the_next_window_begins_at_the_lookback():
    told = world("01-01 04:00", "01-01 03:59:59", "01-01 10:00", "01-02")
    told.run("01-01 12:00")

    assert told.run("01-02") == ["4 01-01 04:00..01-02"]


def test_without_any_event_nothing_is_on_record_with_seed_limits():
    told = world(strict_seed_limits=True)

    assert [told.run(f"01-0{day}") for day in (2, 3, 4)] == [
        ["1 01-01..01-02"],
        ["1 01-01..01-03"],
        ["1 01-01..01-04"],
    ]
    assert told.rows == {}


def test_a_selection_leaves_the_others_out_of_sync():
    told = world("01-01 10:00", "01-01 20:00", "01-02 01:00", tracked=(*CORE, "m5"))
    told.run("01-02")

    assert told.run("01-03", select=["m5"]) == ["4 01-01 14:00..01-03"]
    assert [told.row(name)[0] for name in told.tracked] == ["01-01 20:00"] * 4 + ["01-02 01:00"]
    assert told.run("01-03")[0][0] == "3"


S30_WINDOWS = [
    "1 01-01..01-31",
    "4 01-01 04:00..01-31 10:00",
    "4 01-31 04:00..03-02 10:00",
    "4 03-02 04:00..04-01 10:00",
    "4 03-15 04:00..04-14 10:00",
]


def test_a_window_without_anything_new_is_passed_over_once():
    told = world("01-01 10:00", "03-15 10:00")
    windows, rows = [], []
    for _ in range(5):
        windows += told.run("06-01")
        rows.append(told.all_rows[::2])

    assert windows == S30_WINDOWS
    assert rows[1:4] == [
        ("01-01 10:00", "01-31 10:00"),
        ("01-01 10:00", "03-02 10:00"),
        ("03-15 10:00", None),
    ]
    assert told.caught_up
    assert told.run("06-01") == []


def test_empty_windows_before_the_first_event_are_passed_over():
    told = world("03-10 10:00")

    assert [*told.run("06-01"), *told.run("06-01"), *told.run("06-01")] == [
        "1 01-01..01-31",
        "1 01-30 18:00..03-02",
        "1 03-01 18:00..04-01",
    ]
    assert told.all_rows[0] == "03-10 10:00"


def test_with_seed_limits_the_window_repeats_and_that_is_said():
    told = world("01-01 10:00", "03-15 10:00", strict_seed_limits=True)
    told.run("06-01")
    windows, frozen = [], []
    for _ in range(3):
        windows += told.run("06-01")
        frozen.append(told.frozen)

    assert windows == ["4 01-01 04:00..01-31 10:00"] * 3
    assert frozen == [True] * 3
    assert told.all_rows == ("01-01 10:00", "01-31 10:00", None)


def test_a_model_behind_passes_over_events_that_are_gone():
    told = world("01-01 09:00", "01-01 10:00", "01-01 12:00")
    told.run("01-01 10:30")
    told.run("01-01 13:00", fails=["web_sessions"])
    told.events.remove(at("01-01 12:00"))
    told.add("01-05 10:00")

    assert told.run("01-06") == ["3 01-01 04:00..01-01 12:00"]
    assert told.row("web_sessions") == ("01-01 10:00", "01-01 13:00", "01-01 12:00")
    assert told.run("01-06") == ["4 01-01 06:00..01-06"]
    assert told.all_rows[0] == "01-05 10:00"


def test_an_event_of_the_future_keeps_runs_going():
    told = world("01-01 10:00", "2099-01-01")
    told.run("01-02")

    assert told.run("01-03") == ["4 01-01 04:00..01-03"]
    assert told.passes[0].future_events
    assert told.all_rows == ("01-01 10:00", "01-03", None)


def with_a_new_model(**keys):
    told = world("01-10 10:00", "02-05 10:00", "02-20 10:00", **keys)
    for now in ("02-01", "02-21", "02-21"):
        told.run(now)
    assert told.all_rows == ("02-20 10:00", "02-21", None)
    told.add("03-01 12:00")
    told.tracked = (*CORE, "m5")
    return told


def test_a_new_model_replays_and_nobody_goes_on_meanwhile():
    told = with_a_new_model()
    found = [(*told.run("03-02"), told.row("m5")[0], told.row("web_users")[0]) for _ in range(4)]

    assert found == [
        ("2 01-01..01-31", "01-10 10:00", "02-20 10:00"),
        ("3 01-10 04:00..02-09 10:00", "02-05 10:00", "02-20 10:00"),
        ("3 02-05 04:00..02-20 10:00", "02-20 10:00", "02-20 10:00"),
        ("4 02-20 04:00..03-02", "03-01 12:00", "03-01 12:00"),
    ]


def test_a_model_that_catches_up_has_covered_what_the_others_have():
    told = with_a_new_model()
    for _ in range(3):
        told.run("03-02")

    assert told.row("m5") == ("02-20 10:00", "02-21", None)


def test_per_model_the_others_go_on_in_a_pass_of_their_own():
    told = with_a_new_model(**PER_MODEL)

    assert told.run("03-02") == ["backfill 2 01-01..01-31", "head 4 02-20 04:00..03-02"]
    assert told.row("web_users")[0] == "03-01 12:00"
    assert told.run("03-02") == ["backfill 3 01-10 04:00..02-09 10:00"]
    assert told.run("03-02") == ["backfill 3 02-05 04:00..03-01 12:00"]
    assert told.row("m5") == ("03-01 12:00", "03-02", None)
    assert told.run("03-02") == []


def out_of_sync(**keys):
    told = world("01-01 10:00", "01-02 10:00", "01-03 12:00", **keys)
    told.run("01-02")
    told.run("01-03", fails=["web_sessions", "web_users"])
    return told


def test_models_out_of_sync_are_brought_together_first():
    told = out_of_sync()
    last = {name: told.row(name)[0] for name in told.tracked}

    assert last == dict(zip(CORE, ["01-02 10:00"] * 2 + ["01-01 10:00"] * 2, strict=True))
    assert [each.models for each in told.plan(at("01-04"))] == [("web_sessions", "web_users")]
    assert told.run("01-04") == ["3 01-01 04:00..01-02 10:00"]
    assert told.row("web_sessions") == ("01-02 10:00", "01-03", None)
    assert told.run("01-04") == ["4 01-02 04:00..01-04"]


def test_per_model_both_happen_in_one_run():
    told = out_of_sync(**PER_MODEL)
    head = told.plan(at("01-04"))[1]

    assert head.models == ("web_user_mapping", "web_page_views")
    assert head.conditional == ("web_sessions", "web_users")
    assert told.run("01-04") == ["backfill 3 01-01 04:00..01-02 10:00", "head 4 01-02 04:00..01-04"]
    assert told.all_rows == ("01-03 12:00", "01-04", None)


def test_a_new_model_catches_up_over_gaps_too():
    told = world("01-01 10:00", "03-15 10:00")
    for _ in range(5):
        told.run("06-01")
    told.tracked = (*CORE, "m5")
    windows = [window for _ in range(4) for window in told.run("06-01")]

    assert windows == [
        "2 01-01..01-31",
        "3 01-01 04:00..01-31 10:00",
        "3 01-31 04:00..03-02 10:00",
        "3 03-02 04:00..03-15 10:00",
    ]
    assert told.row("m5")[0] == "03-15 10:00"


def test_a_model_that_was_off_catches_up_from_where_it_was():
    told = world("01-01 10:00", "01-01 20:00", "01-02 01:00", tracked=(*CORE, "m5"))
    told.run("01-02")
    told.run("01-03")
    told.tracked = CORE
    told.add("01-03 05:00")
    told.run("01-04")
    told.tracked = (*CORE, "m5")

    assert told.run("01-05") == ["3 01-01 19:00..01-03 05:00"]


def test_without_a_manifest_the_next_run_is_the_first():
    told = after_a_first_run()
    told.rows.clear()

    assert told.run("01-03") == ["1 01-01..01-03"]


def test_a_time_that_is_not_after_the_positions_runs_nothing():
    told = after_a_first_run()
    told.run("01-03")
    told.add("01-01 05:00")

    assert told.run("01-01 12:00") == []


def test_a_changed_fingerprint_a_release_or_a_failed_pass_is_something_to_do():
    told = after_a_first_run()
    now, records = at("01-03"), told.records
    told.run("01-02 12:00")
    records, inputs = told.records, told.inputs

    def plans(records=records, inputs=inputs):
        return bool(executed(planned_passes(told.package, records, inputs, now)))

    other = {**inputs.fingerprints, "web_users": "g"}
    assert not plans()
    assert plans(inputs=PackageInputs(other, changed=False))
    assert plans(inputs=replace(inputs, changed=True))
    assert plans(KnownPackage(records.rows, records.passes, pending=True))
    assert plans(KnownPackage(records.rows, ()))
    assert plans(records=replace(records, passes=(replace(records.passes[0], status="FAILED"),)))


def test_without_skipping_every_run_reads_its_window_again():
    told = world("01-01 10:00", skip_unchanged=False)
    told.run("01-02")

    assert told.run("01-03") == ["4 01-01 04:00..01-03"]


@pytest.mark.parametrize("order", BackfillOrder)
def test_models_that_stand_together_are_one_pass(order):
    told = world("01-01 10:00", backfill=order)
    told.run("01-02")
    told.add("01-02 10:00")

    assert told.run("01-03") == ["4 01-01 04:00..01-03"]


def test_modules_are_tracked_by_the_options_and_tagged_models_by_their_sql_and_those_of_the_base():
    said = replace(package(), fingerprint="base/other")
    project = a_project(a_model("m5", tags=(said.tag,)), a_model("beside"))

    assert tracked_models(project, said) == {
        **dict.fromkeys(CORE, "base/other"),
        "m5": "base/canonical-m5",
    }
