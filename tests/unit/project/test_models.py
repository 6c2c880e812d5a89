from __future__ import annotations


def test_a_cycle_names_its_path_and_every_place(findings):
    files = {
        "models/a.sql": "select *\nfrom {{ ref('c') }}",
        "models/b.sql": "select * from {{ ref('a') }}",
        "models/c.sql": "select * from shop.b",
    }

    assert findings(files) == [
        (
            "models/a.sql:2: error: dependency-cycle: "
            "a → b → c → a (models/a.sql:2, models/b.sql:1, models/c.sql:1)"
        )
    ]


def test_a_disabled_model_is_no_model(findings):
    files = {
        "models/a.sql": "{{ config(enabled=false) }} select 1",
        "models/b.sql": "select * from {{ ref('a') }}",
    }

    assert findings(files, hints=True) == [
        (
            "models/b.sql:1: error: unknown-reference: no model is called 'a'\n"
            "  hint: that model is disabled"
        )
    ]
