"""Law 9: every store reads back what was written, and all stores say the same."""

import datetime as dt
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.store_cases import BROKEN, ELSEWHERE, HERE, LEASE, OTHER, OURS, wrote
from fakes.check_deeds import CHECKED, REPORT, keyed
from fakes.clock import NOON, FixedClock
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import PenstockError
from penstock.core.facts import Seen, Touched
from penstock.core.model import Fingerprint
from penstock.core.names import TableName
from penstock.core.partitions.partition import Grain, Grid, write_ranges
from penstock.core.partitions.ranges import numbers, of_numbers
from penstock.core.ports.ports import RebuiltStep
from penstock.core.records import Status, WatermarkChange
from penstock.core.steps.inputs import DeltaPin, FilesPin, InputPin, NoPin, ViewPin
from penstock.core.steps.step import (
    Intent,
    Outcome,
    PartitionRows,
    RowCounts,
    StepFailure,
    StepKind,
)
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window
from penstock.core.strategy import Writing
from penstock.state.memory import MemoryStore
from penstock.state.open import open_store
from penstock.state.schema import steps
from penstock.state.sql import transaction
from penstock.state.sql.load import HISTORY, _ModelRows, load

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
COUNT = st.integers(0, 2**62)
STEP_SEQ = st.integers(0, 9)
TIME = st.builds(
    lambda seconds, micros: EPOCH + dt.timedelta(seconds=seconds, microseconds=micros),
    st.integers(0, 32_000_000_000),
    st.integers(0, 999_999),
)
VALUE = st.one_of(
    st.builds(TypedValue.parse, st.just("BIGINT"), st.integers(-9, 9).map(str)),
    st.builds(TypedValue.parse, st.just("DATE"), st.dates().map(str)),
    st.builds(TypedValue.parse, st.just("TIMESTAMP"), TIME.map(str)),
    st.builds(TypedValue.parse, st.just("STRING"), TEXT),
)
BOUND = st.none() | st.builds(Bound, VALUE, inclusive=st.booleans())
PIN = st.one_of(
    st.builds(DeltaPin, TEXT, COUNT),
    st.builds(FilesPin, TEXT, COUNT),
    st.builds(ViewPin, COUNT),
    st.just(NoPin()),
)
MARK = st.builds(Watermark, st.sampled_from(["a", "b"]), st.sampled_from(["x", "y"]), VALUE)
MODELS = ("orders", "lines", "mart.é")
MODEL = st.sampled_from(MODELS)
FINGERPRINT = st.builds(
    Fingerprint,
    *(TEXT,) * 4,
    version=st.integers(1, 3),
    revision=st.integers(0, 1),
    effective_from=st.none() | st.dates(),
    schema=st.sampled_from(["", "text"]),
    yaml=TEXT,
    parser=TEXT,
)
WHOLE_INTENT = st.builds(
    Intent,
    step=st.just(""),
    run=st.just(""),
    model=MODEL,
    table=st.just(TableName("", "")),
    uri=TEXT,
    kind=st.sampled_from(StepKind),
    strategy=TEXT,
    writing=st.sampled_from(Writing),
    reason=TEXT,
    triggered_by=TEXT,
    run_timestamp=TIME,
    fingerprint=FINGERPRINT,
    partitions=st.sampled_from([("*",), ("2024-01-01..2024-01-31", "2024-03-01")]),
    inputs=st.lists(st.builds(InputPin, TEXT, PIN), max_size=3, unique_by=lambda p: p.input).map(
        tuple
    ),
    windows=st.lists(
        st.builds(
            InputWindow,
            TEXT,
            st.builds(Window, TEXT, BOUND, BOUND, st.booleans()),
            st.sampled_from(["", "forward", "rerun"]),
            st.none() | COUNT,
        ),
        max_size=2,
    ).map(tuple),
    watermarks=st.lists(MARK, max_size=3, unique_by=lambda m: m.key).map(tuple),
    lowers_watermarks=st.booleans(),
    base_version=st.none() | COUNT,
    restores=st.integers(0, 9),
    on_failure=st.sampled_from(["", "", "flag", "block", "rollback"]),
)
ORDS = st.sets(st.integers(0, 2), min_size=1).map(of_numbers)  # few, so that steps meet


def on_grid(intent, grid, ords):
    return replace(intent, grid=grid, partitions=write_ranges(grid, ords))


CUT_INTENT = st.builds(
    on_grid,
    WHOLE_INTENT,
    st.sampled_from([Grid(Grain.DAY), Grid(Grain.DAY), Grid(Grain.RANGE, 0, 250, 100)]),
    ORDS,
)
INTENT = WHOLE_INTENT | CUT_INTENT
BUILDS = (StepKind.BUILD, StepKind.SEED)
OUTCOME = st.builds(
    Outcome,
    version=st.none() | COUNT,
    table_id=TEXT,
    settled_version=st.none() | COUNT,
    rows=st.builds(RowCounts, *(st.integers(0, 2**40),) * 3, st.none() | COUNT, COUNT),
    bytes_written=COUNT,
    metrics=st.dictionaries(TEXT, COUNT, max_size=2),
    duration_ms=COUNT,
    partitions=st.lists(
        st.builds(PartitionRows, st.integers(0, 2), st.none() | COUNT, st.none() | COUNT),
        max_size=3,
        unique_by=lambda each: each.ord,
    ).map(tuple),
)
REBUILT = st.builds(
    lambda intent, number, outcome, ended: RebuiltStep(
        replace(placed(intent, f"log-{number}", HERE), step_seq=number),
        replace(outcome, duration_ms=number),
        ended,
    ),
    INTENT,
    STEP_SEQ,
    OUTCOME,
    TIME | st.just(NOON),
)
SPANS = st.dictionaries(TEXT, st.none() | st.just(()) | st.just(((0, 5), (8, 9))), max_size=2)
TOUCHED = st.builds(
    Touched,
    st.integers(0, 5),
    TIME,
    TEXT,
    step=st.sampled_from(["", "step-0", "log-1"]),
    store=TEXT,
    user=TEXT,
    spans=SPANS.map(lambda found: dict(sorted(found.items()))),  # told as text, in order
)
SEEN = st.builds(
    Seen, st.sampled_from(["raw.a", "raw.b"]), st.sampled_from(["x", "y"]), st.integers(0, 9)
)
FAILURE = st.builds(StepFailure, TEXT, TEXT, TEXT, TEXT)
HOLDER = st.sampled_from([HERE, OTHER, ELSEWHERE])
STEP = st.integers(0, 5)
RUNS = [holder.run for holder in (HERE, OTHER, ELSEWHERE)]
DEED = st.one_of(
    st.tuples(st.just("begin"), INTENT, HOLDER, st.none() | st.integers(0, 3)),
    st.tuples(st.just("begin"), INTENT, HOLDER, st.none()),
    st.tuples(st.just("build"), CUT_INTENT, OUTCOME),
    st.tuples(st.just("build"), INTENT, OUTCOME),
    st.tuples(st.just("rebuild"), st.lists(REBUILT, max_size=2)),
    st.tuples(st.just("note"), SEEN, st.lists(TOUCHED, max_size=2)),
    st.tuples(st.just("finish"), STEP, OUTCOME, st.booleans()),
    st.tuples(st.just("finish"), STEP, OUTCOME, st.just(False)),
    st.tuples(st.just("fail"), STEP, FAILURE, st.booleans()),
    st.tuples(st.just("reject"), INTENT, FAILURE, HOLDER),
    st.tuples(st.just("check"), INTENT, CHECKED, st.sampled_from(["finish", "fail", "reject"])),
    st.tuples(st.just("check"), CUT_INTENT, CHECKED, st.just("finish")),
    st.tuples(st.just("record"), STEP, CHECKED),
    st.tuples(st.just("pend"), INTENT, OUTCOME),
    st.tuples(st.just("settle"), STEP, CHECKED),
    st.tuples(st.just("look"), MODEL, REPORT),
    st.tuples(st.just("close"), st.integers(0, 3)),
    st.tuples(st.just("forget"), STEP),
    st.tuples(st.just("renew"), st.sampled_from(RUNS)),
    st.tuples(st.just("end_run"), st.sampled_from(RUNS)),
    st.tuples(st.just("unlock"), MODEL),
    st.tuples(st.just("wait"), st.integers(1, 100)),
    st.tuples(st.just("mark"), MODEL, MARK, st.booleans(), TEXT),
)


def whole(kinds):
    """Give steps of these kinds of models that are one partition."""
    return WHOLE_INTENT.filter(lambda intent: intent.kind in kinds)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """Make an SQLite store once; examples copy it."""
    file = tmp_path_factory.mktemp("empty") / "state.db"
    open_store(f"sqlite:///{file}", identity=OURS, clock=FixedClock(), lease=LEASE).close()
    return file


@given(intent=whole(BUILDS), outcome=OUTCOME, texts=st.dictionaries(TEXT, TEXT, max_size=2))
def test_a_step_reads_back_as_it_was_written(empty, intent, outcome, texts):
    for store, clock in stores(empty):
        given_step = placed(intent, "step-1", HERE)
        begun = store.journal.begin(given_step, texts, HERE, None)
        running = store.journal.running()
        clock.advance(seconds=0.000001)
        store.journal.finish("step-1", outcome)
        record = store.records.models()[intent.model]

        assert [repr(step.intent) for step in running] == [
            repr(replace(given_step, step_seq=begun.step_seq))
        ]
        assert store.records.texts(texts) == texts
        assert record.pins == {pin.input: pin.pin for pin in intent.inputs}
        assert record.fingerprint == intent.fingerprint
        assert {m.key: str(m.value) for m in record.watermarks} == {
            m.key: str(m.value) for m in intent.watermarks
        }
        assert (record.table_id, record.commit_version, record.settled_version) == (
            outcome.table_id,
            outcome.version,
            outcome.settled_version,
        )
        assert (record.executed_at, record.duration_ms) == (clock.now(), outcome.duration_ms)
        assert (record.rows_written, record.bytes_written) == (
            outcome.rows.written,
            outcome.bytes_written,
        )


@given(intent=CUT_INTENT, outcome=OUTCOME)
def test_partitions_read_back_as_they_were_written(empty, intent, outcome):
    for store, clock in stores(empty):
        step = placed(replace(intent, kind=StepKind.BUILD), "step-1", HERE)
        store.journal.begin(step, {}, HERE, None)
        store.journal.finish("step-1", outcome)
        record = store.records.partitions()[intent.model]
        mark = store.records.fingerprints()[1]
        settled = outcome.settled_version if outcome.version is None else outcome.version

        assert mark == intent.fingerprint
        assert store.records.step_pins(intent.model)[intent.model] == {
            1: {pin.input: pin.pin for pin in intent.inputs}
        }
        assert [
            (group.fingerprint, group.status, group.low, group.high, group.settled_low)
            for group in record.groups
        ] == [(1, Status.SUCCESS, intent.ords[0][0], intent.ords[-1][1], settled)]
        assert {
            (number, run.commit_version, run.executed_at)
            for run in store.records.runs(intent.model)[intent.model]
            for number in range(run.low, run.high + 1)
        } == {(number, outcome.version, clock.now()) for number in numbers(intent.ords)}


@settings(max_examples=8 if settings.default.derandomize else 300)
@given(deeds=st.lists(DEED, max_size=14))
def test_whatever_is_done_all_stores_say_the_same(empty, deeds):
    answers = []
    for (store, clock), loading in zip(stores(empty), (whole, load), strict=True):
        with patch.object(transaction, "load", loading):
            answers.append(story(store, clock, deeds))

    memory, sqlite = answers
    assert memory == sqlite


def whole(connection, model, event):
    """Load all the records of a model, so that a store that loads what is touched is held to it."""
    rows = _ModelRows(connection, model)
    known = rows.steps_where(steps.c.model_id == rows.number)
    of_step = known.get(getattr(event, "step_seq", 0))
    return replace(
        rows.blank,
        partitions=rows.partitions(None),
        steps=known,
        history=rows.history(HISTORY.step_seq > 0, HISTORY.rows_written, HISTORY.bytes_written),
        flags=rows.flags(),
        watermarks=rows.watermarks(every=True),
        targets=rows.target(of_step.target) if of_step else {},
        quarantines=rows.quarantines(of_step.seq) if of_step else {},
    )


@settings(max_examples=4 if settings.default.derandomize else 100)  # each makes four stores
@given(deeds=st.lists(DEED, max_size=10))
def test_what_is_exported_loads_and_exports_equal(empty, deeds):
    for (store, clock), (fresh, _) in zip(stores(empty), stores(empty), strict=True):
        told = story(store, clock, deeds)
        document = store.archive.export()
        fresh.archive.load(document)

        assert fresh.archive.export() == document
        assert remembered(fresh) == told[-1]


def _all_live(lease):
    return False


def stores(empty):
    """Give a store of each kind, each with a clock of its own; they end with the loop's turn."""
    clock = FixedClock()
    yield MemoryStore(clock, LEASE, identity=OURS, is_gone=_all_live), clock
    clock = FixedClock()
    with tempfile.TemporaryDirectory() as folder:
        file = shutil.copy(empty, Path(folder) / "state.db")
        store = open_store(
            f"sqlite:///{file}", identity=OURS, clock=clock, lease=LEASE, is_gone=_all_live
        )
        try:
            yield store, clock
        finally:
            store.close()


def placed(intent, step, holder):
    return replace(intent, step=step, run=holder.run, table=TableName("mart", intent.model))


def story(store, clock, deeds):
    """Do everything in order; give every answer and what is remembered at the end."""
    answers = [answer(store, clock, number, deed) for number, deed in enumerate(deeds)]
    return [*answers, remembered(store)]


def answer(store, clock, number, deed):
    try:
        return repr(do(store, clock, f"step-{number}", deed))
    except PenstockError as error:
        return error.render()


def do(store, clock, name, deed):
    journal = store.journal
    match deed:
        case ("begin", intent, holder, planned_on):
            step = placed(intent, name, holder)
            return journal.begin(step, {"text": name}, holder, planned_on)
        case ("build", intent, outcome):
            journal.begin(placed(intent, name, HERE), {"text": name}, HERE, None)
            return journal.finish(name, outcome)
        case ("finish", number, outcome, recovered):
            return journal.finish(f"step-{number}", outcome, recovered=recovered)
        case ("fail", number, failure, recovered):
            return journal.fail(f"step-{number}", failure, recovered=recovered)
        case ("reject", intent, failure, holder):
            return journal.reject(placed(intent, name, holder), failure, holder)
        case ("renew", run):
            return store.leases.renew(run)
        case ("end_run", run):
            return journal.end_run(run, Status.FAILED)
        case ("unlock", model):
            return store.leases.unlock(f"mart.{model}")
        case ("check" | "record" | "pend" | "settle" | "look" | "close" | "forget", *_):
            return do_checks(store, name, deed)
        case _:
            return do_beside(store, clock, deed)


def do_checks(store, name, deed):
    journal = store.journal
    match deed:
        case ("check", intent, checked, "reject"):
            step = placed(intent, name, HERE)
            return journal.reject(step, BROKEN, HERE, keyed(checked, step))
        case ("check", intent, checked, end):
            journal.begin(placed(intent, name, HERE), {}, HERE, None)
            journal.record_checks(name, keyed(checked, intent))
            return journal.finish(name, wrote(4)) if end == "finish" else journal.fail(name, BROKEN)
        case ("record", number, checked):
            return journal.record_checks(f"step-{number}", checked)
        case ("pend", intent, outcome):
            promised = replace(intent, kind=StepKind.BUILD, on_failure="rollback")
            journal.begin(placed(promised, name, HERE), {}, HERE, None)
            return journal.finish(name, outcome, recovered=True)
        case ("settle", number, checked):
            steps = [s.intent for model in MODELS for s in store.records.steps_of(model)]
            intent = next((i for i in steps if i.step == f"step-{number}"), None)
            checked = keyed(checked, intent) if intent else checked
            return journal.settle_checks(f"step-{number}", checked)
        case ("look", model, report):
            return journal.note_checks("run-1", model, report, ("0..2",), 5)
        case ("close", number):
            return journal.close_flags(store.checks.flags()[number : number + 1], "law", "ann")
        case ("forget", number):
            return journal.keep_quarantine(f"step-{number}", None)


def do_beside(store, clock, deed):
    match deed:
        case ("wait", seconds):
            return clock.advance(seconds=seconds)
        case ("rebuild", steps):
            return store.archive.rebuild(steps)
        case ("note", seen, commits):
            return store.notes.note(seen, commits)
        case ("mark", model, mark, is_reset, who):
            value = None if is_reset else str(mark.value)
            change = WatermarkChange(
                model, mark.input, mark.column, value, clock.now(), who=who, why="law"
            )
            return store.records.change_watermark(change)


def remembered(store):
    """Give all that the ports tell; as text, because INT 1 equals BIGINT 1 otherwise."""
    known = MODELS
    records = {name: replace(r, pins={}) for name, r in store.records.models().items()}
    pins = {name: dict(sorted(r.pins.items())) for name, r in store.records.models().items()}
    return repr(
        (
            sorted(records.items()),
            sorted(pins.items()),
            [store.records.history(model, None) for model in known],
            [store.records.history(model, 3, "1970-01-02") for model in known],
            [store.records.steps_of(model) for model in known],
            [store.records.runs(model)[model] for model in known],
            [store.records.step_pins(model)[model] for model in known],
            {name: replace(r, pins={}) for name, r in store.records.partitions().items()},
            [
                sorted(
                    (n, p.kind, p.version, p.steps, sorted(p.table_ids)) for n, p in r.pins.items()
                )
                for r in store.records.partitions().values()
            ],
            store.records.fingerprints(),
            store.notes.seen_tables(),
            [store.notes.touched({name: 1}).get(name, ()) for name in ("raw.a", "raw.b")],
            [store.records.watermark_history(model) for model in known],
            sorted(store.records.last_results().items()),
            store.records.texts(["text"]),
            store.journal.running(),
            store.leases.taken(),
            [store.leases.holds(s.intent.step) for s in store.journal.running()],
            checks_remembered(store),
        )
    )


def checks_remembered(store):
    checks = store.checks
    return (
        checks.unsettled(),
        checks.flags(),
        checks.quarantines(),
        {model: sorted(found) for model, found in checks.evaluated().items()},
        [checks.checks_of(model) for model in MODELS],
        [checks.checks_of(model, "rows", 2) for model in MODELS],
        [
            checks.rows_before(model, ranges, last, step_seq)
            for model in MODELS
            for ranges in (((0, 0),), ((1, 1),), ((2, 2),), ())
            for last in (0, 1, 5)
            for step_seq in (3, 99)
        ],
    )
