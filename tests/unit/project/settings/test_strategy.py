from __future__ import annotations

import datetime as dt

import pytest

from penstock.core.strategy import NullWatermark, WindowSettings
from penstock.strategies.append import Append
from penstock.strategies.merge import Merge
from penstock.strategies.table import Table
from penstock.strategies.view import View


@pytest.fixture
def model(load):
    def built(header, files=None):
        text = f"{{{{ config({header}) }}}}\nselect 1 as id"
        return load({**(files or {}), "models/staging/m.sql": text}).models["m"]

    return built


@pytest.fixture
def said(findings):
    def found(header, *, hints=False):
        text = f"\n{{{{ config({header}) }}}}\nselect 1 as id"
        return [f.partition("m.sql:2: ")[2] for f in findings({"models/m.sql": text}, hints=hints)]

    return found


@pytest.mark.parametrize(
    ("header", "strategy"),
    [
        ("", View()),
        ("materialized='view'", View()),
        ("materialized='table'", Table()),
        (
            "materialized='table', partition_by='d', overwrite='partitions'",
            Table(overwrite_partitions=True),
        ),
        ("materialized='append', window='none'", Append(None)),
        ("materialized='append', time_column='t'", Append(WindowSettings("t"))),
        ("materialized='incremental', time_column='t'", Append(WindowSettings("t"))),
        ("materialized='incremental', unique_key='id'", Merge(("id",), None)),
        ("materialized='merge', primary_key=['a', 'b']", Merge(("a", "b"), None)),
        (
            (
                "materialized='merge', unique_key='id', time_column='t', lookback='2 days',"
                " window_on={'raw.e': 'u', 'raw.f': null}, null_watermark='drop_counted',"
                " string_watermark=true"
            ),
            Merge(
                ("id",),
                WindowSettings(
                    "t",
                    dt.timedelta(days=2),
                    {"raw.e": "u", "raw.f": None},
                    NullWatermark.DROP_COUNTED,
                    string_watermark=True,
                ),
            ),
        ),
        (
            "materialized='merge', unique_key='id', time_column='n', lookback=3",
            Merge(("id",), WindowSettings("n", 3)),
        ),
        (
            (
                "materialized='merge', unique_key='id', on_duplicate='latest', order_by='t desc',"
                " null_keys='match'"
            ),
            Merge(("id",), None, ("t desc",), match_null_keys=True),
        ),
    ],
)
def test_the_header_decides_the_strategy(model, header, strategy):
    assert model(header).strategy == strategy


@pytest.mark.parametrize(
    ("header", "finding"),
    [
        ("materialized='merge'", "error: missing-key: merge needs unique_key"),
        (
            "materialized='append'",
            (
                "error: append-without-window: "
                "append without time_column would add the same rows again on every run"
            ),
        ),
        (
            "materialized='append', time_column='t', lookback='1d'",
            "error: option-conflict: append with lookback would add rows twice",
        ),
        (
            "materialized='append', time_column='t', window='none'",
            "error: option-conflict: window='none' and time_column exclude each other",
        ),
        (
            "materialized='append', time_column='t', window=false",
            "error: bad-value: window is false; it must be none",
        ),
        (
            "materialized='table', overwrite='partitions'",
            "error: missing-key: overwrite: partitions needs partition_by",
        ),
        (
            "materialized='table', partition_by='a', cluster_by='b'",
            (
                "error: option-conflict: "
                "partition_by and cluster_by exclude each other: Delta clusters or partitions"
            ),
        ),
        (
            "materialized='merge', unique_key='id', on_duplicate='latest'",
            "error: missing-key: on_duplicate: latest needs order_by",
        ),
        (
            "materialized='historic'",
            (
                "error: bad-value: materialized is 'historic'; it must be one of view, table, "
                "append, merge, incremental, partition, snapshot "
                "(historic is for entities, which have files of their own)"
            ),
        ),
        (
            "materialized='tabel'",
            (
                "error: bad-value: materialized is 'tabel'; "
                "it must be one of view, table, append, merge, incremental, partition, snapshot"
            ),
        ),
        ("materialised='view'", "error: unknown-key: unknown key 'materialised'"),
        ("delete_missing=true", "error: unknown-key: unknown key 'delete_missing'"),
        ("tags=4", "error: bad-value: tags is 4; it must be a list of texts"),
        (
            "materialized='merge', unique_key='id', time_column='t', lookback='soon'",
            (
                "error: bad-value: lookback is 'soon'; "
                "it must be a duration such as 90m, 36h or 2 days"
            ),
        ),
        ("materialized='table', on_schema_change='add'", None),
        ("alias='two words'", "error: bad-name: 'two words' cannot name a table"),
        ("schema='a.b'", "error: bad-name: 'a.b' cannot name a schema"),
        (
            "materialized='view', unique_key='id'",
            "warning: option-without-effect: unique_key has no effect on strategy view",
        ),
        (
            "materialized='merge', unique_key='id', null_watermark='error'",
            "warning: option-without-effect: null_watermark has no effect without time_column",
        ),
        (
            "materialized='merge', unique_key='id', order_by='t'",
            "warning: option-without-effect: order_by has no effect without on_duplicate: latest",
        ),
        (
            "depends_on=['nowhere']",
            "error: unknown-reference: depends_on: 'nowhere' is not a model, seed or source",
        ),
    ],
)
def test_what_does_not_go_together_is_a_finding_at_the_header(said, header, finding):
    expected = finding or (
        "error: bad-value: on_schema_change is 'add'; it must be one of append, fail, ignore, "
        "sync, append_new_columns, sync_all_columns"
    )

    assert said(header) == [expected]


def test_append_with_lookback_says_what_to_use_instead(said):
    assert said("materialized='append', time_column='t', lookback='1d'", hints=True)[0].endswith(
        "hint: use merge with a key"
    )


def test_a_secret_in_a_property_of_a_table_is_a_finding(said, secret) -> None:
    properties = {
        "delta.appendOnly": "true",
        "url": "jdbc:x://ann:pw@host/d",
        "note": f"of {secret}",
        "api_token": "abc",
    }

    found = said(f"materialized='table', table_properties={properties}")

    everybody = "which everybody reads who reads the table"
    assert found == [
        f"error: secret-in-table: table property {key!r} holds a secret, {everybody}"
        for key in ("api_token", "note", "url")
    ]
