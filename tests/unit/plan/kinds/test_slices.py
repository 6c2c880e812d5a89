import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.builders import a_model, a_project
from penstock.core.entities.slices import BronzeFolder, ListedSlice, Ordering, SliceId, SliceOrder
from penstock.core.findings import Location
from penstock.core.records import ModelRecord, SliceRecord, Status
from penstock.core.steps.step import StepFailure
from penstock.plan.kinds.slices import first_moment, last_failure, slice_steps, slices_to_run
from penstock.plan.slices import (
    DividedSlices,
    no_slice_note,
    slice_differences,
    unmatched_note,
)
from penstock.plan.steps import Question
from penstock.plan.values import Now, Options, Reason, SlicesNow, State, Step

WAITS = Step("silver.x", Reason(State.SOURCE_CHANGED), initial=False)
ANEW = Step("silver.x", Reason(State.SQL_CHANGED), initial=True)
GONE = Step("silver.x", Reason(State.MISSING), initial=True)


def there(*names, **incomplete):
    found = [(f"{name}.parquet", False) for name in names]
    found += [(f"{name}.parquet", True) for name in incomplete]
    return tuple(
        ListedSlice(SliceId(name, 1, 1, "d"), (name,), is_incomplete=half)
        for name, half in sorted(found)
    )


def ran(*names, status=Status.SUCCESS, digest="d"):
    return tuple(SliceRecord(SliceId(f"{n}.parquet", 1, 1, digest), status) for n in names)


def names(slices):
    return [each.id.name.removesuffix(".parquet") for each in slices]


def taken(now, step=WAITS, **options):
    return slices_to_run(a_model("silver.x"), now, Options(**options), step)


def test_what_was_run_waits_no_more_and_what_comes_early_is_told():
    now = SlicesNow(there("a", "aa", "b", "c", "d"), ran("a", "b", "c"))
    found = taken(now)
    assert names(found.slices) == ["aa", "d"]
    assert found.notes == (
        "silver.x: slice-out-of-order: aa.parquet sorts before slices that were run",
    )
    assert [*slice_differences(now)] == ["2 slices wait, first aa.parquet"]


def test_a_failure_of_a_slice_that_was_run_before_is_told_where_none_waits():
    record = ModelRecord("silver.x", Status.FAILED, 7, failure=StepFailure("crashed", "it died"))
    assert last_failure(record) == ("silver.x: its last step failed (crashed), and no slice waits",)
    assert last_failure(replace(record, failure=None)) == ()


def test_an_entity_that_no_slice_waits_for_owes_nothing():
    assert no_slice_note(SlicesNow()) == "no slice was delivered yet: nothing is owed"
    halves = SlicesNow(there(a=True))
    assert no_slice_note(halves) == "no slice waits to make its table: nothing is owed"
    assert no_slice_note(SlicesNow(there("a"))) == ""
    assert no_slice_note(None) == ""


def test_a_slice_that_failed_is_first_again():
    now = SlicesNow(there("a", "b", "c"), (*ran("a"), *ran("b", status=Status.FAILED)))
    assert names(taken(now).slices) == ["b", "c"]


def test_a_slice_that_is_another_now_runs_only_by_name():
    now = SlicesNow(there("a"), ran("a", digest="old"))
    found = taken(now)
    assert found.slices == ()
    assert found.notes == (
        "silver.x: slice_changed: a.parquet; it runs only by name: --slice NAME",
    )
    assert [*slice_differences(now)] == ["slice_changed a.parquet"]
    assert names(taken(now, slice="a").slices) == ["a"]


def test_skipped_slices_stay_out_and_one_that_is_written_holds_up_others():
    now = SlicesNow(there("a", "b", "d", c=True), ran("b", status=Status.SKIPPED))
    found = taken(now)
    assert names(found.slices) == ["a"]
    assert found.notes == (
        "silver.x: slice-incomplete: c.parquet is still being written; 1 after it wait",
    )
    assert names(taken(now, slice="b").slices) == ["b"]
    error = taken(now, slice="nope").error
    assert (error.code, error.hint) == (
        "slice-not-found",
        "near it: d.parquet, c.parquet, b.parquet",
    )
    assert taken(now, slice="c").error.code == "slice-incomplete"


def test_all_slices_make_a_table_again_unless_one_is_gone():
    now = SlicesNow(there("a", "b"), ran("a"))
    assert names(taken(now, GONE).slices) == ["a", "b"]
    now = SlicesNow(there("b", "c"), ran("a", "b"))
    assert taken(now, GONE).error.code == "missing-slices"
    assert taken(now, GONE, slice="b").error.code == "missing-slices"
    assert taken(now, ANEW).error.sentence.endswith(
        "would be rebuilt, and missing is what made its rows: a.parquet"
    )
    assert names(taken(now, GONE, full_refresh=True).slices) == ["b", "c"]
    assert taken(now).notes == (
        "silver.x: slice-gone: a.parquet was processed and is no longer there",
    )


def test_a_table_made_again_leaves_out_what_is_skipped_and_waits_for_what_is_written():
    now = SlicesNow(there("a", "b", "d", c=True), (*ran("a", "c", "d", digest="old"),))
    skipped = SlicesNow(now.there, (*now.recorded, *ran("b", status=Status.SKIPPED)))

    again, refreshed = taken(now, GONE), taken(skipped, GONE, full_refresh=True)

    assert (names(again.slices), names(refreshed.slices)) == (["a", "b"], ["a"])
    assert again.notes == (
        "silver.x: slice-incomplete: c.parquet is still being written; 1 after it wait",
    )


def test_many_slices_that_come_early_are_told_in_one_note():
    now = SlicesNow(there(*"abcdez"), ran("z"))

    (note,) = taken(now).notes
    assert note == (
        "silver.x: slice-out-of-order: a.parquet, b.parquet, c.parquet and 2 more "
        "sort before slices that were run"
    )


def test_a_strict_run_takes_no_slice_that_comes_early():
    now = SlicesNow(there("a", "z"), ran("z"))

    found = taken(now, strict=True)

    assert found.slices == ()
    assert (found.error.code, found.error.sentence) == (
        "slice-out-of-order",
        "a.parquet sorts before slices that were run",
    )


def test_steps_of_slices_follow_each_other_a_microsecond_apart():
    first = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
    steps = [*slice_steps(GONE, first, there("a", "b"))]
    assert [each.key for each in steps] == ["silver.x a.parquet", "silver.x b.parquet"]
    assert [each.upstream for each in steps] == [(), ("silver.x a.parquet",)]
    assert [each.initial for each in steps] == [True, False]
    assert steps[1].work.moment - first == dt.timedelta(microseconds=1)


ENTITY = a_model("silver.x")
ASKED = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)


def microseconds_on(slices=(), high=None, *, initial=False, asked=ASKED):
    """Return how far after the time that is asked for the first slice is processed."""
    now = Now(ASKED - dt.timedelta(days=1), {}, {}, slices={"silver.x": SlicesNow(recorded=slices)})
    record = ModelRecord("silver.x", Status.SUCCESS, 1, high_time=high)
    options, records = Options(processing_time=asked), {"silver.x": record}
    question = Question(a_project(ENTITY), frozenset(), records, now, options)
    found = first_moment(question, ENTITY, initial=initial)
    return (found - ASKED) // dt.timedelta(microseconds=1)


def processed(at, status=Status.SUCCESS):
    return tuple(replace(each, moment=at) for each in ran("a", status=status))


def test_a_time_that_is_asked_for_again_goes_on_after_the_slices_that_had_it():
    second, third = (ASKED + dt.timedelta(microseconds=n) for n in (1, 2))
    assert microseconds_on() == 0
    assert microseconds_on(high=ASKED) == 1
    assert microseconds_on(processed(third), high=second) == 3
    assert microseconds_on(processed(third, Status.FAILED), high=second) == 2
    assert microseconds_on(processed(second), high=third) == 3


def test_a_time_of_its_own_is_taken_as_it_is():
    before, after = (ASKED + dt.timedelta(seconds=n) for n in (-1, 1))
    assert microseconds_on(high=before) == 0
    assert microseconds_on(high=after) == 0  # before the last run: refused elsewhere
    assert microseconds_on(high=after - dt.timedelta(microseconds=1)) == 1_000_000
    assert microseconds_on(high=ASKED, initial=True) == 0


def test_without_a_processing_time_that_of_the_run_is_meant():
    assert microseconds_on(asked=None) == -86_400 * 1_000_000


NAMES = st.lists(st.sampled_from("abcdefg"), unique=True)


@given(NAMES, NAMES, st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from(Status)))
def test_every_slice_waits_or_is_held_or_is_done(whole, halves, recorded):
    halves = [each for each in halves if each not in whole]
    records = tuple(r for name, status in recorded.items() for r in ran(name, status=status))
    now = SlicesNow(there(*whole, **dict.fromkeys(halves, True)), records)
    found = DividedSlices.of(now)
    assert sorted((*found.waiting, *found.blocked, *found.done), key=lambda e: e.id.name) == [
        *now.there
    ]
    assert not {*names(found.waiting)} & {*halves}
    assert all(names(found.waiting)[-1:] < names(found.blocked)[:1] for _ in found.blocked)
    for step in (WAITS, GONE):
        run = taken(now, step, full_refresh=True).slices
        left = {name for name, status in recorded.items() if status is Status.SKIPPED}
        assert not {*names(run)} & {*halves, *left}
        assert names(run) == sorted(names(run))


@pytest.mark.parametrize("named", ["a", "a.parquet"])
def test_a_name_may_lack_its_suffix(named):
    assert names(taken(SlicesNow(there("a")), slice=named).slices) == ["a"]


def of_folder(found, *unmatched, order=None, pattern="*.parquet", ran=()):
    """Give slices of a folder whose order the user may have chosen."""
    ordering = Ordering(order or SliceOrder.NAME, is_chosen=order is not None)
    folder = BronzeFolder("/in", pattern, Location(""), ordering=ordering)
    return SlicesNow(ordering.of(found, folder.where), ran, folder, unmatched)


def test_an_order_that_nobody_chose_is_told_where_names_leave_it_in_doubt():
    found = there("sales_1", "sales_2", "sales_10")
    told = (
        "silver.x: slice-order-in-doubt: by name the order is sales_1.parquet, sales_10.parquet, "
        "sales_2.parquet; by the numbers in the names sales_1.parquet, sales_2.parquet, "
        "sales_10.parquet; set order: natural, or order: name to keep it"
    )

    assert taken(of_folder(found)).notes == (told,)
    assert taken(of_folder(found), strict=True).error.code == "slice-order-in-doubt"
    assert taken(of_folder(found, order=SliceOrder.NAME)).notes == ()
    assert taken(of_folder(there("2025-09-30", "2025-10-01"))).notes == ()
    done = ran("sales_1", "sales_2", "sales_10")
    assert taken(of_folder(found, ran=done)).notes == ()


def test_what_comes_early_is_judged_by_the_order_that_counts():
    found, done = there("s_9", "s_10"), ran("s_9")

    by_name = taken(of_folder(found, order=SliceOrder.NAME, ran=done))
    by_number = taken(of_folder(found, order=SliceOrder.NATURAL, ran=done))

    assert names(by_name.slices) == names(by_number.slices) == ["s_10"]
    assert by_name.notes == (
        "silver.x: slice-out-of-order: s_10.parquet sorts before slices that were run",
    )
    assert by_number.notes == ()


def test_slices_that_were_copied_keep_the_order_in_which_they_were_run():
    def at(name, time):
        return SliceId(name, 1, time, "d")

    files = tuple(ListedSlice(at(name, 50 - n), (name,)) for n, name in enumerate("abc"))
    record = (SliceRecord(at("a", 1), Status.SUCCESS), SliceRecord(at("b", 2), Status.SUCCESS))

    now = of_folder(files, order=SliceOrder.MODIFIED).on_record(record)

    assert names(now.there) == ["a", "b", "c"]
    assert names(taken(now, GONE, full_refresh=True).slices) == ["a", "b", "c"]
    assert (names(taken(now).slices), taken(now).notes) == (["c"], ())


@pytest.mark.parametrize(
    ("pattern", "files", "told"),
    [
        (
            "*.parquet",
            ("a.csv", "b.csv", "c.txt"),
            "3 files in /in, none fits *.parquet (did you mean *.csv?)",
        ),
        ("*.parquet", ("a.csv.gz",), "1 file in /in, none fits *.parquet (did you mean *.csv.gz?)"),
        (
            "*.parquet",
            ("2025/a.parquet",),
            "1 file in /in, none fits *.parquet (did you mean **/*.parquet?)",
        ),
        ("*.pq", ("d/a.csv",), "1 file in /in, none fits *.pq (did you mean **/*.csv?)"),
        ("*.parquet", ("README",), "1 file in /in, none fits *.parquet (did you mean *?)"),
    ],
)
def test_files_that_fit_nothing_are_counted_and_a_pattern_is_named(pattern, files, told):
    assert unmatched_note(of_folder((), *files, pattern=pattern)) == f"bronze-fits-nothing: {told}"


def test_beside_slices_only_data_that_fits_nothing_is_told():
    found = there("a")

    assert unmatched_note(of_folder(found)) == unmatched_note(of_folder(found, "a.md5")) == ""
    assert unmatched_note(of_folder(found, "a.md5", "b.csv")) == (
        "bronze-fits-nothing: b.csv in /in does not fit *.parquet"
    )
    assert unmatched_note(of_folder(found, "b.csv", "c.PARQUET")) == (
        "bronze-fits-nothing: b.csv, c.PARQUET in /in do not fit *.parquet"
    )
