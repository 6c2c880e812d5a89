"""Checks and the rest of a project: settings, sources, order, fingerprints, the cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.check_projects import user_stats
from penstock.core.checks.check import Checks, CheckSettings, OnFailure
from penstock.core.names import InputKind, InputName


def test_settings_have_defaults_and_are_read(load):
    said = "name: shop\nchecks: {on_failure: BLOCK, sample: false, quarantine_days: 0, "
    said += "staging_schema: aside}\n"

    assert load({}).checks == CheckSettings()
    assert load({"penstock.yml": said}).checks == CheckSettings(
        OnFailure.BLOCK, sample=False, quarantine_days=0, staging_schema="aside"
    )


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        (
            "on_failure: stop",
            "checks.on_failure is 'stop'; it must be one of flag, block, rollback",
        ),
        ("quarantine_days: -1", "checks.quarantine_days is -1; it must be an integer >= 0"),
        (
            "staging_schema: a.b",
            "checks.staging_schema is 'a.b'; it must be letters, digits, _ and -",
        ),
        ("samples: false", "unknown key 'samples'"),
    ],
)
def test_settings_that_do_not_fit_are_found(findings, setting, says):
    said = findings({"penstock.yml": f"name: shop\nchecks: {{{setting}}}\n"})

    assert [each.split(": ", 3)[3] for each in said] == [says]


def test_no_model_lies_where_staging_files_are(findings):
    files = {"models/m.sql": "{{ config(schema='penstock_staging') }} select 1 as a"}

    assert findings(files) == [
        (
            "models/m.sql:1: error: reserved-name: model m is in penstock_staging, "
            "the schema of staging files"
        )
    ]


SOURCES = """\
sources:
  - name: raw
    tables:
      - name: events
        columns:
          - {name: id, data_type: bigint, data_tests: [not_null]}
        checks: [{type: row_count, min: 4}]
      - name: users
        columns: [{name: id, data_tests: [not_null]}]
      - name: unread
        checks: {before: [{type: row_count}]}
"""
EVENTS = InputName(InputKind.SOURCE, "raw.events")
USERS = InputName(InputKind.SOURCE, "raw.users")


def test_checks_of_a_source_stand_before_every_model_that_reads_it(load):
    files = {
        "models/s.yml": SOURCES.replace("type: row_count}", "type: row_count, max: 1}"),
        "models/one.sql": "select id from raw.events",
        "models/both.sql": "select e.id from raw.events e join raw.users u on e.id = u.id",
        "models/none.sql": "select 1 as one",
    }

    models = load(files).models

    assert {name: [(c.name, c.input) for c in m.checks.before] for name, m in models.items()} == {
        "one": [("row_count", EVENTS), ("not_null_id", EVENTS)],
        "both": [
            ("row_count", EVENTS),
            ("not_null_id", EVENTS),
            ("raw.users.not_null_id", USERS),
        ],
        "none": [],
    }


def test_checks_of_a_source_that_nobody_reads_are_looked_at(findings):
    assert findings({"models/s.yml": SOURCES}) == [
        'models/s.yml:11:34: error: missing-bounds: check "row_count": none of min, max is given'
    ]


def test_checks_are_in_no_fingerprint(apart):
    plain = "models:\n  - name: m\n    columns: [{name: a}]\n"
    checked = plain.replace("{name: a}", "{name: a, data_tests: [unique]}")
    checked += "    checks: {on_failure: block, after: [{type: row_count, min: 1}]}\n"
    header = "{{ config(materialized='table'HERE) }} select 1 as a"
    more = ", checks=[{'type': 'row_count', 'name': 'b', 'max': 9}]"
    bare, full = (
        apart({"models/m.sql": header.replace("HERE", here), "models/m.yml": yaml}).models["m"]
        for here, yaml in (("", plain), (more, checked))
    )

    assert len(full.checks.all) == 3
    assert full.fingerprint == bare.fingerprint
    assert replace(full, checks=Checks(), columns=()) == replace(bare, columns=())


def test_checks_of_a_version_change_nothing_but_the_recorded_checksum_of_its_file(apart):
    bare, full = (
        apart(files).models["user_stats"].fingerprint
        for files in (user_stats(), user_stats("{type: row_count, min: 1}"))
    )

    assert replace(full, yaml="") == replace(bare, yaml="")
