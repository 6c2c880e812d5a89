"""Names say what a thing is for a user, never that it manages, helps or handles."""

import ast
import re

from house.source import SRC, files, found, place

EMPTY = {"manager", "helper", "helpers", "util", "utils", "base", "common", "handle", "handler"}


def test_no_module_has_an_empty_name():
    modules = [path.relative_to(SRC) for path in files()]

    assert [m for m in modules for part in m.with_suffix("").parts if words(part) & EMPTY] == []


def test_no_class_or_function_has_an_empty_name():
    named = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

    assert [
        f"{place(path, node)}: {node.name}"
        for path in files()
        for node in found(path, *named)
        if words(node.name) & (EMPTY - {"base"})
    ] == []


def words(name):
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))
