import pytest

from fakes.builders import a_model, a_project
from fakes.versioned_models import (
    DAY,
    MONTH,
    RUN_TIMESTAMP,
    a_commit,
    a_run,
    ords,
    reading,
    reading_itself,
    span,
)
from penstock.core.facts import Touched
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import Computed, Everything, Lower, Same, Upper
from penstock.core.partitions.partition import Grid
from penstock.core.steps.inputs import DeltaPin, FilesPin, NoPin, ViewPin
from penstock.plan.changes import (
    EVERYTHING,
    Changes,
    PartitionsNow,
    TableNow,
    spans_of,
    with_view_inputs,
)
from penstock.strategies.view import View

UPSTREAM = reading("daily", Same())
SOURCE = reading("raw.events", Computed("day", ((Lower(), Upper()),)))
RUNS = (
    a_run(ords("2024-12-01", "2024-12-02"), 1, 4),
    a_run(ords("2024-12-03"), 1, 5),
    a_run(ords("2024-12-04"), 1, 6, commit_version=None),
    a_run(ords("2024-12-06"), 1, 6),
)
ABOVE = Changes({"daily": PartitionsNow("d", DAY, RUNS)}.get, {}.get)
ALL_THAT_HOLD = (span("2024-12-01", "2024-12-03"), span("2024-12-06", "2024-12-06"))


def table(pin, *commits: Touched) -> Changes:
    return Changes({}.get, {"raw.events": TableNow(pin, commits)}.get)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (DeltaPin("d", 6), ()),
        (DeltaPin("d", 5), (span("2024-12-06", "2024-12-06"),)),
        (DeltaPin("d", 4), (span("2024-12-03", "2024-12-03"), span("2024-12-06", "2024-12-06"))),
        (DeltaPin("old", 9), ALL_THAT_HOLD),
        (None, ALL_THAT_HOLD),
    ],
)
def test_partitions_changed_that_were_committed_after_the_version_read(read, expected):
    assert ABOVE.changed_spans(UPSTREAM, read) == expected


def test_an_upstream_that_was_never_built_changed_nothing():
    never = Changes({"daily": PartitionsNow("", DAY, ())}.get, {}.get)

    assert never.changed_spans(UPSTREAM, None) == ()


def test_the_own_table_is_an_input_as_any_other():
    itself = reading_itself("daily", Same())

    assert ABOVE.changed_spans(itself, DeltaPin("d", 5)) == (span("2024-12-06", "2024-12-06"),)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (DeltaPin("e", 8), ()),
        (DeltaPin("e", 7), (span("2024-12-09", "2024-12-09"),)),
        (DeltaPin("e", 5), (span("2024-12-02", "2024-12-03"), span("2024-12-09", "2024-12-09"))),
        (DeltaPin("x", 8), EVERYTHING),
        (None, EVERYTHING),
    ],
)
def test_a_table_changed_where_its_commits_after_the_pin_touched_the_mapped_column(read, expected):
    changes = table(
        DeltaPin("e", 8),
        a_commit(6, span("2024-12-03", "2024-12-03"), column="day"),
        a_commit(7, span("2024-12-02", "2024-12-02"), column="day"),
        a_commit(8, span("2024-12-09", "2024-12-09"), column="day"),
    )

    assert changes.changed_spans(SOURCE, read) == expected


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ({}, EVERYTHING),
        ({"day": None}, EVERYTHING),
        ({"day": ()}, ()),
        ({"other": ((1, 2),)}, EVERYTHING),
    ],
)
def test_a_commit_of_which_nobody_knows_where_changed_everything(spans, expected):
    commit = Touched(6, RUN_TIMESTAMP, "UPDATE", spans=spans)

    assert table(DeltaPin("e", 6), commit).changed_spans(SOURCE, DeltaPin("e", 5)) == expected


def test_an_input_without_a_column_changed_everywhere_with_any_commit():
    changes = table(DeltaPin("e", 6), a_commit(6, (1, 2), column="day"))

    assert (
        changes.changed_spans(reading("raw.events", Everything()), DeltaPin("e", 5)) == EVERYTHING
    )


@pytest.mark.parametrize(
    ("read", "now", "expected"),
    [
        (ViewPin(3), ViewPin(3), ()),
        (ViewPin(3), ViewPin(4), EVERYTHING),
        (None, ViewPin(4), EVERYTHING),
        (DeltaPin("e", 3), ViewPin(4), EVERYTHING),
        (FilesPin("a", 1), FilesPin("b", 2), ()),
        (None, FilesPin("b", 2), ()),
        (None, NoPin(), ()),
        (NoPin(), NoPin(), ()),
    ],
)
def test_views_change_whole_and_what_has_no_versions_changes_no_partition(read, now, expected):
    assert table(now).changed_spans(SOURCE, read) == expected


def test_what_two_views_read_is_among_the_inputs_once():
    views = [a_model(name, "raw.events", strategy=View()) for name in ("one", "two")]
    names = [InputName(InputKind.MODEL, view.name) for view in views]

    found = with_view_inputs(a_project(*views), [*names, names[0]])

    assert found == [*names, InputName(InputKind.SOURCE, "raw.events")]


def test_an_input_that_is_gone_changed_nothing():
    assert Changes({}.get, {}.get).changed_spans(SOURCE, None) == ()


def test_a_declared_column_goes_before_that_of_the_sql():
    declared = reading("raw.events", Computed("other", SOURCE.mapping.ranges))

    assert [each.column for each in (declared, SOURCE, UPSTREAM)] == ["other", "day", ""]


def test_the_grid_of_an_input_without_partitions_is_one_partition():
    assert (ABOVE.grid("daily"), ABOVE.grid("raw.events")) == (DAY, Grid())


def test_partitions_that_meet_are_one_span():
    ranges = (*ords("2024-01", "2024-02", MONTH), *ords("2024-04", grid=MONTH))

    assert spans_of(MONTH, ranges) == (
        span("2024-01-01", "2024-02-29"),
        span("2024-04-01", "2024-04-30"),
    )
