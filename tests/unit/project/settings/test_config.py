from __future__ import annotations

import pytest

from penstock.core.model import ColumnDoc
from penstock.core.names import TableName
from penstock.core.strategy import Layout, OnSchemaChange
from penstock.strategies.table import Table


@pytest.fixture
def model(load):
    def built(header, files=None):
        text = f"{{{{ config({header}) }}}}\nselect 1 as id"
        return load({**(files or {}), "models/staging/m.sql": text}).models["m"]

    return built


def test_layout_schema_and_names(model):
    built = model(
        "materialized='table', schema='s', alias='t', cluster_by=['a', 'b'],"
        " table_properties={'delta.x': true, 'y': 1}, on_schema_change='fail'"
    )

    assert (built.table, built.layout, built.on_schema_change) == (
        TableName("s", "t"),
        Layout((), ("a", "b"), {"delta.x": "true", "y": "1"}),
        OnSchemaChange.FAIL,
    )


def test_the_schema_is_the_folder_and_at_the_top_the_project(load):
    project = load({"models/a.sql": "select 1", "models/x/staging/b.sql": "select 1"})

    assert [str(m.table) for m in project.models.values()] == ["shop.a", "staging.b"]


def test_the_file_beats_yaml_beside_it_beats_folders_beats_defaults(load):
    files = {
        "penstock.yml": (
            "name: shop\ndefaults:\n  schema: global\n  alias: global\n  description: global\n"
            "  on_schema_change: fail\n  table_properties: {a: global, b: global}\n"
            '  "models/": {schema: models}\n'
            '  "staging/": {schema: staging, alias: staging, description: staging}\n'
        ),
        "models/staging/m.yml": (
            "models:\n  - name: m\n    description: beside\n    config:\n      alias: beside\n"
            "      materialized: view\n      table_properties: {b: beside}\n"
        ),
        "models/staging/m.sql": "{{ config(materialized='table') }} select 1",
    }

    model = load(files).models["m"]

    assert model.table == TableName("staging", "beside")
    assert model.description == "beside"
    assert model.on_schema_change is OnSchemaChange.FAIL
    assert model.strategy == Table()
    assert model.layout.properties == {"a": "global", "b": "beside"}


def test_yaml_beside_sql_adds_what_the_header_leaves_out(load):
    yaml = (
        "version: 2\nmodels:\n  - name: m\n    description: Says all\n    tags: daily\n"
        "    meta: {owner: me}\n    config: {tags: [pii], meta: {level: 2}}\n    columns:\n"
        "      - {name: id, description: Key, data_type: bigint,\n"
        "         tests: [unique, {accepted_values: {values: [1]}}]}\n"
        "      - {name: x, data_tests: [not_null]}\n"
    )

    model = load(
        {"models/any.yml": yaml, "models/m.sql": "{{ config(tags='a') }} select 1"}
    ).models["m"]

    assert (model.description, model.tags) == ("Says all", ("a", "daily", "pii"))
    assert model.columns == (
        ColumnDoc("id", "Key", "bigint", ("unique", "accepted_values")),
        ColumnDoc("x", "", "", ("not_null",)),
    )
    assert model.config == {
        "materialized": "view",
        "description": "Says all",
        "tags": "a,daily,pii",
        "meta.owner": "me",
        "meta.level": "2",
    }


ROWS = ["unique_key='k'", "lookback=2", "null_keys='match'", "window_on={'raw.x': 'c'}"]
TALK = [
    "description='x'",
    "tags='x'",
    "cluster_by='x'",
    "table_properties={'x': 'y'}",
    "meta={'a': 1}",
]


@pytest.mark.parametrize("more", ROWS)
def test_settings_that_change_rows_change_the_fingerprint(model, more):
    plain = "materialized='merge', time_column='t', "

    one = model(plain + "unique_key='id'")
    two = model(plain + (more if "unique" in more else f"unique_key='id', {more}"))

    assert one.fingerprint.settings != two.fingerprint.settings


@pytest.mark.parametrize("more", TALK)
def test_settings_that_change_no_row_change_no_fingerprint_of_rows(model, more):
    one = model("materialized='table'").fingerprint
    two = model(f"materialized='table', {more}").fingerprint

    assert (one.canonical, one.settings) == (two.canonical, two.settings)


def test_layout_and_words_have_a_checksum_of_their_own(model):
    marks = {model(f"materialized='table', {more}").fingerprint.layout for more in TALK}

    assert len(marks) == 4  # tags and meta say nothing of the table


@pytest.mark.parametrize(
    ("word", "expected"), [("y", True), ("T", True), ("on", True), ("N", False)]
)
def test_a_switch_is_on_by_every_word_that_is_let_pass(load, word, expected):
    text = f"{{{{ config(enabled='{word}') }}}}\nselect 1 as id"

    assert ("m" in load({"models/m.sql": text}).models) is expected
