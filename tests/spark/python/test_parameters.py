"""Parameters of functions in runs: their values, and what is rebuilt."""

import pytest

import penstock


@pytest.fixture
def rated(place):
    place.source(1, 2)

    @place.app.table
    def rated(raw_logs, rate: float = penstock.param(1.5)):
        return raw_logs.selectExpr("id", f"amount * {rate} as amount")

    return place


def test_a_parameter_of_one_run_rebuilds_twice_and_the_reasons_name_it(rated):
    rated.app.run()
    planned = rated.app.run(dry_run=True, params={"rate": 2})["rated"]
    raised = rated.app.run(params={"rate": 2})["rated"]
    rows = rated.rows("rated", "id, cast(amount as double)")
    state = str(rated.app)
    back = rated.app.run()["rated"]

    assert rows == [(1, 20.0), (2, 40.0)]
    assert "parameter rate 1.5 -> 2.0" in planned.reason
    assert "parameter rate 1.5 -> 2.0" in raised.reason
    assert "sql_changed" in state
    assert "parameter rate 2.0 -> 1.5" in back.reason
    assert rated.rows("rated", "id, cast(amount as double)") == [(1, 15.0), (2, 30.0)]
    assert rated.app.run()["rated"].status == "unchanged"
