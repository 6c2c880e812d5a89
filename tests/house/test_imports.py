"""What importing penstock costs: no Spark, no parser, no database."""

import ast
import subprocess
import sys
from functools import cache

from house.source import SRC, files, found, tree
from house.test_docs import name_of
from house.test_folders import modules

# Ratchets: modules of one room above each other. The aim is 9 in both.
FLOORS = {"app": 21, "project": 16}
SLOW = ("pyspark", "delta", "deltalake", "sqlglot", "sqlalchemy", "pydantic", "jinja2", "yaml")


def test_importing_penstock_imports_nothing_slow():
    code = f"import penstock, sys; print(sorted(set({SLOW!r}) & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_parser_of_sql_is_called_in_one_place_of_each_room_that_has_it():
    called = {
        (path.relative_to(SRC).as_posix(), name_of(node.func))
        for path in files()
        for node in found(path, ast.Call)
        if name_of(node.func) in ("parse_one", "parse_into", "tokenize", "parser")
        or (name_of(node.func) == "parse" and "sqlglot" in ast.unparse(node.func))
    }

    assert called == {
        ("project/sql/canonical.py", "parse_into"),
        ("project/sql/canonical.py", "parser"),
        ("project/sql/canonical.py", "tokenize"),
        ("strategies/one_query.py", "parse_one"),
        ("strategies/one_query.py", "tokenize"),
    }


def test_the_rooms_do_not_grow_in_height():
    """What a module imports inside a function counts, and what only its types name does not."""
    heights = {
        room: max(height(name, room) for name in modules() if name.startswith(f"penstock.{room}."))
        for room in FLOORS
    }

    assert heights == FLOORS


@cache
def height(module, room):
    """Give how many modules of a room stand above each other, down from this one."""
    below = {name for name in imported(tree(modules()[module])) if name != module}
    inner = [name for name in below if name.startswith(f"penstock.{room}.") and name in modules()]
    return 1 + max((height(name, room) for name in inner), default=0)


def imported(node):
    """Yield what a tree imports at run time: of a package a module, or what it says itself."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.ImportFrom) and node.module:
        named = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in modules() else node.module for name in named)
    for child in ast.iter_child_nodes(node):
        yield from imported(child)
