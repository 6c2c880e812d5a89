"""One Spark per process: found or started, shared by engines, ended by the last of those."""

import sys
import warnings
from pathlib import Path

import pytest

from penstock.core.errors import PythonModelError
from penstock.core.project import SparkSettings
from penstock.engine import spark_engine
from penstock.engine.launch import LaunchSettings

SETTINGS = LaunchSettings(SparkSettings(), "/w", Path("/logs/run.log"))


class Session:
    def __init__(self):
        self.stopped = False

    def stop(self):
        self.stopped = True


class World:
    """What runs in a process: nothing, a notebook's session, or ours."""

    def __init__(self):
        self.now = None
        self.launches = 0

    def running(self):
        return None if self.now is None or self.now.stopped else self.now

    def launch(self, _settings, _environ, _place):
        self.launches += 1
        self.now = Session()
        return self.now


@pytest.fixture
def world(monkeypatch):
    world = World()
    monkeypatch.setattr(spark_engine, "running", world.running)
    monkeypatch.setattr(spark_engine, "launch", world.launch)
    return world


def test_a_spark_is_started_once_and_ended_by_its_last_user(world):
    spark = spark_engine.ProcessSpark()

    first, second = spark.take(SETTINGS, {}), spark.take(SETTINGS, {})
    spark.give_back()
    still = world.running()
    spark.give_back()

    assert first is second is still
    assert world.launches == 1
    assert first.stopped


def test_a_jvm_that_is_just_ending_gets_no_warning_of_pyspark(world, recwarn):
    spark = spark_engine.ProcessSpark()
    session = spark.take(SETTINGS, {})
    told = "Unable to cleanly shutdown Spark JVM process. It is possible that it has crashed."
    session.stop = lambda: warnings.warn(told, RuntimeWarning, stacklevel=1)

    spark.give_back()

    assert recwarn.list == []


def test_the_next_user_starts_another(world):
    spark = spark_engine.ProcessSpark()
    spark.take(SETTINGS, {})
    spark.give_back()

    spark.take(SETTINGS, {})

    assert world.launches == 2
    assert not world.now.stopped


def test_a_spark_that_runs_already_is_used_and_never_ended(world):
    theirs = world.now = Session()
    spark = spark_engine.ProcessSpark()

    assert spark.take(SETTINGS, {}) is theirs
    spark.give_back()

    assert world.launches == 0
    assert not theirs.stopped


def test_a_spark_that_its_owner_ended_is_replaced_by_ours(world):
    theirs = world.now = Session()
    spark = spark_engine.ProcessSpark()
    spark.take(SETTINGS, {})
    theirs.stop()

    ours = spark.take(SETTINGS, {})
    spark.give_back()
    before = ours.stopped
    spark.give_back()

    assert (before, ours.stopped) == (False, True)


def test_looking_for_a_spark_loads_nothing(monkeypatch):
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)

    assert spark_engine.running() is None
    assert "pyspark" not in sys.modules


class Configured:
    """A session of somebody who asked for some settings."""

    def __init__(self, settings):
        self.conf = {"spark.sql.catalog.spark_catalog": "builtin", **settings}


EXTENSION = ("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
CATALOG = ("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")


@pytest.mark.parametrize("given", [(), (EXTENSION,), (CATALOG,)])
def test_a_session_without_delta_is_told_which_settings_it_lacks(given):
    engine = spark_engine.SparkEngine(None, {}, None, None, Configured(dict(given)))

    with pytest.raises(PythonModelError) as caught:
        engine.require()

    missing = [each for each in (EXTENSION, CATALOG) if each not in given]
    assert caught.value.code == "session-without-delta"
    assert caught.value.hint == "build it with " + "".join(f".config{each}" for each in missing)


def test_a_session_of_spark_connect_is_refused_before_anything_else():
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    engine = spark_engine.SparkEngine(None, {}, None, None, remote)

    with pytest.raises(PythonModelError) as caught:
        engine.require()

    assert caught.value.code == "spark-connect"
    assert caught.value.sentence == (
        "the session is one of Spark Connect, which has no JVM in this process"
    )


def test_a_session_that_knows_delta_is_taken_as_it_is():
    other = ("spark.sql.catalog.spark_catalog", "io.unitycatalog.spark.UCSingleCatalog")
    for given in ((EXTENSION, CATALOG), (EXTENSION, other)):
        spark_engine.require_delta(Configured(dict(given)), {})
    spark_engine.require_delta(Configured({}), {"DATABRICKS_RUNTIME_VERSION": "17.0"})
