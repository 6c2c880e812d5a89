"""The shape a table will have for its rows: told beforehand, and refused where it cannot be."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_success
from fakes.lake import columns
from fakes.versioned_models import daily
from fakes.workshop import ELSEWHERE, Workshop
from penstock.app.execution.commit import Committer
from penstock.app.execution.reshaping import Reshaping, Shape
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.core.errors import SchemaError
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
