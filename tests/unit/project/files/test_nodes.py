from __future__ import annotations

from fakes.versioned_cases import daily


def test_a_key_beside_its_alias_is_a_conflict(findings):
    files = daily("    sql: daily.sql\n", "    sql: daily.sql\n    source: daily.sql\n")

    assert findings(files) == [
        (
            "models/daily.yaml:10:5: error: alias-conflict: "
            "sql and source are one key; the other is on line 9"
        )
    ]


def test_misspelt_keys_of_two_files_come_together(findings):
    a = "name: a\ndestination: {dataset: m, table: a}\nversions:\n  - version: 1\n"
    a += "    effective_from: 2024-01-01\n    sql: select 1 as one\n    schema:\n"
    a += "      - {name: one, type: INT}\ndepend_on: [b]\n"
    b = "name: b\ndestination: {dataset: m, table: b}\n" + "# \n" * 6 + "versions:\n"
    b += "  - version: 1\n    schema: [{name: one, type: INT}]\n    effective_form: 2024-01-01\n"
    b += "    sql: select 1 as one\n"

    assert findings({"models/a.yaml": a, "models/b.yaml": b}, hints=True) == [
        (
            "models/a.yaml:9:1: error: unknown-key: unknown key 'depend_on'\n"
            "  hint: did you mean 'depends_on'?"
        ),
        "models/b.yaml:10:5: error: missing-key: 'effective_from' is missing",
        (
            "models/b.yaml:12:5: error: unknown-key: unknown key 'effective_form'\n"
            "  hint: did you mean 'effective_from'?"
        ),
    ]
