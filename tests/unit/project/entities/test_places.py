"""Where layers lie, and the names of tables."""

import datetime as dt

import pytest

from fakes.entity_files import entity, files
from penstock.core.entities.entity import RunText, Slices, WholeFolder, WholeTable
from penstock.project.entities.places import bronze_folder


def one(load, *, environment=None, penstock=None, **said):
    own = files(entity(**said), environment=environment or {})
    found = load({**own, **({"penstock.yml": penstock} if penstock else {})})
    return next(iter(found.entities.values()))


def problems(findings, *, environment=None, **said):
    found = findings(files(entity(**said), environment=environment or {}))
    return [line.split(": ")[2] for line in found]


def test_without_an_output_setting_layers_are_paths(load):
    found = one(load)

    assert found.bronze == Slices(RunText("/data/bronze/aw/x"))
    assert found.path == "/data/silver/aw/x"


def test_catalog_output_takes_tables(load):
    own = {"bronze_table": "Raw.X", "silver_table": "gold.${destination}"}

    found = one(load, environment={"output_method": "catalog"}, settings=own)

    assert (found.bronze, found.path) == (WholeTable(RunText("Raw.X")), "")
    assert found.model == "gold.x"


def test_catalog_output_has_names_of_its_own(load):
    found = one(load, environment={"output_method": "catalog", "silver_output": "paths"})

    assert found.bronze == WholeTable(RunText("bronze_aw.x"))
    assert (found.model, found.path) == ("silver_aw.x", "/data/silver/aw/x")


def test_templates_of_settings_win_whatever_the_output(load):
    own = {
        "bronze_path": "test__${connection}.${entity}",
        "silver_table": "silver__${connection}.${destination}",
    }

    found = one(load, environment={"output_method": "catalog"}, settings=own)

    assert found.bronze == Slices(RunText("/data/bronze/test__aw.x"))
    assert (str(found.table), found.path) == ("silver__aw.x", "")


def test_what_is_secure_lies_apart(load):
    found = one(load, environment={"secure_container_suffix": "-secure"}, secure=True)

    assert found.bronze == Slices(RunText("/data/bronze-secure/aw/x"))
    assert found.path == "/data/silver-secure/aw/x"


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"part": "../x", "bronze_path": "/${settings_part}"}, "unsafe-path"),
        ({"part": "", "bronze_path": "/a/${settings_part}/b"}, "unsafe-path"),
        ({"part": "s3://elsewhere", "silver_path": "${settings_part}"}, "unsafe-path"),
        ({"bronze_path": "/${settings_nope}"}, "bad-expression"),
        ({"silver_path": "/${today}"}, "volatile-target"),
        ({"silver_table": "s.t_${format(today, 'yyyy')}"}, "volatile-target"),
        ({"bronze_path": "/${__import__('os')}"}, "bad-expression"),
        ({"bronze_path": "/${"}, "bad-expression"),
    ],
)
def test_templates_that_cannot_be(findings, settings, code):
    assert problems(findings, settings=settings) == [code]


def test_a_secret_in_a_path_is_not_shown(findings):
    said = {"sql_password": "../s3cret", "bronze_path": "/${settings_sql_password}"}

    (found,) = findings(files(entity(settings=said)))

    assert '"/${settings_sql_password}" has the segment ".."' in found


def test_values_are_data(load):
    odd = {"a-b": 'say "it\'s" ${today} \\', "bronze_path": "/${settings_a-b}"}

    found = one(load, settings=odd)

    assert found.bronze == Slices(RunText('/data/bronze/say "it\'s" ${today} \\'))


def test_bronze_may_lie_at_the_day_of_the_run(load):
    own = {"bronze_path": "${connection}/${format(today, 'yyyy/MM')}/", "slice_pattern": "**/*.pq"}

    found = one(load, settings=own)

    template = "/${connection}/${format(today, 'yyyy/MM')}"
    assert found.bronze == Slices(RunText("/data/bronze", template), "**/*.pq")


@pytest.mark.parametrize(
    ("own", "path"),
    [
        ({"bronze_path": "a/${format(today, 'yyyy/MM/dd')}"}, "/data/bronze/a/2024/02/01"),
        ({"bronze_path": "a"}, "/data/bronze/a"),
        ({"bronze_read": "whole"}, None),
    ],
)
def test_a_run_finds_slices_at_its_day_in_the_zone_of_the_entity(load, own, path):
    late = dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.UTC)  # in Amsterdam it is the next day

    folder = bronze_folder(one(load, settings=own), late)

    assert (folder and folder.path) == path


def test_a_folder_may_be_read_whole(load, findings):
    found = one(load, settings={"bronze_read": "whole"})

    assert found.bronze == WholeFolder(RunText("/data/bronze/aw/x"))
    idle = {"bronze_read": "whole", "slice_pattern": "*.pq"}
    assert problems(findings, settings=idle) == ["option-without-effect"]
    sliced = {"bronze_table": "a.b", "bronze_read": "slices"}
    assert problems(findings, settings=sliced) == ["option-without-effect"]


def test_a_layer_is_one_place(load, findings):
    both = {"silver_table": "a.b", "silver_path": "/c"}
    connection = {"name": "aw", "settings": {"silver_table": "a.b"}}
    own = files(entity(settings={"silver_path": "/c"}), connections=[connection])

    assert problems(findings, settings=both) == ["option-conflict"]
    assert load(own).entities["silver_aw.x"].path == "/data/silver/c"


@pytest.mark.parametrize(
    ("written", "table"),
    [
        ("Gold.Odd Name", "gold.oddname"),
        ("orders", "default.orders"),
        ("a-b.c_1", "ab.c_1"),
    ],
)
def test_a_table_is_called_in_small_letters(load, written, table):
    assert one(load, settings={"silver_table": written}).model == table


@pytest.mark.parametrize("written", ["a.é", "a..b", "a.b.c", "", "cat.a.b.c"])
def test_what_names_no_table_is_a_finding(findings, written):
    assert problems(findings, settings={"silver_table": written}) == ["bad-table-name"]


def test_a_catalog_may_stand_in_front(load):
    penstock = "name: shop\ntargets: {dev: {catalog: Main, schema_prefix: me_}}\n"

    found = one(load, penstock=penstock, settings={"silver_table": "main.gold.x"})

    assert (found.model, str(found.table)) == ("gold.x", "me_gold.x")


def test_a_destination_is_normalised_in_names_and_keys(load):
    found = one(load, destination="my-Dest")

    assert (found.model, found.path) == ("silver_aw.mydest", "/data/silver/aw/my-dest")
    assert found.key_column == "PK_mydest"


def test_paths_need_templates_of_the_environment(findings):
    assert findings(files(entity(), environment={"bronze_path": None}), hints=True) == [
        (
            "entities/x.json:2:17: error: missing-key: 'bronze_path' is missing, and \"x\" has no "
            "other ($.environment)\n"
            "  hint: write it in environment, or bronze_table or bronze_path in settings"
        )
    ]
