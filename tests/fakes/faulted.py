"""What the models of the crash tests hold after an undisturbed second run."""

import datetime as dt

from penstock.app.faults import POINTS

__all__ = ["POINTS", "UNDISTURBED", "VERSIONS"]


def _day(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, number)  # noqa: DTZ001  # Spark gives naive times


UNDISTURBED = {
    "log": [(1, _day(1), 1), (2, _day(2), 2), (3, _day(3), 3)],
    "users": [(1, _day(1), 1), (2, _day(2), 20), (3, _day(3), 3)],
    "totals": [(3, 24)],
}
VERSIONS = {"log": 1, "users": 1, "totals": 1}
