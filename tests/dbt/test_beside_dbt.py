"""A project with every feature of dbt that we take over, built by dbt and by penstock after import.

The rows of both are compared by `bench/dbt_port.py`, which shares no code with either.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.dbt, pytest.mark.matrix, pytest.mark.spark]
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DBT = ROOT / ".venv" / "dbt" / "bin" / "dbt"


@pytest.fixture(scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project, with its package where `dbt deps` puts it."""
    if not DBT.is_file():
        pytest.skip("make test-dbt installs dbt")
    place = tmp_path_factory.mktemp("dbt") / "bakery"
    shutil.copytree(HERE / "bakery", place)
    shutil.copytree(place / "packages" / "oven", place / "dbt_packages" / "oven")
    return place


def port(*words: str | Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "dbt_port.py", *words],
        capture_output=True, text=True, env=os.environ.copy(), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_every_model_of_the_bakery_runs_after_its_import_with_the_rows_of_dbt(bakery, tmp_path):
    said = port(
        bakery, "--dbt", f"{DBT} --no-use-colors", "--profiles", HERE / "profiles",
        "--keep", tmp_path,
    )  # fmt: skip

    assert [line for line in said if line.startswith("  finding:")] == []
    assert [line for line in said if line.startswith(("  error:", "  skipped:"))] == []
    assert [line for line in said if line.startswith(("  differs:", "  only dbt"))] == []
    assert said[-1] == "  equal: 19 of 19 tables that both built"
