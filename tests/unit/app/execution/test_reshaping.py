"""The shape a table will have for its rows: told beforehand, and refused where it cannot be."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_success
from fakes.lake import columns
from fakes.services import ME, an_intent
from fakes.versioned_models import MONTH, daily
from fakes.workshop import ELSEWHERE, Workshop
from penstock.app.execution.commit import Committer
from penstock.app.execution.reshaping import Reshaping, Shape
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.core.errors import SchemaError
from penstock.core.steps.step import Outcome
from penstock.plan.values import Options

MODEL = daily()
URI = f"/w/{MODEL.table.schema}/{MODEL.table.table}"
ROWS = "SELECT * FROM `penstock_target`"


def reshaping(lies=None, table_id="id-1", **options):
    """The reshaping of a table that lies there with some columns, and of which a step is known."""
    workshop = Workshop(MODEL)
    if lies:
        workshop.lake.land(URI, lies)
    record = replace(a_success(MODEL), table_id=table_id)
    view = ObservedTables.empty(NOON)
    records = {MODEL.name: record}
    context = Context(ELSEWHERE, NOON, workshop.project, view, records, options=Options(**options))
    services = workshop.services()
    return Reshaping(services, context, Committer(services, context, None, None), MODEL)


def test_a_model_that_reads_itself_declares_its_columns():
    with pytest.raises(SchemaError) as refused:
        reshaping().require_declared()

    assert refused.value.code == "schema-needed"


@pytest.mark.parametrize(
    ("lies", "table_id", "is_new", "shape"),
    [
        (None, "", True, Shape(columns("date date, n int"), None)),
        ("date date", "id-other", True, Shape(columns("date date, n int"), 0)),
        ("date date, n int", "id-1", False, Shape(columns("date date, n int"), 0, (), ROWS)),
        ("date date, n int", "", False, Shape(columns("date date, n int"), 0, (), ROWS)),
    ],
)
def test_a_table_that_is_not_on_record_is_made_and_one_that_is_stays(lies, table_id, is_new, shape):
    found = reshaping(lies, table_id)

    assert found.is_new_table is is_new
    assert found.expected_shape(columns("date date, n int")) == shape


def test_a_new_column_comes_with_the_rows():
    found = reshaping("date date").expected_shape(columns("date date, n int"))

    assert found.columns.names == ("date", "n")
    assert (found.version, found.changes, found.stays) == (0, ("+ n INT",), ROWS)


def test_a_type_that_breaks_is_refused_until_it_is_allowed_and_then_written_anew():
    described = columns("date date, n date")

    with pytest.raises(SchemaError) as refused:
        reshaping("date date, n string").check(described)
    allowed = reshaping("date date, n string", allow_breaking=True)
    allowed.check(described)
    shape = allowed.expected_shape(described)

    assert refused.value.code == "incompatible-type"
    assert shape.columns == described
    assert "CAST(`n` AS date) AS `n`" in shape.stays


def test_a_table_that_will_be_another_one_may_have_had_any_columns():
    reshaping("date date, n string", "id-other").check(columns("date date, n date"))


WANTED = columns("date date, n int")


def reshaped(lies, described=WANTED, **options):
    """Bring a table to the columns of a query; give its shape, the commits and what they stand on.

    The first word of each statement, its kind, and the version that its step began from.
    """
    found = reshaping(lies, **options)
    lake = found.services.engine.lake
    with found.services.engine.session(MODEL.name) as session:
        found.committer.session = session
        shape = found.reshape(an_intent(MODEL), described)
    steps = found.services.writing.records.steps_of(MODEL.name)
    kinds = [(str(each.intent.kind), each.intent.base_version) for each in steps]
    words = [sql.partition(" delta")[0] for _, word, sql in lake.ran if word == "commit"]
    return shape, list(zip(words, kinds, strict=True))


@pytest.mark.parametrize(
    ("lies", "options", "shape", "commits"),
    [
        ("date date", {}, Shape(WANTED, 0, ("+ n INT",)), []),
        (
            "date date, n smallint",
            {},
            Shape(WANTED, 1, ("n SMALLINT -> INT",)),
            [("ALTER TABLE", ("alter", 0))],
        ),
        (
            "date date, n string",
            {"allow_breaking": True},
            Shape(WANTED, 1, ("n STRING -> INT (breaking)",)),
            [("CREATE OR REPLACE TABLE", ("rewrite", 0))],
        ),
    ],
)
def test_a_table_is_brought_to_its_columns_a_commit_at_a_time(lies, options, shape, commits):
    assert reshaped(lies, **options) == (shape, commits)


def test_what_no_cast_can_make_is_refused_even_where_breaking_is_allowed():
    with pytest.raises(SchemaError) as refused:
        reshaping("date date, n array<int>", allow_breaking=True).check(WANTED)

    assert (refused.value.code, refused.value.hint) == (
        "incompatible-type",
        "give the column another name",
    )
    assert ": no cast for n ARRAY<INT> -> INT" in refused.value.sentence


@pytest.mark.parametrize(
    ("grid", "options", "is_rewritten"),
    [
        (MODEL.grid, {"full_refresh": True}, False),
        (MONTH, {"full_refresh": True}, True),
        (MONTH, {}, False),
    ],
)
def test_a_full_refresh_writes_rows_anew_that_another_grid_had_cut(grid, options, is_rewritten):
    found = reshaping("date date, n int", **options)
    intent = replace(an_intent(MODEL), grid=grid, partitions=(grid.key(600),))
    journal = found.services.writing.journal
    journal.begin(intent, {}, ME, None)
    journal.finish(intent.step, Outcome(0, "id-1", 0))

    assert (found.expected_shape(WANTED).stays != ROWS) is is_rewritten
