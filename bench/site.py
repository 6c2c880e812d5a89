"""`penstock docs generate` on many models and partitions, and the pages in Chromium.

Whole processes without Java, beside `penstock status` of the same project: the first site, and the
next one when nothing changed. Then the first page is opened from its file on one core: until its
heading stands, until a letter in the search and in the filter of models is answered, and until
calendars and graphs are drawn.

python bench/site.py [MODELS DAYS]    defaults: 1000 100, then 5000 200
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from status_1m import PENSTOCK, Told, generate, watched

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
AIMS = {1000: "aim <= 10 s first, 2 s unchanged", 5000: "aim <= 12 s first; <= 60 MB, page 1.5 MB"}
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main(models: int, days: int) -> None:
    """Generate a project and measure its site."""
    root = Path(tempfile.mkdtemp(prefix="penstock-bench-"))
    try:
        generate(root, models, days)
        print(f"{models:,} models, {models * days:,} partitions  ({AIMS.get(models, 'no aim')})")
        watched([PENSTOCK, "status"], root)
        status = [watched([PENSTOCK, "status"], root) for _ in range(ROUNDS)]
        first = [_first(root) for _ in range(ROUNDS)]
        again = [watched([PENSTOCK, "docs", "generate"], root) for _ in range(ROUNDS)]
        _print("status", status, status)
        _print("docs generate, first", first, status)
        _print("docs generate, unchanged", again, status)
        _print_sizes(root / "site")
        _print_pages(root / "site")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _first(root: Path) -> Told:
    shutil.rmtree(root / "site", ignore_errors=True)
    (root / ".penstock" / "cache" / "site.json").unlink(missing_ok=True)
    return watched([PENSTOCK, "docs", "generate"], root)


def _print(name: str, found: list[Told], beside: list[Told]) -> None:
    seconds, cpu = (statistics.median(map(of, found)) for of in (_seconds, _cpu))
    ratio = seconds / statistics.median(map(_seconds, beside))
    peak = max(each.peak_mb for each in found)
    print(f"  {name:<26} {seconds:6.2f} s  processor {cpu:6.2f} s  {peak:5.0f} MB  {ratio:.1f} x")


def _seconds(each: Told) -> float:
    return each.seconds


def _cpu(each: Told) -> float:
    return each.cpu


def _print_sizes(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.is_file()]
    named = {"index.html", "site.js", "site.css", "project.js"}
    first = sum(path.stat().st_size for path in files if path.name in named)
    total = sum(path.stat().st_size for path in files)
    print(f"  {len(files):,} files, {total / 1e6:.1f} MB; the first page {first / 1e6:.2f} MB")


def _print_pages(site: Path) -> None:
    os.sched_setaffinity(0, {0})
    chromium = subprocess.check_output([ROOT / "scripts" / "ensure-chromium"], text=True).strip()
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        rounds = [_times(browser.new_page(), site) for _ in range(ROUNDS)]
        browser.close()
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    for name in rounds[0]:
        print(f"  {name:<40} {statistics.median(each[name] for each in rounds):7.0f} ms")


def _times(page: Page, site: Path) -> dict[str, float]:
    """Return milliseconds until each thing is drawn, on one core."""
    index = (site / "index.html").resolve().as_uri()
    page.goto(f"{index}#/")
    page.wait_for_selector("main h1")
    found = {"first page, aim 1000": page.evaluate("performance.now()")}
    for name, address in (
        ("models, all rows", "#/models"),
        ("calendar of a model, aim 50", "#/model/m_00000?tab=calendar"),
        ("all of the graph, aim 100", "#/lineage?view=dots"),
    ):
        found[name] = page.evaluate(
            f"async a => {{ const t = performance.now(); location.hash = a; await {DRAWN}; "
            "return performance.now() - t; }",
            address,
        )
    page.evaluate("location.hash = '#/models'")
    page.wait_for_selector("main input")
    found["a letter in the filter, aim 50"] = _typed(page, "main input", "m")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.wait_for_selector("[role=listbox], [role=combobox]")
    page.keyboard.type("mart")
    page.wait_for_selector("[role=option]")
    found["a letter in the search, aim 50"] = _typed(page, "[role=combobox]", ".")
    page.close()
    return found


def _typed(page: Page, field: str, letter: str) -> float:
    """Return the milliseconds from a letter in a field to its answer."""
    return float(
        page.evaluate(
            "async ([field, letter]) => { const input = document.querySelector(field);"
            "const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;"
            "const t = performance.now(); set.call(input, input.value + letter);"
            f"input.dispatchEvent(new Event('input', {{bubbles: true}})); await {DRAWN};"
            "return performance.now() - t; }",
            [field, letter],
        )
    )


if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    for one in [tuple(words)] if words else [(1000, 100), (5000, 200)]:
        main(*one)
