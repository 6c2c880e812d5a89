"""One Spark per process: found or started, shared by engines, ended by the last of those."""

import sys
import warnings

import pytest

from penstock.engine import spark_engine


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

    def launch(self, _settings, _environ):
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

    first, second = spark.take(None, {}), spark.take(None, {})
    spark.give_back()
    still = world.running()
    spark.give_back()

    assert first is second is still
    assert world.launches == 1
    assert first.stopped


def test_a_jvm_that_is_just_ending_gets_no_warning_of_pyspark(world, recwarn):
    spark = spark_engine.ProcessSpark()
    session = spark.take(None, {})
    told = "Unable to cleanly shutdown Spark JVM process. It is possible that it has crashed."
    session.stop = lambda: warnings.warn(told, RuntimeWarning, stacklevel=1)

    spark.give_back()

    assert recwarn.list == []


def test_the_next_user_starts_another(world):
    spark = spark_engine.ProcessSpark()
    spark.take(None, {})
    spark.give_back()

    spark.take(None, {})

    assert world.launches == 2
    assert not world.now.stopped


def test_a_spark_that_runs_already_is_used_and_never_ended(world):
    theirs = world.now = Session()
    spark = spark_engine.ProcessSpark()

    assert spark.take(None, {}) is theirs
    spark.give_back()

    assert world.launches == 0
    assert not theirs.stopped


def test_a_spark_that_its_owner_ended_is_replaced_by_ours(world):
    theirs = world.now = Session()
    spark = spark_engine.ProcessSpark()
    spark.take(None, {})
    theirs.stop()

    ours = spark.take(None, {})
    spark.give_back()
    before = ours.stopped
    spark.give_back()

    assert (before, ours.stopped) == (False, True)


def test_looking_for_a_spark_loads_nothing(monkeypatch):
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)

    assert spark_engine.running() is None
    assert "pyspark" not in sys.modules
