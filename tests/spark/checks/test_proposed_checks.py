"""Checks that rows propose: pasted where they are said to belong, they load and pass."""

import re
from textwrap import indent

import pytest

from fakes.check_place import CheckPlace, said
from penstock.app.commands.check import suggest
from penstock.ui.render.check import suggest_text

PROJECT = {"penstock.yml": "name: shop\n", "models/.keep": ""}
pytestmark = pytest.mark.matrix

MARK = re.compile(r"^( *)HERE\n", re.MULTILINE)
LONG = "l" * 140
KINDS = {
    "id": "id",
    "a b": "id % 3 - 1",
    "a_b": "CAST(id % 3 - 1 AS SMALLINT)",
    "größe": "id % 2 - 0.5",
    "gr__e": "id % 2 - 0.5",
    "on": "id % 2 = 0",
    "7": "CAST('2024-01-01' AS DATE)",
    "q\"'`{column}": "IF(id % 2 = 0, 'no', '7')",
    "#x: [y]": "element_at(array('{{ x }}', '${abc}', '@run_date', '{% if', '***'), id % 5 + 1)",
    "wörds": "element_at(array('', ' ', 'a\\tb\\n', '~', '1e3', 'é\"\\\\', '\\u2028'), id % 7 + 1)",
    LONG: "IF(id % 2 = 0, 'x', 'y')",
    f"{LONG}2": "IF(id % 2 = 0, 'x', 'y')",
    "nothing": "CAST(NULL AS STRING)",
    "no_number": "CAST(NULL AS DECIMAL(10, 2))",
    "few_nulls": "IF(id = 3, NULL, CAST(id % 4 - 7 AS TINYINT))",
    "least": "IF(id = 0, -9223372036854775808, 9223372036854775807)",
    "huge": "IF(id = 0, -1.7976931348623157E308D, 1E300D)",
    "tiny": "IF(id = 0, -4.9E-324D, 1.5E-7D)",
    "zero": "IF(id = 0, -0.0D, 0.0D)",
    "not_a_number": "IF(id = 0, CAST('NaN' AS DOUBLE), -1D)",
    "single": "CAST(IF(id = 0, -3.4, 3.3) AS FLOAT)",
    "share": "CAST(id / 200 AS FLOAT)",
    "exact": "CAST(IF(id = 0, '-12345678901234567890.123456789012345678', '1') AS DECIMAL(38, 18))",
    "wide": "CAST(IF(id = 0, '-99999999999999999999999999999999999999', '1') AS DECIMAL(38, 0))",
    "at": "TIMESTAMP '0001-01-01 00:00:00' + make_dt_interval(id)",
    "local": "CAST(TIMESTAMP '9999-12-31 23:59:59.999999' AS TIMESTAMP_NTZ)",
    "bytes": "unhex('FF')",
    "nested": "named_struct('a', id, 'b c', array(id), 'n', CAST(NULL AS INT))",
    "list": "array(CAST(NULL AS STRING))",
    "map": "map('k', CAST(NULL AS INT))",
}  # fmt: skip
ROWS = "FROM (SELECT CAST(id AS INT) AS id FROM range(0, 100, 1, 1))"
ODD = ", ".join(f"{sql} AS `{name.replace('`', '``')}`" for name, sql in KINDS.items())
RAW = f"{{% raw %}}{ODD}{{% endraw %}}"


def proposed(place, name):
    return place.with_shop(lambda services: suggest(services, name, sample=True))


def pasted(place, name, path="models/proposed.yml", text="HERE\n"):
    """Paste what is proposed for a model at the mark of a file; return what its checks say."""
    report = proposed(place, name)
    lines = suggest_text(report).splitlines()
    block = "\n".join(line for line in lines if not line.startswith("#"))
    place.write({path: MARK.sub(lambda found: indent(block, found[1]) + "\n", text)})
    messages = said(place.check(everything=True).reports[name].after)
    place.write({path: MARK.sub("", text)})
    assert len(messages) == len(report.checks)
    return messages


def not_passed(messages):
    return {name: text for name, text in messages.items() if not text.startswith("passed")}


def test_odd_names_types_and_values_are_proposed_so_that_they_load_and_pass(spark, tmp_path):
    place = CheckPlace(tmp_path, spark, PROJECT)
    mapped = {"delta.columnMapping.mode": "name"}
    place.model("m/odd", f"SELECT {RAW} {ROWS}", materialized="table", table_properties=mapped)
    place.model(
        "m/seen",
        "SELECT *, CAST(NULL AS STRING) AS void FROM {{ ref('odd') }}",
        materialized="view",
    )
    place.run()

    place.write({"models/m/odd.yml": "", "models/m/seen.yml": ""})

    for name in ("odd", "seen"):
        messages = pasted(place, name)

        assert not_passed(messages) == {}
        assert messages["never_null"] == "passed no NULL"
        assert {"value_range_a_b", "value_range_a_b_2", "value_range_gr__e_2"} <= {*messages}


@pytest.mark.parametrize("rows", ["WHERE false", "LIMIT 1"])
def test_a_table_of_no_or_one_row_proposes_what_loads_and_passes(spark, tmp_path, rows):
    place = CheckPlace(tmp_path, spark, PROJECT)
    mapped = {"delta.columnMapping.mode": "name"}
    sql = f"SELECT {RAW} {ROWS} {rows}"
    place.model("m/odd", sql, materialized="table", table_properties=mapped)
    place.run()
    place.write({"models/m/odd.yml": ""})

    if rows == "WHERE false":
        assert proposed(place, "odd").checks == ()
    else:
        assert not_passed(pasted(place, "odd")) == {}


DOCUMENT = """\
{"environment": {"name": "dev", "root_folder": "lake", "timezone": "UTC",
  "bronze_path": "/${entity}", "silver_path": "/${destination}", "systemfield_prefix": "dw_"},
 "connections": [{"name": "till"}],
 "entities": [{
   HERE
   "id": 1, "name": "orders", "connection": "till", "processtype": "merge",
   "columns": [{"name": "id", "fieldroles": ["businesskey"]}]}]}
"""
NATIVE = """\
name: prices
schema: silver
strategy: merge
HERE
entity:
  bronze: {path: lake/bronze/orders}
  columns: [{name: id, fieldroles: [businesskey]}]
"""
HISTORY = """\
snapshots:
  - name: orders_history
    HERE
    relation: ref('base')
    config: {strategy: check, unique_key: [id], check_cols: all, hard_deletes: new_record}
"""
HOMES = {
    "silver_till.orders": ("entities/till.json", DOCUMENT),
    "silver.prices": ("models/prices.yml", NATIVE),
    "orders_history": ("models/history.yml", HISTORY),
}
HEADER = "{{ config(materialized='table') }}\n"
FUNCTION = "import penstock\n\n\n@penstock.table\ndef rows(base):\n    return base\n"


def test_proposals_name_the_file_where_they_belong(spark, tmp_path):
    place = CheckPlace(tmp_path, spark, PROJECT)
    place.write({path: MARK.sub("", text) for path, text in HOMES.values()})
    base = HEADER + "SELECT id, CAST(NULL AS STRING) AS v FROM range(20)"
    place.write({"models/m/base.sql": base, "models/m/functions.py": FUNCTION})
    spark.range(20).write.parquet(str(tmp_path / "lake/bronze/orders/a.parquet"))
    place.run()
    place.snap()
    place.write({"models/m/base.sql": f"{HEADER}SELECT id, 'x' AS v FROM range(10)"})
    place.run()
    place.snap()

    for name, (path, text) in HOMES.items():
        line = f"# They belong beside the other keys of {name} in {path}."
        report = suggest_text(proposed(place, name))
        assert line in report.splitlines()
        assert not re.search(r"\b(dw|_ps)_|PK_", report)
        assert not_passed(pasted(place, name, path, text)) == {}
    assert not_passed(pasted(place, "rows")) == {}
