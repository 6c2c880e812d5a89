"""Files of macros: their namespaces, the names in them, and those that penstock ships.

Nothing here needs a parser: a load whose files are unchanged reads only names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

_MACRO = re.compile(r"\{%[-+]?\s*(test|macro|data_test)\s+(\w+)\s*\(")
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
    folder = Path(__file__).parents[1] / "utils"
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
