"""Macros and tests in files of their own: taken as they are, but for blocks that only dbt has."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.project.dbt.editing.calls import HeaderChange, config_calls, with_settings
from penstock.project.dbt.entries import FAIL_CALC, TEST_CONFIG
from penstock.project.dbt.gather import Package
from penstock.project.dbt.naming import ALIAS, SCHEMA
from penstock.project.dbt.notes import FileLog, FileNotes
from penstock.project.dbt.queries import without_semicolon

_MATERIALIZATION = re.compile(
    r"\{%-?\s*materialization\s+(\w+).*?\{%-?\s*endmaterialization\s*-?%\}\n?", re.DOTALL
)
_NAMED = re.compile(r"\{%-?\s*(?:macro|test|data_test)\s+(\w+)")
_NAMING = (SCHEMA, ALIAS, "generate_database_name", f"default__{SCHEMA}", f"default__{ALIAS}")
Written = tuple[str, str, str, FileNotes]
"""Path, path in the new project or "", its text, and its notes."""


def macro_files(package: Package, *, is_used: bool) -> Iterator[Written]:
    """Yield the files of macros of a package."""
    for path, folder, inner in package.below("macro-paths"):
        log = FileLog()
        if not is_used:
            log.drop("macros", "no model of the project uses this package")
            yield path, "", "", FileNotes(path, "macro", (), log.sorted())
        elif path.endswith(".sql"):
            target = package.target("macro-paths", folder, inner)
            text = _macro_text(package.texts[path], log)
            text = f"{{# From {path} of the dbt project. #}}\n{text}" if text else ""
            yield path, target if text else "", text, FileNotes(path, "macro", (), log.sorted())
        elif path.endswith((".yml", ".yaml")):
            log.drop("macros", "it is a description that penstock does not show")
            yield path, "", "", FileNotes(path, "macro", (), log.sorted())


def _macro_text(text: str, log: FileLog) -> str:
    """Return the macros that templates of penstock can call, "" if none is left."""
    for found in _MATERIALIZATION.finditer(text):
        why = "a materialization is code of dbt: choose a strategy of penstock for its models"
        log.hand(f"materialization {found[1]}", why, text.count("\n", 0, found.start()) + 1)
    text = _MATERIALIZATION.sub("", text)
    names = [(found[1], text.count("\n", 0, found.start()) + 1) for found in _NAMED.finditer(text)]
    for name, line in names:
        if name in _NAMING:
            log.change(name, "the names that it gives are in the settings of models", line)
        else:
            log.take(name, line)
    return text if any(name not in _NAMING for name, _ in names) else ""


def test_files(package: Package) -> Iterator[Written]:
    """Yield the tests in files, generic tests and fixtures; those of packages are not run."""
    for path, folder, inner in package.below("test-paths"):
        log = FileLog()
        text, target = package.texts[path], package.target("test-paths", folder, inner)
        if not package.is_own:
            log.drop("test", "tests of packages check the packages themselves")
            yield path, "", "", FileNotes(path, "test", (), log.sorted())
        elif inner.startswith("generic/") and path.endswith(".sql"):
            text = f"{{# From {path} of the dbt project. #}}\n{_macro_text(text, log)}"
            yield path, target, text, FileNotes(path, "test", (), log.sorted())
        elif path.endswith(".sql"):
            yield (
                path,
                target,
                _test_text(path, text, log),
                FileNotes(path, "test", (), log.sorted()),
            )
        elif path.endswith((".csv", ".json")):
            log.take("fixture")
            yield path, target, text, FileNotes(path, "test", (), log.sorted())
        elif path.endswith((".yml", ".yaml")):
            log.drop("data_tests", "it is a description that penstock does not show")
            yield path, "", "", FileNotes(path, "test", (), log.sorted())


def _test_text(path: str, text: str, log: FileLog) -> str:
    """Return a test in a file: settings without effect go."""
    delete = set()
    for argument in (each for call in config_calls(text) for each in call.arguments):
        what = f"config.{argument.name}"
        if argument.name in TEST_CONFIG:
            log.drop(what, TEST_CONFIG[argument.name], argument.line)
            delete.add(argument.name)
        elif argument.name == "fail_calc":
            log.hand(what, FAIL_CALC, argument.line)
            delete.add(argument.name)
        else:
            log.take(what, argument.line)
    text = with_settings(text, HeaderChange(frozenset(delete)))
    log.take("query")
    return f"{{# From {path} of the dbt project. #}}\n{without_semicolon(text, log)}"
