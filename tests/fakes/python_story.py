"""A project of Python tables to which things happen: deliveries, runs, reruns, crashes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from fakes import delta_tables, stranger
from fakes.clock import FixedClock
from fakes.oracle_python import DAY, LOWS, TABLES, Reference, Row
from penstock.app.application import App
from penstock.app.services.services import Services
from penstock.app.services.wire import Where, open_project, wired
from penstock.core.errors import RerunError
from penstock.core.ports.ports import inert

START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
MODELS = """\
from pyspark.sql import functions as F

from penstock import incremental_table, source


@source(path="landing/logs")
def logs(df):
    return df


@incremental_table(time_column="ts")
def added(logs):
    return logs


@incremental_table(time_column="ts", lookback="12 hours", partition_by="date")
def ranged(logs):
    return logs.withColumn("date", F.to_date("ts"))


@incremental_table(time_column="ts", lookback="24 hours", unique_key="user")
def keyed(logs):
    return logs.select(F.lit(0).alias("id"), "user", "ts")
"""


class CrashError(BaseException):
    """The process is gone: nobody catches this but the story."""


class StoryApp(App):
    """An app whose clock stands still and whose process may be gone at a point."""

    fault: Callable[[str], None] = staticmethod(inert)

    def __init__(self, root: Path, spark: Any) -> None:
        super().__init__(root, spark=spark, threads=1)
        self.clock = FixedClock(START + dt.timedelta(days=400))

    @contextmanager
    def opened(self) -> Iterator[Services]:
        self.clock.advance(seconds=1)
        services = wired(open_project(Where(self._root)), self.clock, self._spark)
        services.fault = self.fault
        try:
            yield services
        finally:
            services.close()


class PythonStory:
    """A story as it is told to penstock and to the reference."""

    def __init__(self, root: Path, spark: Any) -> None:
        self.root, self.app, self.reference = root, StoryApp(root, spark), Reference()
        file = root / "models/m/logs.py"
        file.parent.mkdir(parents=True)
        file.write_text(MODELS, encoding="utf-8")
        (root / "penstock.yml").write_text("name: story\n", encoding="utf-8")
        self._logs = f"{root}/landing/logs"
        delta_tables.create(self._logs, "id INT, user STRING, ts TIMESTAMP")
        self._ids = 0

    # --- what happens ---------------------------------------------------------------------------

    def deliver(self, *rows: tuple[int, str]) -> None:
        """Append rows of an hour and a user to the source, in or out of their order."""
        found = [(self._ids + n, hour, user) for n, (hour, user) in enumerate(rows, 1)]
        self._ids += len(rows)
        values = ", ".join(f"({key}, '{user}', '{_text(at)}')" for key, at, user in found)
        delta_tables.append(self._logs, values)
        self.reference.deliver(found)

    def drop(self, key: int) -> None:
        """Take a row out of the source."""
        stranger.delete(Path(self._logs), f"id = {key}")
        self.reference.drop([key])

    def run(self, *names: str) -> None:
        """Run; a dry run before it says what it will do and leaves no trace, files below stay."""
        mark = self.reference.marks["ranged"]
        low = 0 if mark is None else LOWS["ranged"](mark)
        before, kept = self.tree(), self._files("ranged", low, low + 50 * DAY)
        rehearsed = self.app.run(select=names, dry_run=True)
        assert self.tree() == before
        report = self.app.run(select=names)
        # what a crash left open is settled by a run alone, which writes
        assert report.recovered or _steps(rehearsed) == _steps(report)
        assert self._files("ranged", low, low + 50 * DAY) == kept
        for name in names or TABLES:
            self.reference.run(name)

    def full_refresh(self, name: str) -> None:
        """Make a table anew."""
        self.app.run(select=name, full_refresh=True)
        self.reference.refresh(name)

    def rerun(self, name: str, low: int, hours: int) -> None:
        """Make a range again; files of other days stay."""
        kept = self._files(name, low, low + hours)
        if not self.reference.rerun(name, low, low + hours):
            with pytest.raises(RerunError, match=r"never built|lies above what was read"):
                self.app.again(name, _text(low), _text(low + hours))
            return
        self.app.again(name, _text(low), _text(low + hours))
        assert self._files(name, low, low + hours) == kept

    def crash(self, point: str, name: str, deed: str, low: int) -> None:
        """Let the process end in the middle of something."""

        def fault(passed: str) -> None:
            if passed == point:
                raise CrashError

        before, self.app.fault = self.reference, fault
        self.reference = _copied(before)
        try:
            match deed:
                case "run":
                    self.app.run(select=name)
                    self.reference.run(name)
                case "full":
                    self.full_refresh(name)
                case _:
                    self.rerun(name, low, DAY)
        except CrashError:
            self.reference = before
            if point in ("after-commit", "after-finish"):
                match deed:
                    case "run":
                        before.run(name)
                    case "full":
                        before.refresh(name)
                    case _:
                        assert before.rerun(name, low, low + DAY)
        finally:
            self.app.fault = inert
            self.app.clock.advance(seconds=120)  # its lease lapses

    # --- what must hold -------------------------------------------------------------------------

    def complaints(self) -> list[str]:
        """Say which tables differ from the reference, and which watermarks."""
        found = []
        for name in TABLES:
            held, right = sorted(self.rows(name)), sorted(self.reference.tables[name])
            if held != right:
                found.append(f"{name}: held {held}, right {right}")
        return found

    def marks(self) -> dict[str, int | None]:
        """Give how far each table has read, as the records say."""
        with self.app.opened() as services:
            records = services.reading.records.models()
        found: dict[str, int | None] = dict.fromkeys(TABLES)
        for name in TABLES:
            for each in records[name].watermarks if name in records else ():
                at = dt.datetime.fromisoformat(each.value.text)
                found[name] = int((at - START).total_seconds()) // 3600
        return found

    def rows(self, name: str) -> list[Row]:
        """Give what a table holds."""
        uri = f"{self.root}/warehouse/m/{name}"
        if not Path(uri, "_delta_log").is_dir():
            return []
        start = START.replace(tzinfo=None)
        return [
            (
                int(str(row["id"])),
                int((row["ts"] - start).total_seconds()) // 3600,
                str(row["user"]),
            )  # type: ignore[operator]
            for row in delta_tables.rows(uri) or ()
        ]

    def tree(self) -> dict[str, bytes]:
        """Give every file of the folder but the parse cache."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and "cache" not in path.relative_to(self.root).parts
        }

    def _files(self, name: str, low: int, high: int) -> set[str]:
        """Give the files of a partitioned table that hold days outside of a range."""
        uri = f"{self.root}/warehouse/m/{name}"
        if name != "ranged" or not Path(uri, "_delta_log").is_dir():
            return set()
        days = {_text(hour)[:10] for hour in range(low, high + 1)}
        return {
            file
            for file in DeltaTable(uri).file_uris()
            if not any(f"date={d}" in file for d in days)
        }


def _text(hour: int) -> str:
    return (START + dt.timedelta(hours=hour)).strftime("%Y-%m-%dT%H:%M:%S")


def _steps(report: Any) -> list[tuple[str, str, bool]]:
    return [(step.model, str(step.reason), step.initial) for step in report.plan.steps]


def _copied(found: Reference) -> Reference:
    tables = {name: list(rows) for name, rows in found.tables.items()}
    return Reference(list(found.source), tables, dict(found.marks))
