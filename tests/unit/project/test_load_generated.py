from __future__ import annotations

import runpy
from pathlib import Path

from penstock.project.load import load_project
from penstock.project.sql.canonical import canonical_sql

GENERATE = Path(__file__).parents[3] / "bench/generate.py"


def test_a_generated_project_is_valid_and_mixed(tmp_path):
    runpy.run_path(str(GENERATE))["main"](tmp_path, 60)

    project = load_project(tmp_path, environ={})

    assert (len(project.models), project.findings) == (60, ())
    assert {m.strategy_name for m in project.models.values()} == {
        "view",
        "table",
        "append",
        "merge",
    }
    for model in project.models.values():
        assert model.query.canonical.partition("\n")[0] == canonical_sql(project.shown_sql(model))
