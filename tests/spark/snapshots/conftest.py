"""One story for each file: its cases share the runs, so the file costs four runs of Spark.

What the oracle tells by the same name in tests/unit/fakes is `LONG` here: the law of histories
holds Spark to the oracle, so that the gate needs a case of each statement and no more.
"""

import pytest

from fakes.place import Place
from fakes.snapshot_cases import Chronicle


@pytest.fixture(scope="module")
def runs(request, spark, tmp_path_factory):
    return Chronicle(request.module.CASES, Place(tmp_path_factory.mktemp("cases"), spark))


@pytest.fixture(scope="module")
def long_runs(request, spark, tmp_path_factory):
    """The cases that the gate leaves out."""
    return Chronicle(request.module.LONG, Place(tmp_path_factory.mktemp("long"), spark))
