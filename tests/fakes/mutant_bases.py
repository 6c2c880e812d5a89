"""Whole projects to be mutated: the templates of `penstock init`, and one that holds the rest."""

from __future__ import annotations

from pathlib import Path

from fakes import check_projects, entity_files, session_files
from penstock.app.commands.init import init

Files = dict[str, bytes]

SNAPSHOTS = """\
snapshots:
  - name: users_history
    relation: ref('users')
    config: {unique_key: id, strategy: check, check_cols: [email], schema: history}
models:
  - name: users
    config: {materialized: merge, unique_key: id, meta: {owner: me}}
    columns:
      - name: id
        type: BIGINT
        data_tests: [unique, {accepted_values: {values: [1, 2]}}]
    checks:
      before: [{type: row_count, min: 1, input: raw.users}]
      after: [{name: own, sql: checks/own.sql}, {type: not_null, columns: [id]}]
      on_failure: rollback
seeds:
  - name: countries
    columns: [{name: code, type: STRING}]
"""
TESTS = """\
unit_tests:
  - name: one
    model: users
    given:
      inputs:
        raw.users: {rows: [{id: 1, email: a, country: NL}], columns: {id: BIGINT}}
        countries: {rows: [{code: NL}]}
      target: {rows: [{id: 1, email: b}]}
    expect: {rows: [{id: 1, email: a}], metrics: {updated: 1}}
"""
USERS = """\
{{ config(tags=['daily', 'x']) }}
with seen as (select * from {{ source('raw', 'users') }} where at >= date_sub(current_date(), 3))
select s.id, max(s.email) as email, {{ cents('s.amount') }} as cents
from seen s join {{ ref('countries') }} c on c.code = s.country
where s.id is not null and s.email in ('a', 'b')
group by s.id
"""
FUNCTION = """\
from penstock import table

@table(schema="py", checks=[])
def doubled(users):
    return users.union(users)
"""
MIXED = {
    "penstock.yml": (
        "name: mixed\nvars: {late: 15}\nchecks: {on_failure: block}\n"
        "defaults: {models/py/: {tags: [py]}}\n"
        "targets: {dev: {schema_prefix: d_, warehouse: wh}, prod: {}}\n"
    ),
    **check_projects.user_stats(
        "{type: row_count, min: 1}", "{name: a, sql: 'select * from {destination}'}"
    ),
    "sessions/web.yml": session_files.SPEC,
    "models/sources.yml": session_files.source()
    + "      - {name: users, path: ../in/u.csv, format: csv, columns: [{name: at, type: DATE}]}\n",
    **entity_files.files(
        entity_files.entity(tags=["a"], checks=[{"type": "row_count", "min": 1}]),
        entity_files.entity(2, "y", "full"),
    ),
    "models/core/users.sql": USERS,
    "models/core/models.yml": SNAPSHOTS,
    "models/core/checks/own.sql": "select * from {destination} where id < 0\n",
    "models/core/other.sql": "select 1 as id, 'a' as email\n",
    "models/py/doubled.py": FUNCTION,
    "macros/money.sql": "{% macro cents(c) %}cast({{ c }} * 100 as int){% endmacro %}\n",
    "seeds/countries.csv": "code,name\nNL,Netherlands\n",
    "tests/users.yml": TESTS,
    "in/u.csv": "1,a,2024-03-01\n",
}
LANDED = {
    "landing/flights/1.csv": "year,month\n2013,1\n",
    "landing/weather/1.csv": "origin\nJFK\n",
    "landing/planes/1.csv": "tailnum\nN1\n",
    "landing/airlines/1.csv": "carrier,name\nAA,x\n",
    "landing/airports/1.csv": "lat,lon\n1,2\n",
}


def bases(folder: Path) -> dict[str, Files]:
    """Give the projects by name, each with the bytes of its files; templates pass by a folder."""
    found = {}
    for name in ("minimal", "demo", "sessions"):
        made = init(folder / name, name)
        found[name] = {path: (folder / name / path).read_bytes() for path in made}
    found["demo"] |= {path: text.encode() for path, text in LANDED.items()}
    found["mixed"] = {path: text.encode() for path, text in MIXED.items()}
    return found
