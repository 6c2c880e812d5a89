from __future__ import annotations

ORDERS = {
    "models/orders.sql": "select 1 as customer",
    "models/orders.yml": (
        "models:\n  - name: orders\n"
        "    checks: [{type: relationships, column: customer, to: customers, field: id}]\n"
    ),
}


def test_C9_what_a_check_reads_is_built_first(load):
    models = load({**ORDERS, "models/customers.sql": "select 1 as id"}).models

    assert {name: each.order_after for name, each in models.items()} == {
        "customers": (),
        "orders": ("customers",),
    }
    assert models["orders"].depends_on == ()


def test_C9_an_order_that_closes_a_cycle_is_dropped_and_told(load):
    project = load({**ORDERS, "models/customers.sql": "select customer as id from shop.orders"})

    assert [each.order_after for each in project.models.values()] == [(), ()]
    assert [str(each) for each in project.findings] == [
        (
            'models/orders.yml:3:14: info: check-order-dropped: check "relationships_customer" '
            "reads customers, which is built after orders: it reads what is there\n"
            "  hint: nothing is to be done if that is meant; else read a table built before"
        )
    ]


def test_C9_a_cycle_of_orders_alone_loses_its_last_edge(load):
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
