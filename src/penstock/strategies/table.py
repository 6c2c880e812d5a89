"""The strategy `table`."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.names import quoted
from penstock.core.statement import Commit, Work
from penstock.strategies.build import Build, counted_texts, create_from, selected

_DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}


def table(build: Build) -> Work:
    """Replace the table by the query's rows.

    With `overwrite: partitions` only the partitions that occur in the result are replaced; the
    rows of all others stay.
    """
    if not build.inserts:
        return replace(Work.just(create_from(build)), again=counted_texts(build))
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    insert = Commit(
        f"INSERT {evolution}OVERWRITE {build.target} BY NAME "
        f"SELECT {selected(build)} FROM {quoted(build.source)}",
        _DYNAMIC,
    )
    return replace(Work.just(insert), again=counted_texts(build))
