"""The use cases `doctor`, which checks the environment, and `engine`, for waiting JVMs."""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from penstock.app.services.services import Services
from penstock.app.services.wire import Where, open_services, reached
from penstock.app.services.wire import version as installed
from penstock.core.errors import DISTRIBUTION, PenstockError, ProjectError, install_hint
from penstock.core.project import Target
from penstock.core.shown.notebooks import ShownInNotebooks
from penstock.core.storage import access_to, is_s3
from penstock.engine import keeper
from penstock.engine.connectors import (
    COORDINATES,
    SIZE,
    bucket_jars,
    cached_connectors,
    is_created_once,
    overridden,
    require_safe_store,
)
from penstock.engine.java import (
    archive_path,
    cached_jars,
    coordinate,
    ensure_jars,
    find_java,
    how_to_install,
    is_whole,
    make_archive,
    require_java,
    spark_versions,
)
from penstock.engine.jvm import newest_with_signs

PYTHON_FLOOR = (3, 11)
_SKEW = dt.timedelta(seconds=5)
_RELEASED = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
_FIX = "penstock doctor --fix"
_PROJECT_FILE = "penstock.yml"


class Health(StrEnum):
    """The result of a health check: a warning costs time, an error stops `run`."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One health check; the hint says how to fix a problem."""

    name: str
    health: Health
    says: str
    hint: str = ""

    @property
    def ok(self) -> bool:
        """Whether penstock can work with it."""
        return self.health is not Health.ERROR


_Found = tuple[Health, str, str]
"""The result of a check: its health, its message, and the hint, "" if all is well."""


@dataclass(frozen=True, slots=True)
class DoctorReport(ShownInNotebooks):
    """All health checks, in order."""

    _rows = "checks"
    _columns = "name health says hint"

    checks: tuple[HealthCheck, ...]

    @property
    def healthy(self) -> bool:
        """Whether there is no error; warnings are allowed."""
        return all(check.ok for check in self.checks)


def examine(
    root: Path | None,
    target: str | None = None,
    *,
    fix: bool = False,
    environ: Mapping[str, str] | None = None,
) -> DoctorReport:
    """Check Python, Java, Spark, jars and, in a project, its state, warehouse and clock.

    Without penstock.yml, `root` does not count as a project. `fix` downloads the jars and creates
    the archive that makes sessions start faster; it changes nothing else.
    """
    system = dict(os.environ) if environ is None else environ
    checks = [
        HealthCheck("python", *_python()),
        _guarded("java", lambda: _java(system)),
        _guarded("spark", lambda: _spark(system)),
        _guarded("jars", lambda: _jars(fix=fix)),
    ]
    if all(check.ok for check in checks):
        checks.append(HealthCheck("archive", *_archive(system, fix=fix)))
    if root is not None and (root / _PROJECT_FILE).is_file():
        checks += _project(root, target, fix=fix)
    return DoctorReport(tuple(checks))


def _guarded(name: str, examine: Callable[[], _Found]) -> HealthCheck:
    """Run one health check; an exception becomes its message."""
    try:
        return HealthCheck(name, *examine())
    except PenstockError as error:
        return HealthCheck(name, Health.ERROR, error.sentence, error.hint)


def _python() -> _Found:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_FLOOR:
        floor = ".".join(map(str, PYTHON_FLOOR))
        hint = f"install Python {floor} or newer and {DISTRIBUTION} into it"
        return Health.ERROR, f"Python {version} is too old", hint
    return Health.OK, f"Python {version}, {DISTRIBUTION} {installed()}", ""


def _java(environ: Mapping[str, str]) -> _Found:
    java = require_java(environ)
    messages = f"Java {java.version} at {java.executable}"
    if not is_whole(java):
        sentence = f"{messages} is a reduced build without jdk.incubator.vector, which Spark needs"
        return Health.ERROR, sentence, how_to_install()
    return Health.OK, messages, ""


def _spark(environ: Mapping[str, str]) -> _Found:
    spark, delta = spark_versions()
    if other := environ.get("SPARK_HOME"):
        sentence = f"pyspark {spark}, but SPARK_HOME points to another Spark: {other}"
        return Health.WARNING, sentence, "unset SPARK_HOME unless that is wanted"
    if not spark.startswith("4.2."):
        sentence = f"pyspark {spark} does not fit delta-spark {delta}, which is built for 4.2"
        return Health.ERROR, sentence, install_hint("spark")
    return Health.OK, f"pyspark {spark}, delta-spark {delta}", ""


def _jars(*, fix: bool) -> _Found:
    jars = cached_jars() or (ensure_jars() if fix else ())
    if not jars:
        sentence = f"the Delta jars ({coordinate()}) are not fetched yet"
        return Health.ERROR, sentence, f"{_FIX}, or let the first run fetch them"
    return Health.OK, f"{len(jars)} Delta jars in {Path(jars[0]).parent}", ""


def _archive(environ: Mapping[str, str], *, fix: bool) -> _Found:
    java, jars = find_java(environ), cached_jars()
    if java is None or not jars:
        return Health.WARNING, "no class archive without jars", _FIX
    path = archive_path(java, jars, environ)
    if not path.is_file() and fix:
        make_archive(path)
    if not path.is_file():
        return Health.WARNING, f"no class archive, so Spark starts slower; {_FIX} makes one", _FIX
    return Health.OK, f"class archive {path}", ""


def _project(root: Path, target: str | None, *, fix: bool) -> Iterator[HealthCheck]:
    try:
        services = open_services(Where(root, target))
    except PenstockError as error:
        hint = "penstock validate" if isinstance(error, ProjectError) else error.hint
        yield HealthCheck("project", Health.ERROR, error.sentence, hint)
        return
    with closing(services):
        project = services.project
        messages = f"{project.name}, target {project.target.name}: {len(project.models)} models"
        yield HealthCheck("project", Health.OK, messages)
        yield _guarded("state", lambda: _state(services))
        yield _guarded("warehouse", lambda: _warehouse(project.target))
        if reached(project)["storage"] is not None:
            yield _guarded("connectors", lambda: _connectors(project.target, fix=fix))
        yield _guarded("clock", lambda: _clock(services))
        yield HealthCheck("logs", *_logs(root))


def _state(services: Services) -> _Found:
    if not services.has_state():
        return Health.OK, "no state yet; the first run makes it", ""
    count = len(services.reading.records.models())
    return Health.OK, f"state is reachable and knows {count} models", ""


def _warehouse(target: Target) -> _Found:
    warehouse = target.warehouse
    if is_s3(warehouse):
        return _bucket(warehouse, target)
    folder = Path(warehouse)
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        sentence = f"the warehouse {warehouse} cannot be written: {there} is not writable"
        return Health.ERROR, sentence, "change `warehouse` or its permissions"
    return Health.OK, f"{warehouse} is writable", ""


def _bucket(warehouse: str, target: Target) -> _Found:
    """Write a file twice as if by two writers, and delete it."""
    require_safe_store(warehouse, target.storage)
    if access_to(target.storage, warehouse).single_writer and not is_created_once(warehouse):
        sentence = f"two programs that write a table in {warehouse} lose commits (single_writer)"
        return Health.WARNING, sentence, "use a store with conditional writes"
    return Health.OK, f"{warehouse} is writable, and a file is created by one writer only", ""


def _connectors(target: Target, *, fix: bool) -> _Found:
    conf = target.spark.conf
    if fix:
        bucket_jars(conf)
    jars = cached_connectors()
    if not jars:
        sentence = f"the S3 connector ({COORDINATES[0]}, {SIZE}) is not fetched yet"
        return Health.ERROR, sentence, f"{_FIX}, or let the first run fetch it"
    if others := overridden(target.storage, conf):
        sentence = f"spark.conf overrides storage: {', '.join(others)}"
        return Health.WARNING, sentence, "keep one of them, for only Spark reads spark.conf"
    return Health.OK, f"{len(jars)} jars of the S3 connector in {Path(jars[0]).parent}", ""


def _logs(root: Path) -> _Found:
    """Search the logs of the last runs for signs of a failing JVM."""
    found = newest_with_signs(root / ".penstock" / "logs")
    if found is None:
        return Health.OK, "the logs of the last runs report no problem with Spark", ""
    log, signs = found
    return Health.WARNING, f"Spark said '{signs[0].says}' in {log}", signs[0].hint


def _clock(services: Services) -> _Found:
    now = services.clock.now()
    records = services.reading.records.models().values() if services.has_state() else ()
    latest = max((r.executed_at for r in records if r.executed_at), default=_RELEASED)
    if now < latest:
        sentence = f"the clock says {now:%F %H:%M} UTC, but something ran at {latest:%F %H:%M} UTC"
        return Health.ERROR, sentence, "set the clock; leases and history need it"
    skew = services.reading.leases.clock_skew() if services.has_state() else dt.timedelta()
    if abs(skew) > _SKEW:
        away = (
            f"{abs(skew).total_seconds():.0f} s {'behind' if skew > dt.timedelta() else 'ahead of'}"
        )
        sentence = f"the clock says {now:%F %T} UTC, {away} the server of the state"
        return Health.WARNING, sentence, "set the clocks of both machines by the same time service"
    return Health.OK, f"{now:%F %H:%M} UTC", ""


@dataclass(frozen=True, slots=True)
class KeptJvm:
    """A JVM that no command uses now, its owner, and when it will end."""

    root: str
    target: str
    pid: int
    ends: dt.datetime


@dataclass(frozen=True, slots=True)
class EngineReport:
    """The JVMs of this user on this machine that wait, or that waited and were stopped."""

    kept: tuple[KeptJvm, ...]


def engine_status() -> EngineReport:
    """Return the waiting JVMs; a JVM in use belongs to its command."""
    return EngineReport(tuple(_ask_keepers("status")))


def engine_stop() -> EngineReport:
    """Stop all of them, and return which ones."""
    return EngineReport(tuple(_ask_keepers("stop")))


def _ask_keepers(word: str) -> Iterator[KeptJvm]:
    for path in keeper.sockets(os.environ):
        if card := keeper.ask(path, word):
            ends = dt.datetime.fromtimestamp(card.until, dt.UTC)
            yield KeptJvm(card.root, card.target, card.pid, ends)
