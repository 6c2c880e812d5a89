from __future__ import annotations

ORDERS = {
    "models/orders.sql": "select 1 as customer",
    "models/orders.yml": (
        "models:\n  - name: orders\n"
        "    checks: [{type: relationships, column: customer, to: customers, field: id}]\n"
    ),
}


def test_what_a_check_reads_is_built_first(load):
    models = load({**ORDERS, "models/customers.sql": "select 1 as id"}).models

    assert {name: each.order_after for name, each in models.items()} == {
        "customers": (),
        "orders": ("customers",),
    }
    assert models["orders"].depends_on == ()


def test_an_order_that_closes_a_cycle_is_dropped_and_told(load):
    project = load({**ORDERS, "models/customers.sql": "select customer as id from shop.orders"})

    assert [each.order_after for each in project.models.values()] == [(), ()]
    assert [str(each) for each in project.findings] == [
        (
            'models/orders.yml:3:14: info: check-order-dropped: check "relationships_customer" '
            "reads customers, which is built after orders: it reads what is there\n"
            "  hint: no action needed if intended; otherwise read a table built before"
        )
    ]


def test_a_cycle_of_orders_alone_loses_its_last_edge(load):
    yaml = "models:\n"
    for one, other in (("a", "b"), ("b", "a")):
        yaml += f"  - name: {one}\n    checks: [{{name: c, sql: 'select 1 from shop.{other}'}}]\n"
    files = {"models/a.sql": "select 1 as x", "models/b.sql": "select 1 as x"}

    models = load({**files, "models/any.yml": yaml}).models

    assert {name: each.order_after for name, each in models.items()} == {"a": ("b",), "b": ()}


def test_a_table_that_the_model_reads_anyway_is_no_order_edge(load):
    yaml = "models:\n  - name: n\n    checks: {before: [{type: row_count, min: 1, input: m}]}\n"
    files = {"models/m.sql": "select 1 as a", "models/n.sql": "select a from shop.m"}

    assert load({**files, "models/n.yml": yaml}).models["n"].order_after == ()


def chain(**tests: str) -> dict[str, str]:
    """Return three models, of which the last reads the others, and tests of their own files."""
    files = {
        "models/a.sql": "select 1 as id",
        "models/b.sql": "select id from {{ ref('a') }}",
        "models/c.sql": "select id from {{ ref('b') }}",
        "models/other.sql": "select 1 as id",
        "models/raw.yml": "sources: [{name: raw, tables: [{name: t, path: ../landing}]}]\n",
        "models/d.sql": "select * from {{ source('raw', 't') }}",
    }
    return {**files, **{f"tests/{name}.sql": text for name, text in tests.items()}}


def test_a_test_of_its_own_file_is_a_check_of_the_last_model_it_reads(load):
    sql = "select * from {{ ref('c') }} anti join {{ ref('a') }} using (id)"
    header = "{{ config(severity='warn', tags=['nightly'], store_failures=true, limit=7) }}\n"

    models = load(chain(lost_ids=header + sql)).models

    [check] = models["c"].checks.after
    assert [name for name, each in models.items() if each.checks.all] == ["c"]
    assert (check.name, check.type, str(check.where)) == ("lost_ids", "sql", "tests/lost_ids.sql:1")
    assert check.rule.query.text.strip() == (
        "select * from `penstock:this:c:bare:c` anti join `penstock:model:a:bare:a` using (id)"
    )
    assert (check.severity, check.tags, check.store, check.limit) == (
        "warning",
        ("nightly",),
        True,
        7,
    )


def test_of_models_that_do_not_read_each_other_the_test_waits_for_all(load):
    models = load(chain(same="select 1 from {{ ref('a') }}, {{ ref('other') }}")).models

    assert [check.name for check in models["other"].checks.after] == ["same"]
    assert models["other"].order_after == ("a",)


def test_a_test_of_sources_alone_is_looked_at_before_what_reads_them(load):
    models = load(chain(some="select * from {{ source('raw', 't') }} where id is null")).models

    assert [(check.name, check.phase) for check in models["d"].checks.before] == [
        ("some", "before")
    ]


def test_what_is_wrong_with_a_test_of_its_own_file_stands_at_its_line(findings):
    files = chain(
        unknown="select *\nfrom {{ ref('aa') }} join {{ ref('b') }} using (id)",
        keys="{{ config(\n  severity='critical',\n  limt=1) }}\nselect * from {{ ref('a') }}",
        nothing="select * from elsewhere.t",
        off="{{ config(enabled=false) }} select * from elsewhere.t",
        rows="select 1 as x",
        broken="{% if %}",
        deletes="delete from {{ ref('a') }}",
    )

    assert findings(files, hints=True) == [
        (
            "tests/broken.sql:1: error: template-syntax: Expected an expression, got 'end of "
            "statement block'"
        ),
        "tests/deletes.sql:1: error: not-a-query: one query is expected; this begins with DELETE",
        (
            "tests/keys.sql:2: error: bad-value: check \"keys\": severity is 'critical'; "
            "it must be "
            "error or warning\n  hint: error, warning"
        ),
        "tests/keys.sql:3: error: unknown-key: unknown key 'limt'\n  hint: did you mean 'limit'?",
        (
            "tests/nothing.sql:1: warning: unused-sql: the test reads no model, so "
            "nothing runs it\n"
            "  hint: read one with ref(), or declare the table as a source"
        ),
        (
            'tests/unknown.sql:2: error: unknown-reference: check "unknown": no model '
            "is called 'aa'"
            "\n  hint: did you mean 'a'?"
        ),
    ]
