"""`as_of(ref('x'), time)`: a history table as it was at a point in time."""

from __future__ import annotations

import pytest

from penstock.core.names import InputKind, InputName
from penstock.core.query import bound, live
from penstock.project.sql.canonical import canonical_sql

S = InputName(InputKind.MODEL, "s")
SNAPSHOT = (
    "{{ config(materialized='snapshot', unique_key='id', strategy='check', check_cols='all') }}"
    "\nselect id, value from t"
)


@pytest.fixture
def reader(load):
    """Load a model with this query beside the snapshot `s`, and give its project."""

    def loaded(query, snapshot=SNAPSHOT):
        return load({"models/h/s.sql": snapshot, "models/m.sql": query})

    return loaded


def test_a_point_in_time_is_a_subquery_over_the_history_table(reader):
    project = reader("select a.id\nfrom {{ as_of(ref('s'), '2024-05-15') }} a")

    model = project.models["m"]
    moment = "TIMESTAMP '2024-05-15T00:00:00.000000Z'"
    condition = (
        f"`_ps_valid_from` <= {moment} and (`_ps_valid_to` is null or `_ps_valid_to` > {moment})"
    )
    assert model.query.text == (
        "select a.id\nfrom (select * from `penstock:model:s:bare:s` "
        f"where {condition} and `penstock:present:model:s`) a"
    )
    assert project.shown_sql(model) == (
        "select a.id\nfrom (select * from h.s "
        f"where {condition} and coalesce(`_ps_is_deleted`, false) = false) a"
    )
    assert (model.depends_on, model.query.inputs, model.query.parsed) == (("s",), (S,), True)


def test_tombstones_stay_in_when_they_are_asked_for(reader):
    with_deleted = "{{ as_of(ref('s'), '2024-05-15', include_deleted=true) }}"

    query = reader(f"select * from {with_deleted} a").models["m"].query

    assert "present" not in query.text
    assert query.deleted_flags == ()


def test_the_condition_on_tombstones_is_decided_when_a_step_is_bound(reader):
    text = reader("select * from {{ as_of(ref('s'), '2024-05-15') }} a").models["m"].query.text

    without, with_column = bound(text, {S: "v"}), bound(text, {S: "v"}, {S: live("gone")})

    assert without.endswith(" and true) a")
    assert with_column.endswith(" and coalesce(`gone`, false) = false) a")


@pytest.mark.parametrize(
    ("argument", "sql"),
    [
        ("'2024-03-01'", "TIMESTAMP '2024-03-01T00:00:00.000000Z'"),
        ("'2024-03-01T12:30:00'", "TIMESTAMP '2024-03-01T12:30:00.000000Z'"),
        ("'2024-03-01 12:30:00.5+02:00'", "TIMESTAMP '2024-03-01T10:30:00.500000Z'"),
        ("'2024-03-01T12:30:00Z'", "TIMESTAMP '2024-03-01T12:30:00.000000Z'"),
        ("'0850-03-01'", "TIMESTAMP '0850-03-01T00:00:00.000000Z'"),
        ("'@run_date'", "CAST(`penstock:param:run_date` AS TIMESTAMP)"),
        ("run_timestamp", "penstock__run_timestamp"),
        ("var('day', '2024-03-01')", "TIMESTAMP '2024-03-01T00:00:00.000000Z'"),
    ],
)
def test_a_point_in_time_is_a_date_a_timestamp_or_a_placeholder(reader, argument, sql):
    text = reader(f"select * from {{{{ as_of(ref('s'), {argument}) }}}} a").models["m"].query.text

    assert f"where `_ps_valid_from` <= {sql} and" in text


def test_the_columns_are_those_of_the_history_table(reader):
    snapshot = SNAPSHOT.replace(
        "strategy=", "system_columns={'prefix': 'dlf_', 'case': 'pascal'}, strategy="
    )

    query = (
        reader("select * from {{ as_of(ref('s'), '2024-05-15') }} a", snapshot).models["m"].query
    )

    assert "`dlf_ValidFrom` <= TIMESTAMP" in query.text
    assert query.deleted_flags == ((S, "dlf_IsDeleted"),)


def test_another_time_is_another_meaning(reader):
    texts = [
        reader(f"select * from {{{{ as_of(ref('s'), '{day}'{more}) }}}} a").models["m"].fingerprint
        for day, more in (
            ("2024-05-15", ""),
            ("2024-05-16", ""),
            ("2024-05-15", ", include_deleted=true"),
            ("2024-05-15", ""),
        )
    ]

    assert len({each.canonical for each in texts}) == 3
    assert texts[0] == texts[3]


def test_a_query_that_the_parser_does_not_read_is_rendered_too(reader):
    project = reader("select * from {{ as_of(ref('s'), '2024-05-15') }} a ?? b")

    query = project.models["m"].query
    assert [f.code for f in project.findings] == ["unparsed-sql"]
    assert query.text.startswith(
        "select * from (select * from `penstock:model:s:bare:s` where `_ps_valid_from` <= "
    )
    assert "`penstock:present:model:s`) a" in query.text


@pytest.mark.parametrize("name", ["dim_users", "seeded"])
def test_only_history_tables_have_points_in_time(findings, name):
    files = {
        "models/dim_users.sql": "select 1 as id",
        "seeds/seeded.csv": "id\n1\n",
        "models/m.sql": f"select *\nfrom {{{{ as_of(ref('{name}'), '2024-05-15') }}}} a",
    }

    assert findings(files, hints=True) == [
        (
            "models/m.sql:2: error: not-a-history-model: "
            f"as_of reads history tables, and '{name}' is none\n"
            f"  hint: write ref('{name}') alone, or make it a snapshot"
        )
    ]


@pytest.mark.parametrize(
    ("call", "finding"),
    [
        (
            "as_of(ref('s'), 'yesterday')",
            "as-of-argument: as_of: 'yesterday' is not a point in time",
        ),
        ("as_of(ref('s'), '@a b')", "as-of-argument: as_of: '@a b' is not a point in time"),
        ("as_of(ref('s'), 20240301)", "as-of-argument: as_of: 20240301 is not a point in time"),
        (
            "as_of(ref('s'))",
            "as-of-argument: as_of needs a point in time as its second argument",
        ),
        (
            "as_of(source('a', 'b'), '2024-05-15')",
            "not-a-history-model: as_of reads history tables, and its first argument is not a ref",
        ),
        ("as_of(ref('ss'), '2024-05-15')", "unknown-reference: no model is called 'ss'"),
    ],
)
def test_what_is_no_table_or_no_time_is_a_finding(findings, call, finding):
    files = {"models/s.sql": SNAPSHOT, "models/m.sql": f"select *\nfrom {{{{ {call} }}}} a"}

    assert findings(files)[0] == f"models/m.sql:2: error: {finding}"


def test_the_meaning_is_that_of_the_stored_text(reader):
    project = reader("select * from {{ as_of(ref('s'), '2024-05-15') }} a")
    model = project.models["m"]

    assert model.query.canonical == canonical_sql(project.shown_sql(model))
