"""A project whose site is shown by a real browser; nothing starts a JVM."""

import contextlib
import subprocess
from pathlib import Path

import pytest

from fakes import grid_models, stranger
from fakes.drift_place import DriftPlace
from fakes.site_page import AS_OF, ODD, SitePage
from penstock.ui.cli.main import main
from unit.app.commands.test_sync_tables_of_days import FILES, build

ROOT = Path(__file__).parents[2]
MORE = {
    "queries/odd.sql": "{{ config(materialized='table', schema='s', description='Total "
    "**paid** <b>') }}\n" + f"select '{ODD}' as odd_column from {{{{ ref('daily') }}}}\n",
    "queries/copied.yaml": """\
name: copied
destination: {dataset: s, table: copied, partition: {field: date, type: DAY}}
versions:
  - version: 1
    effective_from: 2024-12-14
    sql: SELECT date, n FROM s.daily WHERE date = @partition_date
    schema: [{name: date, type: DATE}, {name: n, type: INT64}]
""",
    "queries/seen.sql": "{{ config(schema='s') }}\nselect odd_column from {{ ref('odd') }}\n",
}


@pytest.fixture(scope="session")
def browser():
    """Give Chromium; tests are skipped where there is none."""
    found = subprocess.run(
        [ROOT / "scripts" / "ensure-chromium"], capture_output=True, text=True, check=False
    )
    api = pytest.importorskip("playwright.sync_api")
    if found.returncode:
        pytest.skip(found.stderr.strip())
    with api.sync_playwright() as started:
        path = found.stdout.strip()
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """Give the folder of a project whose first partitions were built, with its site."""
    root = tmp_path_factory.mktemp("project")
    stranger.append_event(root, "u1", "2024-12-14 08:00:00")
    place = DriftPlace(root, files=FILES | MORE | grid_models.FILES)
    place.with_shop(build)
    place.with_shop(grid_models.build_grids)
    folder = next(path.parent for path in root.rglob("penstock.yml"))
    with contextlib.chdir(folder):
        assert main(["docs", "generate", "--as-of", AS_OF]) == 0
    return folder


@pytest.fixture
def page(browser, project):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = SitePage(context, project)
    yield page
    context.close()
    assert page.wrong == []
    assert [url for url in page.asked if not url.startswith("file://")] == []
