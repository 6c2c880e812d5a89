"""The strategy `table`."""

from __future__ import annotations

from penstock.core.names import quoted
from penstock.core.statement import Commit, Work
from penstock.strategies.build import Build, create_from, listed

_DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}


def table(build: Build) -> Work:
    """Replace the table by the query's rows.

    With `overwrite: partitions` only the partitions that occur in the result are replaced; the
    rows of all others stay.
    """
    if not build.inserts:
        return Work.just(create_from(build))
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    columns = listed(build.query.names)
    return Work.just(
        Commit(
            f"INSERT {evolution}OVERWRITE {build.target} BY NAME "
            f"SELECT {columns} FROM {quoted(build.source)}",
            _DYNAMIC,
        )
    )
