"""One Spark for the whole suite, tuned for tables of a few rows."""

import os

import pytest

from fakes.place import Place

SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Each exchange is a job of its own otherwise; processes that tests start have them.
    "spark.sql.adaptive.enabled": "false",
    # Delta keeps what it knows of ten thousand tables for an hour: collecting took a tenth.
    "spark.databricks.delta.delta.log.cacheSize": "32",
    # A description of each plan for a UI that is not there took a sixth of the time.
    "spark.sql.ui.explainMode": "simple",
    # What a scan says of its files names their folder, which may be a long one.
    "spark.sql.maxMetadataStringLength": "1000",
    # Compiled code fills the small cache of one compiler: sweeping took a fifth of the time.
    # What lives for one query dies young; classes would start a full collection ten times.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m "
    "-Xmn800m -XX:MetaspaceSize=256m",
    # Compiling Java takes longer than a few rows; the tests that start processes do compile.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    from penstock.core.project import SparkSettings
    from penstock.engine.launch import LaunchSettings, launch

    folder = tmp_path_factory.mktemp("spark")
    settings = LaunchSettings(
        SparkSettings("local[2]", "2g", SMALL),
        str(folder / "warehouse"),
        folder / "spark.log",
        storage={},  # the jars for buckets, which some tests use
    )
    session = launch(settings, os.environ)
    yield session
    session.stop()


@pytest.fixture
def place(tmp_path, spark):
    return Place(tmp_path, spark)


@pytest.fixture(autouse=True)
def _nothing_kept(request):
    """Let no test find frames that another one persisted: they share the session."""
    is_on_spark = request.node.get_closest_marker("spark") and "spark" in request.fixturenames
    session = request.getfixturevalue("spark") if is_on_spark else None
    yield
    if session is not None:
        session.catalog.clearCache()
