"""One story for each file: its cases share the runs, so the file costs four runs of Spark."""

import os

import pytest

from fakes.place import Place
from fakes.snapshot_cases import Chronicle


@pytest.fixture(scope="module")
def runs(request, spark, tmp_path_factory):
    conf = spark.sparkContext._jsc.sc().conf()
    for pair in filter(None, os.environ.get("XCONF", "").split(",")):
        conf.set(*pair.split("="))
    return Chronicle(request.module.CASES, Place(tmp_path_factory.mktemp("cases"), spark))
