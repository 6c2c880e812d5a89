"""`penstock docs serve` in a process of its own: an open page follows a run without a reload."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from contracts.store_cases import BROKEN
from fakes.drift_place import DriftPlace
from fakes.services import ME, an_intent
from penstock.app.services.wire import Where, open_services
from penstock.core.records import Status
from unit.app.commands.test_sync_tables_of_days import FILES

pytestmark = pytest.mark.site
RUN = "019aa000-0000-7000-8000-000000000001"


@pytest.fixture
def folder(tmp_path):
    """Give the folder of a project that never ran."""
    DriftPlace(tmp_path, files=FILES)
    return next(path.parent for path in tmp_path.rglob("penstock.yml"))


@pytest.fixture
def server(folder):
    """Serve the project; give the process and the address that it printed."""
    words = ["docs", "serve", "--port", "0", "--no-open", "--every", "0.2"]
    call = f"import sys; from penstock.ui.cli.main import main; sys.exit(main({words!r}))"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", call],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    line = process.stdout.readline()
    yield process, re.search(r"http://\S+", line).group()
    process.kill()
    process.wait()
    process.stdout.close()


def test_an_open_page_follows_a_run_and_says_when_the_server_has_stopped(browser, folder, server):
    process, url = server
    page = browser.new_page()
    page.goto(f"{url}#/runs")
    page.get_by_text("0 runs").wait_for()
    page.evaluate("window.isTheSamePage = true")
    opened = open_services(Where(folder))
    with contextlib.closing(opened):
        journal = opened.writing.journal
        run = replace(
            opened.run_record(RUN, "run", opened.clock.now()), holder=replace(ME, run=RUN)
        )
        step = replace(an_intent(opened.project.models["other"]), run=RUN)

        journal.start_run(run)
        page.get_by_text("1 run", exact=True).wait_for()
        page.locator("main a[href^='#/run/']").click()
        journal.begin(step, {}, run.holder, None)
        page.get_by_text("1 running").first.wait_for()
        journal.fail(step.step, BROKEN)
        journal.end_run(RUN, Status.FAILED)
        page.get_by_text("1 failed").first.wait_for()

    process.send_signal(signal.SIGINT)
    page.get_by_text("The server has stopped").wait_for()
    assert page.evaluate("window.isTheSamePage") is True
    page.close()
