"""What type checkers see of the Python entry points: mypy reads it, nothing runs it.

An ignore that is not needed is an error, so each says that a mistake is seen.
"""

import datetime as dt
from typing import assert_type

from pyspark.sql import DataFrame

import penstock
from penstock.app.commands.accept import AcceptedCommits
from penstock.app.entry import run_unit_tests
from penstock.app.unit_testing.differences import UnitTestReport


def calls() -> None:
    """Call what is there, and what is not."""
    assert_type(penstock.run("shop", select=["+daily"], threads=8), penstock.RunReport)
    assert_type(penstock.run(as_of="2024-12-16", on_failure="block"), penstock.RunReport)
    assert_type(
        penstock.run(as_of=dt.datetime.now(dt.UTC), variables={"a": "b"}), penstock.RunReport
    )
    assert_type(penstock.sync(everything=True, cascade=True), penstock.RunReport)
    assert_type(penstock.backfill(".", "daily", from_="2024", to="2025"), penstock.RunReport)
    assert_type(penstock.snapshot_run(prune=True, keep_last=3), penstock.RunReport)
    assert_type(penstock.snapshot_verify(".", "users_history"), penstock.VerifyReport)
    assert_type(penstock.check(phases=("after",), record=False), penstock.CheckReport)
    assert_type(penstock.status(states=["failed"], days=7), penstock.StatusReport)
    assert_type(penstock.diff(".", "daily"), penstock.DiffReport)
    assert_type(penstock.history(".", "daily", limit=3), penstock.HistoryReport)
    assert_type(penstock.audit(modified_only=True), penstock.AuditReport)
    assert_type(penstock.accept(".", "daily", reason="ticket 4711"), AcceptedCommits)
    assert_type(run_unit_tests(".", tests=["a"]), UnitTestReport)
    assert_type(penstock.query(".", "select 1 as n", variables={"days": 3}), DataFrame)

    penstock.run(selct=["daily"])  # type: ignore[call-arg]
    penstock.run(threads="8")  # type: ignore[arg-type]
    penstock.run("shop", ["daily"])  # type: ignore[call-arg, arg-type]
    penstock.history(".")  # type: ignore[call-arg]
    penstock.backfill(".", "daily", from_="2024")  # type: ignore[call-arg]
    penstock.accept(".", "daily")  # type: ignore[call-arg]
    penstock.query("select 1 as n")  # type: ignore[call-arg]
    penstock.status(spark=None)  # type: ignore[call-arg]


def entities(metadata: penstock.Metadata) -> None:
    """Load entities and run one."""
    found = metadata.get_entity(1)
    assert_type(metadata.get_entities([1, 2])[0].model, str)
    assert_type(found.watermark("SeqNr"), penstock.WatermarkValue | None)
    assert_type(penstock.Processing(found, "a").process(penstock.Full).inserted, int)
    penstock.Metadata(penstock.JsonFolderMetadataSettings(), penstock.Environment(name="dev"))

    penstock.Metadata("entities")  # type: ignore[arg-type]
    metadata.get_entity("1")  # type: ignore[arg-type]
