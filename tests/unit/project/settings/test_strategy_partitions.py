from __future__ import annotations

import datetime as dt

import pytest

from penstock.core.columns.schema import Column, Schema
from penstock.core.findings import Location
from penstock.core.model import Body, Version
from penstock.core.partitions.partition import Grain, Grid
from penstock.core.strategy import EVERY, Layout
from penstock.project.files.values import digest
from penstock.project.sql.canonical import canonical_of
from penstock.strategies.partition import Partition

DAY = "materialized='partition', partition_by='d', start='2024-01-01'"
START = dt.date(2024, 1, 1)
SQL = "select @partition_date as d"
MANY = "materialized='partition', partition_by=['a', 'b'], start='2024-01-01'"
RANGE = "materialized='partition', partition_by='d', partition_type='RANGE'"


@pytest.fixture
def model(load):
    def built(header, files=None, sql=SQL):
        text = f"{{{{ config({header}) }}}}\n{sql}"
        return load({**(files or {}), "models/staging/m.sql": text}).models["m"]

    return built


@pytest.fixture
def said(findings):
    def found(header, files=None):
        text = f"\n{{{{ config({header}) }}}}\n{SQL}"
        lines = findings({**(files or {}), "models/m.sql": text})
        return [line.partition("m.sql:2: ")[2] for line in lines]

    return found


@pytest.mark.parametrize(
    ("header", "partition"),
    [
        (DAY, Partition("d", "date", Grid(Grain.DAY), START)),
        (
            f"{DAY}, partition_type='month', ready_after='2h', batch_size=7",
            Partition("d", "date", Grid(Grain.MONTH), START, dt.timedelta(hours=2), 7),
        ),
        (f"{DAY}, lookback=2", Partition("d", "date", Grid(Grain.DAY), START, lookback=2)),
        (f"{DAY}, lookback='all'", Partition("d", "date", Grid(Grain.DAY), START, lookback=EVERY)),
        (
            f"{DAY}, partition_data_type='TIMESTAMP'",
            Partition("d", "timestamp", Grid(Grain.DAY), START),
        ),
        (f"{DAY}, partition_type='HOUR'", Partition("d", "timestamp", Grid(Grain.HOUR), START)),
        (
            f"{DAY.replace('-01-01', '-W03')}, partition_type='Week'",
            Partition("d", "date", Grid(Grain.WEEK), dt.date(2024, 1, 15)),
        ),
        (
            f"{RANGE}, partition_start=-200, partition_end=300, partition_interval=100",
            Partition("d", "bigint", Grid(Grain.RANGE, -200, 300, 100)),
        ),
        (
            f"{DAY}, columns=[{{'name': 'D', 'type': 'DATETIME'}}]",
            Partition("d", "timestamp_ntz", Grid(Grain.DAY), START),
        ),
    ],
)
def test_a_header_makes_a_partition_model(model, header, partition):
    assert model(header).strategy == partition


@pytest.mark.parametrize(
    ("more", "layout"),
    [
        ("", Layout(("d",))),
        ("cluster_by=['a', 'D']", Layout(("d",))),
        ("layout='clustered', cluster_by=['a', 'D', 'b']", Layout((), ("d", "a", "b"))),
        ("layout='clustered', cluster_by=['a', 'b', 'c', 'e']", Layout((), ("d", "a", "b", "c"))),
        ("partition_type='MONTH'", Layout((), ("d",))),
        ("partition_type='MONTH', layout='partitioned'", Layout(("d",))),
        ("columns=[{'name': 'd', 'type': 'timestamp'}]", Layout((), ("d",))),
        ("table_properties={'a': 1}", Layout(("d",), (), {"a": "1"})),
    ],
)
def test_a_folder_per_day_or_clusters(model, more, layout):
    assert model(f"{DAY}, {more}").layout == layout


def test_it_has_one_version_without_a_date(model):
    found = model(DAY)

    text = "\nselect @partition_date as d"
    where = Location("models/staging/m.sql")
    body = Body(found.query, found.fingerprint, text, where.path, where)
    assert found.versions == (Version(1, body),)
    assert (found.fingerprint.version, found.fingerprint.effective_from) == (1, None)
    assert found.fingerprint.canonical == digest(canonical_of(text))


def test_columns_that_all_have_types_are_its_schema(model):
    columns = "{'name': 'd', 'type': 'DATE'}, {'name': 'N', 'data_type': 'decimal(9, 2)'}"

    (version,) = model(f"{DAY}, columns=[{columns}]").versions

    assert version.schema == Schema((Column("d", "date"), Column("N", "decimal(9,2)")))
    assert version.schema_text == (
        '[{"name":"N","type":"decimal(9,2)","mode":"NULLABLE"},'
        '{"name":"d","type":"date","mode":"NULLABLE"}]'
    )
    assert version.body.fingerprint.schema == digest(version.schema_text)


@pytest.mark.parametrize("more", ["{'name': 'n'}", "{'name': 'n', 'type': 'array<int>'}"])
def test_columns_without_types_are_no_schema(model, more):
    found = model(f"{DAY}, columns=[{{'name': 'd', 'type': 'DATE'}}, {more}]")

    assert (found.versions[0].schema, found.fingerprint.schema) == (Schema(), "")


def test_the_type_of_the_field_may_stand_beside_the_file(model):
    beside = "models: [{name: m, columns: [{name: d, data_type: TIMESTAMP}]}]"

    assert model(DAY, {"models/m.yml": beside}).strategy.type == "timestamp"


@pytest.mark.parametrize(
    ("header", "finding"),
    [
        (
            "materialized='partition', start='2024-01-01'",
            "error: missing-key: partition needs partition_by",
        ),
        (MANY, "error: bad-value: partition_by names 2 columns; a partition has one field"),
        (
            "materialized='partition', partition_by='d'",
            "error: missing-start: a partition model without versions needs start, its first date",
        ),
        (
            f"{DAY}, partition_type='DECADE'",
            (
                "error: bad-value: partition_type is 'DECADE'; "
                "it must be one of HOUR, DAY, WEEK, MONTH, YEAR, RANGE"
            ),
        ),
        (
            DAY.replace("2024-01-01", "2024/01"),
            "error: bad-value: start: '2024/01' is not a DAY partition. Expected YYYY-MM-DD.",
        ),
        (
            f"{RANGE}, partition_start=0, partition_end=9",
            "error: missing-key: RANGE needs partition_interval",
        ),
        (
            f"{RANGE}, partition_start=9, partition_end=9, partition_interval=1",
            "error: bad-value: partition_end is 9; it must be greater than partition_start, 9",
        ),
        (
            f"{RANGE}, partition_start=0, partition_end=9, partition_interval=1, start='a'",
            (
                "warning: option-without-effect: start has no effect on RANGE, whose first "
                "partition is partition_start"
            ),
        ),
        (
            f"{DAY}, partition_end=9",
            "error: bad-value: partition_end is for partition_type RANGE, and this is DAY",
        ),
        (f"{DAY}, batch_size=0", "error: bad-value: batch_size is 0; it must be an integer >= 1"),
        (
            f"{DAY}, lookback=-1",
            "error: bad-value: lookback is -1; of partitions it is a number of them, or all",
        ),
        (
            f"{DAY}, ready_after='soon'",
            (
                "error: bad-value: ready_after is 'soon'; "
                "it must be a duration such as 90m, 36h or 2 days"
            ),
        ),
        (
            f"{DAY}, time_column='t'",
            (
                "error: option-conflict: a model of partitions has no window of its input: "
                "time_column has no effect"
            ),
        ),
        (
            f"{DAY}, partition_type='HOUR', columns=[{{'name': 'd', 'type': 'date'}}]",
            'error: partition-type-mismatch: HOUR needs TIMESTAMP or TIMESTAMP_NTZ; "d" is DATE',
        ),
        (
            f"{DAY}, layout='clustered', cluster_by=['a', 'b', 'c', 'e', 'f']",
            "error: cluster-too-many: cluster_by names 5 columns; Delta clusters by 4 at most",
        ),
        (f"{DAY}, layout='plain'", "error: bad-value: layout 'plain' is not known"),
        (
            f"{DAY}, unique_key='a'",
            "warning: option-without-effect: unique_key has no effect on strategy partition",
        ),
    ],
)
def test_what_does_not_go_together_is_one_finding(said, header, finding):
    assert said(header) == [finding]


@pytest.mark.parametrize("key", ["partition_type='DAY'", "start='2024-01-01'", "batch_size=2"])
def test_settings_of_partitions_have_no_effect_elsewhere(load, key):
    project = load({"models/m.sql": f"{{{{ config(materialized='table', {key}) }}}} select 1 as a"})

    assert [f.code for f in project.findings] == ["option-without-effect"]


def test_a_snapshot_does_not_take_the_layout_of_partitions(findings):
    header = (
        "materialized='snapshot', unique_key='id', strategy='check', check_cols='all', "
        "layout='clustered'"
    )
    text = f"{{{{ config({header}) }}}} select 1 as id, 2 as value"

    assert findings({"models/m.sql": text}) == [
        (
            "models/m.sql:1: error: bad-value: layout 'clustered' is that of partitions, "
            "and this is a snapshot"
        )
    ]


def test_the_field_and_its_grid_are_settings_that_change_rows(model):
    marks = {
        model(f"{DAY}{more}").fingerprint.settings
        for more in ("", ", partition_type='MONTH'", ", batch_size=3", ", cluster_by='a'")
    }

    assert len(marks) == 2


def test_a_plain_file_has_the_one_version_1(load):
    found = load({"models/m.sql": "select 1 as a"}).models["m"]

    assert (found.versions, found.partition, found.grid) == ((), None, Grid(Grain.WHOLE))
    assert (found.fingerprint.label, found.fingerprint.effective_from) == ("v1", None)
    assert found.fingerprint.parser.count(".") == 2
