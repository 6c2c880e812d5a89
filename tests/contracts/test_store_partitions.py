"""What every state store promises of models that are cut into partitions."""

import datetime as dt
from dataclasses import replace

import pytest

from contracts.store_cases import (
    BROKEN,
    DAY,
    HERE,
    MARK,
    OTHER,
    days,
    intent,
    succeed,
    wrote,
)
from fakes.clock import NOON
from penstock.core.model import Fingerprint
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.ports.ports import RebuiltStep
from penstock.core.records import (
    LeastPin,
    ModelRecord,
    PartitionCounts,
    PartitionGroup,
    PartitionRun,
    PartitionsRecord,
    Status,
)
from penstock.core.steps.inputs import DeltaPin, InputPin, ViewPin
from penstock.core.steps.step import PartitionRows, StepKind

SECOND = Fingerprint(
    "sql-2",
    "canonical-2",
    version=2,
    revision=1,
    effective_from=dt.date(2024, 3, 1),
    schema="schema-2",
    yaml="yaml-2",
    parser="30.1",
)


def runs(store, model="orders"):
    """Give bounds, status, step, commit and settled version of each run."""
    return [
        (run.low, run.high, run.status, run.step_seq, run.commit_version, run.settled_version)
        for run in store.records.runs(model)[model]
    ]


def fail(store, step, holder=HERE):
    store.journal.begin(step, {}, holder, None)
    store.journal.fail(step.step, BROKEN)


def test_what_was_written_to_each_partition_is_on_record(store, world):
    counts = (PartitionRows(1, 7, 70), PartitionRows(3, None, 9))
    store.journal.begin(days("step-1", "orders", (1, 3)), {}, HERE, None)
    store.journal.finish("step-1", replace(wrote(4), partitions=counts))
    succeed(store, intent("step-2", "lines"), version=1)

    assert store.runs.written(("orders", "lines", "nobody")) == {
        "orders": PartitionCounts((1, 2, 3), (7, 0, None), (70, 0, 9))
    }


def test_every_partition_of_a_success_is_on_record(store, world):
    store.journal.begin(days("step-1", "orders", (1, 3), (7, 7)), {}, HERE, None)
    ended = world.pass_(2)
    store.journal.finish("step-1", wrote(5))

    known = (Status.SUCCESS, 1, 1, 1, 5, 5, False, ended)
    assert store.records.runs("orders")["orders"] == (
        PartitionRun(1, 3, *known),
        PartitionRun(7, 7, *known),
    )
    assert store.records.partitions() == {
        "orders": PartitionsRecord(
            model="orders",
            table_id="table-orders",
            groups=(PartitionGroup(1, Status.SUCCESS, 4, 1, 7, 5, 5, 0),),
            pins={"raw.orders": LeastPin("delta", 4, frozenset({"table-raw"}), 1)},
            steps=1,
            last_step_seq=1,
            executed_at=ended,
            grid=DAY,
        )
    }
    assert store.records.fingerprints() == {1: MARK}
    assert store.records.step_pins("orders")["orders"] == {
        1: {"raw.orders": DeltaPin("table-raw", 4)}
    }


def test_a_model_of_one_partition_has_no_partitions(store):
    succeed(store, intent())

    assert store.records.partitions() == {}
    assert store.records.runs("orders")["orders"] == ()
    assert store.records.step_pins("orders")["orders"] == {}


def test_runs_and_pins_of_several_models_are_those_of_each(store):
    rows = (PartitionRows(2, 7, 70), PartitionRows(3, 0, 0))
    store.journal.begin(days("step-1", "orders", (1, 3)), {}, HERE, None)
    store.journal.finish("step-1", replace(wrote(5), partitions=rows))
    succeed(store, days("step-2", "lines", (4, 5), (7, 8)), version=2)
    fail(store, days("step-3", "lines", (5, 5), (9, 9)))
    succeed(store, days("step-4", "days", (1, 2)))
    succeed(store, days("step-5", "days", (3, 3)))
    succeed(store, intent(step="step-6", model="whole"))

    found = store.records.runs("days", "whole", "orders", "nobody", "lines")

    assert {
        model: [(r.low, r.high, r.status, r.step_seq, r.last_step_seq, r.holds_rows) for r in runs]
        for model, runs in found.items()
    } == {
        "days": [(1, 2, Status.SUCCESS, 4, 4, False), (3, 3, Status.SUCCESS, 5, 5, True)],
        "whole": [],
        "orders": [
            (1, 1, Status.SUCCESS, 1, 1, False),
            (2, 2, Status.SUCCESS, 1, 1, True),
            (3, 3, Status.SUCCESS, 1, 1, False),
        ],
        "nobody": [],
        "lines": [
            (4, 4, Status.SUCCESS, 2, 2, False),
            (5, 5, Status.FAILED, 2, 3, False),
            (7, 8, Status.SUCCESS, 2, 2, False),
            (9, 9, Status.FAILED, 0, 3, False),
        ],
    }
    pins = {"raw.orders": DeltaPin("table-raw", 4)}
    assert store.records.step_pins("lines", "whole", "days") == {
        "lines": {2: pins},
        "whole": {},
        "days": {4: pins, 5: pins},
    }


def test_each_partition_has_a_row_in_the_history(store):
    succeed(store, days("step-1", "orders", (1, 2)))
    succeed(store, days("step-2", "orders", (2, 2)))

    told = [(row.step, row.partition, row.triggered_by) for row in history(store)]
    assert told == [
        ("step-2", "1970-01-03", "run"),
        ("step-1", "1970-01-02", "run"),
        ("step-1", "1970-01-03", "run"),
    ]
    assert [row.step for row in store.records.history("orders", 9, "1970-01-03")] == [
        "step-2",
        "step-1",
    ]
    assert [row.step for row in store.records.history("orders", 1, "1970-01-02")] == ["step-1"]


def history(store, model="orders"):
    return store.records.history(model, None)


@pytest.mark.parametrize(
    ("ranges", "version", "partitions", "expected"),
    [
        ([(1, 2)], 0, (PartitionRows(1, 7, 70),), [(7, 70), (0, 0)]),
        ([(1, 2)], 0, (PartitionRows(2, None, 9), PartitionRows(1, 1, 2)), [(1, 2), (None, 9)]),
        ([(1, 2)], 0, (), [(None, None), (None, None)]),
        ([(1, 1)], 0, (), [(3, 30)]),
        ([(1, 2)], None, (), [(0, 0), (0, 0)]),
        ([(1, 2)], None, (PartitionRows(1, 7, 70),), [(0, 0), (0, 0)]),
    ],
)
def test_rows_of_a_partition_are_known_as_far_as_the_commit_tells(
    store, ranges, version, partitions, expected
):
    store.journal.begin(days("step-1", "orders", *ranges), {}, HERE, None)
    store.journal.finish("step-1", replace(wrote(version), partitions=partitions))

    assert [(row.rows_written, row.bytes_written) for row in history(store)] == expected
    assert [
        run.holds_rows
        for run in store.records.runs("orders")["orders"]
        for _ in range(run.low, run.high + 1)
    ] == [bool(rows) for rows, _ in expected]


def test_a_step_that_changed_nothing_keeps_the_commits_of_its_partitions(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=4)
    store.journal.begin(days("step-2", "orders", (2, 3)), {}, HERE, None)
    store.journal.finish("step-2", replace(wrote(None, rows=0), settled_version=6))

    assert runs(store) == [
        (1, 1, Status.SUCCESS, 1, 4, 4),
        (2, 2, Status.SUCCESS, 2, 4, 6),
        (3, 3, Status.SUCCESS, 2, None, 6),
    ]


def test_a_failure_changes_the_status_alone_and_leaves_new_partitions_without_success(store):
    succeed(store, days("step-1", "orders", (1, 3)), version=4)
    before = store.records.runs("orders")["orders"][0]
    fail(store, days("step-2", "orders", (3, 4)))

    assert store.records.runs("orders")["orders"] == (
        replace(before, high=2),
        replace(before, low=3, status=Status.FAILED, last_step_seq=2),
        PartitionRun(4, 4, Status.FAILED, 0, 0, 2, None, None, holds_rows=False),
    )
    assert store.records.partitions()["orders"].groups == (
        PartitionGroup(0, Status.FAILED, 1, 4, 4, None, None, 0),
        PartitionGroup(1, Status.FAILED, 1, 3, 3, 4, 4, 0),
        PartitionGroup(1, Status.SUCCESS, 2, 1, 2, 4, 4, 0),
    )
    assert [(row.partition, row.status, row.failure) for row in history(store)[:2]] == [
        ("1970-01-04", Status.FAILED, BROKEN),
        ("1970-01-05", Status.FAILED, BROKEN),
    ]


def test_a_rejected_step_fails_its_partitions(store):
    store.journal.reject(days("step-1", "orders", (1, 2)), BROKEN, HERE)

    assert runs(store) == [(1, 2, Status.FAILED, 0, None, None)]
    assert store.records.models() == {
        "orders": ModelRecord("orders", Status.FAILED, 1, failure=BROKEN)
    }


def test_a_step_that_ends_late_leaves_the_partitions_that_a_newer_one_wrote(store):
    store.journal.begin(days("slow", "orders", (1, 3)), {}, HERE, None)
    store.leases.unlock("mart.orders")
    quick = replace(days("quick", "orders", (2, 2)), run="run-2")
    succeed(store, quick, version=9, holder=OTHER)
    store.journal.finish("slow", wrote(8), recovered=True)

    assert runs(store) == [
        (1, 1, Status.SUCCESS, 1, 8, 8),
        (2, 2, Status.SUCCESS, 2, 9, 9),
        (3, 3, Status.SUCCESS, 1, 8, 8),
    ]
    assert {row.triggered_by for row in history(store) if row.step == "slow"} == {"recover"}


def test_a_model_with_partitions_is_summed_up_in_one_record(store, world):
    succeed(store, days("step-1", "orders", (1, 9)), version=7)
    world.pass_(5)
    step = days("step-2", "orders", (3, 4), fingerprint=SECOND, inputs=())
    store.journal.begin(step, {}, HERE, None)
    store.journal.finish("step-2", replace(wrote(None), settled_version=8))
    done = store.records.models()["orders"]
    fail(store, days("step-3", "orders", (5, 5)))

    assert store.runs.settled() == {"orders": 8}
    assert done == ModelRecord(
        model="orders",
        status=Status.SUCCESS,
        last_step_seq=2,
        step="step-2",
        step_seq=2,
        fingerprint=SECOND,
        table_id="table-orders",
        commit_version=7,
        settled_version=8,
        executed_at=NOON + dt.timedelta(seconds=5),
        duration_ms=250,
        rows_written=3,
        bytes_written=30,
        high_time=NOON,
    )
    assert store.records.models()["orders"] == replace(
        done, status=Status.FAILED, last_step_seq=3, failure=BROKEN
    )


def test_the_least_pin_is_that_of_the_steps_whose_rows_are_there(store):
    def pinned(step, version, table, *ranges):
        pins = (InputPin("raw.orders", DeltaPin(table, version)),)
        return days(step, "orders", *ranges, inputs=pins)

    succeed(store, pinned("step-1", 2, "old", (1, 1)))
    succeed(store, pinned("step-2", 5, "new", (2, 3)))
    succeed(store, pinned("step-3", 6, "new", (1, 1), (4, 4)))
    succeed(store, days("step-4", "orders", (5, 5), inputs=(InputPin("mart.v", ViewPin(3)),)))

    record = store.records.partitions()["orders"]
    assert (record.steps, record.pins) == (
        3,
        {
            "mart.v": LeastPin("view", 3, frozenset({""}), 1),
            "raw.orders": LeastPin("delta", 5, frozenset({"new"}), 2),
        },
    )
    assert store.records.step_pins("orders")["orders"] == {
        2: {"raw.orders": DeltaPin("new", 5)},
        3: {"raw.orders": DeltaPin("new", 6)},
        4: {"mart.v": ViewPin(3)},
    }


def test_a_least_pin_has_the_kind_of_the_newest_step_and_every_table(store):
    first = (InputPin("a", DeltaPin("table-a", 4)),)
    succeed(store, days("step-1", "orders", (1, 1), inputs=first))
    succeed(store, days("step-2", "orders", (2, 2), inputs=(InputPin("a", ViewPin(9)),)))

    assert store.records.partitions()["orders"].pins == {
        "a": LeastPin("view", 4, frozenset({"table-a", ""}), 2)
    }


def test_fingerprints_differ_by_version_revision_and_date_too(store):
    marks = [MARK, replace(MARK, version=2), replace(MARK, revision=1), SECOND]
    for number, mark in enumerate([*marks, *marks], 1):
        succeed(store, days(f"step-{number}", "orders", (number, number), fingerprint=mark))

    assert store.records.fingerprints() == dict(enumerate(marks, 1))
    assert [group.count for group in store.records.partitions()["orders"].groups] == [2, 2, 2, 2]


def test_a_created_table_holds_none_of_the_rows_on_record(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=4)
    fail(store, days("step-2", "orders", (2, 2)))
    create = days("step-3", "orders", kind=StepKind.CREATE)
    store.journal.begin(create, {}, HERE, None)
    store.journal.finish("step-3", replace(wrote(0), table_id="table-new"))

    assert runs(store) == [
        (1, 1, Status.SUCCESS, 1, None, None),
        (2, 2, Status.FAILED, 1, None, None),
    ]
    record = store.records.partitions()["orders"]
    assert (record.table_id, record.last_step_seq) == ("table-new", 3)
    assert [group.unsettled for group in record.groups] == [1, 1]
    assert {row.step for row in history(store)} == {"step-1", "step-2"}


def test_a_table_that_was_only_created_is_known_and_has_no_partitions(store):
    succeed(store, days("step-1", "orders", kind=StepKind.CREATE))

    assert store.records.partitions() == {
        "orders": PartitionsRecord("orders", "table-orders", (), {}, 0, 1, grid=DAY)
    }
    record = store.records.models()["orders"]
    assert (record.succeeded_once, record.status, record.last_step_seq) == (
        False,
        Status.SUCCESS,
        1,
    )


def test_a_rewrite_settles_every_partition_that_holds_rows(store):
    succeed(store, days("step-1", "orders", (1, 1)), version=2)
    succeed(store, days("step-2", "orders", kind=StepKind.CREATE), version=3)
    succeed(store, days("step-3", "orders", (2, 3)), version=4)
    fail(store, days("step-4", "orders", (3, 4)))
    succeed(store, days("step-5", "orders", kind=StepKind.REWRITE), version=5)

    assert runs(store) == [
        (1, 1, Status.SUCCESS, 1, None, None),
        (2, 2, Status.SUCCESS, 3, 5, 5),
        (3, 3, Status.FAILED, 3, 5, 5),
        (4, 4, Status.FAILED, 0, None, None),
    ]


def test_a_change_of_properties_leaves_partitions_as_they_were(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=2)
    before = store.records.runs("orders")["orders"]
    succeed(store, days("step-2", "orders", kind=StepKind.ALTER), version=3)

    assert store.records.runs("orders")["orders"] == before
    assert store.records.models()["orders"].last_step_seq == 2
    assert {row.step for row in history(store)} == {"step-1"}


@pytest.mark.parametrize("kind", [StepKind.CREATE, StepKind.REWRITE, StepKind.BUILD])
def test_another_grid_takes_the_place_of_the_records_and_history_stays(store, kind):
    months = Grid(Grain.MONTH)
    succeed(store, days("step-1", "orders", (1, 40)), version=2)
    anew = replace(days("step-2", "orders", kind=kind), grid=months, partitions=("1970-02",))
    succeed(store, anew, version=3)

    built = [(23641, 23641, Status.SUCCESS, 2, 3, 3)] if kind is StepKind.BUILD else []
    assert runs(store) == built
    assert store.records.partitions()["orders"].grid == months
    assert len([row for row in history(store) if row.step == "step-1"]) == 40


def test_a_failure_on_another_grid_leaves_the_records(store):
    succeed(store, days("step-1", "orders", (1, 2)), version=2)
    months = replace(days("step-2", "orders"), grid=Grid(Grain.MONTH), partitions=("1970-02",))
    fail(store, months)

    assert runs(store) == [(1, 2, Status.SUCCESS, 1, 2, 2)]
    assert store.records.models()["orders"].status is Status.FAILED
    assert history(store)[0].partition == "1970-02"


def test_a_model_may_be_cut_and_made_whole_again(store):
    succeed(store, intent("step-1"))
    succeed(store, days("step-2", "orders", (1, 2)))
    cut = store.records.partitions()["orders"].groups[0].count
    succeed(store, intent("step-3"))

    assert (cut, store.records.partitions()) == (2, {})
    assert store.records.models()["orders"].step == "step-3"


def test_a_whole_model_learns_of_a_failed_step_that_would_cut_it(store):
    succeed(store, intent("step-1"))
    fail(store, days("step-2", "orders", (1, 2)))

    record = store.records.models()["orders"]
    assert (record.step, record.status, record.last_step_seq) == ("step-1", Status.FAILED, 2)
    assert store.records.partitions() == {}


def test_keys_of_ranges_are_their_lower_bounds(store):
    grid = Grid(Grain.RANGE, 0, 250, 100)
    succeed(store, replace(days("step-1", "orders"), grid=grid, partitions=("0..200",)))

    assert [row.partition for row in history(store)] == ["0", "100", "200"]
    assert runs(store) == [(0, 2, Status.SUCCESS, 1, 0, 0)]


def test_steps_of_a_model_are_those_that_ended_oldest_first(store, world):
    first = days("step-1", "orders", (1, 2))
    store.journal.begin(first, {}, HERE, None)
    ended = world.pass_(1)
    store.journal.finish("step-1", replace(wrote(4), partitions=(PartitionRows(1, 2, 3),)))
    fail(store, days("step-2", "orders", (3, 3)))
    store.journal.begin(days("step-3", "orders", (3, 3)), {}, HERE, None)

    done, failed = store.records.steps_of("orders")
    assert (done.intent, done.outcome, done.started, done.ended) == (
        replace(first, step_seq=1),
        wrote(4),
        NOON,
        ended,
    )
    assert (failed.intent.step, failed.status, failed.failure) == (
        "step-2",
        Status.FAILED,
        BROKEN,
    )


def test_what_was_exported_loads_with_its_partitions(opened, store):
    succeed(store, days("step-1", "orders", (1, 5), fingerprint=SECOND))
    fail(store, days("step-2", "orders", (3, 3)))
    fresh = opened(name="fresh")
    fresh.archive.load(store.archive.export())

    assert fresh.archive.export() == store.archive.export()
    assert fresh.records.partitions() == store.records.partitions()
    assert fresh.records.runs("orders")["orders"] == store.records.runs("orders")["orders"]
    assert fresh.records.fingerprints() == store.records.fingerprints()
    assert fresh.records.history("orders", None) == store.records.history("orders", None)


def test_partitions_are_rebuilt_from_the_steps_of_the_logs(opened, store, world):
    rebuilt = []
    steps = [
        days("step-1", "orders", kind=StepKind.CREATE),
        days("step-2", "orders", (1, 9), fingerprint=SECOND),
        days("step-3", "orders", (4, 5)),
        days("step-4", "orders", (2, 5), kind=StepKind.ROLLBACK, restores=3),
        days("step-5", "orders", kind=StepKind.REWRITE),
        days("step-6", "orders", (9, 12)),
    ]
    for version, step in enumerate(steps):
        begun = store.journal.begin(step, {}, HERE, None)
        ended = world.pass_(1)
        store.journal.finish(step.step, wrote(version))
        rebuilt.append(RebuiltStep(replace(step, step_seq=begun.step_seq), wrote(version), ended))
    fresh = opened(name="fresh")
    fresh.archive.rebuild(rebuilt)

    assert fresh.records.partitions() == store.records.partitions()
    assert fresh.records.runs("orders")["orders"] == store.records.runs("orders")["orders"]
    assert fresh.records.models() == store.records.models()


def test_a_rebuilt_step_leaves_the_partitions_whose_record_is_younger(store, world):
    world.pass_(60)
    succeed(store, days("newer", "orders", (2, 2)), version=9)
    older = replace(days("older", "orders", (1, 3)), step_seq=1)
    store.archive.rebuild([RebuiltStep(older, wrote(3), NOON)])

    assert runs(store) == [
        (1, 1, Status.SUCCESS, 2, 3, 3),
        (2, 2, Status.SUCCESS, 1, 9, 9),
        (3, 3, Status.SUCCESS, 2, 3, 3),
    ]
