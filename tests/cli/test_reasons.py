"""What fails while rows are written or read is told by its innermost cause, at the user's line."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock
from fakes.entity_files import KEY, document, entity
from penstock.core.errors import ModelFailedError

pytestmark = pytest.mark.spark

PYTHON = '''\
import pandas as pd
from lib.numbers import below
from penstock import table
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType


@F.udf(IntegerType())
def plain(x):
    return 10 // (x - 1)


@F.pandas_udf(IntegerType())
def of_pandas(x: pd.Series) -> pd.Series:
    raise ValueError('no good\\nFile "models/main/of.sql", line 3, in x')


@F.udf(IntegerType(), useArrow=True)
def of_arrow(x):
    return below(x)


@table
def by_plain(spark, numbers):
    return numbers.select(plain("id").alias("v"))


@table
def by_pandas(numbers):
    return numbers.select(of_pandas("id").alias("v"))


@table
def by_arrow(numbers):
    return numbers.select(of_arrow("id").alias("v"))


@table
def by_lambda(numbers):
    return numbers.groupBy("id").applyInPandas(
        lambda rows: rows["nothing"],
        "id bigint",
    )


@table
def by_sql(spark, numbers):
    numbers.createOrReplaceTempView("n")
    return spark.sql("""
        select
          1 / (id - 1) as v
        from n""")


@table
def by_looking(numbers):
    numbers = numbers.select(plain("id").alias("v"))
    return numbers.where(f"v > {numbers.count()} or {numbers.first()[0]} = 0")
'''
SQL = {
    "by_zero": "1 / (id - 1)",
    "by_cast": "cast(concat('x', id) as int)",
    "by_overflow": "cast(id + 3000000000 as int)",
    "by_index": "array(1, 2)[id + 5]",
    "by_raising": "if(id = 2, raise_error('no. [CAST_INVALID_INPUT] here\\nFile \"x.py\"'), 1)",
    "by_date": "cast(concat('2024-13-0', id) as date)",
}
FILES = {
    "models/main/functions.py": PYTHON,
    "lib/numbers.py": "def below(x):\n    assert x > 100, f'{x} is too small'\n",
    **{
        f"models/main/{name}.sql": "{{ config(materialized='table') }}\n"
        f"select id,\n  {expression} as v\nfrom {{{{ source('raw', 'numbers') }}}}\n"
        for name, expression in SQL.items()
    },
    "models/main/by_merging.sql": "{{ config(materialized='merge', unique_key='id') }}\n"
    "select id,\n  1 / (id - 1) as v\nfrom {{ source('raw', 'numbers') }}\n",
    "models/main/checked.sql": "{{ config(materialized='table') }}\n"
    "select id from {{ source('raw', 'numbers') }}\n",
    "models/main/checks.yml": """\
models:
  - name: checked
    checks:
      after:
        - {type: sql, name: odd, sql: "select id from main.checked where 1 / (id - 1) > 0"}
""",
    "tests/main.yml": """\
unit_tests:
  - name: zero
    model: by_zero
    given: {inputs: {raw.numbers: {rows: [{id: 1}]}}}
    expect: {rows: [{id: 1, v: 1.0}]}
  - name: function
    model: by_plain
    given: {inputs: {raw.numbers: {rows: [{id: 1}]}}}
    expect: {rows: [{v: 1}]}
""",
    "entities/x.json": document(
        entity(process="full", columns=[KEY, {"name": "v", "expression": "1 / (ID - 1)"}]),
        environment={"root_folder": "lake"},
    ),
}
WANTED = {
    "by_plain": (
        "models/main/functions.py:10",
        "model-failed",
        "plain raised ZeroDivisionError: integer division or modulo by zero",
    ),
    "by_pandas": (
        "models/main/functions.py:15",
        "model-failed",
        "of_pandas raised ValueError: no good",
    ),
    "by_arrow": ("lib/numbers.py:2", "model-failed", "below raised AssertionError: 0 is too small"),
    "by_lambda": (
        "models/main/functions.py:41",
        "model-failed",
        "a function raised KeyError: 'nothing'",
    ),
    "by_sql": ("models/main/functions.py:47", "spark-divide-by-zero", "Division by zero."),
    "by_looking": (
        "models/main/functions.py:10",
        "model-failed",
        "plain raised ZeroDivisionError: integer division or modulo by zero",
    ),
    "by_zero": ("models/main/by_zero.sql:3", "spark-divide-by-zero", "Division by zero."),
    "by_merging": ("models/main/by_merging.sql:3", "spark-divide-by-zero", "Division by zero."),
    "by_cast": (
        "models/main/by_cast.sql:3",
        "spark-cast-invalid-input",
        'The value \'x0\' of the type "STRING" cannot be cast to "INT" because it is malformed.',
    ),
    "by_date": (
        "models/main/by_date.sql:3",
        "spark-cast-invalid-input",
        (
            'The value \'2024-13-00\' of the type "STRING" cannot be cast to "DATE" because it is '
            "malformed."
        ),
    ),
    "by_overflow": (
        "models/main/by_overflow.sql:1",
        "spark-cast-overflow",
        'The value 3000000000L of the type "BIGINT" cannot be cast to "INT" due to an overflow.',
    ),
    "by_index": (
        "models/main/by_index.sql:3",
        "spark-invalid-array-index",
        "The index 5 is out of bounds.",
    ),
    "by_raising": (
        "models/main/by_raising.sql:1",
        "spark-user-raised-exception",
        'no. [CAST_INVALID_INPUT] here File "x.py"',
    ),
    "checked": (
        "models/main/checks.yml:5:11",
        "after-check-failed",
        "checked: odd: could not be evaluated: Division by zero",
    ),
    "x": ("entities/x.json:18:12", "spark-divide-by-zero", "Division by zero."),
}


SMALL = {
    name: text
    for name, text in FILES.items()
    if name.endswith(("functions.py", "numbers.py", "by_cast.sql"))
}


@pytest.fixture
def project(place, monkeypatch):
    """Write what all need: the source, and its three rows."""

    def written(files):
        for path, text in files.items():
            place.write(path, text)
        place.source("numbers", "id BIGINT, n BIGINT")
        place.insert("numbers", "(0, 0), (1, 0), (2, 0)")
        monkeypatch.chdir(place.root)
        return place

    return written


def reasons(answer):
    """Return place, code and message of each step that failed."""
    steps = json.loads(answer.out)["models"]
    failed = {each["model"].rpartition(".")[2]: each["error"] for each in steps if each["error"]}
    return {name: (e["where"], e["code"], e["message"]) for name, e in failed.items()}


def test_a_function_and_a_cast_that_fail_in_a_write_are_told_by_their_own_line(project, call):
    names = ("by_arrow", "by_cast")
    project(SMALL)

    found = call("run", "--json", "--select", " ".join(names))

    assert reasons(found) == {name: WANTED[name] for name in names}


def test_a_script_gets_the_reason_and_from_it_what_spark_raised(project):
    place = project(SMALL)

    with pytest.raises(ModelFailedError) as caught:
        penstock.conf(root=place.root, spark=place.spark).run("by_plain")

    where, code, sentence = WANTED["by_plain"]
    assert (str(caught.value.where), caught.value.code, str(caught.value)) == (
        where,
        code,
        sentence,
    )
    assert "ZeroDivisionError: integer division or modulo by zero" in str(caught.value.__cause__)
    assert caught.value.report["by_plain"].error is caught.value


@pytest.mark.matrix
def test_errors_inside_a_write_are_told_by_their_cause_in_json_text_and_unit_tests(project, call):
    place = project(FILES)
    bronze = place.root / "lake/bronze/aw/x/a.parquet"
    bronze.parent.mkdir(parents=True)
    pq.write_table(pa.table({"ID": [0, 1, 2]}), bronze)

    found = call("run", "--json")
    told = call("run", "--select", "by_arrow by_cast checked")
    tested = call("test")

    assert reasons(found) == WANTED
    for name in ("by_arrow", "by_cast"):
        assert "{}: {}: {}".format(*WANTED[name]) in told.out
    assert "after   odd  failed   error    could not be evaluated: Division by zero" in told.out
    assert "spark-divide-by-zero: Division by zero." in tested.out
    assert "model-failed: models/main/functions.py:10: plain raised ZeroDivisionError" in tested.out
