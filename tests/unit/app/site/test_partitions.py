"""The partitions that the site shows are those of `status`, and say what built them."""

import pytest

from contracts.store_cases import HERE
from fakes.builders import a_model, a_source
from fakes.versioned_models import DAY, a_body, a_daily, daily, monthly, reading, weekly
from fakes.workshop import Workshop
from penstock.app.commands.status import status
from penstock.app.request import StatusRequest
from penstock.app.site.partitions import STATES, partitions_document
from penstock.app.site.reading import read_site
from penstock.app.site.tasks import mapped_ranges
from penstock.core.partitions.mapping import Calendar, Everything, Same, Trailing
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.steps.step import Outcome, PartitionRows, StepKind

MONTH = Grid(Grain.MONTH)


def documents(workshop):
    services = workshop.services()
    names = tuple(workshop.project.models)
    inputs = read_site(services, names, workshop.clock.now())
    return {name: partitions_document(inputs, name) for name in names}


def counted(document):
    """Count the partitions of each state."""
    found = {}
    for each in document.ranges:
        name = str(STATES[each.state])
        found[name] = found.get(name, 0) + each.high - each.low + 1
    return found


@pytest.fixture
def workshop():
    body = a_body("1", "2024-02-01")
    made = Workshop(a_source("events"), a_daily("daily", body))
    step = made.begin(
        HERE,
        "daily",
        "built",
        grid=DAY,
        partitions=("2024-02-01..2024-02-10",),
        kind=StepKind.BUILD,
        fingerprint=body.fingerprint,
    )
    version = made.commit(step)
    table = made.lake.tables[step.uri].table_id
    made.store.journal.finish(step.step, Outcome(version, table, version))
    return made


def test_every_square_is_what_status_says(workshop):
    shown = counted(documents(workshop)["daily"])

    (found,) = status(workshop.services(), StatusRequest()).models
    expected = {str(each.state): each.count for each in found.states}
    expected["current"] = found.partitions - sum(expected.values())
    assert shown == {name: number for name, number in expected.items() if number}
    assert shown["current"] == 10


def test_a_square_knows_the_step_that_built_it_and_the_code_that_is_for_it(workshop):
    document = documents(workshop)["daily"]

    first = document.ranges[0]
    assert (DAY.key(first.low), DAY.key(first.high)) == ("2024-02-01", "2024-02-10")
    assert (document.steps[first.built_by].step, first.version) == ("built", 1)
    assert document.steps[first.built_by].code == first.code
    assert {each.built_by for each in document.ranges[1:]} == {-1}
    assert document.grain == "day"


def test_rows_and_bytes_are_those_of_each_partition():
    body = a_body("1", "2024-02-01")
    made = Workshop(a_source("events"), a_daily("daily", body))
    for id_, keys, rows in (
        ("first", "2024-02-01..2024-02-03", (4, 5, None)),
        ("second", "2024-02-04..2024-02-05", (8, 8)),
    ):
        step = made.begin(
            HERE,
            "daily",
            id_,
            grid=DAY,
            partitions=(keys,),
            kind=StepKind.BUILD,
            fingerprint=body.fingerprint,
        )
        version = made.commit(step)
        table = made.lake.tables[step.uri].table_id
        low = DAY.parse(keys.split("..")[0])
        counts = tuple(PartitionRows(low + n, each, 2) for n, each in enumerate(rows))
        made.store.journal.finish(step.step, Outcome(version, table, version, partitions=counts))

    ranges = documents(made)["daily"].ranges

    assert [(each.rows, each.bytes) for each in ranges[:2]] == [((), (2,)), ((8,), (2,))]
    assert {(each.rows, each.bytes) for each in ranges[2:]} == {((), ())}


def test_a_table_without_partitions_is_one_square():
    made = Workshop(a_source("events"), a_model("top", "raw.events"))

    document = documents(made)["top"]

    assert (document.grain, counted(document)) == ("*", {"never_run": 1})


@pytest.mark.parametrize(
    ("mapping", "grid", "above", "known", "expected"),
    [
        (Same(), DAY, DAY, (("2024-02-01", "2024-02-03"),), [(19754, 19756, 19754, 19754, True)]),
        (
            Trailing(2),
            DAY,
            DAY,
            (("2024-02-01", "2024-02-03"),),
            [(19754, 19756, 19753, 19754, True)],
        ),
        (
            Calendar("month"),
            MONTH,
            DAY,
            (("2024-01", "2024-02"),),
            [(24288, 24288, 19723, 19753, False), (24289, 24289, 19754, 19782, False)],
        ),
        (Everything(), DAY, DAY, (("2024-02-01", "2024-02-03"),), []),
    ],
)
def test_what_partitions_read_of_an_input_is_joined_where_it_moves_along(
    mapping, grid, above, known, expected
):
    ranges = tuple((grid.parse(low), grid.parse(high)) for low, high in known)

    found = mapped_ranges(reading("up", mapping), grid, above, ranges)

    assert [tuple(row) for row in found] == expected


def test_months_above_days_are_mapped_to_all_their_days():
    made = Workshop(a_source("events"), daily(), weekly(), monthly())

    found = documents(made)

    assert [each.node for each in found["monthly"].mappings] == ["weekly"]
    assert [each.node for each in found["weekly"].mappings] == ["daily"]
