"""Every body of every partition model learns what it reads, and what is wrong with that."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.bounds import Ceiled, Floored, Lower, Moved, Upper
from penstock.core.calendar import DAY
from penstock.core.findings import Finding, Location, Severity
from penstock.core.mapping import (
    ByGrain,
    Calendar,
    Computed,
    Everything,
    RangeMapping,
    Same,
    Trailing,
)
from penstock.core.model import Body, Fingerprint, InputMapping, Model, Source, Version
from penstock.core.names import InputKind, InputName, TableName
from penstock.core.partition import Grain, Grid
from penstock.core.query import Query, mention, mentioned
from penstock.core.schema import Column, Schema
from penstock.project import mappings
from penstock.project.cache import ParseCache
from penstock.project.mappings import Declared, map_inputs
from penstock.strategies.partition import Partition
from penstock.strategies.table import Table
from penstock.strategies.view import View

DAYS = Grid(Grain.DAY)
WHERE = Location("queries/weekly.yaml", 7)
ENTRY = Location("queries/weekly.yaml", 3)
DAILY = InputName(InputKind.MODEL, "daily")
WEEKLY = InputName(InputKind.MODEL, "weekly")
USERS = InputName(InputKind.MODEL, "users")
EVENTS = InputName(InputKind.SOURCE, "raw.events")
BY_UDF = "select 1 from {daily} where my_udf(date) = @partition_date"


def query(sql: str) -> Query:
    tokens = {
        "daily": mention(DAILY, alias="daily"),
        "this": mention(InputName(InputKind.THIS, "weekly"), alias="weekly"),
        "events": mention(EVENTS, alias="events"),
        "users": mention(USERS, alias="users"),
        "recent": mention(InputName(InputKind.MODEL, "recent"), alias="recent"),
        "shards": mention(InputName(InputKind.MODEL, "shards"), alias="shards"),
        "other": mention(InputName(InputKind.EXTERNAL, "raw.other"), alias="other"),
    }
    text = sql.format(**tokens)
    return Query(text, text, text, mentioned(text))


def partition_model(name: str, sql: str, grid: Grid = DAYS, field: str = "date") -> Model:
    print_of_code = Fingerprint("", "", effective_from=dt.date(2024, 11, 25))
    body = Body(query(sql), print_of_code, sql, "", WHERE)
    kind = "int" if grid.grain is Grain.RANGE else "date"
    version = Version(1, body, Schema((Column(field, kind), Column("n", "int"))))
    return Model(
        name,
        TableName("analytics", name),
        Location("x"),
        Partition(field, kind, grid),
        body.query,
        body.fingerprint,
        versions=(version,),
    )


def other_model(name: str, sql: str, strategy: View | Table) -> Model:
    return Model(
        name, TableName("a", name), Location("x"), strategy, query(sql), Fingerprint("", "")
    )


def project(sql: str, grid: Grid = DAYS) -> dict[str, Model]:
    models = [
        partition_model("daily", "select 1"),
        partition_model("shards", "select 1", Grid(Grain.RANGE, 0, 300, 100), "bucket"),
        other_model("users", "select 1", Table()),
        other_model("recent", "select date as day from {daily}", View()),
        partition_model("weekly", sql, grid),
    ]
    return {model.name: model for model in models}


SOURCES = {"raw.events": Source(TableName("raw", "events"), Location("s"), "")}


def mapped(
    sql: str, *declared: Declared, grid: Grid = DAYS
) -> tuple[tuple[InputMapping, ...], list[Finding]]:
    cache = ParseCache(None, "")
    models, findings = map_inputs(project(sql, grid), SOURCES, {"weekly": declared}, cache)
    return models["weekly"].versions[0].body.inputs, findings


def declare(mapping: RangeMapping | None, name: InputName = DAILY, column: str = "") -> Declared:
    return Declared(name, mapping, column, ENTRY)


SEVEN_DAYS = Computed("date", ((Moved(Lower(), micros=-6 * DAY), Moved(Lower(), micros=DAY)),))
ONE_DAY = Computed("date", ((Lower(), Moved(Lower(), micros=DAY)),))
SAME_DAY = "select 1 from {daily} where date = @partition_date"


def test_what_the_query_reads_is_inferred() -> None:
    assert mapped(SAME_DAY) == ((InputMapping(DAILY, ONE_DAY),), [])


def test_models_of_other_strategies_stay_as_they_are() -> None:
    models = project(SAME_DAY)

    result, _ = map_inputs(models, SOURCES, {}, ParseCache(None, ""))

    assert result["users"] is models["users"]
    assert result["recent"] is models["recent"]


def test_every_body_is_mapped() -> None:
    models = project(SAME_DAY)
    version = models["weekly"].versions[0]
    revision = replace(version.body, fingerprint=replace(version.body.fingerprint, revision=1))
    versions = (replace(version, revisions=(revision,)),)
    models["weekly"] = replace(models["weekly"], versions=versions)

    result, _ = map_inputs(models, SOURCES, {}, ParseCache(None, ""))

    found = [body.inputs for body in result["weekly"].versions[0].bodies]
    assert found == [(InputMapping(DAILY, ONE_DAY),)] * 2


def test_DC7_an_input_that_is_read_whole_is_a_warning_with_the_entry_to_write() -> None:
    inputs, findings = mapped("select 1 from {daily}")

    assert inputs == (InputMapping(DAILY, Everything()),)
    assert findings == [
        Finding(
            WHERE,
            "upstream-mapping-all",
            "v1 reads all of daily, so any change of it concerns every partition",
            "depends_on: [{model: daily, partitions: all}]",
            Severity.WARNING,
        )
    ]


def test_an_input_that_no_condition_bounds_as_a_range_is_a_warning_with_the_entry_to_write() -> (
    None
):
    inputs, findings = mapped(
        "select 1 from {daily} where datediff(@partition_date, date) between 0 and 4"
    )

    assert inputs == (InputMapping(DAILY, Everything()),)
    assert findings == [
        Finding(
            WHERE,
            "upstream-mapping-all",
            "no condition of v1 says as a range what it reads of daily,"
            " so any change of it concerns every partition",
            "depends_on: [{model: daily, partitions: all}]",
            Severity.WARNING,
        )
    ]


def test_the_entry_of_the_hint_silences_the_warning() -> None:
    inputs, findings = mapped("select 1 from {daily}", declare(Everything()))

    assert inputs == (InputMapping(DAILY, Everything(), declared=True),)
    assert findings == []


def test_an_external_table_cannot_be_declared() -> None:
    _, findings = mapped("select 1 from {other}")

    assert [f.hint for f in findings] == [
        "filter it by a partition parameter, or declare it as a source"
    ]


@pytest.mark.parametrize("mapping", [Same(), Trailing(7), Calendar("week"), Everything()])
def test_a_declared_mapping_wins(mapping: RangeMapping) -> None:
    assert mapped(SAME_DAY, declare(mapping)) == (
        (InputMapping(DAILY, mapping, declared=True),),
        [],
    )


def test_auto_is_what_the_query_says_else_by_grain() -> None:
    assert mapped(SAME_DAY, declare(None)) == ((InputMapping(DAILY, ONE_DAY),), [])
    assert mapped("select 1", declare(None)) == ((InputMapping(DAILY, ByGrain()),), [])
    assert mapped("select 1", declare(None, USERS)) == ((InputMapping(USERS, Everything()),), [])


def test_a_declared_mapping_narrower_than_the_SQL_is_a_warning() -> None:
    sql = (
        "select 1 from {daily} where date between date_sub(@partition_date, 6) and @partition_date"
    )

    inputs, findings = mapped(sql, declare(Trailing(6)))

    assert inputs == (InputMapping(DAILY, Trailing(6), declared=True),)
    assert findings == [
        Finding(
            ENTRY,
            "mapping-narrower-than-sql",
            "the SQL reads more of daily than its entry in depends_on says",
            "depends_on: [{model: daily, partitions: auto}]",
            Severity.WARNING,
        )
    ]
    assert mapped(sql, declare(Trailing(7)))[1] == []
    assert mapped(sql, declare(None)) == ((InputMapping(DAILY, SEVEN_DAYS),), [])


def test_a_declared_mapping_of_what_is_read_whole_is_narrower() -> None:
    _, findings = mapped("select 1 from {daily}", declare(Same()))

    assert [(f.code, f.hint) for f in findings] == [
        ("mapping-narrower-than-sql", "depends_on: [{model: daily, partitions: all}]")
    ]
    assert mapped("select 1 from {daily}", declare(Everything()))[1] == []


def test_the_hint_for_a_source_names_the_column_of_the_entry() -> None:
    sql = "select 1 from {events} where day >= @start_date - interval 1 day and day < @end_date"

    _, findings = mapped(sql, declare(Same(), EVENTS, "day"))

    assert [(f.code, f.hint) for f in findings] == [
        (
            "mapping-narrower-than-sql",
            "depends_on: [{model: raw.events, partitions: auto, column: day}]",
        )
    ]


def test_a_declared_mapping_is_not_compared_with_what_is_not_understood() -> None:
    assert mapped(BY_UDF, declare(Same()))[1] == []


def test_time_and_integers_do_not_compare() -> None:
    shards = InputName(InputKind.MODEL, "shards")

    inputs, findings = mapped("select 1 from {shards}", declare(Same(), shards))

    assert inputs == (InputMapping(shards, Everything(), declared=True),)
    assert findings == [
        Finding(
            ENTRY,
            "mapping-domain-mismatch",
            "weekly has DAY partitions, shards has RANGE",
            "depends_on: [{model: shards, partitions: all}]",
        )
    ]


def test_a_bare_name_between_time_and_integers_is_read_whole() -> None:
    shards = InputName(InputKind.MODEL, "shards")

    inputs, findings = mapped("select 1", declare(None, shards))

    assert inputs == (InputMapping(shards, Everything()),)
    assert [f.code for f in findings] == ["upstream-mapping-all"]


@pytest.mark.parametrize(
    ("mapping", "low", "high"),
    [
        (Same(), Lower(), Upper()),
        (Calendar("week"), Floored(Lower(), "week"), Ceiled(Upper(), "week")),
        (Trailing(7), Moved(Upper(), micros=-7 * DAY), Upper()),
    ],
)
def test_a_mapping_of_a_source_speaks_about_a_column(
    mapping: RangeMapping, low: Lower, high: Upper
) -> None:
    sql = "select 1 from {events} where created_at >= @start_date and created_at < @end_date"

    found = mapped(sql, declare(mapping, EVENTS, "created_at"))

    computed = Computed("created_at", ((low, high),))
    assert found == ((InputMapping(EVENTS, computed, declared=True),), [])


def test_a_mapping_of_a_source_without_a_column_means_all_of_it() -> None:
    sql = "select 1 from {events} where day = @partition_date"

    assert mapped(sql, declare(Same(), EVENTS)) == (
        (InputMapping(EVENTS, Everything(), declared=True),),
        [],
    )


def test_a_column_without_a_mapping_tells_inference_which_one_counts() -> None:
    sql = "select 1 from {events} where a = @partition_date and b = @partition_date"

    inputs, _ = mapped(sql, declare(None, EVENTS, "b"))

    ranges = ((Lower(), Moved(Lower(), micros=DAY)),)
    assert inputs == (InputMapping(EVENTS, Computed("b", ranges)),)


RECENT = InputName(InputKind.MODEL, "recent")


def test_DC14_the_tables_of_a_view_are_inputs_and_the_view_is_mapped_whole() -> None:
    assert mapped("select 1 from {recent} where day = @partition_date") == (
        (InputMapping(RECENT, Everything()), InputMapping(DAILY, ONE_DAY)),
        [],
    )


def test_what_is_declared_of_a_view_holds_for_its_tables() -> None:
    assert mapped(
        "select 1 from {recent} where my_udf(day) = 1", declare(Calendar("week"), RECENT)
    )[0] == (
        InputMapping(RECENT, Everything()),
        InputMapping(DAILY, Calendar("week"), declared=True),
    )


def test_a_model_may_read_itself_before_its_lower_bound() -> None:
    sql = "select 1 from {this} where date = date_sub(@partition_date, 1)"

    ranges = ((Moved(Lower(), micros=-DAY), Lower()),)
    assert mapped(sql) == ((InputMapping(WEEKLY, Computed("date", ranges)),), [])


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 from {this}",
        "select 1 from {this} where date <= @partition_date",
        "select 1 from {this} where date = '2024-12-25'",
        "select 1 from {this} where my_udf(date) = @partition_date",
        "select 1 from {this} where date < trunc(@end_date, 'MM')",
    ],
)
def test_a_model_that_reads_itself_later_is_an_error(sql: str) -> None:
    _, findings = mapped(sql)

    assert [(f.where, f.code, f.is_error) for f in findings] == [
        (WHERE, "self-dependency-unbounded", True)
    ]


def test_a_model_may_always_read_what_is_before_its_first_partition() -> None:
    assert mapped("select 1 from {this} where date < '2024-11-25'")[1] == []


def test_a_second_load_takes_everything_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ParseCache(None, "")
    models = project("select 1 from {daily} join {events} on true where day = @partition_date")
    known = map_inputs(models, SOURCES, {}, first)
    second = ParseCache(None, "", first.current)
    monkeypatch.setattr(mappings, "infer", None)

    again = map_inputs(models, SOURCES, {}, second)

    assert again == known
    assert second.current == first.current


def test_a_changed_upstream_or_entry_is_mapped_anew() -> None:
    first = ParseCache(None, "")
    models = project(SAME_DAY)
    map_inputs(models, SOURCES, {}, first)
    second = ParseCache(None, "", first.current)

    entries = {"weekly": (declare(Same()),)}
    result, _ = map_inputs(models, SOURCES, entries, second)

    assert result["weekly"].versions[0].body.inputs == (InputMapping(DAILY, Same(), declared=True),)
