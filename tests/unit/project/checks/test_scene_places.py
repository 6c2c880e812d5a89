"""Where checks may stand, and that they mean the same everywhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.check_projects import PATH, SQL, versions
from fakes.entity_files import entity, files
from penstock.core.checks.check import Checks, OnFailure
from penstock.core.findings import Location, Severity
from penstock.strategies.checks.types import RowCount

SEED = """\
      before:
        - name: source_has_data
          sql: checks/source_data_check.sql
          description: "Ensure source table has data for partition"
          severity: error  # error | warning
      after:
        - name: min_users
          sql: checks/min_users_check.sql
          description: "At least 100 users per partition"
          severity: error
        - name: revenue_bounds
          type: column_check
          column: revenue
          check: "MIN(revenue) >= 0 AND MAX(revenue) < 1000000"
          severity: warning
        - name: row_count
          type: row_count
          min: 100
          max: 1000000
          severity: error
        - name: null_check
          type: null_percentage
          column: user_count
          max_percentage: 5.0
          severity: warning
"""
SEED_FILES = {
    "models/checks/source_data_check.sql": (
        "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM `raw.events`\n"
        "  WHERE DATE(created_at) = @partition_date)\n"
    ),
    "models/checks/min_users_check.sql": (
        "SELECT date FROM `{destination}`\nWHERE date = @partition_date AND user_count < 100\n"
    ),
}


def nowhere(checks):
    """Leave out where checks stand."""
    gone = Location("")
    lists = ([replace(each, where=gone) for each in c] for c in (checks.before, checks.after))
    before, after = map(tuple, lists)
    return Checks(before, after, checks.on_failure)


def test_the_checks_of_the_seed_load(load):
    files = versions(f"    invariants:\n{SEED}") | SEED_FILES

    checks = load(files).models["user_stats"].checks

    assert [each.type for each in checks.before] == ["sql"]
    assert [(each.name, each.type, each.severity) for each in checks.after] == [
        ("min_users", "sql", Severity.ERROR),
        ("revenue_bounds", "column_check", Severity.WARNING),
        ("row_count", "row_count", Severity.ERROR),
        ("null_check", "null_percentage", Severity.WARNING),
    ]
    assert checks.after[2].rule == RowCount(100, 1000000)


def test_checks_is_another_word_for_invariants(load):
    one, other = (
        load(versions(f"    {word}:\n{SEED}") | SEED_FILES).models["user_stats"].checks
        for word in ("invariants", "checks")
    )

    assert one == other


def test_both_words_in_one_version_are_a_conflict(findings):
    more = "    checks: []\n    invariants: []\n"

    assert findings(versions(more)) == [
        (
            f"{PATH}:16:5: error: alias-conflict: "
            "checks and invariants are one key; the other is on line 15"
        )
    ]


def test_a_version_takes_the_checks_of_another_over_under_either_word(load):
    first = "    checks: [{type: row_count, min: 10}]\n"
    others = (f"    checks: ${{{{ versions.1.{word} }}}}\n" for word in ("invariants", "checks"))

    one, two, three = load(versions(first, *others)).models["user_stats"].versions

    assert one.checks == two.checks == three.checks


def test_a_version_reuses_and_changes_the_checks_of_another(load):
    first = (
        "    checks:\n      before: [{name: there, sql: select 1 where false}]\n"
        "      after:\n        - {name: null_check, type: not_null, column: region}\n"
        "        - {name: min_rows, type: row_count, min: 10}\n"
        "        - {name: kept, type: unique, column: date}\n"
    )
    third = (
        "    checks:\n      base: ${{ versions.1.invariants }}\n"
        "      remove: {after: [null_check]}\n"
        "      modify: {after: [{name: min_rows, min: 100}]}\n"
        "      add: {after: [{name: new_check, type: row_count, max: 9}]}\n"
    )

    one, two, three = load(versions(first, "", third)).models["user_stats"].versions

    assert two.checks == Checks()
    assert three.checks.before == one.checks.before
    assert [each.name for each in three.checks.after] == ["min_rows", "kept", "new_check"]
    assert three.checks.after[0].rule == RowCount(100)
    assert three.checks.after[1] == one.checks.after[2]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            "remove: {after: [nul_check]}",
            "unknown-check: v2: remove names \"nul_check\"\n  hint: did you mean 'null_check'?",
        ),
        (
            "modify: {before: [{name: null_check}]}",
            'unknown-check: v2: modify names "null_check"\n  hint: known here: none',
        ),
        (
            "add: {after: [{name: null_check, type: row_count, min: 1}]}",
            (
                'duplicate-check: v2: add names "null_check", which is there already '
                "(models/user_stats.yml:15:22)\n  hint: change it under modify:"
            ),
        ),
    ],
)
def test_changes_name_checks_that_fit(findings, change, says):
    first = "    checks: {after: [{name: null_check, type: not_null, column: region}]}\n"
    second = f"    checks: {{base: '${{{{ versions.1.invariants }}}}', {change}}}\n"

    said = findings(versions(first, second), hints=True)

    assert [each.partition("error: ")[2] for each in said] == [says]


def test_checks_beside_versions_hold_for_each_and_a_version_replaces_one(load):
    beside = "checks:\n  on_failure: block\n  after:\n    - {type: row_count, min: 1}\n"
    beside += "    - {type: not_null, column: date}\n"
    second = "    checks: {after: [{type: row_count, min: 5}], on_failure: flag}\n"

    one, two = load(versions("", second, beside=beside)).models["user_stats"].versions

    assert next((c.name, c.rule) for c in one.checks.after) == ("row_count", RowCount(1))
    assert [each.name for each in two.checks.after] == ["not_null_date", "row_count"]
    assert two.checks.after[1].rule == RowCount(5)
    assert (one.checks.on_failure, two.checks.on_failure) == (OnFailure.BLOCK, OnFailure.FLAG)


def test_a_model_has_the_checks_of_its_newest_version(load):
    second = "    checks: [{type: row_count, min: 5}]\n"

    model = load(versions("", second)).models["user_stats"]

    assert model.checks == model.checks_of(2) == model.versions[1].checks
    assert model.checks_of(1) == Checks()


HEADER = """\
{{{{ config(
    materialized='partition', partition_by='date', start='2024-01-01',
    checks={checks},
    on_failure='block',
) }}}}
{sql}"""
IN_HEADER = (
    "{'before': [{'name': 'there', 'sql': 'checks/there.sql'}],"
    " 'after': [{'type': 'row_count', 'min': 1}, {'type': 'not_null', 'column': 'region',"
    " 'severity': 'warn', 'meta': {'owner': 'me'}}]}"
)
IN_YAML = (
    "checks:\n  on_failure: block\n  before: [{name: there, sql: checks/there.sql}]\n"
    "  after:\n    - {type: row_count, min: 1}\n"
    "    - {type: not_null, column: region, severity: warn, meta: {owner: me}}\n"
)
THERE = {"models/checks/there.sql": "select 1 where not exists (select 1 from raw.events)"}


def indented(text, by):
    """Move a text right."""
    return "".join(f"{by}{line}\n" for line in text.splitlines())


def test_header_yaml_beside_sql_and_versioned_yaml_give_equal_checks(apart):
    plain = HEADER.format(checks="{}", sql=SQL).replace("on_failure='block',", "")
    beside = f"models:\n  - name: user_stats\n{indented(IN_YAML, '    ')}"
    projects = (
        {"models/user_stats.sql": HEADER.format(checks=IN_HEADER, sql=SQL)},
        {"models/user_stats.sql": plain, "models/any.yml": beside},
        versions("", beside=IN_YAML),
    )

    found = [apart(files | THERE).models["user_stats"] for files in projects]

    one, two, three = (nowhere(each.checks) for each in found)
    assert one == two == three
    assert [nowhere(each.versions[0].checks) for each in found] == [one, one, one]
    assert one.after[1].meta == {"owner": "me"}


def test_a_document_of_entities_gives_equal_checks(apart):
    checks = {
        "on_failure": "block",
        "before": [{"type": "row_count", "min": 1}],
        "after": [
            {"type": "row_count", "min": 1},
            {"type": "not_null", "column": "region", "severity": "warn", "meta": {"owner": "me"}},
        ],
    }
    header = f"{{{{ config(materialized='merge', unique_key='ID', checks={checks!r}) }}}}\n"
    model = {"models/m.sql": f"{header}select ID, region from raw.events"}

    one = apart(model | THERE).models["m"].checks
    two = apart(files(entity(checks=checks))).models["silver_aw.x"].checks

    assert nowhere(one) == nowhere(two)


def test_a_name_in_header_and_yaml_is_a_duplicate_that_names_both_places(findings):
    beside = "models:\n  - name: user_stats\n    checks: [{type: row_count, min: 2}]\n"
    files = {"models/user_stats.sql": HEADER.format(checks=IN_HEADER, sql=SQL)}

    assert [
        each for each in findings(files | THERE | {"models/any.yml": beside}) if "error" in each
    ] == [
        (
            'models/any.yml:3:14: error: duplicate-check: check "row_count" is there twice under '
            "after; the first is at models/user_stats.sql:3"
        )
    ]


def test_a_snapshot_entry_has_checks_too(load):
    entry = (
        "snapshots:\n  - name: users_history\n    sql: select id, at from raw.users\n"
        "    config: {strategy: timestamp, unique_key: id, updated_at: at}\n"
        "    checks: [{type: unique, column: id}, {type: not_null, column: _ps_valid_from}]\n"
    )

    checks = load({"models/s.yml": entry}).models["users_history"].checks

    assert [(each.name, each.scope) for each in checks.after] == [
        ("unique_id", "table"),
        ("not_null__ps_valid_from", "step"),
    ]


def test_a_check_that_is_off_is_not_there(load):
    off = "{type: row_count, max: 0, enabled: false}, {type: row_count, min: 1}"

    checks = load(versions(f"    checks: [{off}]\n")).models["user_stats"].checks

    assert [each.rule for each in checks.after] == [RowCount(1)]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("5", "checks is 5; it must be a list of checks, or a mapping with before and after"),
        ("[5]", "checks holds something that is not a check"),
        ("{after: 5}", "checks.after is 5; it must be a list of checks"),
        ("{aftr: []}", "unknown key 'aftr'"),
        ("{on_failure: stop}", "on_failure is 'stop'; it must be one of flag, block, rollback"),
    ],
)
def test_what_stands_under_checks_has_a_form(findings, value, says):
    files = {
        "models/m.sql": "select 1 as one",
        "models/m.yml": f"models:\n  - name: m\n    checks: {value}\n",
    }

    assert [each.partition(": ")[2].split(": ", 2)[2] for each in findings(files)] == [says]


def test_rollback_is_no_mode_of_a_view(findings):
    files = {"models/m.sql": "{{ config(on_failure='rollback') }} select 1 as one"}

    assert findings(files) == [
        (
            "models/m.sql:1: error: option-conflict: "
            "on_failure: rollback on a view, which has no version to go back to"
        )
    ]
