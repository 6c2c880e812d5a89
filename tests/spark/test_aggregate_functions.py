"""The shipped list of aggregate functions, against the registry of Spark itself."""

from __future__ import annotations

from pyspark.sql import Observation, functions

from penstock.project.checks.expressions import AGGREGATES, UNOBSERVED

OF_GROUPING_SETS = {"grouping", "grouping_id"}  # they ask which columns were grouped by
OF_SKETCHES = ("union_agg", "intersection_agg", "kll_merge", "top_k_combine")
AGGREGATE = "org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction"
ROWS = """
select i, cast(i as double) as d, i > 1 as b, binary(string(i)) as x, float(i) as f
from values (1), (2), (2), (null) as t(i)
"""
ARGUMENTS = {
    "(b)": {"any", "bool_and", "bool_or", "count_if", "every", "some"},
    "(i, i)": {
        *("corr", "covar_pop", "covar_samp", "max_by", "min_by", "tuple_sketch_agg_integer"),
        *("tuple_sketch_agg_double", *(name for name in AGGREGATES if name.startswith("regr_"))),
    },
    "(i, 2)": {"histogram_numeric"},
    "(d)": {"kll_sketch_agg_double"},
    "(d, 0.5)": {"approx_percentile", "percentile", "percentile_approx"},
    "(0.5) within group (order by d)": {"percentile_cont", "percentile_disc"},
    "(f)": {"kll_sketch_agg_float"},
    "(array(f))": {"vector_avg", "vector_sum"},
    "(x)": {"bitmap_and_agg", "bitmap_or_agg"},
    "(i, 0.1d, 0.9d, 1)": {"count_min_sketch"},
    "(parse_json(string(i)))": {"schema_of_variant_agg"},
}
"""What the aggregates are called with; those not named here take `(i)`."""


def in_registry(spark) -> set[str]:
    """Give the functions whose class or group says that they aggregate, and do not rank."""
    state = spark._jsparkSession.sessionState()
    identifiers = state.functionRegistry().listFunction().iterator()
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    aggregate = loader.loadClass(AGGREGATE)
    found = set()
    while identifiers.hasNext():
        identifier = identifiers.next()
        info = state.catalog().lookupFunctionInfo(identifier)
        is_one = aggregate.isAssignableFrom(loader.loadClass(info.getClassName()))
        if info.getGroup() == "agg_funcs" or (is_one and info.getGroup() != "window_funcs"):
            found.add(identifier.funcName())
    return found - OF_GROUPING_SETS


def test_the_list_of_aggregate_functions_is_that_of_spark(spark):
    assert in_registry(spark) == AGGREGATES


def test_spark_observes_the_aggregates_and_finds_what_a_scan_finds(spark):
    given = {name: call for call, names in ARGUMENTS.items() for name in names}
    names = {n for n in AGGREGATES - UNOBSERVED if not any(word in n for word in OF_SKETCHES)}
    values = [functions.expr(f"{n}{given.get(n, '(i)')}").alias(n) for n in sorted(names)]
    rows = spark.sql(ROWS).coalesce(1)
    observation = Observation()
    rows.observe(observation, *values).write.format("noop").mode("overwrite").save()

    assert observation.get == rows.agg(*values).first().asDict()
