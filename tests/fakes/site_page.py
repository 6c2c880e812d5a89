"""A page of a site in a browser, and what went wrong on it."""

from __future__ import annotations

import json

from playwright.sync_api import expect

AS_OF = "2024-12-20"
ODD = "</script><img src=x onerror=alert(1)>"


class SitePage:
    """A page of the site, and everything that went wrong on it."""

    def __init__(self, context, root):
        self.root, self.wrong, self.asked = root, [], []
        self.page = context.new_page()
        self.page.on("console", lambda each: self.wrong.append(each.text))
        self.page.on("pageerror", lambda each: self.wrong.append(str(each)))
        self.page.on("request", lambda each: self.asked.append(each.url))

    def open(self, address):
        self.page.goto(f"file://{self.root}/site/index.html{address}")
        self.page.wait_for_selector("h1")
        expect(self.page.locator("body")).not_to_contain_text("Loading…")
        return self.page


def change_document(root, name, **changes):
    """Write other values into a document of a site, as another project would have them."""
    (file,) = root.glob(f"site/data-*/{name}.js")
    document = document_of(file.read_text()) | changes
    file.write_text(f"penstockData({json.dumps(name)},{json.dumps(document)});\n")
    return document


def document_of(text):
    """Read a file of data; rows that were written as columns are rows again."""
    return _unpacked(json.loads(text.rstrip().removesuffix(");").split(",", 1)[1]))


def _unpacked(value):
    if isinstance(value, list):
        return [_unpacked(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "#" not in value:
        return {name: _unpacked(part) for name, part in value.items()}
    count = value["#"]
    columns = {name: _column(part, count) for name, part in value.items() if name != "#"}
    return [{name: column[n] for name, column in columns.items()} for n in range(count)]


def _column(packed, count):
    if isinstance(packed, list):
        return _unpacked(packed)
    values = _unpacked(packed["of"])
    return [values[place] for place in packed.get("at", [0] * count)]
