from __future__ import annotations

from fakes.check_projects import SQL

HEADER = """\
{{{{ config(
    materialized='partition', partition_by='date', start='2024-01-01',
    checks={checks},
    on_failure='block',
) }}}}
{sql}"""


IN_HEADER = (
    "{'before': [{'name': 'there', 'sql': 'checks/there.sql'}],"
    " 'after': [{'type': 'row_count', 'min': 1}, {'type': 'not_null', 'column': 'region',"
    " 'severity': 'warn', 'meta': {'owner': 'me'}}]}"
)


THERE = {"models/checks/there.sql": "select 1 where not exists (select 1 from raw.events)"}


def test_sql_that_a_check_names_is_no_model(load):
    files = {"models/user_stats.sql": HEADER.format(checks=IN_HEADER, sql=SQL), **THERE}
    beside = "models:\n  - name: free\n    checks: [{sql: checks/01-low.sql}]\n"
    files |= {"models/free.sql": "select 1 as one", "models/any.yml": beside}
    files |= {"models/checks/01-low.sql": "select * from {destination} where one < 1"}

    models = load(files).models

    assert list(models) == ["free", "user_stats"]
    assert [each.name for each in models["free"].checks.after] == ["_01-low"]
