"""What a pass leaves in the manifest."""

import pytest

from fakes.session_world import at, options, shown
from penstock.core.errors import UnknownModelError
from penstock.core.sessions.manifest import (
    Limits,
    ManifestRow,
    ManifestStatus,
    PassKind,
    PlannedPass,
    RunState,
)
from penstock.plan.kinds.manifest import (
    ModelEnd,
    asks_for_later_events,
    forget,
    row_after,
)

STATUS = ManifestStatus(at("01-02"), at("01-04"), 3, False, True)


def planned(upper="02-01", state=RunState.STANDARD, status=STATUS):
    limits = Limits(state, at("01-01"), at(upper))
    return PlannedPass(PassKind.PACKAGE, limits, status, ("a", "b", "c"))


def end(events, *, now="02-01", later=False, **keys):
    return ModelEnd(planned(**keys), at(now), at(events) if events else None, later)


def after(row, told, **keys):
    new = row_after("c", row, told, options(**keys))
    return new and (shown(new.last_success), shown(new.covered_to), shown(new.advanced_to))


def test_no_value_moves_back_and_others_keep_theirs():
    rows = {"a": ManifestRow("a", at("01-04")), "b": ManifestRow("b", at("01-02")), "c": None}
    told = end("01-03")

    found = {name: row_after(name, row, told, options()) for name, row in rows.items()}

    assert {name: shown(row.last_success) for name, row in found.items()} == {
        "a": "01-04",
        "b": "01-03",
        "c": "01-03",
    }


def test_an_empty_window_moves_only_what_it_covered():
    row = ManifestRow("b", at("01-02"))

    assert after(row, end(None)) == ("01-02", "02-01", None)


def test_with_seed_limits_an_empty_window_leaves_no_row():
    assert after(None, end(None), strict_seed_limits=True) is None


def test_a_model_advances_where_events_wait_behind_an_empty_window():
    row = ManifestRow("b", at("01-02"))
    told = end(None, now="06-01", later=True)

    assert after(row, told) == ("01-02", "02-01", "02-01")
    assert after(row, told, strict_seed_limits=True) == ("01-02", None, None)
    assert after(row, end("01-03", now="06-01", later=True)) == ("01-03", "02-01", None)


def test_what_it_advanced_over_is_forgotten_once_events_are_behind_it():
    row = ManifestRow("b", at("01-02"), at("01-31"), at("01-31"))

    assert after(row, end("01-31")) == ("01-31", "02-01", None)


def test_a_model_never_advances_to_where_it_is_already():
    row = ManifestRow("b", at("02-01"))

    assert after(row, end(None, now="06-01", state=RunState.OUT_OF_SYNC)) == (
        "02-01",
        "02-01",
        None,
    )


@pytest.mark.parametrize(
    ("events", "upper", "status", "expected"),
    [
        (None, "02-01", STATUS, True),
        (None, "06-01", STATUS, False),
        ("01-02", "02-01", STATUS, False),
        ("01-02", "02-01", ManifestStatus(at("01-02"), at("01-02"), 1, True, True), True),
        ("01-03", "02-01", ManifestStatus(at("01-02"), at("01-02"), 1, True, True), False),
    ],
    ids=["nothing", "up to now", "somebody is new", "nothing new", "new"],
)
def test_later_events_matter_only_where_no_model_moves(events, upper, status, expected):
    told = planned(upper, status=status)

    assert asks_for_later_events(told, at("06-01"), events and at(events)) is expected


ROWS = [ManifestRow(name) for name in "abcd"]


def test_names_that_have_no_row_are_an_error():
    with pytest.raises(UnknownModelError) as caught:
        forget(ROWS, "web", ["x", "y"])

    assert (caught.value.code, caught.value.exit_code) == ("unknown-model", 2)


def test_rows_are_chosen_by_name():
    assert forget(ROWS, "web", ["a", "b"]).models == ("a", "b")


def test_names_without_a_row_beside_others_are_a_warning():
    found = forget(ROWS, "web", ["a", "b", "x", "y"])

    assert (found.models, found.unknown) == (("a", "b"), ("x", "y"))


def test_all_rows_are_forgotten_at_once():
    assert forget(ROWS, "web", [], every=True).models == ("a", "b", "c", "d")
