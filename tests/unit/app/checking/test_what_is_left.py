"""What a gate ahead of a step leaves of it is made from the inputs that the gate has seen."""

from dataclasses import replace

from fakes.builders import a_model, a_source
from fakes.check_inputs import a_check, answered
from fakes.lake import columns
from fakes.versioned_models import a_body, a_daily, a_version, reading
from fakes.workshop import Workshop
from penstock.core.checks import Checks, Phase, RowCount
from penstock.core.partitions.bounds import Lower, Upper
from penstock.core.partitions.mapping import Computed
from penstock.strategies.checks.phase import GROUP

DAYS = columns("date date, n int")
HAS_ROWS = replace(a_check(RowCount(1)), phase=Phase.BEFORE)
OF_THE_DAY = reading("top", Computed("date", ((Lower(), Upper()),)))


def test_partitions_that_are_left_read_what_the_gate_saw():
    checks = Checks((HAS_ROWS,))
    body = a_body("v1", "2024-02-28", OF_THE_DAY, is_range=True)
    version = replace(a_version(body), checks=checks)
    workshop = Workshop(
        a_source("events"),
        a_model("top", "raw.events"),
        replace(a_daily("days", version), checks=checks),
    )
    workshop.lake.gives("in_0_events", "date date, n int")
    workshop.run("top")

    def told():
        workshop.lake.land(workshop.uri("top"))  # while checks are looked at
        return ({GROUP: "2024-02-29", **answered(HAS_ROWS, DAYS, 3)},)

    workshop.lake.answers("AS __penstock_group", told)

    report = workshop.run("days", from_="2024-02-28", to="2024-02-29")

    assert [(each.status, each.partitions) for each in report.results] == [
        ("skipped", (("2024-02-28", "2024-02-28"),)),
        ("success", (("2024-02-29", "2024-02-29"),)),
    ]
    assert [str(each.pin) for each in report.results[1].inputs] == ["v0"]
