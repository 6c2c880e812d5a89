"""Every body of every partition model learns what it reads, and what is wrong with that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.mapped_inputs import (
    DAILY,
    EVENTS,
    ONE_DAY,
    SAME_DAY,
    SOURCES,
    USERS,
    declare,
    mapped,
    project,
)
from penstock.core.model import (
    InputMapping,
)
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.calendar import DAY
from penstock.core.partitions.mapping import (
    ByGrain,
    Calendar,
    Ceiled,
    Computed,
    Everything,
    Floored,
    Lower,
    Moved,
    RangeMapping,
    Same,
    Trailing,
    Upper,
)
from penstock.project.files.cache import ParseCache
from penstock.project.input_ranges.mappings import map_inputs


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


def test_the_tables_of_a_view_are_inputs_and_the_view_is_mapped_whole() -> None:
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


def test_a_second_load_takes_everything_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ParseCache(None, "")
    models = project("select 1 from {daily} join {events} on true where day = @partition_date")
    known = map_inputs(models, SOURCES, {}, first)
    second = ParseCache(None, "", first.current)
    monkeypatch.setattr("penstock.project.input_ranges.infer.infer", None)

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
