"""Which slices a run takes: decided from what lies in bronze and what is on record."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.silver_table import an_entity
from penstock.core.records import SliceRecord, Status
from penstock.core.slices import ListedSlice, SliceId
from penstock.plan.slices import Extent, SlicesToRun, slices_to_run
from penstock.plan.values import SlicesNow

ENTITY = an_entity()
S, F, K, R = Status.SUCCESS, Status.FAILED, Status.SKIPPED, Status.RUNNING


def identity(name, size=1):
    return SliceId(name, size, 7, f"{name} {size}")


def listed(name, size=1, *, is_incomplete=False):
    return ListedSlice(identity(name, size), (name,), is_incomplete)


def lying(names, *open_ones, **recorded):
    """Give slices that are there, some of them not complete, and what is on record."""
    there = tuple(listed(name, is_incomplete=name in open_ones) for name in names)
    known = tuple(SliceRecord(identity(name), status) for name, status in recorded.items())
    return SlicesNow(there, known)


def taken(now, extent=Extent.WAITING, name=""):
    return slices_to_run(ENTITY, now, extent, name)


def names(found):
    return [each.id.name for each in found.run]


def test_EC9_all_that_is_new_runs_in_order():
    assert names(taken(lying(["a", "b", "c"]))) == ["a", "b", "c"]


def test_EC9_when_all_is_processed_there_is_nothing_to_do():
    found = taken(lying(["a", "b"], a=S, b=S))

    assert found == SlicesToRun(done=("a", "b"))
    assert found.detail == ""


def test_EC9_a_new_slice_before_a_processed_one_runs_with_a_warning():
    found = taken(lying(["a", "aa", "b", "c", "d"], a=S, b=S, c=S))

    assert names(found) == ["aa", "d"]
    assert found.warnings == ("slice-out-of-order: aa sorts before c, which is processed already",)
    assert found.detail == "slices aa, d"


def test_EC10_a_slice_that_failed_is_the_next_one():
    assert names(taken(lying(["a", "b", "c"], a=S, b=F))) == ["b", "c"]


def test_a_slice_whose_step_nobody_ended_runs_again():
    assert names(taken(lying(["a", "b"], a=R))) == ["a", "b"]


def test_EC11_a_processed_slice_that_is_another_by_now_runs_only_by_name():
    now = SlicesNow((listed("a", 2), listed("b")), (SliceRecord(identity("a"), S),))

    plain, named = taken(now), taken(now, name="a")

    assert (names(plain), plain.done, plain.changed) == (["b"], ("a",), ("a",))
    assert plain.detail == "slices b; slice_changed a"
    assert (names(named), named.waiting, named.changed) == (["a"], ("b",), ())


def test_EC12_a_slice_that_is_skipped_holds_nothing_up():
    found = taken(lying(["a", "b", "c"], a=S, b=K))

    assert (names(found), found.skipped) == (["c"], ("b",))


def test_EC12_an_incomplete_slice_and_those_after_it_wait():
    found = taken(lying(["a", "b", "c", "d"], "b", a=S))

    assert found == SlicesToRun(
        done=("a",),
        waiting=("b", "c", "d"),
        warnings=("slice-incomplete: b is still being written, so 2 later ones wait too",),
    )


def test_one_that_is_processed_or_skipped_may_be_written_anew():
    assert names(taken(lying(["a", "b", "c"], "a", "b", a=S, b=K))) == ["c"]


def test_EC12_a_name_that_is_not_there_tells_the_three_nearest():
    days = [f"2025-07-0{day}.parquet" for day in (1, 2, 3)]
    found = taken(lying([*days, "x"]), name="2025-07-04")

    assert found.run == ()
    assert found.error.render() == (
        "entities/x.json:6: slice-not-found: silver_aw.x has no slice '2025-07-04' in bronze\n"
        "  hint: did you mean '2025-07-03.parquet' or '2025-07-02.parquet' "
        "or '2025-07-01.parquet'?"
    )


@pytest.mark.parametrize(
    ("name", "status"), [("b", None), ("b.parquet", F), ("b", S), ("b", K), ("b.parquet", R)]
)
def test_a_name_runs_one_slice_whatever_became_of_it(name, status):
    recorded = (SliceRecord(identity("b.parquet"), status),) if status else ()
    now = SlicesNow(tuple(map(listed, ("a.parquet", "b.parquet", "c.parquet"))), recorded)

    found = taken(now, name=name)

    assert (names(found), found.waiting) == (["b.parquet"], ("a.parquet", "c.parquet"))
    assert (found.warnings, found.notes) == ((), ())


def test_an_exact_name_comes_before_a_completed_one():
    assert names(taken(lying(["a", "a.parquet"]), name="a")) == ["a"]


def test_an_incomplete_slice_waits_when_it_is_named_too():
    found = taken(lying(["a", "b"], "a"), name="a")

    assert (names(found), found.waiting) == ([], ("a", "b"))
    assert found.warnings == ("slice-incomplete: a is still being written",)


def test_a_processed_slice_that_is_gone_is_noted():
    found = taken(lying(["b"], a=S, b=S, c=F))

    assert (found.gone, found.notes) == (
        ("a",),
        ("bronze lacks 1 processed slice (a)",),
    )


def test_EF12_a_missing_table_takes_everything_again():
    found = taken(lying(["a", "b", "c"], a=S, b=K, c=S), Extent.MISSING)

    assert found == SlicesToRun(run=(listed("a"), listed("c")), skipped=("b",))


def test_EF12_a_missing_table_needs_every_slice_that_was_processed():
    found = taken(lying(["b", "c"], a=S, b=S), Extent.MISSING)

    assert (found.run, found.waiting, found.gone) == ((), ("b", "c"), ("a",))
    assert found.error.render() == (
        "entities/x.json:6: missing-slices: the table is missing, and bronze lacks "
        "1 processed slice of silver_aw.x: a\n"
        "  hint: deliver them again, or take what is there with --full-refresh"
    )


def test_a_full_refresh_takes_what_is_there():
    found = taken(lying(["b", "c", "d"], "d", a=S, b=S), Extent.REFRESH)

    assert (names(found), found.waiting, found.error) == (["b", "c"], ("d",), None)
    assert found.notes == (
        "bronze lacks 1 processed slice: their rows will not be in the table (a)",
    )


NAMES = st.sampled_from([*"abcdef", "a.parquet", "é", "B"])
WORLDS = st.builds(
    lambda there, open_ones, sizes, recorded: SlicesNow(
        tuple(
            listed(name, 1 + (name in sizes), is_incomplete=name in open_ones)
            for name in sorted(there)
        ),
        tuple(SliceRecord(identity(name), status) for name, status in sorted(recorded.items())),
    ),
    st.sets(NAMES),
    st.sets(NAMES),
    st.sets(NAMES),
    st.dictionaries(NAMES, st.sampled_from([S, F, K, R])),
)


@given(WORLDS, st.sampled_from(Extent), st.one_of(st.just(""), NAMES))
def test_every_slice_is_run_done_skipped_or_waits(now, extent, name):
    found = taken(now, extent, name)
    status = {each.id.name: each.status for each in now.recorded}
    there = [each.id.name for each in now.there]

    assert sorted([*names(found), *found.done, *found.skipped, *found.waiting]) == there
    for part in (names(found), found.done, found.skipped, found.waiting, found.gone):
        assert list(part) == sorted(part)
    assert not any(each.is_incomplete for each in found.run)
    assert set(found.changed) <= set(found.done) <= {n for n in there if status.get(n) is S}
    assert set(found.skipped) <= {n for n in there if status.get(n) is K}
    assert set(found.gone) == {n for n, each in status.items() if each is S} - set(there)
    assert not (found.error and found.run)
    if name:
        assert len(found.run) <= 1
    elif found.run and found.waiting:
        assert max(names(found)) < min(found.waiting)
