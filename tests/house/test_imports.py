"""What importing penstock costs: no Spark, no parser, no database."""

import ast
import subprocess
import sys

from house.source import SRC, files, found
from house.test_docs import name_of

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
