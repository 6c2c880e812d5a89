"""A project of history tables in a folder, run in this process; rows as the specification does."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import fields
from typing import TYPE_CHECKING

from fakes import delta_tables, stranger
from fakes.history_story import source, word
from fakes.history_table import literal, utc
from fakes.oracle_types import Metrics
from fakes.place import Place
from penstock.app.commands.plan import rehearse
from penstock.app.commands.run import run
from penstock.app.request import SnapshotRequest
from penstock.app.services.wire import Where, open_project, wired

if TYPE_CHECKING:
    from penstock.app.reports import ModelResult
    from penstock.app.run_report import RunReport
    from penstock.app.services.services import Services
    from penstock.core.ports.ports import Clock

TS = {"strategy": "timestamp", "unique_key": "id", "updated_at": "updated_at"}
CK = {"strategy": "check", "unique_key": "id", "check_cols": ["value"]}
EV = TS | {"valid_from": "updated_at"}
COLUMNS = "id INT, value STRING, updated_at TIMESTAMP"
_METRICS = tuple(field.name for field in fields(Metrics))
_SYSTEM = ("_ps_valid_from", "_ps_valid_to", "_ps_is_current", "_ps_is_deleted")


class HistoryPlace(Place):
    """Snapshots over the sources `raw.NAME`, whose rows are replaced as a whole."""

    def snapshot(
        self, name: str, source: str = "people", where: str = "", **config: object
    ) -> None:
        """Write a snapshot over a source."""
        query = f"select id, value, updated_at from {{{{ source('raw', '{source}') }}}} {where}"
        self.model(name, query, materialized="snapshot", **config)

    def has(self, name: str, *lines: str) -> None:
        """Replace the rows of a source: `1 a 01-05`."""
        if not lines:
            stranger.delete(self.root / "landing" / name, "true")
            return
        rows = ", ".join(
            f"({', '.join(literal(each) for each in row.values())})" for row in source(*lines).rows
        )
        delta_tables.overwrite(f"{self.root}/landing/{name}", rows)

    def snap(self, at: dt.datetime | None, *select: str, **asked: object) -> RunReport:
        """Run `penstock snapshot run --as-of AT`."""
        with_shop = self.services()
        try:
            return run(with_shop, request(at, select, asked))
        finally:
            with_shop.close()

    def rehearse(self, at: dt.datetime | None, *select: str, **asked: object) -> RunReport:
        """Run it with `--dry-run`."""
        with_shop = self.services()
        try:
            return rehearse(with_shop, request(at, select, asked))
        finally:
            with_shop.close()

    def live(self, clock: Clock, *select: str) -> RunReport:
        """Run it when the clock says so."""
        with_shop: Services = wired(open_project(Where(self.root)), clock, self.spark)
        try:
            return run(with_shop, request(None, select, {}))
        finally:
            with_shop.close()

    def versions(self, name: str) -> list[str]:
        """Give the versions in the notation of the specification."""
        uri = f"{self.root}/warehouse/m/{name}"
        found = delta_tables.rows(uri)
        if found is None:
            assert self.spark is not None
            frame = self.spark.read.format("delta").load(uri)
            found = [row.asDict() for row in frame.collect()]
        rows = [{key: utc(value) for key, value in row.items()} for row in found]
        rows.sort(key=lambda row: (row["id"], row["_ps_valid_from"]))
        return [shown(row) for row in rows]

    def commit(self, name: str, version: int) -> list[dict[str, dict[str, object]]]:
        """Give the actions of a commit."""
        log = self.root / "warehouse" / "m" / name / "_delta_log" / f"{version:020d}.json"
        return [json.loads(line) for line in log.read_text().splitlines()]

    def tree(self) -> dict[str, bytes]:
        """Give every file of warehouse and state, the parse cache and logs of Spark apart."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for top in ("warehouse", ".penstock")
            for path in (self.root / top).rglob("*")
            if path.is_file() and path.parent.name not in ("cache", "logs")
        }


def request(
    at: dt.datetime | None, select: tuple[str, ...], asked: dict[str, object]
) -> SnapshotRequest:
    """Give what `snapshot run` asks for."""
    return SnapshotRequest(select=select, as_of=at, **asked)  # type: ignore[arg-type]


def shown(row: dict[str, object]) -> str:
    """Write a version as the specification does."""
    words = [word(value) for name, value in row.items() if name not in _SYSTEM]
    end = row["_ps_valid_to"]
    until = f" {word(end)}" if end else " "
    return f"{' '.join(words)} [{word(row['_ps_valid_from'])},{until})" + (
        "†" * bool(row.get("_ps_is_deleted"))
    )


def counts(result: ModelResult) -> dict[str, int]:
    """Give what penstock counted, zeros left out; Delta's own counts stand beside it."""
    return {name: result.metrics[name] for name in _METRICS if result.metrics.get(name)}
