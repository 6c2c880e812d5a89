"""The commit token: all that a rebuild needs, in at most 4 KB."""

import datetime as dt
import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from contracts.store_cases import intent
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.slices import SliceId, UnchangedSlice
from penstock.core.names import TableName
from penstock.core.sessions.manifest import SessionPromise
from penstock.core.steps.inputs import DeltaPin, FilesPin, InputPin, NoPin, ViewPin
from penstock.core.steps.step import ForeignCommit, Intent, StepKind
from penstock.core.steps.token import (
    LIMIT_BYTES,
    pin_of,
    pin_parts,
    project_of,
    read_intent,
    read_metrics,
    read_slice,
    signed_by,
    write_fence,
    write_intent,
    write_token,
)
from penstock.core.steps.window import Bound, InputWindow, Watermark, Window

T1 = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NUMBER = st.integers(0, 2**62)
PIN = st.one_of(
    st.builds(DeltaPin, TEXT, NUMBER),
    st.builds(FilesPin, TEXT, NUMBER),
    st.builds(ViewPin, NUMBER),
    st.just(NoPin()),
)
VALUE = st.one_of(
    st.integers().map(lambda number: TypedValue("BIGINT", str(number))),
    st.dates().map(lambda day: TypedValue("DATE", str(day))),
)
BOUND = st.none() | st.builds(Bound, VALUE, inclusive=st.booleans())
WINDOW = st.builds(Window, TEXT, BOUND, BOUND, nulls=st.booleans())
SLICE = st.builds(SliceId, TEXT, NUMBER, NUMBER, TEXT)
AT = st.datetimes(timezones=st.just(dt.UTC)).map(lambda at: at.replace(fold=0))
UNCHANGED = st.builds(
    UnchangedSlice, SLICE, TEXT, NUMBER, AT, st.dictionaries(TEXT, NUMBER, max_size=2)
)
FOREIGN = st.builds(ForeignCommit, NUMBER, AT, TEXT, TEXT)
INTENTS = st.builds(
    replace,
    st.just(intent()),
    table=st.builds(TableName, TEXT, TEXT),
    kind=st.sampled_from(StepKind),
    reason=TEXT,
    inputs=st.lists(st.builds(InputPin, TEXT, PIN), max_size=40).map(tuple),
    windows=st.lists(
        st.builds(InputWindow, TEXT, WINDOW, TEXT, st.none() | NUMBER), max_size=40
    ).map(tuple),
    watermarks=st.lists(st.builds(Watermark, TEXT, TEXT, VALUE), max_size=9).map(tuple),
    lowers_watermarks=st.booleans(),
    base_version=st.none() | NUMBER,
    step_seq=NUMBER,
    cut_at=st.none() | AT,
    passed_by=st.lists(TEXT, max_size=3).map(tuple),
    slice=st.none() | SLICE,
    unchanged=st.lists(UNCHANGED, max_size=3).map(tuple),
    foreign=st.lists(FOREIGN, max_size=20).map(tuple),
)


@given(INTENTS)
def test_an_intent_reads_back_as_it_was_written(given_intent: Intent):
    assert repr(read_intent(write_intent(given_intent))) == repr(given_intent)


@given(INTENTS)
def test_a_token_is_short_and_always_names_step_and_store(given_intent: Intent):
    token = write_token(given_intent, "0.1.0", "store-1")

    assert len(token.encode()) <= LIMIT_BYTES
    assert signed_by(token) == ("step-1", "store-1")


@given(INTENTS)
def test_a_token_holds_nothing_that_spark_replaces_in_a_setting(given_intent: Intent):
    written = replace(given_intent, slice=SliceId("${env:HOME}", 1, 2, "${system:user.name}"))

    text = write_token(written, "0", "store", "${project}")

    assert "$" not in text
    assert json.loads(text)["project"] == "${project}"


def test_slices_that_made_no_commit_go_first_of_which_most_is_known():
    """Of the oldest: the token before this one may have told of them."""
    made = [
        UnchangedSlice(SliceId("s" * 99, n, 7, "d" * 64), f"step-{n}", n, T1, {"n": 3})
        for n in range(40)
    ]

    token = write_token(
        replace(intent(), slice=SliceId("z", 1, 7, "d"), unchanged=tuple(made)), "0", "s"
    )

    found = read_intent(token)
    assert found.slice == SliceId("z", 1, 7, "d")
    assert len(found.unchanged) > 6
    assert found.unchanged == tuple(made[-len(found.unchanged) :])


def test_the_lists_of_earlier_versions_are_read():
    document = json.loads(write_intent(intent()))
    document["window"] = [["raw", "d", None, ["DATE 2024-03-01", "in"], True]]
    document["watermark"] = [["raw", "d", "DATE 2024-03-01"]]
    day = TypedValue("DATE", "2024-03-01")

    found = read_intent(json.dumps(document))

    window = Window("d", None, Bound(day, inclusive=True), nulls=True)
    assert found.windows == (InputWindow("raw", window),)
    assert found.watermarks == (Watermark("raw", "d", day),)


def test_a_token_says_windows_and_watermarks_by_input_and_column():
    low = Bound(TypedValue.parse("TIMESTAMP", "2025-01-16T12:00:00Z"), inclusive=False)
    high = Bound(TypedValue.parse("TIMESTAMP", "2025-01-17T10:00:00Z"), inclusive=True)
    read = replace(
        intent(),
        windows=(InputWindow("raw_logs", Window("ts", low, high), "forward", 18),),
        watermarks=(Watermark("raw_logs", "ts", high.value),),
    )

    document = json.loads(write_token(read, "0.1.0", "store-1"))

    assert document["window"] == {
        "raw_logs.ts": {
            "kind": "forward",
            "type": "TIMESTAMP",
            "low": "2025-01-16T12:00:00.000000Z",
            "low_closed": False,
            "high": "2025-01-17T10:00:00.000000Z",
            "high_closed": True,
            "input_version": 18,
        }
    }
    assert document["watermark"] == {
        "raw_logs.ts": {"type": "TIMESTAMP", "value": "2025-01-17T10:00:00.000000Z"}
    }


def test_columns_are_told_apart_and_keep_their_order_whatever_sorts_a_document():
    columns = (("b", "x"), ("a", "c.d"), ("b", "x"))
    value = {"type": "INT", "value": "1"}
    step = replace(
        intent(),
        watermarks=tuple(Watermark(*each, TypedValue("INT", "1")) for each in columns),
    )

    document = json.loads(write_intent(step))

    assert document["watermark"] == {
        "b.x": {**value, "at": 0},
        "a.c.d#1": {**value, "of": ["a", "c.d"], "at": 1},
        "b.x#2": {**value, "of": ["b", "x"], "at": 2},
    }
    assert read_intent(json.dumps(document, sort_keys=True)) == step


def test_an_end_of_a_window_says_its_type_where_it_is_another():
    low, high = (
        Bound(TypedValue(kind, text), inclusive=True)
        for kind, text in (("INT", "1"), ("BIGINT", "9"))
    )
    step = replace(intent(), windows=(InputWindow("a", Window("n", low, high)),))

    document = json.loads(write_intent(step))

    assert document["window"] == {
        "a.n": {
            "type": "INT",
            "low": "1",
            "low_closed": True,
            "high_type": "BIGINT",
            "high": "9",
            "high_closed": True,
        }
    }
    assert repr(read_intent(json.dumps(document)).windows) == repr(step.windows)


def test_of_many_changes_of_others_the_first_is_kept():
    others = tuple(ForeignCommit(n, T1, "WRITE", "u" * 90) for n in range(99))

    found = read_intent(write_token(replace(intent(), foreign=others), "1", "s"))

    assert found.foreign == others[:1]
    assert found.inputs == intent().inputs


@given(PIN)
def test_a_pin_reads_back_from_its_columns(pin):
    assert pin_of(*pin_parts(pin)) == pin


def test_a_pin_without_a_version_has_empty_columns():
    assert pin_parts(NoPin()) == ("none", "", 0)
    assert pin_parts(ViewPin(7)) == ("view", "", 7)


def test_a_token_leaves_the_folder_out_and_keeps_what_a_rebuild_needs():
    token = write_token(intent(), "0.1.0", "store-1")

    assert read_intent(token) == replace(intent(), uri="")
    assert json.loads(token)["penstock"] == "0.1.0"


def test_of_a_long_intent_the_reason_goes_first_and_the_inputs_last():
    pins = tuple(InputPin(f"raw.{number}", NoPin()) for number in range(50))
    chatty = replace(intent(), reason="why " * 1000, inputs=pins)
    wide = replace(intent(), inputs=pins * 20)

    assert read_intent(write_token(chatty, "1", "s")) == replace(chatty, uri="", reason="")
    assert read_intent(write_token(wide, "1", "s")).inputs == ()


def test_an_intent_that_fits_in_no_way_leaves_its_name():
    marks = tuple(Watermark(f"i{n}", "x" * 50, TypedValue("INT", "1")) for n in range(99))

    token = write_token(replace(intent(), watermarks=marks), "1", "s")

    assert json.loads(token) == {"penstock": "1", "store": "s", "step": "step-1", "run": "run-1"}


def test_a_token_of_somebody_else_names_nothing():
    ours = json.dumps(
        {"penstock": "1", "store": "s", "step": "a", "project": "p", "metrics": {"n": 3}}
    )

    assert (signed_by(ours), project_of(ours), read_metrics(ours)) == (("a", "s"), "p", {"n": 3})
    for text in (
        "",
        "{",
        "[1]",
        '{"step": "a", "store": "s", "project": "p", "metrics": {"n": 3}}',
    ):
        assert (signed_by(text), project_of(text), read_metrics(text)) == (("", ""), "", {})
    assert read_metrics('{"penstock": "1", "metrics": 7}') == {}


def test_a_fence_names_the_step_that_it_keeps_out_and_not_as_its_maker():
    fence = write_fence(intent(), "0.1.0", "store-1", "shop")

    assert json.loads(fence) == {
        "penstock": "0.1.0",
        "store": "store-1",
        "project": "shop",
        "kind": "fence",
        "fences": "step-1",
    }
    assert signed_by(fence) == ("", "store-1")


def test_a_slice_and_its_time_are_read_of_an_intent():
    there = SliceId("a.parquet", 1, 2, "d")

    written = write_intent(replace(intent(), slice=there))

    assert read_slice(written) == (there, intent().run_timestamp)


def test_sessions_that_are_let_out_go_before_partitions_are_given_up():
    promise = SessionPromise("web", released=tuple(f"session-{n}" for n in range(999)), stitched=3)
    step = replace(intent(), session=promise)

    found = read_intent(write_token(step, "1", "s"))

    assert found.session == SessionPromise("web", stitched=3)
    assert found.partitions == step.partitions
