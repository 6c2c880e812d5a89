"""The fixture of the Python models: a Delta source `raw_logs`, an app above it, its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import penstock
from fakes import delta_tables
from fakes.commits import commits

COLUMNS = "id BIGINT, ts TIMESTAMP, user STRING, amount BIGINT"
L = {
    1: "(1, '2025-01-15T10:00:00Z', 'a', 10)",
    2: "(2, '2025-01-15T18:00:00Z', 'b', 20)",
    3: "(3, '2025-01-16T09:00:00Z', 'a', 30)",
    4: "(4, '2025-01-16T12:00:00Z', 'c', 40)",
    5: "(5, '2025-01-16T20:00:00Z', 'b', 50)",
    6: "(6, '2025-01-17T10:00:00Z', 'a', 60)",
}


class PythonApp:
    """An app in a folder of its own, with the source `raw_logs`."""

    def __init__(self, root: Path, spark: Any) -> None:
        self.root, self.spark = root, spark
        self.app = penstock.conf(root=root, spark=spark, threads=2)
        self.path = f"{root}/landing/raw_logs"

    def source(self, *numbers: int, columns: str = COLUMNS) -> Any:
        """Make the source with some of the rows, and declare it."""
        delta_tables.create(self.path, columns)
        if numbers:
            self.append(*numbers)

        @self.app.source(path="landing/raw_logs")
        def raw_logs(df):
            return df

        return raw_logs

    def append(self, *rows: int | str) -> None:
        """Append rows of the fixture, or rows as SQL writes them."""
        texts = [L[each] if isinstance(each, int) else each for each in rows]
        delta_tables.append(self.path, ", ".join(texts))

    def frame(self, *rows: int) -> Any:
        """Give rows as a frame that no table holds."""
        values = ", ".join(L[each] for each in rows)
        names = "id, ts, user, amount"
        cast = (
            "cast(id as bigint) id, cast(ts as timestamp) ts, user, cast(amount as bigint) amount"
        )
        return self.spark.sql(f"SELECT {cast} FROM VALUES {values} AS t({names})")

    def rows(self, name: str, columns: str = "*") -> list[tuple[object, ...]]:
        """Give the rows of a table, sorted."""
        found = self.spark.sql(f"SELECT {columns} FROM {self.table(name)}").collect()
        return sorted((tuple(row) for row in found), key=repr)

    def ids(self, name: str) -> list[int]:
        """Give the ids of a table's rows."""
        return sorted(row[0] for row in self.rows(name, "id"))

    def table(self, name: str) -> str:
        """Give SQL for a table."""
        return f"delta.`{self.uri(name)}`"

    def uri(self, name: str) -> str:
        """Give the folder of a table."""
        return f"{self.root}/warehouse/main/{name}"

    def commits(self, name: str) -> int:
        """Count the commits of a table."""
        return len(commits(Path(self.uri(name))))
