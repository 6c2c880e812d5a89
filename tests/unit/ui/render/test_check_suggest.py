"""What `penstock check --suggest` prints, and that a project takes it."""

import json

import pytest

from penstock.app.commands.check import SuggestReport
from penstock.project.load import load_project
from penstock.strategies.checks.suggest import Suggestion
from penstock.ui.render.check import suggest_document, suggest_text

ODD = ("open", "no", "7", "a b", 'q"\\', "ü: {x} #", "\x85\u2028", "")
SCHEMA = "[{name: id, type: FLOAT64}, {name: 'on', type: INT64}, {name: status, type: STRING}]"
CHECKS = (
    Suggestion({"type": "row_count", "min": 1}, "9 rows"),
    Suggestion({"name": "never_null", "type": "not_null", "columns": ("id", "on")}, "no NULL"),
    Suggestion({"type": "value_range", "column": "id", "min": -3.5, "max": "0.25"}, "-3.5 to"),
    Suggestion({"type": "accepted_values", "column": "status", "values": ODD}, "8 values"),
)


def a_report(**changes):
    return SuggestReport("orders", "shop.orders", 1200, CHECKS, **changes)


def test_each_check_is_a_line_with_what_it_is_based_on():
    assert suggest_text(a_report(notes=("a note",))).splitlines()[:8] == [
        "# 4 checks proposed from 1,200 rows of shop.orders.",
        "# a note",
        "# Keep those that must hold for every row to come; nothing was written.",
        "models:",
        "  - name: orders",
        "    checks:",
        "      after:",
        "        - {type: row_count, min: 1}  # 9 rows",
    ]


@pytest.mark.parametrize("path", ["models/orders.sql", "models/orders.yml"])
def test_what_is_printed_can_be_pasted(tmp_path, path):
    sql, listed = "select 1.5d as id, 1 as `on`, 'x' as status", path.endswith(".sql")
    text = suggest_text(a_report(path=path))
    beside = f"name: orders\ndestination: {{dataset: shop, table: orders}}\n{text}\n"
    beside += "versions:\n  - version: 1\n    effective_from: 2024-01-01\n"
    beside += f'    sql: "{sql}"\n    schema: {SCHEMA}\n'
    (tmp_path / "models").mkdir()
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    (tmp_path / "models/orders.yml").write_text(text if listed else beside)
    if listed:
        header = "{{ config(materialized='table') }}\n"
        (tmp_path / "models/orders.sql").write_text(header + sql)

    project = load_project(tmp_path, environ={}, use_cache=False)

    checks = project.models["orders"].all_checks
    assert [each.type for each in checks] == [each.keys["type"] for each in CHECKS]
    assert checks[3].rule.values == ODD
    assert (checks[2].rule.minimum, checks[2].rule.maximum) == ("-3.5", "0.25")


def test_in_a_document_of_json_it_is_json():
    lines = suggest_text(a_report(path="entities/shop.json")).splitlines()

    assert lines[2] == "# They belong beside the other keys of orders in entities/shop.json."
    found = json.loads(f"{{{' '.join(lines[3:]).removesuffix(',')}}}")["checks"]["after"]
    assert found[1:3] == [
        {"name": "never_null", "type": "not_null", "columns": ["id", "on"]},
        {"type": "value_range", "column": "id", "min": -3.5, "max": "0.25"},
    ]


def test_without_a_check_only_the_number_of_rows_is_said():
    assert (
        suggest_text(SuggestReport("a", "s.a", 0, ())) == "# 0 checks proposed from 0 rows of s.a."
    )


def test_the_document_has_the_keys_as_a_file_has_them():
    document = json.loads(json.dumps(suggest_document(a_report())))

    assert {key: document[key] for key in ("command", "model", "table", "rows", "notes")} == {
        "command": "check", "model": "orders", "table": "shop.orders", "rows": 1200, "notes": [],
    }  # fmt: skip
    assert document["checks"][1] == {
        "check": {"name": "never_null", "type": "not_null", "columns": ["id", "on"]},
        "why": "no NULL",
    }
