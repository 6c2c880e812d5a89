"""What importing penstock costs: no Spark, no parser, no database."""

import subprocess
import sys

SLOW = ("pyspark", "delta", "deltalake", "sqlglot", "sqlalchemy", "pydantic", "jinja2", "yaml")


def test_importing_penstock_imports_nothing_slow():
    code = f"import penstock, sys; print(sorted(set({SLOW!r}) & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
