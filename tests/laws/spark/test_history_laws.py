"""The engine of history tables agrees with the oracle, sequence by sequence, run by run.

Many sequences lie side by side in one table, each under a number of its own, so that one run of
Spark is a run of all of them.
"""

import shutil
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.histories import COMBINATIONS, packs
from fakes.history_table import HistoryTable
from fakes.oracle import run

# 10 sequences in each pack: 21 combinations make 210 in the gate, and 5,250 in `make test-laws`.
SIZE = 10
deep = settings.default.max_examples > 100
# Compiling Java for each statement takes longer than these rows; other tests compile.
PLAIN = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
MOST_RUNS = 6 if deep else 4
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


@pytest.mark.parametrize("name", COMBINATIONS)
def test_the_engine_makes_what_the_oracle_makes(name, spark, tmp_path):
    combination = COMBINATIONS[name]

    @packed
    @given(data=st.data())
    def compare(data):
        shutil.rmtree(tmp_path / "h", ignore_errors=True)
        table, known = HistoryTable(spark, tmp_path, combination, confs=PLAIN), None
        runs = data.draw(packs(combination, SIZE, min_runs=4, max_runs=MOST_RUNS))
        if not any(each.source.rows for each in runs):
            return
        for each in runs:
            outcome = run(known, each.source, combination, each.at)
            metrics = table.run(each.at, each.source)
            known = outcome.history

            assert {k: v for k, v in asdict(outcome.metrics).items() if v} == {
                k: v for k, v in metrics.items() if v
            }
            assert rows(table.history()) == rows(known)
        table.run(runs[-1].at, runs[-1].source)
        assert table.committed is None, "the same run again changes nothing"

    compare()
