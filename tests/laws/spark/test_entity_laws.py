"""Any slices in any order: the silver table and its metrics are those of plain Python."""

import datetime as dt
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.silver_model import SilverModel, TimeTakenError
from fakes.silver_table import KEY, T1, SilverTable, an_entity
from penstock.core.columns.schema import Column
from penstock.core.entities.entity import EntityColumn, FieldRole, LastSeen, ProcessType
from penstock.core.errors import PenstockError
from penstock.strategies.values import row_hash

ROWS = st.tuples(
    st.sampled_from([None, 1, 2, 3, 4]),
    st.sampled_from([None, "", "a", "b"]),
    st.sampled_from([None, False, False, True]),
)
SLICE = st.dictionaries(st.integers(1, 8), ROWS, max_size=6)
SLICES = st.lists(SLICE, min_size=2, max_size=6)
KINDS = {
    "full": {"process": "full"},
    "full, emptied": {"process": "full", "allow_empty": True},
    "full by partition": {"process": "full", "by_name": True},
    "merge": {},
    "merge, inferring": {"infers": True},
    "merge, inferring by partition": {"infers": True, "by_name": True},
    "merge on change": {"infers": True, "on_change": True},
    "historic": {"process": "historic"},
    "historic, inferring": {"process": "historic", "infers": True},
    "historic, inferring by partition": {"process": "historic", "infers": True, "by_name": True},
}
NAME = EntityColumn("name", roles=frozenset({FieldRole.PARTITION}))
SMALL = settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
HASHED = [Column("ID", "int"), Column("SeqNr", "int"), Column("name", "string")]


@contextmanager
def silver(spark, process="merge", infers=False, on_change=False, by_name=False, allow_empty=False):
    """Give a table that is not there yet."""
    entity = an_entity(
        ProcessType(process),
        columns=(KEY, NAME) if by_name else (KEY,),
        delete_missing=infers,
        allow_empty=allow_empty,
        last_seen=LastSeen.ON_CHANGE if on_change else LastSeen.EVERY_RUN,
    )
    with TemporaryDirectory() as folder:
        yield SilverTable(spark, Path(folder), entity)


def moment(number):
    """Give the time of a slice; some come before those that were run."""
    return T1 + dt.timedelta(minutes=number)


def values(rows):
    """Write rows as SQL."""

    def word(value):
        return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)

    return ", ".join(f"({key}, {', '.join(map(word, row))})" for key, row in rows.items())


def take(table, number, rows):
    types = {"p_deleted": "boolean"}
    return table.run(moment(number), values(rows), "ID, SeqNr, name, p_deleted", types=types)


def stored(table, *more):
    columns = ("ID", "SeqNr", "name", "p_deleted", *more)
    return sorted(table.rows(", ".join(columns)), key=repr)


def files(table):
    """Give the files of each partition."""
    found = {}
    for add in pa.table(DeltaTable(table.uri).get_add_actions(flatten=True)).to_pylist():
        found.setdefault(add["partition.name"], set()).add(add["path"])
    return found


def shown(model):
    """Give the rows of the oracle as `stored` gives those of the table."""
    rows = [(r.key, r.seq, r.name, r.deleted, micros(r.seen)) for r in model.rows]
    if model.process == "historic":
        ends = [(micros(r.start), r.end and micros(r.end)) for r in model.rows]
        rows = [(*row, *end) for row, end in zip(rows, ends, strict=True)]
    return sorted(rows, key=repr)


def micros(at):
    return round(at.timestamp()) * 1_000_000


def hold_to_the_oracle(spark, kind, slices):
    """Take slices into a table and a model of it, and compare both after each."""
    how = KINDS[kind]
    model = SilverModel(**how)
    times = ["p_lastSeen"]
    if model.process == "historic":
        times += ["p_ValidFrom", "p_ValidTo"]
    asked = [f"unix_micros({each})" for each in times]
    with silver(spark, **how) as table:
        for number, rows in enumerate(slices):
            before = files(table) if model.by_name and number else {}
            assert take(table, number, rows).replace(" =0", "") == model.run(
                moment(number), rows
            ).replace(" =0", "")
            assert stored(table, *asked) == shown(model)
            low = table.watermarks.get("SeqNr")
            assert (low and int(low.text)) == (None if "full" in kind else model.watermark)
            if kind == "full by partition":
                held = {name or None for _, name, _ in rows.values()}
                after = files(table)
                left = {name: each for name, each in before.items() if name not in held}
                assert {name: after[name] for name in left} == left
        if model.process != "historic":
            hashed = row_hash(HASHED)
            assert table.rows("ID", where=f"p_SourceHash <> {hashed}") == []


@pytest.mark.matrix
@SMALL
@given(kind=st.sampled_from(sorted(KINDS)), slices=SLICES)
def test_a_silver_table_is_what_its_slices_say(spark, kind, slices):
    hold_to_the_oracle(spark, kind, slices)


def test_a_silver_table_is_what_a_sample_of_slices_says(spark):
    one, two = (1, "a", None), (2, "", False)
    slices = [{1: one, 2: one, 3: (None, "b", None)}, {1: two, 4: (3, None, True), 5: two}]
    hold_to_the_oracle(spark, "merge, inferring", slices)


@pytest.mark.matrix
@SMALL
@given(kind=st.sampled_from(sorted(KINDS)), slices=SLICES)
def test_a_slice_that_is_run_twice_at_one_time_is_run_once(spark, kind, slices):
    slices = slices[:3]
    with silver(spark, **KINDS[kind]) as table:
        for number, rows in enumerate(slices):
            take(table, number, rows)
        times = ("p_lastSeen",) * ("historic" not in kind)
        once, version = stored(table, *times), table.version
        take(table, len(slices) - 1, slices[-1])

        assert stored(table, *times) == once
        assert table.version == version or "historic" not in kind


@pytest.mark.matrix
@SMALL
@given(first=SLICE, rows=SLICE, cuts=st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_a_slice_that_is_cut_by_its_keys_merges_to_the_same_rows(spark, first, rows, cuts):
    with silver(spark) as whole, silver(spark) as cut:
        for table in (whole, cut):
            take(table, 0, first)
        take(whole, 1, rows)
        for place in range(3):
            take(cut, 1 + place, {key: row for key, row in rows.items() if cuts[key - 1] == place})

        assert stored(cut, "p_SourceHash", "PK_x") == stored(whole, "p_SourceHash", "PK_x")


@pytest.mark.matrix
def test_a_history_refuses_a_time_that_a_version_began_at(spark):
    with silver(spark, "historic") as table:
        model = SilverModel(process="historic")
        take(table, 1, {1: (1, "a", None)})
        model.run(moment(1), {1: (1, "a", None)})
        with pytest.raises(PenstockError):
            take(table, 1, {1: (2, "a", None)})
        with pytest.raises(TimeTakenError):
            model.run(moment(1), {1: (2, "a", None)})
