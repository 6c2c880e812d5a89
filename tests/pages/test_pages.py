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


WORDS = {"current": "current", "never_run": "never built"}


def squares(opened, step, count):
    """Return the key and the sentence of each square, from the first on."""
    opened.get_by_role("grid").focus()
    opened.keyboard.press("Control+Home")
    found = []
    for _ in range(count):
        key = opened.locator("#calendar-cell").inner_text()
        found.append((key, opened.locator(".calendar-sentence").inner_text()))
        opened.keyboard.press(step)
    return found


@pytest.mark.parametrize(
    ("name", "step", "first", "count"),
    [
        ("hourly", "ArrowRight", "2024-12-14T00", 145),
        ("daily", "ArrowDown", "2024-12-14", 7),
        ("weekly", "ArrowRight", "2024-11-25", 4),
        ("monthly", "ArrowRight", "2024-08", 5),
        ("ranged", "ArrowRight", "0", 9),
        ("odd", "ArrowRight", "*", 1),
    ],
)
def test_every_square_of_a_calendar_is_what_status_says(
    page, project, capfd, name, step, first, count
):
    report = answer(project, capfd, "status", "--as-of", AS_OF)
    (model,) = (each for each in report["models"] if each["model"] == name)

    shown = dict(squares(page.open(f"#/model/{name}?tab=calendar"), step, count))

    keys = [*shown]
    expected = dict.fromkeys(keys, "current")
    for state in model["states"]:
        for low, high in state["ranges"]:
            for key in keys[keys.index(low) : keys.index(high) + 1]:
                expected[key] = WORDS[state["state"]]
    assert (keys[0], len(keys), model["partitions"]) == (first, count, count)
    assert [key for key in keys if f": {expected[key]}" not in shown[key]] == []


def test_a_partition_is_opened_by_the_keyboard_alone(page):
    opened = page.open("#/model/daily?tab=calendar")
    opened.get_by_role("grid").focus()

    opened.keyboard.press("Enter")

    panel = opened.locator("main").inner_text()
    assert "penstock sync --select daily --from" in panel
    assert f"--as-of {AS_OF}" in panel
    reader = opened.locator(".panel li", has_text="copied")
    reader.locator("canvas").wait_for(state="attached")
    key = opened.locator("#calendar-cell").inner_text()
    assert reader.inner_text().startswith(f"copied: {key}")


def test_texts_of_users_are_shown_as_texts(page):
    opened = page.open("#/model/odd?tab=code")

    assert ODD in opened.locator("main").inner_text()
    assert opened.locator("img").count() == 0


def test_columns_are_found_by_typing(page):
    opened = page.open("#/")

    opened.keyboard.press("/")
    opened.wait_for_function("document.activeElement.matches('[role=combobox]')")
    opened.keyboard.type("odd_col")

    opened.get_by_role("option").first.wait_for()
    assert "odd_column" in opened.get_by_role("listbox").inner_text()
    opened.keyboard.press("Enter")
    opened.wait_for_function("location.hash.startsWith('#/model/')")


def test_a_printed_model_has_the_text_of_all_its_tabs_and_no_controls(page):
    opened = page.open("#/model/daily")
    titles = opened.get_by_role("tab").all_inner_texts()

    opened.emulate_media(media="print")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")

    controls = "button:visible, input:visible, select:visible, summary:visible, nav:visible"
    text = opened.locator("article").inner_text()
    assert titles == ["Columns", "Code", "Calendar", "Runs"]
    assert opened.locator("article section > h2").all_inner_texts() == titles
    assert opened.locator(controls).all_inner_texts() == []
    squares = opened.locator(".calendar-squares")
    assert squares.locator("canvas").count() == squares.count() > 0
    for part in ("Comes from", "effective_from: 2024-12-14", "never built", "step-1"):
        assert part in text


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
