"""Runs of a package: limits, passes, the chain of steps, what each leaves on record."""

import pytest

from fakes.session_place import SessionPlace

pytestmark = pytest.mark.spark
S21 = ("e1 s1 01-01 10:00", "e2 s2 01-01 20:00", "e3 s2 01-02 01:00")


def problems(report):
    """Give what did not go well, in words."""
    return [
        f"{each.name} {each.status} {each.error.render() if each.error else each.reason}"
        for each in report.results
        if not each.ok
    ]


def test_S21_S28_two_runs_each_with_one_commit_per_table(spark, tmp_path):
    web = SessionPlace(tmp_path, spark)
    web.add(*S21)
    first = web.at("01-02")
    assert problems(first) == []
    assert web.windows() == ["1 01-01..01-02"]
