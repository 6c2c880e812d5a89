"""What an app says before any Spark is there, and who runs what the package decorates."""

import importlib.util
import subprocess
import sys

import pytest

import penstock
from fakes.python_files import PythonFiles
from fakes.reports import a_plan, a_report, a_result
from fakes.services import built
from penstock.app.application import raise_first
from penstock.core.columns.typed import TypedValue
from penstock.core.errors import (
    ModelFailedError,
    ProjectError,
    PythonModelError,
    TableError,
    UnknownModelError,
    UsageError,
)
from penstock.core.steps.window import Watermark


@pytest.fixture
def files(tmp_path):
    return PythonFiles(tmp_path)


def app_of(root, **options):
    """Give an app with a source and a table."""
    app = penstock.conf(root=root, **options)

    @app.source
    def raw_logs(spark): ...

    @app.incremental_table(time_column="ts")
    def events(raw_logs, rate: float = penstock.param(1.1)): ...

    return app


@pytest.mark.parametrize(
    ("options", "asked", "kind", "code", "hint"),
    [
        ({}, {"models": "event"}, UnknownModelError, "unknown-model", "did you mean 'events'?"),
        ({}, {"models": "events", "select": "x"}, UsageError, "option-conflict", "keep one"),
        ({"env": "prdo"}, {}, ProjectError, "unknown-target", "did you mean 'prod'?"),
        ({"root": "nowhere"}, {}, ProjectError, "bad-root", "name the folder"),
        ({"threads": 0}, {}, UsageError, "bad-value", ""),
        ({}, {"params": {"rte": 1}}, UsageError, "bad-value", "did you mean 'rate'?"),
        ({}, {"params": {"rate": "high"}}, ProjectError, "bad-value", "change rate in --vars"),
        ({}, {"params": {"rate": object()}}, UsageError, "bad-value", "params={'rate': 1.2}"),
    ],
    ids=[
        "unknown model",
        "models and select",
        "no such target",
        "no such folder",
        "no thread",
        "no such parameter",
        "a wrong value",
        "no value",
    ],
)
def test_what_an_app_cannot_run_is_told_before_anything_starts(
    files, options, asked, kind, code, hint
):
    app = app_of(**{"root": files.root, **options})

    with pytest.raises(kind) as caught:
        app.run(**asked)

    assert caught.value.code == code
    assert caught.value.hint.startswith(hint)
    assert not (files.root / ".penstock" / "state.db").exists()


def imported(path):
    """Import a file as a test of the project would."""
    spec = importlib.util.spec_from_file_location("of_a_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_package_decorates_is_run_by_the_project_in_which_it_lies(files):
    files.models('@table(columns={"id": "which"})\ndef events():\n    """All of them."""\n')
    events = imported(files.root / "models/m/pipeline.py").events

    meta = events.get_meta()

    assert (meta.name, meta.description, meta.version) == ("events", "All of them.", None)
    assert (events.exists(), events.partitions()) == (False, [])


def test_what_lies_in_no_project_has_nobody_who_runs_it(tmp_path):
    file = tmp_path / "alone.py"
    file.write_text("from penstock import table\n\n@table\ndef events(): ...\n")

    with pytest.raises(PythonModelError) as caught:
        imported(file).events.build()

    assert caught.value.code == "no-app"
    assert "penstock.conf" in caught.value.hint


FIRST_PAGE = '''
import penstock

app = penstock.conf(root=".", env="dev")

@app.source
def raw_logs(spark):
    return spark.read.json("landing/logs")

@app.model
def clean_logs(raw_logs):
    """Logs without test traffic."""
    return raw_logs.where("not is_test")

@app.incremental_table(time_column="ts", partition_by="date", lookback="1 day")
def events(clean_logs):
    return clean_logs.select("id", "ts", "user", "amount")

@app.table
def totals(events):
    return events.groupBy("user").sum("amount")
'''


def test_a_file_of_models_is_listed_and_drawn_without_a_jvm(files):
    files.write("models/m/pipeline.py", FIRST_PAGE)
    code = (
        "import sys\nfrom penstock.ui.cli.main import main\n"
        "main(['list'])\nmain(['graph'])\nprint('pyspark' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=files.root, capture_output=True, text=True, check=False
    )

    assert done.stdout == (
        "NAME        TABLE         STRATEGY   TAGS  FILE\n"
        "raw_logs    m.raw_logs    frame      -     models/m/pipeline.py\n"
        "clean_logs  m.clean_logs  frame      -     models/m/pipeline.py\n"
        "events      m.events      overwrite  -     models/m/pipeline.py\n"
        "totals      m.totals      table      -     models/m/pipeline.py\n"
        "m.raw_logs (v1)\n"
        "    │\n"
        "    └── m.clean_logs (v1)\n"
        "            │\n"
        "            └── m.events (v1)\n"
        "                    │\n"
        "                    └── m.totals (v1)\n"
        "False\n"
    ), done.stderr


def test_the_first_failure_is_raised_with_the_report_and_notes_of_the_others():
    first, other = ModelFailedError("model-failed", "'b' raised"), TableError("gone", "no table")
    report = a_report(
        a_plan(),
        a_result("a"),
        a_result("b", "failed", error=first),
        a_result("c", "skipped", reason="upstream b failed"),
        a_result("d", "failed", error=other),
    )

    with pytest.raises(ModelFailedError) as caught:
        raise_first(report)

    assert caught.value is first
    assert caught.value.report is report
    assert caught.value.__notes__ == ["d failed too: gone: no table"]


def test_a_report_without_a_failure_raises_nothing():
    raise_first(a_report(a_plan(), a_result("a")))


def test_watermarks_that_do_not_compare_have_no_greatest(files):
    app = app_of(files.root)
    with app.opened() as services:
        marks = [
            Watermark(name, "ts", TypedValue(kind, "2025-01-15"))
            for name, kind in (("raw_logs", "DATE"), ("more", "STRING"))
        ]
        built(services, services.project.models["events"], *marks)

    meta = app._functions.models[-1].get_meta()

    assert (meta.last_max_value, meta.last_run is None) == (None, False)


def test_an_app_and_its_functions_show_the_graph_with_states(files):
    app = app_of(files.root)
    table = app._functions.models[1]

    assert str(app) == (
        "raw_logs  frame                never_run\nevents    append  <- raw_logs  never_run"
    )
    assert repr(app).startswith("App(root=")
    assert repr(table) == "<incremental_table 'events'>"
    never_run = '<td><span style="color: #b07000">never_run</span></td>'
    assert f"<td>raw_logs</td>{never_run}<td>shop.events</td>" in table._repr_html_()
    assert "<title>raw_logs: never_run</title>" in app._repr_html_()
    assert [each.name for each in (files.root / ".penstock").iterdir()] == ["cache"]


KEPT = """\
import warnings
from contextlib import ExitStack, contextmanager

from penstock.app.application import keep

@contextmanager
def opened():
    try:
        yield
    finally:
        with warnings.catch_warnings():
            print("closed")

with ExitStack() as lasting:
    lasting.enter_context(opened())
    keep(lasting)
print("kept")
"""


def test_what_a_frame_needs_ends_while_python_has_its_modules():
    done = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "kept\nclosed\n", "")


def test_a_notebook_shows_what_is_wrong_with_an_app_and_no_traceback(files):
    app = penstock.conf(root=files.root)
    table = app.table(lambda nothing: nothing)
    table.options["name"] = "t"

    assert "<td>unknown-reference</td>" in app._repr_html_()
    assert "<td>unknown-reference</td>" in table._repr_html_()


def test_a_parameter_of_one_run_is_named_with_both_values_by_the_next_plan(files):
    app = penstock.conf(root=files.root)

    @app.source(path="landing", format="json")
    def raw_logs(df): ...

    @app.model
    def rated(raw_logs, rate: float = penstock.param(1.5)): ...

    files.write("landing/1.json", "{}")
    with app.opened({"rate": "2"}) as services:
        built(services, services.project.models["rated"])

    default = app.run("rated", dry_run=True)["rated"]
    given = app.run("rated", dry_run=True, params={"rate": 3})["rated"]
    same = app.run("rated", dry_run=True, params={"rate": 2})["rated"]

    assert default.reason.startswith("sql_changed: parameter rate 2.0 -> 1.5")
    assert given.reason.startswith("sql_changed: parameter rate 2.0 -> 3.0")
    assert "parameter" not in same.reason
