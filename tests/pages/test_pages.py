"""Pages of the site in Chromium: what they show is what the commands say."""

import contextlib
import json

import pytest

from fakes.site_page import AS_OF, ODD, SitePage
from penstock.ui.cli.main import main

pytestmark = pytest.mark.site


def answer(project, capfd, *words):
    with contextlib.chdir(project):
        capfd.readouterr()
        assert main([*words, "--json"]) in (0, 1)
        return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("#/", "Overview"),
        ("#/models", "Models"),
        ("#/model/daily", "daily"),
        ("#/model/daily?tab=calendar", "daily"),
        ("#/model/odd?tab=code", "odd"),
        ("#/lineage", "Lineage"),
        ("#/runs", "Runs"),
        ("#/sources", "Sources and seeds"),
    ],
)
def test_every_page_opens_by_its_address(page, address, heading):
    assert page.open(address).locator("h1").first.inner_text() == heading


def test_the_squares_of_a_calendar_are_what_status_says(page, project, capfd):
    (daily,) = (
        each
        for each in answer(project, capfd, "status", "--as-of", AS_OF)["models"]
        if each["model"] == "daily"
    )
    drifted = {state["state"]: state["count"] for state in daily["states"]}
    expected = {"current": daily["partitions"] - sum(drifted.values()), **drifted}
    opened = page.open("#/model/daily?tab=calendar")
    grid = opened.get_by_role("grid")

    grid.focus()
    opened.keyboard.press("Home")
    found, sentence = [], opened.locator(".calendar-sentence")
    for _ in range(daily["partitions"]):
        found.append(sentence.inner_text())
        opened.keyboard.press("ArrowDown")

    words = {"current": "current", "never_run": "never built"}
    shown = {state: sum(words[state] in each for each in found) for state in expected}
    assert shown == expected


def test_a_partition_is_opened_by_the_keyboard_alone(page):
    opened = page.open("#/model/daily?tab=calendar")
    opened.get_by_role("grid").focus()

    opened.keyboard.press("Enter")

    panel = opened.locator("main").inner_text()
    assert "penstock sync --select daily --from" in panel


def test_texts_of_users_are_shown_as_texts(page):
    opened = page.open("#/model/odd?tab=code")

    assert ODD in opened.locator("main").inner_text()
    assert opened.locator("img").count() == 0


def test_columns_are_found_by_typing(page):
    opened = page.open("#/")

    opened.keyboard.press("/")
    opened.keyboard.type("odd_col")

    opened.get_by_role("option").first.wait_for()
    assert "odd_column" in opened.get_by_role("listbox").inner_text()
    opened.keyboard.press("Enter")
    opened.wait_for_function("location.hash.startsWith('#/model/')")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_stands_beyond_the_page(browser, project, theme, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
    page = SitePage(context, project)
    for address in ("#/", "#/models", "#/model/daily?tab=calendar", "#/lineage", "#/runs"):
        opened = page.open(address)
        wide = opened.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, address
    context.close()
    assert page.wrong == []
