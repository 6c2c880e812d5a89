"""What the models of the crash tests hold after an undisturbed second run."""

import datetime as dt

from penstock.app.services import wire

__all__ = ["HISTORIES", "OF_CHECKS", "POINTS", "UNDISTURBED", "VERSIONS", "WITH_CHECKS"]

OF_CHECKS = ("after-evaluating", "after-checks")
WITH_CHECKS = tuple(each for each in wire.POINTS if each not in ("after-hook", "after-rows"))
"""The points that a step passes without hooks and rows of templates."""
POINTS = tuple(point for point in WITH_CHECKS if point not in OF_CHECKS)
"""The points that it passes without checks, too."""


def _day(number: int) -> dt.datetime:
    return dt.datetime(2024, 1, number)  # noqa: DTZ001  # Spark gives naive times


UNDISTURBED = {
    "log": [(1, _day(1), 1), (2, _day(2), 2), (3, _day(3), 3)],
    "users": [(1, _day(1), 1), (2, _day(2), 20), (3, _day(3), 3)],
    "totals": [(3, 24)],
}
VERSIONS = {"log": 1, "users": 1, "totals": 1}

# History tables as fakes.history_place writes them; every one has version 1 after its second run.
HISTORIES = {
    "by_time": [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, )",
        "4 d 02-02 [T2, )",
    ],
    "by_value": [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, T2)",
        "4 d 02-02 [T2, )",
    ],
    "fed": [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, T2)",
        "4 d 02-02 [T2, )",
    ],
    "placed": [
        "1 a 01-10 [01-10, 01-20)",
        "1 x 01-20 [01-20, 02-10)",
        "1 b 02-10 [02-10, )",
        "2 n 03-01 [03-01, )",
    ],
    "marked": [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, T2)",
        "2 b 01-06 [T2, )†",
        "4 d 02-02 [T2, )",
    ],
    "pruned": [
        "1 A 02-01 [T2, )",
        "2 b 01-06 [T1, )",
        "4 d 02-02 [T2, )",
    ],
}
