"""The examples for schedulers, imported and run with the real packages in an environment of theirs.

Each package is installed from PyPI: hundreds of megabytes, minutes.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docs.shell import ROOT
from docs.test_markdown import parsed

pytestmark = [pytest.mark.matrix, pytest.mark.timeout(1800)]

PENSTOCK = """\
#!/bin/sh
echo "$@" >> "$CALLS"
echo '{"models": [{"rows": {"inserted": 2, "updated": 1}, "version": 7}], "resume": {"select": []}}'
exit "${CODE:-0}"
"""
AIRFLOW = """\
import importlib.util, json, os
from airflow.exceptions import AirflowFailException
spec = importlib.util.spec_from_file_location("shop", "dags/shop.py")
shop = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shop)
above = {name: sorted(shop.dag.get_task(name).upstream_task_ids) for name in shop.dag.task_ids}
work = shop.dag.get_task("orders").python_callable
ends = {}
for code in (0, 75, 1):
    os.environ["CODE"] = str(code)
    try:
        ends[code] = work("orders")
    except Exception as error:
        ends[code] = "fails" if isinstance(error, AirflowFailException) else "retries"
print(json.dumps([above, ends, shop.dag.get_task("orders").retries]))
"""
DAGSTER = """\
import importlib.util, json, os
import dagster as dg
spec = importlib.util.spec_from_file_location("shop", "orchestration/shop.py")
shop = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shop)
graph = shop.defs.resolve_asset_graph()
above = {
    key.to_user_string(): sorted(each.to_user_string() for each in graph.get(key).parent_keys)
    for key in graph.get_all_asset_keys()
}
ends = {}
for code in (0, 1):
    os.environ["CODE"] = str(code)
    done = dg.materialize([*shop.defs.assets], raise_on_error=False)
    rows = [
        each.event_specific_data.materialization.metadata["rows"].value
        for each in done.get_asset_materialization_events()
    ]
    ends[code] = [done.success, rows]
print(json.dumps([above, ends]))
"""


@pytest.fixture
def run_with(tmp_path):
    """Install a package from PyPI, do what a page says, and run a script there."""

    def run(package, page, script):
        python = tmp_path / "venv" / "bin" / "python"
        uv = Path(sys.executable).with_name("uv")
        subprocess.run(
            [uv, "venv", "-q", "--python", sys.executable, tmp_path / "venv"], check=True
        )
        install = [uv, "pip", "install", "-q", "--python", python, package]
        installed = subprocess.run(install, capture_output=True, text=True, check=False)
        if installed.returncode:
            pytest.skip(
                f"{package} cannot be installed from PyPI: {installed.stderr.strip()[:200]}"
            )
        project = tmp_path / "project"
        project.mkdir()
        for example in parsed(ROOT / "docs" / "how-to" / page, project):
            example.evaluate()
        command = tmp_path / "bin" / "penstock"
        command.parent.mkdir()
        command.write_text(PENSTOCK)
        command.chmod(0o755)
        calls = tmp_path / "calls"
        environ = {
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "CALLS": str(calls),
            **{f"{name}_HOME": str(tmp_path / "home") for name in ("AIRFLOW", "DAGSTER")},
        }
        (tmp_path / "home").mkdir()
        done = subprocess.run(
            [python, "-c", script],
            cwd=project,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()[-1], calls.read_text().splitlines()

    return run


def test_the_airflow_dag_has_a_task_per_model_and_retries_what_another_run_holds(run_with):
    told, calls = run_with("apache-airflow>=3", "orchestrate-with-airflow.md", AIRFLOW)

    assert told == (
        '[{"orders": [], "revenue": ["orders"]}, {"0": null, "75": "retries", "1": "fails"}, 5]'
    )
    assert calls == ["run --select orders --project-dir /srv/shop --target prod"] * 3


def test_the_dagster_assets_are_the_models_and_materialize_in_order(run_with):
    told, calls = run_with("dagster", "orchestrate-with-dagster.md", DAGSTER)

    assert told == (
        '[{"orders": [], "revenue": ["orders"]}, {"0": [true, [3, 3]], "1": [false, []]}]'
    )
    assert calls == [
        f"run --select {name} --project-dir /srv/shop --target prod --json"
        for name in ("orders", "revenue", "orders")
    ]
