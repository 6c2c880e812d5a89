"""A step that writes nothing is told so, even if the table it left alone fails a gate."""

from fakes.builders import a_model, a_source
from fakes.check_inputs import a_check, answered, said
from fakes.lake import ID
from fakes.workshop import Workshop
from penstock.core.checks import Checks, CheckScope, RowCount
from penstock.core.strategy import WindowSettings
from penstock.strategies.append import Append

AT_LEAST_5 = a_check(RowCount(5), scope=CheckScope.TABLE)


def test_a_table_that_fails_a_gate_is_flagged_though_nothing_was_written():
    events = a_source("events")
    strategy = Append(WindowSettings("n"))
    workshop = Workshop(events, a_model("log", "raw.events", strategy=strategy))
    workshop.run()
    workshop.has(a_model("log", "raw.events", strategy=strategy, checks=Checks((), (AT_LEAST_5,))))
    workshop.lake.land(events.path, n="1")
    workshop.lake.answers("check_after_target", answered(AT_LEAST_5, ID, 4))

    result = workshop.run()["log"]

    assert workshop.operations("log") == ["CREATE OR REPLACE TABLE AS SELECT"]
    assert said(result.invariant_report.after) == [("failed", "rows 4 < min 5")]
    assert result.consequence == "nothing was written; flagged"
