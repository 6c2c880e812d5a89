"""The engine of history tables agrees with the oracle, sequence by sequence, run by run.

Many sequences lie side by side in one table, each under a number of its own, so that one run of
Spark is a run of all of them; the tables of several combinations of settings are made at once.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.histories import COMBINATIONS, packs
from fakes.history_table import HistoryTable
from fakes.oracle import run

# 10 sequences in each pack: 21 combinations make 210 in the gate, and 5,250 in `make test-laws`.
SIZE = 10
THREADS = 4
deep = settings.default.max_examples > 100
MOST_RUNS = 6 if deep else 4
# Compiling Java for each statement takes longer than these rows; other tests compile.
PLAIN = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
packed = settings(
    max_examples=26 if deep else 2,  # the first one drawn has no row at all
    suppress_health_check=list(HealthCheck),
)


def rows(history):
    """Give what the versions say, whether or not a column is there for its NULLs."""
    told = [
        (
            repr(v.key),
            v.valid_from,
            v.valid_to,
            v.is_current,
            bool(v.is_deleted),
            {column: each for column, each in v.values.items() if each is not None},
        )
        for v in history.versions
    ]
    return sorted(told, key=lambda each: each[:2])


def without_zeros(metrics):
    return {name: count for name, count in metrics.items() if count}


def compare(spark, folder, name, runs):
    """Hold every run of one combination against the oracle; give "" or what differs."""
    combination = COMBINATIONS[name]
    folder.mkdir()
    table, known = HistoryTable(spark, folder, combination, confs=PLAIN), None
    for number, each in enumerate(runs):
        outcome = run(known, each.source, combination, each.at)
        metrics = table.run(each.at, each.source)
        known = outcome.history
        if without_zeros(asdict(outcome.metrics)) != without_zeros(metrics):
            return f"{name}, run {number}: counted {metrics}, wanted {outcome.metrics}"
        if rows(table.history()) != rows(known):
            return f"{name}, run {number}: rows {rows(table.history())}, wanted {rows(known)}"
    table.run(runs[-1].at, runs[-1].source)
    return f"{name}: the same run again commits" if table.committed else ""


def test_the_engine_makes_what_the_oracle_makes(spark, tmp_path):
    folders = (tmp_path / str(number) for number in itertools.count())

    @packed
    @given(data=st.data())
    def hold(data):
        drawn = {
            name: data.draw(packs(settings_, SIZE, min_runs=4, max_runs=MOST_RUNS), label=name)
            for name, settings_ in COMBINATIONS.items()
        }
        filled = {n: runs for n, runs in drawn.items() if any(r.source.rows for r in runs)}
        with ThreadPoolExecutor(THREADS) as pool:
            found = [
                pool.submit(compare, spark, next(folders), name, runs)
                for name, runs in filled.items()
            ]
        assert [each.result() for each in found if each.result()] == []

    hold()
