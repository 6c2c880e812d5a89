"""Which files are imported, and what an import may raise."""

import sys
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

import penstock
from penstock.core.errors import ProjectError
from penstock.project.first_pass import GivenParts
from penstock.project.load import load_project
from penstock.project.python.declare import Registry
from penstock.project.python.decorators import Decorators


def test_two_functions_of_one_name_are_told_with_both_places(files):
    files.models("@table\ndef events(): ...")
    files.models("@table\ndef events(): ...", "models/n/other.py")

    ((code, where, _),) = files.findings()

    assert (code, where) == ("duplicate-model", "models/n/other.py:3")


def test_two_functions_of_one_name_in_one_file_are_two(files):
    files.models(
        "@source\ndef logs(spark): ...\n@table\ndef t(logs): ...\n@table\ndef t(logs): ...\n"
    )

    assert [code for code, _, _ in files.findings()] == ["duplicate-model"]


def test_a_function_that_is_decorated_in_a_loop_is_one_for_each_turn(files):
    files.models(
        "@source\ndef logs(spark): ...\n"
        "for n in (1, 2):\n    @table\n    def t(logs): return logs.limit(n)\n"
    )

    assert [code for code, _, _ in files.findings()] == ["duplicate-model"]


def test_a_module_that_is_read_anew_counts_as_it_is_now(files, monkeypatch):
    text = "import penstock\n@app.table\ndef t(logs):\n    return logs\n"
    app, names = penstock.conf(root=files.root), {}
    app.source(lambda spark: spark).options["name"] = "logs"
    place = files.write("job.py", text)
    for line in ("", "# a line\n"):
        place.write_text(line + text)
        code = compile(line + text, str(place), "exec")
        exec(code, {"app": app, "__name__": "job"}, names)  # noqa: S102  as a reload does

    with app.opened() as services:
        models = services.project.models

    assert models["t"].function.call is names["t"].function


def test_two_tables_on_one_path_are_told_with_both_places(files):
    files.models("@table(path='out/ev')\ndef a(): ...\n\n@table(path='out/ev/')\ndef b(): ...")
    files.models("@table(path='warehouse/n/d')\ndef c(): ...", "models/m/other.py")
    files.models("@table\ndef d(): ...", "models/n/other.py")

    with pytest.raises(ProjectError) as caught:
        files.load()

    root = files.root
    assert [(str(f.where), f.code, f.sentence) for f in caught.value.findings] == [
        (
            "models/m/pipeline.py:6",
            "duplicate-path",
            f"b and a (models/m/pipeline.py:3) are both at {root}/out/ev",
        ),
        (
            "models/n/other.py:3",
            "duplicate-path",
            f"d and c (models/m/other.py:3) are both at {root}/warehouse/n/d",
        ),
    ]


def test_one_file_that_is_reached_twice_is_one_model(files):
    file = files.write("models/m/a.py", "from penstock import table\n\n@table\ndef a(): ...\n")
    registry = Registry()
    scope = {"__name__": "__main__", "table": Decorators(registry).table}
    text = file.read_text().replace("from penstock import table\n", "\n")
    exec(compile(text, str(file), "exec"), scope)  # noqa: S102  as `python models/m/a.py` does

    project = load_project(files.root, environ={}, parts=GivenParts(registry.models))

    assert [*project.models] == ["a"]


def test_the_findings_of_all_files_come_together(files):
    for name in "abcde":
        files.models(f"@table\ndef {name}(nothing_{name}): ...", f"models/m/{name}.py")

    assert [where for _, where, _ in files.findings()] == [
        f"models/m/{name}.py:3" for name in "abcde"
    ]
    assert not (files.root / ".penstock" / "state.db").exists()


def test_a_session_that_is_needed_at_import_is_told_with_its_line(files, monkeypatch):
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)  # of other tests
    files.write("models/m/a.py", "from pyspark.sql import functions as F\n\nFIRST = F.col('x')\n")

    ((code, where, hint),) = files.findings()

    assert (code, where) == ("session-needed-at-import", "models/m/a.py:3")
    assert hint == "build it inside the function"


def test_a_run_at_import_is_refused(files):
    files.write("models/m/a.py", "import penstock\n\napp = penstock.conf('.')\napp.run()\n")

    ((code, where, hint),) = files.findings()

    assert (code, where) == ("run-during-load", "models/m/a.py:4")
    assert "__main__" in hint


def test_helpers_and_drafts_are_no_findings(files):
    files.write("models/m/helpers.py", "FACTOR = 2\n")
    files.write("models/m/_draft.py", "def broken(:\n")
    files.write("models/m/test_it.py", "raise ValueError\n")
    files.models("from models.m.helpers import FACTOR\n\n@table\ndef events(n=FACTOR): ...")

    assert [*files.load().models] == ["events"]


def test_an_app_of_another_folder_is_no_part_of_a_project(files, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    text = "import penstock\n\napp = penstock.conf({root!r})\n\n@app.table\ndef {name}(): ...\n"
    files.write("models/m/own.py", text.format(root=".", name="own"))
    files.write("models/m/same.py", text.format(root=str(files.root), name="same"))
    assert [*files.load().models] == ["own", "same"]
    files.write("models/m/foreign.py", text.format(root=str(elsewhere), name="foreign"))

    ((code, where, hint),) = files.findings()

    assert (code, where) == ("foreign-app-root", "models/m/foreign.py:3")
    assert hint.startswith("penstock.conf(root='.')")


def test_an_import_that_raises_leaves_the_other_files_alone(files):
    files.write("models/m/a.py", "import penstock\n\nx = 1 / 0\n")
    files.models("@table\ndef events(nothing): ...", "models/m/b.py")

    assert [(code, where) for code, where, _ in files.findings()] == [
        ("python-import-failed", "models/m/a.py:3"),
        ("unknown-reference", "models/m/b.py:3"),
    ]


def test_the_modules_of_a_project_are_forgotten(files):
    files.write("lib/tools.py", "N = 1\n")
    files.models("from lib.tools import N\n\n@table\ndef events(n=N): ...")

    files.load()

    assert not [name for name in sys.modules if name.startswith(("lib.", "models."))]
    assert str(files.root) not in sys.path
    assert not [*files.root.rglob("__pycache__")]


def test_what_an_import_does_to_the_process_ends_with_it(files, monkeypatch):
    monkeypatch.chdir(files.root)
    files.write("lib/inner.py", "N = 3\n")
    files.models(
        "import os, sys\nos.chdir('models')\nsys.path.insert(0, os.path.abspath('../lib'))\n"
        "import inner\n@table\ndef t(): return inner.N\n"
    )
    files.models("@table\ndef u(): ...", "models/n/other.py")
    places = [*sys.path]

    assert sorted(files.load().models) == ["t", "u"]
    assert sys.path == places
    assert Path.cwd() == files.root.resolve()


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("@F.udf('int')\ndef f(x): return x", "@udf(IntegerType())"),
        ("f = F.pandas_udf(lambda x: x, 'long')", "@udf(IntegerType())"),
        ("f = StructType.fromDDL('a int')", "@udf(IntegerType())"),
        ("f = F.col('a')", "build it inside the function"),
    ],
)
def test_a_type_as_text_at_module_level_gets_the_hint_of_the_other_form(
    files, monkeypatch, line, hint
):
    # Other tests of this process may have left a session, and then these lines work.
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    files.models(
        "from pyspark.sql import functions as F\nfrom pyspark.sql.types import StructType\n" + line
    )

    ((code, where, found),) = files.findings()

    assert (code, where) == ("session-needed-at-import", "models/m/pipeline.py:4")
    assert hint in found


def test_a_type_as_an_object_at_module_level_needs_no_session(files):
    files.models(
        "from pyspark.sql import functions as F\nfrom pyspark.sql.types import IntegerType\n"
        "@F.udf(IntegerType())\ndef f(x): return x\n@table\ndef t(): return f\n"
    )

    assert [*files.load().models] == ["t"]


def test_a_decorator_that_hides_the_function_gets_the_way_out(files):
    files.models(
        "def timed(f):\n    def inner(*args, **kwargs): return f(*args, **kwargs)\n"
        "    return inner\n@table(name='t')\n@timed\ndef t(): ..."
    )

    ((_, _, hint),) = {each for each in files.findings() if each[0] == "variadic-parameter"}

    assert hint == "put @functools.wraps(function) above it, in the decorator that made it"


def test_a_file_with_a_dot_in_its_name_is_a_finding_that_says_so(files):
    files.models("@table\ndef t(): ...", "models/orders.v2.py")
    files.models("@table\ndef u(): ...", "models/v1.2/orders.py")

    assert files.findings() == [
        ("bad-name", "models/orders.v2.py:1", "rename it"),
        ("bad-name", "models/v1.2/orders.py:1", "rename it"),
    ]


def test_libraries_of_an_environment_in_the_project_stay_imported(files, monkeypatch):
    packages = ".venv/lib/python3.11/site-packages"
    files.write(f"{packages}/installed_here.py", "N = 1\n")
    files.models("import installed_here\n@table\ndef t(): return installed_here.N\n")
    monkeypatch.syspath_prepend(str(files.root / packages))

    files.load()

    assert sys.modules.pop("installed_here").N == 1


def test_a_library_of_an_environment_in_the_project_counts_by_its_import(files, monkeypatch):
    packages = ".venv/lib/python3.11/site-packages"
    library = files.write(f"{packages}/other_here.py", "def f(): return 1\n")
    files.models("import other_here\n@table\ndef t(): return other_here.f()\n")
    monkeypatch.syspath_prepend(str(files.root / packages))
    before = files.load().models["t"].fingerprint.canonical
    sys.modules.pop("other_here")
    library.write_text("def f(): return 22\n")

    after = files.load().models["t"].fingerprint.canonical

    sys.modules.pop("other_here")
    assert before == after


def test_the_line_of_the_project_is_named_and_not_that_of_a_library_below_it(files, monkeypatch):
    packages = ".venv/lib/python3.11/site-packages"
    files.write(f"{packages}/raises_here.py", "def f(): return 1 / 0\n")
    files.write("models/m/a.py", "import raises_here\n\nraises_here.f()\n")
    monkeypatch.syspath_prepend(str(files.root / packages))

    ((code, where, _),) = files.findings()

    sys.modules.pop("raises_here")
    assert (code, where) == ("python-import-failed", "models/m/a.py:3")


def test_a_file_may_put_anything_among_the_modules(files):
    files.models(
        "import sys\nsys.modules['blocked_here'] = None\nsys.modules['odd_here'] = 3\n"
        "@table\ndef t(): ...\n"
    )

    assert [*files.load().models] == ["t"]
    assert (sys.modules.pop("blocked_here"), sys.modules.pop("odd_here")) == (None, 3)


@pytest.mark.parametrize(
    "line",
    [
        "from models.m import (\n    os_names,\n    tools,\n)",
        "from models.m import tools as t1, os_names",
        "import models.m.tools",
        "import importlib\ntools = importlib.import_module('models.m.tools')",
    ],
)
def test_a_file_that_another_one_imports_is_no_finding(files, line):
    files.write("models/m/tools.py", "N = 1\n")
    files.write("models/m/os_names.py", "N = 1\n")
    files.models(f"{line}\nfrom models.m import os_names\n@table\ndef t(): ...\n")

    assert files.load().findings == ()
