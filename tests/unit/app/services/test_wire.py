"""What a command knows of the storage of other targets, before Spark starts."""

from unittest.mock import patch

import pytest

from penstock.app.read_requests import DataDiffRequest
from penstock.app.services import wire

YML = """\
name: shop
targets:
  dev: {warehouse: warehouse}
  prod:
    warehouse: s3://lake/prod
    storage: {"s3://lake": {region: eu-central-1}}
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "penstock.yml").write_text(YML)
    return tmp_path


@pytest.mark.parametrize(
    ("source", "prefixes"), [("prod", ["s3://lake"]), ("12", None), ("0190ab", None), ("", None)]
)
def test_spark_reaches_the_bucket_of_the_target_that_a_diff_compares_with(root, source, prefixes):
    with patch.object(wire, "SparkEngine") as engine:
        wire.open_request(DataDiffRequest(str(root), "a.b", from_=source))

    storage = engine.call_args[0][0].storage
    assert (storage if storage is None else [*storage]) == prefixes
