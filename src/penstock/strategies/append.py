"""The strategy `append`."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.names import quoted
from penstock.core.statement import Commit, Work
from penstock.strategies.build import Build, counted_texts, create_from, selected


def append(build: Build) -> Work:
    """Add the window's rows in one commit that Delta accepts once per step.

    A zombie that lost its lease cannot append the same step twice, because the commit carries
    the step's number as its application transaction (spec/state.md §2).
    """
    if not build.inserts:
        return replace(Work.just(create_from(build)), again=counted_texts(build))
    evolution = "WITH SCHEMA EVOLUTION " if build.evolves else ""
    insert = Commit(
        f"INSERT {evolution}INTO {build.target} BY NAME "
        f"SELECT {selected(build)} FROM {quoted(build.source)}",
    )
    return replace(Work.just(insert), again=counted_texts(build))
