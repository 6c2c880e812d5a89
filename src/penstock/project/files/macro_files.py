"""Files that templates use: macros with their namespaces and names, and blocks of documentation.

Nothing here needs a parser: a load whose files are unchanged reads only names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path as FilePath

from penstock.core.findings import Finding, Location
from penstock.project.files.values import Path, Plain, did_you_mean

_MACRO = re.compile(r"\{%[-+]?\s*(test|macro|data_test)\s+(\w+)\s*\(")
_BLOCK = re.compile(
    r"\{%[-+]?\s*docs\s+(?P<name>\w+)\s*[-+]?%\}(?P<text>.*?)\{%[-+]?\s*enddocs\s*[-+]?%\}",
    re.DOTALL,
)
_CALL = re.compile(
    r"\{\{[-+]?\s*doc\(\s*(?:(['\"])\w+\1\s*,\s*)?(['\"])(?P<name>\w+)\2\s*\)\s*[-+]?\}\}"
)
TEST = "test_"
"""The prefix of a parametrised test's macro."""
PACKAGES = "packages"
SHIPPED = "penstock/utils/"
OWN = ""
WITH_SHIPPED = ("dbt", "dbt_utils", "dbt_expectations", "penstock_utils")
"""Namespaces that find what penstock ships, after what a package of that name holds."""


@cache
def shipped_macros() -> Mapping[str, str]:
    """Return the text of the macro files that penstock ships, by path."""
    folder = FilePath(__file__).parents[1] / "utils"
    found = sorted(folder.glob("*.sql"))
    return {f"{SHIPPED}{path.name}": path.read_text("utf-8") for path in found}


def package_of(path: str) -> str:
    """Return the package that a model is from, "" for the project itself.

    >>> package_of("models/packages/oven/heat.sql"), package_of("models/heat.sql")
    ('oven', '')
    """
    first, _, rest = path.removeprefix("models/packages/").partition("/")
    return first if rest and path.startswith("models/packages/") else ""


def namespace_of(path: str) -> str:
    """Return the namespace of a macro file; "" for the project's.

    >>> namespace_of("packages/dbt_utils/macros/sql/star.sql"), namespace_of("macros/a.sql")
    ('dbt_utils', '')
    """
    parts = path.split("/")
    if parts[0] == PACKAGES and len(parts) > 2:  # noqa: PLR2004  a folder and a file
        return parts[1]
    return path.removeprefix(SHIPPED).removesuffix(".sql") if path.startswith(SHIPPED) else OWN


def macro_names(text: str) -> Iterator[str]:
    """Yield the names of the macros in a file; a test `x` is the macro `test_x`."""
    for word, name in _MACRO.findall(text):
        yield name if word == "macro" else f"{TEST}{name}"


def tests_of(macros: Mapping[str, str]) -> dict[str, str]:
    """Return the macro of each parametrised test, by the name that YAML uses."""
    found: dict[str, str] = {}
    for path, text in (*shipped_macros().items(), *macros.items()):
        space = namespace_of(path)
        for word, name in _MACRO.findall(text):
            own = name.removeprefix(TEST) if word == "macro" else name
            called = name if word == "macro" else f"{TEST}{name}"
            if space == OWN:
                found[own] = called
                continue
            if word == "macro" and not name.startswith(TEST):
                continue
            spaces = WITH_SHIPPED if path.startswith(SHIPPED) else (space,)
            found |= {f"{each}.{own}": f"{each}.{called}" for each in spaces}
    return found


def docs_blocks(texts: Mapping[str, str], findings: list[Finding]) -> dict[str, str]:
    """Return the blocks of Markdown files by name; a second one of a name is a finding.

    >>> docs_blocks({"a.md": "{% docs x %} Words. {% enddocs %}"}, [])
    {'x': 'Words.'}
    """
    blocks: dict[str, str] = {}
    places: dict[str, Location] = {}
    for path, text in texts.items():
        for found in _BLOCK.finditer(text):
            name, where = found["name"], Location(path, text.count("\n", 0, found.start()) + 1)
            first = places.setdefault(name, where)
            if first is where:
                blocks[name] = found["text"].strip()
            else:
                sentence = f"docs block {name!r} is also at {first}"
                findings.append(Finding(where, "duplicate-key", sentence, "rename one of them"))
    return blocks


def fill_docs(
    tree: Plain, blocks: Mapping[str, str], place: Callable[[Path], Location]
) -> tuple[Plain, list[Finding]]:
    """Replace every `{{ doc('name') }}` in a document; an unknown name is a finding."""
    findings: list[Finding] = []

    def text_at(call: re.Match[str], path: Path) -> str:
        name = call["name"]
        if name not in blocks:
            hint = did_you_mean(name, blocks) or f"write {{% docs {name} %}} in a .md file"
            sentence = f"no docs block is called {name!r}"
            findings.append(Finding(place(path), "unknown-docs", sentence, hint))
        return blocks.get(name, call[0])

    def filled(value: Plain, path: Path) -> Plain:
        if isinstance(value, str):
            return _CALL.sub(lambda call: text_at(call, path), value) if "doc(" in value else value
        if isinstance(value, Mapping):
            return {key: filled(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [filled(item, (*path, index)) for index, item in enumerate(value)]
        return value

    return filled(tree, ()), findings


def names_in(text: str) -> Iterator[str]:
    """Yield the names that a text asks for."""
    yield from (found["name"] for found in _CALL.finditer(text))
