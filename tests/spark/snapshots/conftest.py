"""One story for each file: its cases share the runs, so the file costs four runs of Spark."""

import pytest

from fakes.place import Place
from fakes.snapshot_cases import Chronicle


@pytest.fixture(scope="module")
def runs(request, spark, tmp_path_factory):
    return Chronicle(request.module.CASES, Place(tmp_path_factory.mktemp("cases"), spark))
