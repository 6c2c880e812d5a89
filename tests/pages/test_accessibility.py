"""Every kind of page in both themes, as axe-core judges it."""

import shutil
from pathlib import Path

import pytest

from fakes.site_page import SitePage, change_document

pytestmark = pytest.mark.site

AXE = Path(__file__).parents[2] / "frontend/node_modules/axe-core/axe.min.js"
FAILED = {
    "at": "2024-12-16T12:00:00Z",
    "status": "failed",
    "value": 3,
    "limit": 0,
    "step": "step-1",
    "sentence": "3 rows",
}
CHECK = {
    "name": "n_is_positive",
    "type": "sql",
    "phase": "after",
    "column": "n",
    "on_failure": "block",
    "description_html": "<p>No negative numbers.</p>",
    "evaluations": [FAILED | {"status": "passed", "value": 0}, FAILED],
    "band": [],
}
SLICE = {"name": "a.csv", "status": "failed", "at": "2024-12-16T12:00:00Z", "rows": 3, "why": "cut"}
PART = {"section": "Quarantine", "name": "Rows", "value": "3"}


@pytest.fixture(scope="module")
def site(project, tmp_path_factory):
    """Give the folder of a site with a model that has every tab."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(project / "site", root / "site")
    document = change_document(root, "model-0", checks=[CHECK], slices=[SLICE], package=[PART])
    (row,), (code,) = document["executions"], document["codes"]
    rows = [row | {"versions_opened": 5, "versions_closed": 2}, row | {"step": "step-0"}]
    change_document(root, "model-0", executions=rows, codes=[code | {"id": "last"}])
    return root


@pytest.fixture(params=["light", pytest.param("dark", marks=pytest.mark.matrix)])
def page(request, browser, site):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: cd frontend && npm ci")
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, color_scheme=request.param, bypass_csp=True
    )
    page = SitePage(context, site)
    yield page
    context.close()
    assert page.wrong == []


def violations(opened) -> list[str]:
    """Return what stops people from using a page, with the elements."""
    opened.evaluate(AXE.read_text())
    options = "{ resultTypes: ['violations'], preload: false }"
    report = opened.evaluate(f"axe.run(document, {options})")
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary'][:200]}"
        for rule in report["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize(
    "address",
    [
        "#/",
        "#/models",
        "#/model/daily?tab=columns",
        "#/model/daily?tab=code",
        "#/model/daily?tab=code&with=last&view=side",
        "#/model/daily?tab=calendar",
        "#/model/daily?tab=runs",
        "#/model/daily?tab=checks",
        "#/model/daily?tab=slices",
        "#/model/daily?tab=package",
        "#/lineage",
        "#/lineage?select=daily&node=daily&column=date",
        "#/lineage?view=schemas",
        "#/runs",
        "#/run/run-1",
        "#/sources",
        "#/nowhere",
    ],
)
def test_no_page_keeps_anybody_out(page, address):
    assert violations(page.open(address)) == []


def test_the_search_keeps_nobody_out(page):
    opened = page.open("#/")
    opened.keyboard.press("/")
    opened.keyboard.type("daily")
    opened.get_by_role("option").first.wait_for()

    assert violations(opened) == []


def test_an_open_partition_keeps_nobody_out(page):
    opened = page.open("#/model/daily?tab=calendar")
    opened.get_by_role("grid").focus()
    opened.keyboard.press("Home")
    opened.keyboard.press("Enter")
    opened.locator(".panel").wait_for()

    assert violations(opened) == []


def test_an_open_step_keeps_nobody_out(page):
    opened = page.open("#/run/run-1")
    opened.locator(".timeline-bar").first.click()
    opened.locator(".panel").wait_for()

    assert violations(opened) == []
