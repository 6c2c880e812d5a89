"""What changed since a partition was built, as the pages show it."""

import contextlib
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes import stranger
from fakes.drift_place import DriftPlace
from fakes.site_page import AS_OF, SitePage
from penstock.ui.cli.main import main
from unit.app.commands.test_sync_tables_of_days import DAYS, FILES, TABLE, build

pytestmark = pytest.mark.site


@pytest.fixture
def folder(tmp_path):
    """Give the folder of a project of which three days were built."""
    stranger.append_event(tmp_path, "u1", "2024-12-14 08:00:00")
    DriftPlace(tmp_path, files=FILES).with_shop(partial(build, sql="SELECT 1 AS n"))
    return next(path.parent for path in tmp_path.rglob("penstock.yml"))


@pytest.fixture
def show(browser, folder):
    """Write the site, and return a page of it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def shown(address):
        with contextlib.chdir(folder):
            assert main(["docs", "generate", "--as-of", AS_OF]) == 0
        return SitePage(context, folder).open(address)

    yield shown
    context.close()


def first_partition(opened) -> str:
    """Return what the panel says of the first day, opened by the keyboard."""
    opened.get_by_role("grid").focus()
    opened.keyboard.press("Home")
    opened.keyboard.press("Enter")
    opened.locator(".panel").first.wait_for()
    return opened.locator("main").inner_text()


def test_an_edited_text_is_shown_beside_the_one_that_built_a_day(show, folder):
    code = Path(folder, "queries", "daily.yaml")
    code.write_text(code.read_text().replace("1 AS n", "2 AS n"))

    overview = show("#/").locator("main").inner_text()
    panel = first_partition(show("#/model/daily?tab=calendar"))

    assert "daily" in overview
    assert "3 partitions" in overview
    assert "removed:\nSELECT 1 AS n\n" in panel
    assert "added:\nSELECT DATE(created_at) AS date, 2 AS n FROM raw.events" in panel


def test_a_day_that_others_changed_names_their_commit(show, folder):
    rows = pa.table({"date": pa.array(DAYS[:1], pa.date32()), "n": pa.array([7], pa.int64())})
    write_deltalake(str(folder / TABLE), rows, mode="append")

    panel = first_partition(show("#/model/daily?tab=calendar"))

    assert "changed outside penstock\nReason\nversion 1 WRITE at " in panel
