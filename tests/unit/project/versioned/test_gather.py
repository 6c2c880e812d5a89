"""SQL that stays when a version is taken out of its YAML file."""

from fakes.fixture_f import DAILY, DAILY_V2, FIXTURE_F
from fakes.versioned_cases import daily
from penstock.project.load import load_project


def test_the_sql_of_a_deleted_version_is_no_model_and_is_told(tmp_path):
    before, _, after = FIXTURE_F[DAILY].partition("  - version: 2\n")
    kept = before + after[after.index("  - version: 3\n") :]
    for path, text in {**FIXTURE_F, DAILY: kept}.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    project = load_project(tmp_path, environ={})

    told = [(f.where.path, f.code) for f in project.findings if f.code == "unused-sql"]
    assert told == [(DAILY_V2, "unused-sql")]
    assert [v.number for v in project.models["daily_user_stats"].versions] == [1, 3]


def test_only_a_table_of_partitions_is_laid_out_by_them(load, findings):
    field = "  partition: {field: date, type: DAY}\n"
    laid_out = "  layout: partitioned\n"
    whole = daily(field, laid_out)
    whole["models/daily.sql"] = "SELECT date, users FROM raw.events"

    found = load(daily(field, field + laid_out)).models["daily"]

    assert found.layout.partition_by == ("date",)
    assert [line.partition(": error: ")[2] for line in findings(whole)] == [
        (
            "bad-value: destination.layout is 'partitioned'; it must be auto or clustered where "
            "there is no partition"
        )
    ]
