"""A page of a site in a browser, and what went wrong on it."""

from __future__ import annotations

import json

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
        self.page.wait_for_function("!document.body.innerText.includes('Loading…')")
        return self.page


def change_document(root, name, **changes):
    """Write other values into a document of a site, as another project would have them."""
    (file,) = root.glob(f"site/data-*/{name}.js")
    head, text = file.read_text().split(",", 1)
    document = json.loads(text.rstrip().rstrip(";").removesuffix(")")) | changes
    file.write_text(f"{head},{json.dumps(document)});\n")
    return document
