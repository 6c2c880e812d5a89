"""Laws of Python models that need no Spark: windows, watermarks, graphs, decorators."""

import datetime as dt
import inspect
import tempfile
from decimal import Decimal
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import penstock
from fakes.builders import a_model
from fakes.oracle_python import TABLES, Reference
from fakes.python_files import HEAD, PythonFiles
from penstock.core.columns.typed import TypedValue, read_typed
from penstock.core.graph import ordered
from penstock.core.steps.window import Watermark
from penstock.core.strategy import WindowSettings
from penstock.plan.windows import Measured, WindowedInput, open_windows
from penstock.strategies.append import Append

FEW = settings(max_examples=8 if settings.default.derandomize else 300)  # each loads a project

# --- windows ------------------------------------------------------------------------------------

TIMES = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))  # noqa: DTZ001
VALUES = {
    "DATE": TIMES.map(lambda time: time.date().isoformat()),
    "TIMESTAMP": TIMES.map(dt.datetime.isoformat),
    "TIMESTAMP_NTZ": TIMES.map(dt.datetime.isoformat),
    "TINYINT": st.integers(-128, 127).map(str),
    "INT": st.integers(-(2**31), 2**31 - 1).map(str),
    "BIGINT": st.integers(-(2**63), 2**63 - 1).map(str),
    "DECIMAL(10,2)": st.integers(-(10**10) + 1, 10**10 - 1).map(lambda n: str(Decimal(n) / 100)),
    "DECIMAL(38,0)": st.integers(-(10**38) + 1, 10**38 - 1).map(str),
    "STRING": st.text(st.characters(codec="utf-8")),
}
KINDS = st.sampled_from(sorted(VALUES))
CLOCK_KINDS = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
GRAINS = ("hour", "day", "week", "month", "year")


def typed(kind):
    return VALUES[kind].map(lambda text: TypedValue.parse(kind, text))


@st.composite
def cuts(draw, kinds=KINDS):
    """Give values of one type, and where runs cut them: the greatest that each of them sees."""
    kind = draw(kinds)
    values = draw(st.lists(typed(kind), min_size=1, max_size=8))
    return kind, values, draw(st.lists(st.none() | st.sampled_from(values), max_size=6))


def told(kind, how, highs):
    """Give the windows and watermarks of runs that see one greatest value after another."""
    model = a_model("log", "raw.events", strategy=Append(how))
    each, marks, found = WindowedInput("raw.events", "n", kind.lower()), (), []
    for high in highs:
        one = open_windows(model, how, [Measured(each, high, 0)], marks, initial=not marks)
        marks = one.watermarks
        found.append((one.windows[0].window, marks))
    return found


def holds(window, value):
    """Whether a value lies in a window, by the ends that its condition has."""
    low, high = window.lower, window.upper
    above = low is None or low.value < value or (low.inclusive and low.value == value)
    below = high is not None and (value < high.value or (high.inclusive and value == high.value))
    return above and below


@given(cuts())
def test_forward_windows_are_disjoint_and_together_all_up_to_the_greatest(case):
    kind, values, highs = case
    windows = [window for window, _ in told(kind, WindowSettings("n"), highs)]
    tops = [high for high in highs if high is not None]

    for value in values:
        read = sum(holds(window, value) for window in windows)
        assert read == (bool(tops) and value <= max(tops))


@given(cuts())
def test_no_run_lowers_a_watermark_and_an_empty_one_leaves_it(case):
    kind, _, highs = case
    marks = [marks for _, marks in told(kind, WindowSettings("n"), highs)]

    for (before, after), high in zip(pairwise(marks), highs[1:], strict=True):
        if before:
            assert after[0].value == max(v for v in (before[0].value, high) if v is not None)


@given(cuts(st.sampled_from(("DATE", "TIMESTAMP", "BIGINT"))), st.integers(0, 400), st.data())
def test_a_lookback_reads_all_above_the_watermark_and_no_less_than_it_says(case, back, data):
    kind, values, highs = case
    is_time = kind in CLOCK_KINDS
    grain = data.draw(st.sampled_from(("", *GRAINS[kind == "DATE" :]))) if is_time else ""
    how = WindowSettings("n", lookback=back, grain=grain)
    assume(is_time or all(int(each.text) - back >= -(2**63) for each in values))
    mark = None

    for window, marks in told(kind, how, highs):
        top = marks[0].value if marks else None
        for value in values:
            if top is not None and value <= top:
                assert holds(window, value) or (mark is not None and value < mark.minus(back))
            else:
                assert not holds(window, value)
        mark = top


@given(st.sampled_from(CLOCK_KINDS), st.sampled_from(GRAINS), st.data())
def test_a_unit_begins_at_or_below_what_lies_in_it_and_begins_itself(kind, grain, data):
    assume(not (kind == "DATE" and grain == "hour"))
    value = data.draw(typed(kind))
    begins = value.floor(grain)

    assert begins <= value
    assert begins.floor(grain) == begins


@given(KINDS, st.data())
def test_a_watermark_reads_back_as_it_was_written(kind, data):
    value = data.draw(typed(kind))
    again = read_typed(str(value))

    assert (again.type, again.text) == (value.type, value.text)
    assert again.key == value.key


@given(cuts())
def test_a_full_refresh_leaves_exactly_what_it_has_read(case):
    kind, _, highs = case
    each = WindowedInput("raw.events", "n", kind.lower())
    for high in highs:
        marks = [Watermark("raw.events", "n", value) for value in (case[1][0],)]
        model = a_model("log", "raw.events", strategy=Append(WindowSettings("n")))
        measured = [Measured(each, high, 0)]
        found = open_windows(model, WindowSettings("n"), measured, marks, initial=True)

        assert [mark.value for mark in found.watermarks] == ([high] if high is not None else [])


# --- graphs -------------------------------------------------------------------------------------

NAMES = st.lists(st.sampled_from([f"m{n}" for n in range(12)]), min_size=1, unique=True)


@st.composite
def graphs(draw):
    """Give models and what each reads: only such as stand before it in an order nobody sees."""
    names = draw(NAMES)
    return {
        name: draw(st.lists(st.sampled_from(names[:at]), unique=True)) if at else []
        for at, name in enumerate(names)
    }


@st.composite
def broken_graphs(draw):
    """Give such a graph, and cycles without a common model that were planted in it."""
    graph = {name: list(reads) for name, reads in draw(graphs()).items()}
    left = draw(st.permutations(sorted(graph)))
    planted = []
    while left and (not planted or draw(st.booleans())):
        size = draw(st.integers(1, len(left)))
        ring, left = left[:size], left[size:]
        planted.append(set(ring))
        for name, read in zip(ring, (*ring[1:], ring[0]), strict=True):
            graph[name] = [*graph[name], *([] if read in graph[name] else [read])]
    return graph, planted


def write(folder, graph):
    """Write the models into two files, in the order of their names."""
    files = PythonFiles(Path(folder))
    texts = ["", ""]
    for number, name in enumerate(sorted(graph)):
        reads = ", ".join(graph[name])
        texts[number % 2] += f"\n\n@model\ndef {name}({reads}):\n    return None\n"
    for number, text in enumerate(texts):
        files.write(f"models/m/part{number}.py", HEAD + text)
    return files


@FEW
@given(graphs())
def test_every_model_comes_after_what_it_reads(graph):
    with tempfile.TemporaryDirectory() as folder:
        project = write(folder, graph).load()

    parents = {name: model.depends_on for name, model in project.models.items()}
    order = ordered(parents)
    assert {name: set(reads) for name, reads in graph.items()} == {
        name: set(reads) for name, reads in parents.items()
    }
    assert all(order.index(read) < order.index(name) for name in graph for read in graph[name])


@FEW
@given(broken_graphs())
def test_each_planted_cycle_is_found_and_named(case):
    graph, planted = case
    with tempfile.TemporaryDirectory() as folder, pytest.raises(penstock.PenstockError) as caught:
        write(folder, graph).load()

    errors = getattr(caught.value, "findings", None) or [caught.value]
    found = [e.sentence.partition(" (")[0].split(" → ") for e in errors if is_cycle(e)]
    named = [set(path) for path in found]
    for path in found:
        assert path[0] == path[-1]
        assert all(read in graph[name] for read, name in pairwise(path))
    for ring in planted:  # all of it, or another cycle that goes through it
        assert any(ring & path for path in named)


def is_cycle(error):
    return error.code == "dependency-cycle"


# --- decorators ---------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from("abcdefg"), max_size=5, unique=True)
DECORATORS = {
    "source": penstock.source,
    "source()": penstock.source(name="x"),
    "model": penstock.model,
    "model()": penstock.model(persist=False),
    "table": penstock.table,
    "table()": penstock.table(partition_by="d"),
    "incremental": penstock.incremental_table(time_column="ts"),
}


@st.composite
def functions(draw):
    """Give a function that tells its arguments, with any kinds of parameters, and a call of it."""
    names, keywords = draw(WORDS), draw(WORDS)
    keywords = [name for name in keywords if name not in names]
    since = draw(st.integers(0, len(names)))
    given_up = draw(st.booleans())
    parts = [f"{n}: int = {at}" if at >= since else n for at, n in enumerate(names)]
    parts += ["*", *(f"{name}=None" for name in keywords)] if keywords else []
    head = f"def told({', '.join(parts)}){' -> dict' if given_up else ''}:"
    space = {}
    exec(f'{head}\n    """Tell them."""\n    return dict(locals())', space)  # noqa: S102
    least = draw(st.integers(since, len(names)))
    call = draw(st.lists(st.integers(), min_size=least, max_size=least))
    named = {name: 7 for name in keywords if draw(st.booleans())}
    return space["told"], call, named


@given(functions(), st.sampled_from(sorted(DECORATORS)))
def test_decorating_changes_neither_signature_nor_results(case, how):
    plain, arguments, named = case
    decorated = DECORATORS[how](plain)

    assert inspect.signature(decorated) == inspect.signature(plain)
    assert decorated(*arguments, **named) == plain(*arguments, **named)
    for name in ("__name__", "__doc__", "__module__", "__qualname__"):
        assert getattr(decorated, name) == getattr(plain, name)


# --- what tables must hold ----------------------------------------------------------------------

EVENTS = st.lists(st.tuples(st.integers(0, 96), st.sampled_from("abc")), max_size=12)


def delivered(events, parts=()):
    """Give tables that took events, run after each of some numbers of them and at the end."""
    found, left = Reference(), [(n, *event) for n, event in enumerate(events)]
    for part in (*parts, len(left)):
        found.deliver(left[:part])
        left = left[part:]
        for name in TABLES:
            found.run(name)
    return found


def held(found):
    return {name: sorted(rows) for name, rows in found.tables.items()}


@given(EVENTS, st.lists(st.integers(0, 4), max_size=4))
def test_any_cut_in_time_order_gives_the_rows_of_one_run(events, parts):
    by_time = sorted(events)
    sizes = [len([*rows]) for _, rows in groupby(by_time, key=lambda event: event[0])]
    cut = [sum(sizes[sum(parts[:n]) : sum(parts[: n + 1])]) for n in range(len(parts))]

    assert held(delivered(by_time, cut)) == held(delivered(by_time))


@given(EVENTS, st.sampled_from(TABLES), st.integers(0, 96), st.integers(0, 48))
def test_a_rerun_of_what_did_not_change_changes_nothing(events, name, low, hours):
    found = delivered(events)
    before, mark = held(found), found.marks[name]
    found.rerun(name, low, low + hours)

    assert held(found) == before
    assert found.marks[name] == mark


@given(EVENTS, EVENTS, st.sampled_from(TABLES), st.integers(0, 96), st.integers(0, 48))
def test_a_full_refresh_forgets_every_rerun(events, late, name, low, hours):
    found = delivered(events)
    found.deliver([(n, *event) for n, event in enumerate(late, len(events))])
    found.rerun(name, low, low + hours)
    found.refresh(name)

    assert held(found)[name] == held(delivered([*events, *late]))[name]
