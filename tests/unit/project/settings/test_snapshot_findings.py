"""What `validate` says of snapshot models; each finding stands at the line of its key."""

from __future__ import annotations

import pytest

SNAPSHOT = "materialized='snapshot'"
CHECK = f"{SNAPSHOT}, unique_key='id', strategy='check'"
TIME = f"{SNAPSHOT}, unique_key='id', strategy='timestamp'"


@pytest.fixture
def said(findings):
    """Say what is found in one model with this header, without its file."""

    def found(header, query="select id, value, updated_at from t"):
        text = f"{{{{ config({header}) }}}}\n{query}"
        return [f.removeprefix("models/s.sql:") for f in findings({"models/s.sql": text})]

    return found


def test_what_is_missing_in_four_files_is_said_in_one_go(findings):
    files = {
        "models/a.sql": f"{{{{ config({SNAPSHOT}, strategy='check', check_cols='v') }}}}\nselect v",
        "models/b.sql": f"\n{{{{ config({SNAPSHOT}, unique_key='id') }}}}\nselect 1 as id",
        "models/c.sql": (
            f"{{{{ config({SNAPSHOT}, unique_key='id',\nstrategy='timestamp') }}}} select 1 as id"
        ),
        "models/d.sql": (
            f"{{{{ config({SNAPSHOT}, unique_key='id', snapshot={{\n\n'strategy': 'check'}}) }}}}"
            " select 1 as id"
        ),
    }

    assert findings(files, hints=True) == [
        (
            "models/a.sql:1: error: snapshot-key-missing: snapshot 'a' has no unique_key\n"
            "  hint: add unique_key='…' (or a list)"
        ),
        (
            "models/b.sql:2: error: snapshot-strategy-missing: snapshot 'b' has no strategy\n"
            "  hint: write snapshot={'strategy': 'timestamp'} or 'check'"
        ),
        (
            "models/c.sql:2: error: updated-at-missing: strategy 'timestamp' needs updated_at\n"
            "  hint: name the column that tells when a row changed"
        ),
        (
            "models/d.sql:3: error: check-cols-missing: strategy 'check' needs check_cols\n"
            "  hint: a list of columns, or 'all'"
        ),
    ]


def test_a_bad_value_lists_what_is_allowed_at_its_line(findings):
    header = (
        "{{ config(\n"
        "    materialized='snapshot', unique_key='id',\n"
        "    snapshot={  # comments count as lines\n"
        "        'strategy': 'hash',\n"
        "        'retention': {\n"
        "            'keep_last': 0},\n"
        "    },\n"
        "    hard_deletes=\n"
        "        'drop',\n"
        ") }}\n"
    )

    assert findings({"models/s.sql": f"{header}select 1 as id"}, hints=True) == [
        (
            "models/s.sql:4: error: bad-value: "
            "snapshot.strategy is 'hash'; it must be one of timestamp, check"
        ),
        (
            "models/s.sql:6: error: bad-value: "
            "snapshot.retention.keep_last is 0; it must be an integer >= 1"
        ),
        (
            "models/s.sql:8: error: bad-value: "
            "hard_deletes is 'drop'; it must be one of ignore, invalidate, new_record"
        ),
    ]


@pytest.mark.parametrize(
    ("settings", "finding"),
    [
        ("check_cols=[]", "1: error: bad-value: check_cols is empty"),
        ("check_cols=['value', '']", "1: error: bad-value: check_cols holds an empty name"),
        ("check_cols=4", "1: error: bad-value: check_cols is 4; it must be a list of texts"),
        (
            "check_cols='all', retention={}",
            "1: error: bad-value: retention has neither keep_last nor keep_days",
        ),
        (
            "check_cols='all', retention={'keep_days': true}",
            "1: error: bad-value: retention.keep_days is true; it must be an integer >= 1",
        ),
        (
            "check_cols='all', system_columns={'prefix': 'a-'}",
            "1: error: bad-value: system_columns.prefix is 'a-'; it must be letters, digits and _",
        ),
        (
            "check_cols='all', system_columns={'case': 'camel'}",
            "1: error: bad-value: system_columns.case is 'camel'; it must be one of snake, pascal",
        ),
        (
            "check_cols='all', row_hash=true",
            "1: error: option-conflict: row_hash needs a list of check_cols, not 'all'",
        ),
        (
            "check_cols='value',\nvalid_from='updated_at'",
            "2: error: option-conflict: valid_from 'updated_at' needs strategy 'timestamp'",
        ),
        (
            "check_cols='value',\nupdated_at='updated_at'",
            (
                "2: warning: option-without-effect: "
                "updated_at has no effect on a snapshot with strategy check"
            ),
        ),
        (
            "check_cols='value',\ntime_column='updated_at'",
            "2: warning: option-without-effect: time_column has no effect on strategy snapshot",
        ),
        (
            "check_cols='value', retention={'keep_last': 1},\nchange_feed=true",
            (
                "2: error: option-conflict: "
                "change_feed reads changed keys alone, and retention needs others too"
            ),
        ),
        (
            "check_cols='value', partition_by='a',\ncluster_by='b'",
            (
                "2: error: option-conflict: "
                "partition_by and cluster_by exclude each other: Delta clusters or partitions"
            ),
        ),
    ],
)
def test_what_does_not_go_with_check(said, settings, finding):
    assert said(f"{CHECK}, {settings}") == [finding]


@pytest.mark.parametrize(
    ("settings", "finding"),
    [
        (
            "updated_at='updated_at', row_hash=true",
            "1: error: option-conflict: row_hash needs strategy 'check' and a list of check_cols",
        ),
        (
            "updated_at_columns=['id', 'value']",
            "1: error: bad-value: updated_at is one column, not 2",
        ),
    ],
)
def test_what_does_not_go_with_timestamp(said, settings, finding):
    assert said(f"{TIME}, {settings}") == [finding]


def test_two_columns_of_time_are_answered_with_the_query_to_write(findings):
    text = f"{{{{ config({TIME}, updated_at_columns=['a', 'b']) }}}}\nselect 1 as id"

    assert findings({"models/s.sql": text}, hints=True)[0].endswith(
        "\n  hint: select greatest(a, b) as updated_at"
    )


def test_two_values_of_one_setting_contradict_each_other(said):
    nested = "snapshot={\n'updated_at_column': 'b'}"

    assert said(f"{TIME}, updated_at='id', {nested}") == [
        "2: error: conflicting-settings: updated_at is 'b' here and 'id' at line 1"
    ]


@pytest.mark.parametrize(
    "settings",
    [
        "unique_key='id', updated_at='Updated_At', snapshot={'updated_at_column': 'updated_at'}",
        "unique_key='id', primary_key=['ID'], updated_at='updated_at'",
        "unique_key=['id', 'value'], snapshot={'primary_key': ['VALUE', 'id']}, updated_at='id'",
    ],
)
def test_one_value_given_twice_is_fine(said, settings):
    assert said(f"{SNAPSHOT}, strategy='timestamp', {settings}") == []


def test_the_old_switch_for_deletes_may_not_contradict_the_new_setting(said):
    settings = "check_cols='value', hard_deletes='new_record', invalidate_hard_deletes=true"

    assert said(f"{CHECK}, {settings}") == [
        (
            "1: error: conflicting-settings: "
            "hard_deletes is 'invalidate' here and 'new_record' at line 1"
        )
    ]


def test_an_unknown_key_is_answered_with_the_nearest_and_nothing_else(findings):
    header = f"{{{{ config({SNAPSHOT}, unique_key='id', snapshot={{\n'strategey': 'check'}}) }}}}"

    assert findings({"models/s.sql": f"{header}\nselect 1 as id"}, hints=True) == [
        (
            "models/s.sql:2: error: unknown-key: unknown key 'strategey'\n"
            "  hint: did you mean 'strategy'?"
        )
    ]


def test_event_time_goes_with_timestamp_alone_and_without_comparing(said):
    event = "\nvalid_from='updated_at'"

    assert said(f"{CHECK}, check_cols='value', {event}") == [
        "2: error: option-conflict: valid_from 'updated_at' needs strategy 'timestamp'"
    ]
    assert said(f"{TIME}, updated_at='updated_at', compare_rows=true, {event}") == [
        "2: error: option-conflict: valid_from 'updated_at' and compare_rows exclude each other"
    ]


def test_an_entry_has_one_query(findings):
    config = "config: {strategy: check, unique_key: id, check_cols: all}"
    text = (
        "snapshots:\n"
        f"  - name: both\n    relation: ref('a')\n    sql: select 1\n    {config}\n"
        f"  - name: none\n    {config}\n"
        f"  - name: empty\n    sql: ' '\n    {config}\n"
    )

    assert findings({"models/s.yml": text}, hints=True) == [
        (
            "models/s.yml:2:5: error: bad-value: 'both' has both relation and sql\n"
            "  hint: give exactly one of both"
        ),
        (
            "models/s.yml:6:5: error: bad-value: 'none' has neither relation nor sql\n"
            "  hint: give exactly one of both"
        ),
        "models/s.yml:9:5: error: bad-value: sql is empty\n  hint: write a query",
    ]


def test_findings_of_a_query_in_yaml_stand_at_its_lines(findings):
    text = (
        "snapshots:\n"
        "  - name: s\n"
        "    sql: |\n"
        "      select id,\n"
        "        now() as value\n"
        "      from {{ ref('gone') }}\n"
        "    config:\n"
        "      strategy: check\n"
        "      unique_key: id\n"
        "      check_cols:\n"
        "        - value\n"
        "        - valeu\n"
        "  - name: t\n"
        "    relation: ref('s'\n"
        "    config: {strategy: check, unique_key: id, check_cols: all}\n"
    )

    assert findings({"models/s.yml": text}) == [
        (
            "models/s.yml:5: warning: volatile-change-column: "
            "'value' differs on every run; each run would open a version of every row"
        ),
        "models/s.yml:6: error: unknown-reference: no model is called 'gone'",
        "models/s.yml:10:7: error: column-not-selected: check_cols 'valeu' is not selected",
        "models/s.yml:14: error: template-syntax: unexpected '}', expected ')'",
    ]


def test_an_entry_may_not_take_the_name_of_a_file(findings):
    files = {
        "models/s.sql": "select 1 as id",
        "models/s.yml": (
            "snapshots:\n  - name: s\n    relation: ref('t')\n"
            "    config: {strategy: check, unique_key: id, check_cols: all}\n"
        ),
    }

    assert findings(files) == [
        "models/s.yml:2: error: duplicate-model: 's' is defined in models/s.sql and models/s.yml:2"
    ]


def test_an_entry_is_described_in_its_own_place(findings):
    text = (
        "snapshots:\n  - name: s\n    sql: select 1 as id, 2 as v\n"
        "    config: {strategy: check, unique_key: id, check_cols: v}\n"
        "models: [{name: s}]\n"
    )

    assert findings({"models/s.yml": text}) == [
        "models/s.yml:5:10: error: duplicate-key: 's' is described here and in models/s.yml:2"
    ]


def test_a_snapshot_is_a_query(findings):
    files = {
        "models/v.yml": "name: v\nmaterialized: snapshot\nversions: []\n",
        "models/m.yml": "models:\n  - name: m\n    config: {materialized: snapshot}\n",
    }

    assert findings(files) == [
        "models/m.yml:2:5: error: unknown-model: snapshot 'm' has no query",
        "models/v.yml:3:1: error: snapshot-needs-sql: snapshot 'v' must be a query",
    ]


def test_what_changes_by_itself_is_a_warning(load):
    query = "select id,\n  current_timestamp() as value"
    text = f"{{{{ config({CHECK}, check_cols='value') }}}}\n{query}"

    (warning,) = load({"models/s.sql": text}).findings

    assert warning.render() == (
        "models/s.sql:3: warning: volatile-change-column: "
        "'value' differs on every run; each run would open a version of every row\n"
        "  hint: compare other columns, or select this one from the source"
    )


def test_check_cols_has_no_effect_with_timestamp(said):
    assert said(f"{TIME}, updated_at='updated_at',\ncheck_cols='value'") == [
        (
            "2: warning: option-without-effect: "
            "check_cols has no effect on a snapshot with strategy timestamp"
        )
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("_PS_Valid_From", "rename it, or set system_columns.prefix"),
        ("_ps_row_hash", "rename it, or set system_columns.prefix"),
        ("__penstock_op", "rename it"),
    ],
)
def test_a_column_of_penstocks_name_is_refused(findings, name, hint):
    query = f"select *,\n  1 as {name} from t"
    text = f"{{{{ config({CHECK}, check_cols='value') }}}}\n{query}"

    assert findings({"models/s.sql": text}, hints=True) == [
        f"models/s.sql:3: error: reserved-column: column '{name}' is reserved\n  hint: {hint}"
    ]


def test_another_prefix_frees_the_names(said):
    settings = "check_cols='all', system_columns={'prefix': 'h_'}"

    assert said(f"{CHECK}, {settings}", "select id, 1 as _ps_valid_from from t") == []


def test_a_column_that_is_not_selected_is_found_at_its_key(findings):
    header = f"{{{{ config({TIME},\n  snapshot={{'updated_at': 'signup_dt'}}) }}}}"
    text = f"{header}\nselect id, signup_date from t"

    assert findings({"models/s.sql": text}, hints=True) == [
        (
            "models/s.sql:2: error: column-not-selected: updated_at 'signup_dt' is not selected\n"
            "  hint: did you mean 'signup_date'?"
        )
    ]


def test_all_needs_a_column_besides_the_key(said):
    assert said(f"{CHECK},\ncheck_cols='all'", "select id from t") == [
        (
            "2: error: check-cols-missing: "
            "check_cols 'all' leaves nothing to compare: every selected column is a key"
        )
    ]


@pytest.mark.parametrize(
    ("header", "finding"),
    [
        (
            "unique_key='id', snapshot={'strategy': 'check'}",
            (
                "1: error: snapshot-settings-without-snapshot: "
                "snapshot is a setting of snapshots, and 's' is none"
            ),
        ),
        (
            "materialized='table',\nupdated_at='a', compare_rows=true",
            (
                "2: error: snapshot-settings-without-snapshot: "
                "updated_at is a setting of snapshots, and 's' is none"
            ),
        ),
        (
            "materialised='snapshot', strategy='check'",
            "1: error: unknown-key: unknown key 'materialised'",
        ),
    ],
)
def test_settings_of_a_snapshot_on_another_model(said, header, finding):
    assert said(header) == [finding]


def test_defaults_for_snapshots_harm_no_other_model(findings):
    files = {
        "penstock.yml": "name: shop\ndefaults: {hard_deletes: invalidate, strategy: check}\n",
        "models/a.sql": "select 1 as id",
    }

    assert findings(files) == []


def test_defaults_may_not_contradict_themselves(findings):
    project = "name: shop\ndefaults:\n  unique_key: a\n  snapshot:\n    primary_key: b\n"

    assert findings({"penstock.yml": project}) == [
        "penstock.yml:5:5: error: conflicting-settings: unique_key is 'b' here and 'a' at line 3"
    ]


def test_a_column_that_delta_refuses_is_found_at_its_line_in_every_stored_model(findings):
    query = "select id,\n  price as `unit price` from t"
    files = {
        f"models/{name}.sql": f"{{{{ config({header}) }}}}\n{query}"
        for name, header in {
            "a": "materialized='table'",
            "b": f"{CHECK}, check_cols='all'",
            "c": "materialized='view'",
            "d": "materialized='table', table_properties={'delta.columnMapping.mode': 'name'}",
        }.items()
    }

    assert findings(files, hints=True) == [
        f"models/{name}.sql:3: error: column-name: "
        "Delta refuses the name of column 'unit price': it has a space\n"
        "  hint: rename it, or set table_properties: {'delta.columnMapping.mode': 'name'}"
        for name in "ab"
    ]


def test_the_columns_of_dbt_are_named_once_and_end_at_one_fixed_time(said):
    layout = f"{CHECK}, check_cols='all', layout='dbt'"

    assert said(f"{CHECK}, check_cols='all', dbt_valid_to_current='now()'") == [
        "1: warning: option-without-effect: dbt_valid_to_current has no effect without layout: dbt"
    ]
    assert said(f"{layout}, dbt_valid_to_current='current_timestamp()'") == [
        (
            "1: error: bad-value: dbt_valid_to_current 'current_timestamp()' is not SQL for one "
            "fixed time"
        )
    ]
    assert said(f"{layout}, snapshot_meta_column_names={{'dbt_valid_to': 'dbt_valid_from'}}") == [
        "1: error: bad-value: snapshot_meta_column_names names two columns alike"
    ]
    assert said(f"{layout}, system_columns={{'prefix': 'x_'}}") == [
        "1: warning: option-without-effect: system_columns has no effect with layout: dbt"
    ]


@pytest.mark.parametrize(
    ("query", "mixing"),
    [
        ("select a.id, b.value from t a join u b on a.id = b.id", "a join"),
        ("select id, max(value) as value from t group by id", "GROUP BY"),
        ("select id, value from t where id in (select id from u)", "several tables"),
        ("select id, value from t order by id", "ORDER BY"),
    ],
)
def test_a_change_feed_needs_rows_that_each_come_from_one_row(said, query, mixing):
    header = f"{CHECK}, check_cols='value',\nchange_feed=true"

    assert said(header, "with s as (select * from t) select id, upper(value) as value from s") == []
    assert said(header, query) == [
        (
            "2: error: option-conflict: "
            f"change_feed needs a query whose rows each come from one row; it has {mixing}"
        )
    ]
