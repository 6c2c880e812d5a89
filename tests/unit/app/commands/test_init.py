"""`init` writes projects that run at once and never overwrites anything."""

import pytest

from penstock.app.commands.init import init, templates
from penstock.core.errors import UsageError
from penstock.project.load import load_project


def test_the_templates_are_minimal_demo_and_sessions():
    assert templates() == ("demo", "minimal", "sessions")


def test_a_minimal_project_is_a_view_a_table_and_their_descriptions(tmp_path):
    assert init(tmp_path / "shop") == (
        ".gitignore",
        "models/marts/revenue_by_day.sql",
        "models/models.yml",
        "models/staging/orders_clean.sql",
        "penstock.yml",
    )


@pytest.mark.parametrize("template", ["minimal", "demo", "sessions"])
def test_a_new_project_loads_without_a_finding(template, tmp_path):
    init(tmp_path / "shop", template)

    assert load_project(tmp_path / "shop", environ={}).findings == ()


def test_the_demo_shows_every_strategy(tmp_path):
    init(tmp_path, "demo")

    models = load_project(tmp_path, environ={}).models

    assert {name: models[name].strategy_name for name in models} == {
        "daily_flight_stats": "partition",
        "delay_factors": "table",
        "delays_and_weather": "table",
        "delays_by_day": "table",
        "delays_by_month": "table",
        "flights": "append",
        "flights_clean": "view",
        "monthly_flight_stats": "partition",
        "plane_days": "overwrite",
        "planes": "merge",
        "planes_clean": "view",
        "planes_history": "snapshot",
        "seats_by_route": "table",
        "silver_faa.airports": "entity_historic",
        "silver_faa.registry": "entity_merge",
        "weather_clean": "view",
        "weekly_flight_stats": "partition",
    }


def test_the_demo_has_functions_that_read_tables_of_sql(tmp_path):
    init(tmp_path, "demo")

    models = load_project(tmp_path, environ={}).models

    fitted, days = models["delay_factors"], models["plane_days"]
    assert [each.name for each in fitted.query.inputs] == ["delays_and_weather"]
    assert [each.name for each in days.query.inputs] == ["flights"]
    assert days.config["lookback"] == "0"
    assert {each.name for each in days.columns} == {"day", "air_minutes", "minutes_made_up"}


def test_the_demo_has_a_seed_that_statistics_read(tmp_path):
    init(tmp_path, "demo")

    project = load_project(tmp_path, environ={})

    assert [str(seed.table) for seed in project.seeds.values()] == ["stats.home_airports"]
    assert {each.name for each in project.models["monthly_flight_stats"].inputs} == {
        "daily_flight_stats",
        "home_airports",
    }


def test_the_project_is_called_after_its_folder(tmp_path):
    init(tmp_path / "my shop-2")

    assert load_project(tmp_path / "my shop-2", environ={}).name == "my_shop_2"


def test_git_is_told_to_leave_tables_and_state_out(tmp_path):
    init(tmp_path)

    assert (tmp_path / ".gitignore").read_text() == ".penstock/\nwarehouse/\n"


def test_samples_are_not_put_among_the_models_of_a_dbt_project(tmp_path):
    (tmp_path / "dbt_project.yml").write_text("name: jaffle_shop\n")

    with pytest.raises(UsageError, match="holds a dbt project") as refused:
        init(tmp_path)

    assert (refused.value.code, refused.value.hint) == (
        "dbt-project",
        f"penstock import dbt {tmp_path}",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["dbt_project.yml"]


def test_a_folder_with_a_project_is_refused(tmp_path):
    init(tmp_path)

    with pytest.raises(UsageError, match="already holds a project") as refused:
        init(tmp_path, "demo")

    assert refused.value.code == "project-exists"
    assert not (tmp_path / "deliver.py").exists()


def test_a_file_that_is_there_is_not_overwritten(tmp_path):
    (tmp_path / ".gitignore").write_text("mine\n")

    with pytest.raises(UsageError) as refused:
        init(tmp_path)

    assert refused.value.code == "file-exists"
    assert [path.name for path in tmp_path.iterdir()] == [".gitignore"]


@pytest.mark.parametrize("name", ["shop", "", "..", "../templates/demo"])
def test_an_unknown_template_names_the_known_ones(name, tmp_path):
    with pytest.raises(UsageError) as refused:
        init(tmp_path, name)

    assert (
        refused.value.sentence
        == f"no template is called {name!r}; there are: demo, minimal, sessions"
    )
