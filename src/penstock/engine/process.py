"""The one Spark of this process: found running or started, shared, ended by its last user."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from penstock.engine.jvm import JVM
from penstock.engine.launch import LaunchSettings, launch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ProcessSpark:
    """A process holds one Spark, so engines share it: a notebook's stays, ours ends with its users.

    A Spark that runs already, in a notebook or a job, is used with the settings it has.
    """

    def __init__(self) -> None:
        """Nothing is started yet."""
        self._lock = threading.Lock()
        self._launched: SparkSession | None = None
        self._users = 0

    def take(self, settings: LaunchSettings, environ: Mapping[str, str]) -> SparkSession:
        """Give the Spark of this process, started if none runs; each take is given back once."""
        with self._lock:
            if JVM.has_ended():
                self._let_go()
            spark = running()
            if spark is None:
                spark = self._launched = launch(settings, environ)
            self._users += 1
            return spark

    def give_back(self) -> None:
        """End the Spark that `take` started when nobody uses it any more."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._launched is not None:
                JVM.let_go(partial(_stop, self._launched))
                if JVM.has_ended():
                    self._let_go()
                self._launched = None

    def _let_go(self) -> None:
        """Forget a Spark whose JVM is gone, so that another can be started."""
        JVM.forget()
        self._launched = None


def _stop(spark: SparkSession) -> None:
    """Stop a session, without PySpark's warning where its JVM is just ending."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Unable to cleanly shutdown", RuntimeWarning)
        spark.stop()


def running() -> SparkSession | None:
    """Give the session of the Spark that runs in this process; None if none does."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkContext._active_spark_context  # noqa: SLF001  # has no public name
    return SparkSession.builder.getOrCreate() if active else None


SPARK = ProcessSpark()
