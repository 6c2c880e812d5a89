"""The strategy `table`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.core.names import quoted
from penstock.core.statement import Work
from penstock.core.strategy import STORED, Build, GivenSettings, Layout, Strategy, Writing
from penstock.strategies.build import insert

_DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}


@dataclass(frozen=True, slots=True)
class Table(Strategy):
    """The query replaces the table, or only the partitions in its result."""

    overwrite_partitions: bool = False

    name = "table"
    takes_feed = True
    settings = STORED | {"overwrite"}
    rerun_is_safe = True

    @classmethod
    def read(cls, settings: GivenSettings) -> Self:
        """Read `overwrite`."""
        by_partition = settings.text("overwrite") == "partitions"
        if by_partition and not settings.texts("partition_by"):
            sentence = "overwrite: partitions needs partition_by"
            settings.report("overwrite", "missing-key", sentence, "name the partition columns")
        return cls(by_partition)

    @property
    def writing(self) -> Writing:
        """Rebuild the table, or keep the other partitions."""
        return Writing.ADDED if self.overwrite_partitions else Writing.WHOLE

    @property
    def keeps_rows(self) -> bool:
        """Whether partitions that are not in the result stay."""
        return self.overwrite_partitions

    def fingerprint(self, layout: Layout) -> Mapping[str, object]:
        """Return the partition columns if they determine which rows are replaced."""
        return {"overwrite": list(layout.partition_by)} if self.overwrite_partitions else {}

    def staying(self, layout: Layout, rows: str, target: str) -> str:
        """Return the condition for rows whose partition is not in the new rows."""
        if not layout.partition_by:
            return "false"
        same = " AND ".join(
            f"r.{quoted(name)} <=> {quoted(target)}.{quoted(name)}" for name in layout.partition_by
        )
        return f"NOT EXISTS (SELECT 1 FROM {quoted(rows)} r WHERE {same})"

    def work(self, build: Build) -> Work:
        """Replace the table by the query's rows, or only the partitions in them."""
        return insert(build, "OVERWRITE", _DYNAMIC, anew=not self.overwrite_partitions)
