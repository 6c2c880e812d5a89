"""Digests of tables, for `dbt_port.py`: run in dbt's environment, and imported for our own side.

    python dbt_port_rows.py PROFILES_DIR TABLES_FILE

Prints JSON: table → number of rows and, of each column, the sum of the hashes of its values; null
for a table that cannot be read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DIGEST = "cast(sum(cast(xxhash64({text}, '{name}') as decimal(20, 0))) as string)"
TEXTS = {"double": "format_string('%.8e', {c})", "float": "format_string('%.5e', {c})"}
_QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""What makes queries of small tables quick; no value depends on it."""
NESTED = ("array", "map", "struct", "variant")


def digest(frame: DataFrame) -> dict[str, Any]:
    """Give the number of rows, and a digest of each column that does not depend on their order."""
    made = ["count(*) as `__rows`"]
    for name, kind in frame.dtypes:
        column = f"`{name}`"
        text = f"to_json({column})" if kind.startswith(NESTED) else f"cast({column} as string)"
        if kind.startswith("decimal"):  # a cast writes zero in two ways, by the mode of ANSI
            text = f"format_string('%s', {column})"
        if name.lower() == "dbt_valid_to":  # the time of the run that closed a version
            text = f"cast({column} is null as string)"
        text = TEXTS.get(kind, text).replace("{c}", column)
        made.append(f"{DIGEST.format(text=text, name=name.lower())} as {column}")
    row = frame.selectExpr(*made).first()
    assert row is not None
    columns = {name.lower(): f"{kind} {row[name]}" for name, kind in frame.dtypes}
    return {"rows": row["__rows"], "columns": columns}


def session_of_dbt(profiles: Path) -> SparkSession:
    """Start Spark with the settings that a profile of dbt-spark gives a session."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.enableHiveSupport()
    for name, value in {**settings_of(profiles), **_QUICK}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def settings_of(profiles: Path) -> dict[str, str]:
    """Give the Spark settings of the first output of the first profile, rendered as dbt does."""
    import os

    import jinja2
    import yaml

    text = jinja2.Template((profiles / "profiles.yml").read_text()).render(
        env_var=lambda name, default=None: os.environ.get(name, default)
    )
    profile = next(iter(yaml.safe_load(text).values()))
    output = profile["outputs"][profile["target"]]
    return dict(output.get("server_side_parameters", {}))


def main() -> None:
    """Print the digests of the tables that a file names, one a line."""
    spark = session_of_dbt(Path(sys.argv[1]))
    found: dict[str, dict[str, Any] | None] = {}
    for table in Path(sys.argv[2]).read_text().split():
        try:
            found[table] = digest(spark.table(table))
        except Exception as error:  # noqa: BLE001  it is printed, and the next table follows
            print(f"{table}: {str(error)[:200]}", file=sys.stderr)
            found[table] = None
    print(json.dumps(found))


if __name__ == "__main__":
    main()
