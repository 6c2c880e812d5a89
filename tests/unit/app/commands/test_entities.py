"""What became of the slices of an entity, and what people say of them."""

from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN, HERE, intent, wrote
from fakes.builders import a_project
from fakes.lake import FakeLake
from fakes.services import a_shop
from fakes.silver_table import T1, an_entity
from penstock.app.commands.entities import list_slices, skip_slice
from penstock.core.entities.slices import SliceId
from penstock.core.errors import UsageError

ENTITY = an_entity()
TOLD = {"recordsInSlice": 3, "flagged": 0, "numTargetRowsInserted": 1, "numSourceRows": 3}


@pytest.fixture
def services():
    """Six slices: two processed, of which one is another by now, one failed, one that is gone."""
    lake = FakeLake()
    lake.files["/bronze/aw/x"] = {f"{name}.parquet": (9, 1) for name in "abcde"}
    services = a_shop(replace(a_project(), entities={ENTITY.model: ENTITY}), lake.log)
    known = {each.id.name[0]: each.id for each in lake.log.slices(folder())}
    steps = {"a": known["a"], "b": replace(known["b"], size=1), "z": SliceId("z", 1, 1, "")}
    for version, (name, of) in enumerate(steps.items()):
        begin(services, name, of)
        told = replace(wrote(version), metrics=TOLD)
        services.writing.journal.finish(name, told)
    begin(services, "c", known["c"])
    services.writing.journal.fail("c", BROKEN)
    return services


def folder():
    from penstock.project.entities.places import bronze_folder

    return bronze_folder(ENTITY, T1)


def begin(services, step, of):
    reads = replace(intent(step, ENTITY.model), slice=of, run_timestamp=T1)
    services.writing.journal.begin(reads, {}, HERE, None)


def statuses(report):
    return {each.id.name[0]: each.status for each in report.slices}


def test_each_slice_is_told_with_what_became_of_it(services):
    begin(services, "d", SliceId("d.parquet", 9, 1, ""))

    found = list_slices(services, "x")

    assert statuses(found) == {
        "a": "success",
        "b": "changed",
        "c": "failed",
        "d": "running",
        "e": "waiting",
        "z": "gone",
    }
    assert (found.slices[0].moment, found.slices[0].step) == (T1, "a")
    assert found.slices[0].metrics["inserted"] == 1
    assert found.slices[2].why == "null-key: 3 rows have no id"


def test_a_skip_keeps_who_and_why(services):
    report = skip_slice(services, "x", "c", "bad")

    assert [(e.id.name, e.status, e.why) for e in report.slices] == [
        ("c.parquet", "skipped", "bad")
    ]
    assert report.slices[0].who
    assert statuses(skip_slice(services, "x", "c", "", skips=False)) == {"c": "failed"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a", "slice a.parquet of silver_aw.x was processed"),
        ("b", "slice b.parquet of silver_aw.x was processed"),
        ("z", "slice z of silver_aw.x is not in bronze any more"),
    ],
)
def test_only_a_slice_that_a_run_would_take_is_skipped(services, name, said):
    with pytest.raises(UsageError) as caught:
        skip_slice(services, "x", name, "bad")

    assert (caught.value.code, caught.value.sentence) == ("slice-not-open", said)
