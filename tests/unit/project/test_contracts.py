"""Contracts and constraints as dbt writes them."""

from __future__ import annotations

from penstock.core.checks.check import OnFailure
from penstock.core.columns.schema import Column, Schema

SQL = "{{ config(materialized='table') }}\nselect 1 as id, 2.5 as amount, 'x' as note"
TYPED = """\
models:
  - name: orders
    config: {contract: {enforced: true}}
    constraints:
      - {type: check, expression: "amount >= 0 or note = 'credit'", name: no_debts}
      - {type: primary_key, columns: [id, note]}
    columns:
      - name: id
        data_type: int
        constraints: [{type: not_null}, {type: unique}]
      - {name: amount, data_type: "numeric(9, 2)"}
      - {name: note, data_type: varchar(10)}
"""


def test_an_enforced_contract_has_types_and_gates_that_block(load) -> None:
    model = load({"models/orders.sql": SQL, "models/orders.yml": TYPED}).models["orders"]

    assert model.contract == Schema(
        (Column("id", "int"), Column("amount", "decimal(9,2)"), Column("note", "string"))
    )
    assert [(each.name, each.rule.name) for each in model.checks.after] == [
        ("no_debts", "column_check"),
        ("contract_not_null_id", "not_null"),
    ]
    assert model.checks.on_failure is OnFailure.BLOCK


def test_a_text_of_another_database_is_a_string(load) -> None:
    text = TYPED.replace("varchar(10)", "varchar")

    model = load({"models/orders.sql": SQL, "models/orders.yml": text}).models["orders"]

    assert model.contract.columns[2] == Column("note", "string")


def test_what_spark_does_not_enforce_is_said_unless_a_test_does(findings) -> None:
    tested = TYPED.replace(
        "constraints: [{type: not_null}, {type: unique}]",
        ("constraints: [{type: unique}]\n        data_tests: [unique]"),
    )
    silent = TYPED.replace("columns: [id, note]}", "columns: [id, note], warn_unenforced: false}")

    def said(text: str) -> list[str]:
        found = findings({"models/orders.sql": SQL, "models/orders.yml": text})
        return [each.partition(": ")[2] for each in found]

    assert said(TYPED) == [
        "info: constraint-not-enforced: primary_key (id, note) is not enforced, as in Spark",
        "info: constraint-not-enforced: unique (id) is not enforced, as in Spark",
    ]
    assert said(tested) == [
        "info: constraint-not-enforced: primary_key (id, note) is not enforced, as in Spark"
    ]
    assert said(silent) == [
        "info: constraint-not-enforced: unique (id) is not enforced, as in Spark"
    ]


def test_a_model_that_says_what_a_failure_does_keeps_its_word(load) -> None:
    sql = SQL.replace("'table'", "'table', on_failure='flag'")

    model = load({"models/orders.sql": sql, "models/orders.yml": TYPED}).models["orders"]

    assert model.checks.on_failure is OnFailure.FLAG


def test_a_column_without_a_type_and_constraints_without_a_contract_are_named(findings) -> None:
    untyped = TYPED.replace("data_type: varchar(10)", "data_type: words").replace(
        "    data_type: int\n    ", ""
    )
    loose = TYPED.replace("enforced: true", "enforced: false")

    assert [
        each
        for each in findings({"models/orders.sql": SQL, "models/orders.yml": untyped})
        if "error" in each
    ] == [
        (
            "models/orders.yml:3:14: error: bad-value: column 'id' of an enforced contract has no "
            "data_type"
        ),
        (
            "models/orders.yml:3:14: error: bad-value: column 'note' of an enforced contract has "
            "the unknown data_type 'words'"
        ),
    ]
    assert findings({"models/orders.sql": SQL, "models/orders.yml": loose}) == [
        (
            "models/orders.yml:5:9: warning: option-without-effect: constraints of 'orders' have "
            "no effect without its contract"
        )
    ]
