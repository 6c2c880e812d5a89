"""Functions become models: parameters, options, findings."""

import ast
import linecache

import pytest

from fakes.wording import unhelpful
from penstock.core.errors import ProjectError
from penstock.core.names import InputKind
from penstock.project.first_pass import GivenParts
from penstock.project.load import load_project
from penstock.project.python.declare import Registry
from penstock.project.python.decorators import Decorators

PLACE = "models/m/pipeline.py"


def test_parameters_are_the_graph(files):
    files.models("""
        @source
        def raw_logs(spark): ...

        @model
        def clean_logs(raw_logs):
            \"\"\"Logs without test traffic.

            And more.
            \"\"\"

        @incremental_table(time_column="ts", partition_by="date", lookback="1 day")
        def events(clean_logs): ...

        @table(tags=["daily"], schema="mart")
        def totals(events): ...
    """)

    project = files.load()

    assert {name: each.depends_on for name, each in project.models.items()} == {
        "clean_logs": ("raw_logs",),
        "events": ("clean_logs",),
        "raw_logs": (),
        "totals": ("events",),
    }
    assert [each.strategy_name for each in project.models.values()] == [
        "frame",
        "overwrite",
        "frame",
        "table",
    ]
    assert project.models["clean_logs"].description == "Logs without test traffic."
    assert str(project.models["totals"].table) == "mart.totals"
    assert str(project.models["events"].table) == "m.events"
    assert str(project.models["events"].where) == f"{PLACE}:14"
    assert project.models["totals"].tags == ("daily",)


def test_a_cycle_is_named_with_every_place(files):
    files.models("""
        @table
        def a(c): ...

        @table
        def b(a): ...

        @table
        def c(b): ...

        @table
        def good(): ...
    """)

    (found,) = files.findings()

    assert found[0] == "dependency-cycle"


def test_a_model_that_names_itself_is_a_cycle(files):
    files.models("""
        @table
        def a(a): ...
    """)

    assert [code for code, _, _ in files.findings()] == ["dependency-cycle"]


def test_a_parameter_that_names_nothing_gets_the_nearest_name(files):
    files.models("""
        @source
        def raw_logs(spark): ...

        @table
        def events(raw_log): ...
    """)

    assert files.findings() == [
        ("unknown-reference", f"{PLACE}:7", "did you mean 'raw_logs'?"),
    ]


def test_a_default_stands_where_nothing_is_called_so(files):
    files.models("""
        @table
        def events(): ...

        @table
        def scaled(events, factor=2): ...
    """)

    project = files.load()

    assert project.models["scaled"].depends_on == ("events",)
    assert [*project.models["scaled"].function.parameters] == ["events"]


def test_what_no_function_of_a_model_may_be(files):
    files.models("""
        @table
        def t(*args): ...

        @table(name="spark")
        def s(): ...

        @table
        async def x(): ...

        @source
        def y(events): ...
    """)

    assert [(code, where) for code, where, _ in files.findings()] == [
        ("variadic-parameter", f"{PLACE}:4"),
        ("reserved-name", f"{PLACE}:7"),
        ("not-a-function", f"{PLACE}:10"),
        ("source-with-inputs", f"{PLACE}:13"),
    ]


def test_sql_and_python_join_one_graph(files):
    files.models("""
        @table
        def events(): ...

        @table
        def top(daily): ...
    """)
    files.write("models/m/daily.sql", "select count(*) as n from {{ ref('events') }}")

    project = files.load()

    assert project.models["daily"].depends_on == ("events",)
    assert project.models["top"].depends_on == ("daily",)


def test_no_sql_can_read_a_frame(files):
    files.models("""
        @model
        def clean(): ...
    """)
    files.write("models/m/daily.sql", "select * from {{ ref('clean') }}")

    assert files.findings() == [
        ("not-materialised", "models/m/daily.sql:1", "decorate it with @table"),
    ]


def test_long_names_tell_a_source_from_a_model(files):
    files.write(
        "models/sources.yml",
        """\
        sources:
          - {name: raw, tables: [{name: events, path: landing/e}, {name: users, path: landing/u}]}
          - {name: old, tables: [{name: users, path: landing/o}]}
        """,
    )
    files.models("""
        @table
        def events(raw__events): ...
    """)

    project = files.load()

    (read,) = project.models["events"].inputs
    assert (read.kind, read.name) == (InputKind.SOURCE, "raw.events")

    files.models(
        """
        @table
        def people(users): ...
        """,
        "models/m/people.py",
    )

    assert files.findings() == [
        ("ambiguous-reference", "models/m/people.py:4", "old__users or raw__users"),
    ]


def test_options_that_cannot_be(files):
    files.models("""
        @source
        def raw_logs(spark): ...

        @incremental_table(time_column="ts", partition_by="d", partition_mode="overwite")
        def a(raw_logs): ...

        @incremental_table(time_column="ts", lookback="-1 day")
        def b(raw_logs): ...

        @incremental_table(time_column="ts", window_on={"raw_log": "ts"})
        def c(raw_logs): ...
    """)

    assert files.findings() == [
        ("bad-value", f"{PLACE}:7", "overwrite"),
        ("bad-value", f"{PLACE}:10", "such as '1 day', or 0"),
        ("bad-value", f"{PLACE}:13", "did you mean 'raw_logs'?"),
    ]


def test_an_option_that_there_is_not_fails_the_import(files):
    files.models("""
        @table(parition_by="d")
        def a(): ...
    """)

    ((code, where, _),) = files.findings()

    assert (code, where) == ("python-import-failed", f"{PLACE}:3")


def test_options_that_exclude_each_other(files):
    files.models("""
        @source
        def raw_logs(spark): ...

        @incremental_table(time_column="ts", partition_mode="overwrite")
        def a(raw_logs): ...

        @incremental_table(
            time_column="ts", partition_mode="overwrite", unique_key="id", partition_by="d"
        )
        def b(raw_logs): ...

        @table(delta=["raw_logs"])
        def c(raw_logs): ...
    """)

    assert [(code, where) for code, where, _ in files.findings()] == [
        ("option-conflict", f"{PLACE}:7"),
        ("option-conflict", f"{PLACE}:12"),
        ("delta-needs-incremental", f"{PLACE}:15"),
    ]


def test_checks_of_a_function_are_those_of_any_model(files):
    files.models("""
        @table(checks={"after": [{"type": "not_null", "column": "id"}]}, on_failure="block")
        def events(): ...
    """)

    (check,) = files.load().models["events"].checks.after

    assert check.name == "not_null_id"


def test_checks_of_a_function_may_be_values_and_a_list_means_after(files):
    files.models("""
        from penstock import checks

        @table(checks=[checks.unique("id"), {"type": "row_count", "min": 1}])
        def a(): ...

        @incremental_table(time_column="ts", checks={
            "before": [checks.row_count(min=1, input="a")],
            "after": [checks.column_check("n", "MIN({column}) >= 0", severity="warning")],
            "on_failure": "rollback",
        })
        def b(a): ...
    """)

    models = files.load().models

    assert [each.name for each in models["a"].checks.after] == ["unique_id", "row_count"]
    assert [each.name for each in models["b"].checks.all] == ["row_count", "column_check_n"]
    assert models["b"].checks.on_failure == "rollback"


def test_what_is_wrong_with_the_checks_of_a_function_has_its_place(files):
    files.models("""
        @table(checks={"after": [{"type": "uniqe", "columns": ["id"]}]})
        def a(): ...

        @table(checks="unique")
        def b(): ...

        @table(on_failure="blok")
        def c(): ...
    """)

    found = files.findings()

    assert found == [
        ("unknown-check-type", f"{PLACE}:4", "did you mean 'unique'?"),
        (
            "bad-value",
            f"{PLACE}:7",
            "use a value that the message names; penstock schema prints keys and values",
        ),
        ("bad-value", f"{PLACE}:10", "flag, block, rollback"),
    ]


def test_yaml_may_add_what_it_says_of_any_model(files):
    files.models("""
        @table
        def events(): ...
    """)
    files.write(
        "models/m/models.yml",
        "models: [{name: events, description: All of them., tags: [hourly]}]",
    )

    model = files.load().models["events"]

    assert (model.description, model.tags) == ("All of them.", ("hourly",))


CELL = '@app.table\ndef events():\n    """Say."""\n    return shown(LIMIT)\n'


class Notebook:
    """Cells that are run one after another, as IPython runs them; `kept` as it keeps their text."""

    def __init__(self, root, *, kept):
        self.root, self.kept, self.count = root, kept, 0
        self.registry = Registry()
        self.names = {"__name__": "__main__", "app": Decorators(self.registry)}

    def run(self, text):
        self.count += 1
        place = f"<ipython-input-{self.count}>" if self.kept else "<stdin>"
        if self.kept:
            linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
        exec(compile(text, place, "exec"), self.names)  # noqa: S102  as IPython does
        return self

    def load(self):
        return load_project(self.root, environ={}, parts=GivenParts(self.registry.models))

    def meaning(self, name="events"):
        return self.load().models[name].fingerprint.canonical


@pytest.fixture(params=[True, False], ids=["text kept", "no text"])
def notebook(request, files):
    return Notebook(files.root, kept=request.param)


def test_a_cell_that_is_run_again_takes_the_place_of_the_former(notebook):
    notebook.run(CELL)
    first = notebook.meaning()
    notebook.run("# again\n" + CELL.replace("Say.", "Say more."))
    same = notebook.meaning()
    notebook.run(CELL.replace("shown(LIMIT)", "shown(LIMIT) + 1"))
    notebook.run("@app.table\ndef top(events): ...")

    project = notebook.load()

    assert first == same != notebook.meaning()
    assert [*project.models] == ["events", "top"]
    assert project.models["top"].depends_on == ("events",)


def test_a_cell_that_is_run_again_takes_the_place_of_all_its_models(notebook):
    cell = "@app.table.over(country={})\ndef orders(country): ..."
    notebook.run(cell.format(["nl", "be"])).run(cell.format(["nl", "de"]))
    first = [*notebook.load().models]
    notebook.run("@app.table\ndef orders(): ...")

    assert first == ["orders_de", "orders_nl"]
    assert [*notebook.load().models] == ["orders"]


def test_a_cell_is_found_with_its_text_and_what_it_reaches_in_others(files):
    notebook = Notebook(files.root, kept=True)
    notebook.run("LIMIT = 3").run("def shown(n):\n    return n").run("\n" + CELL)

    model = notebook.load().models["events"]
    first = notebook.meaning()
    others = [
        notebook.run(text).meaning() for text in ("LIMIT = 4", "def shown(n):\n    return n + 1")
    ]

    assert (str(model.where), model.function.text) == ("<ipython-input-3>:3", CELL.strip())
    assert model.query.canonical.startswith("def events():\n    return shown(LIMIT)\n")
    assert len({first, *others}) == 3


def test_a_file_of_many_functions_is_read_once(files, monkeypatch):
    parsed = []
    monkeypatch.setattr(
        ast, "parse", lambda text, *_, plain=ast.parse: parsed.append(text) or plain(text)
    )
    files.models(
        "@source\ndef logs(spark): ...\n"
        + "".join(f"@table\ndef t{n}(logs): return logs.limit({n})\n" for n in range(9))
    )

    assert len(files.load().models) == 10
    assert len([text for text in parsed if "def t8" in text]) == 2


ODD = ("object()", "logs", "[object()]", "{1: 2}", "[[1]]", "(n for n in ())", "lambda: 1", "b''")
OPTIONS = ("name", "description", "tags", "columns", "schema", "path", "partition_by", "checks")
OPTIONS += ("cluster_by", "table_properties", "delta", "on_failure", "unique_key", "lookback")
OPTIONS += ("grain", "window_on", "late", "version", "depends_on", "partition_mode")


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_another_type_is_named_without_its_address(files, option):
    tables = "".join(
        f"@incremental_table(time_column='ts', {option}={value})\ndef t{n}(logs): ...\n"
        for n, value in enumerate(ODD)
    )
    files.models(f"@source\ndef logs(spark): ...\n{tables}")

    with pytest.raises(ProjectError) as caught:
        files.load()

    found = caught.value.findings
    assert any(
        each.sentence.startswith(f"{option} is object(…); it must be") for each in found
    ) or (option in ("checks", "on_failure"))
    assert [each for f in found for each in unhelpful(f.code, f.sentence, f.hint)] == []


@pytest.mark.parametrize("option", ["table", "path", "format", "options"])
def test_an_option_of_a_source_of_another_type_is_one_finding(files, option):
    more = "" if option in ("table", "path") else "path='in', "
    files.models(f"@source({more}{option}=object())\ndef logs(df): ...\n")

    ((code, _, _),) = files.findings()

    assert code == "bad-value"
