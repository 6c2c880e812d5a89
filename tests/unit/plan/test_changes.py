import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_success
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
from penstock.core.model import PythonFunction
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
    table_input_differences,
    with_view_inputs,
)
from penstock.plan.values import Now
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


BASE, SEEN = a_model("base"), a_model("seen", strategy=View())
USERS = a_model("users", "raw.events", "base", "seen")
AS_NOW = {"raw.events": DeltaPin("e", 3), "base": DeltaPin("id-base", 4), "seen": ViewPin(7)}


def test_an_input_whose_watermark_was_set_back_is_read_again():
    assert input_lines(AS_NOW, rewound=("raw.events", "gone")) == [
        "source_changed: the watermark of raw.events was set back"
    ]


def input_lines(pins, *, model=USERS, cut_at=None, rewound=(), records=None, **models):
    """Give how the inputs of a table differ from what its last success read."""
    known = {"base": a_success(BASE, 2, 4), "seen": a_success(SEEN, 7)}
    known = known if records is None else records
    project = a_project(*({"base": BASE, "seen": SEEN} | models).values(), model)
    record = replace(a_success(model), pins=pins, cut_at=cut_at, rewound=rewound)
    now = Now(NOON, {}, {"raw.events": DeltaPin("e", 3)})
    found = table_input_differences(project, model, record, known, now)
    return [f"{each.state}: {each.because}" for each in found]


@pytest.mark.parametrize(
    ("pins", "expected"),
    [
        (AS_NOW, []),
        ({**AS_NOW, "base": DeltaPin("id-base", 5), "seen": ViewPin(8)}, []),
        (
            {**AS_NOW, "base": DeltaPin("id-base", 3), "seen": ViewPin(6)},
            ["upstream_changed: base", "upstream_changed: seen"],
        ),
        ({**AS_NOW, "base": DeltaPin("other", 9)}, ["upstream_changed: base"]),
        ({**AS_NOW, "raw.events": DeltaPin("e", 2)}, ["source_changed: raw.events v2 -> v3"]),
        (
            {"base": AS_NOW["base"]},
            ["source_changed: raw.events is new", "upstream_changed: seen"],
        ),
    ],
)
def test_a_table_drifts_by_inputs_that_changed_after_what_it_read(pins, expected):
    assert input_lines(pins) == expected


def test_a_table_read_up_to_a_moment_drifts_when_that_has_passed():
    past, later = NOON - dt.timedelta(seconds=1), NOON + dt.timedelta(seconds=1)

    assert input_lines(AS_NOW, cut_at=past) == [
        "source_changed: read up to 2024-03-01 11:59:59 only"
    ]
    assert input_lines(AS_NOW, cut_at=NOON) == input_lines(AS_NOW, cut_at=later) == []


def test_what_reads_nothing_that_has_a_version_always_drifts():
    function = PythonFunction("models/users.py", "users", "text")
    base = replace(BASE, function=function)

    assert input_lines(AS_NOW, base=base) == ["source_changed: input-unpinned: base"]
    assert input_lines({}, model=a_model("users", function=function)) == [
        "source_changed: input-unpinned: users itself"
    ]
    assert input_lines({}, model=a_model("users", function=function, strategy=View())) == []


def test_an_upstream_that_is_not_on_record_is_read_as_nothing():
    pins = {"raw.events": DeltaPin("e", 3)}

    assert input_lines(pins, records={}) == ["upstream_changed: seen"]
    assert input_lines({**pins, "seen": ViewPin(0)}, records={}) == []
