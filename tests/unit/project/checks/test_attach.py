"""Checks and the rest of a project: settings, sources, order, fingerprints, the cache."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace

import pytest

from fakes.check_projects import PATH, user_stats
from penstock.core.checks import Checks, CheckSettings, OnFailure
from penstock.core.names import InputKind, InputName
from penstock.project import load_project

ORDERS = {
    "models/orders.sql": "select 1 as customer",
    "models/orders.yml": (
        "models:\n  - name: orders\n"
        "    checks: [{type: relationships, column: customer, to: customers, field: id}]\n"
    ),
}


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
            "checks.on_failure is 'stop'; it must be one of flag, block or rollback",
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
            "models/m.sql:1: error: reserved-name: model m lies in penstock_staging, "
            "where staging files are"
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


def test_C9_what_a_check_reads_is_built_first(load):
    models = load({**ORDERS, "models/customers.sql": "select 1 as id"}).models

    assert {name: each.order_after for name, each in models.items()} == {
        "customers": (),
        "orders": ("customers",),
    }
    assert models["orders"].depends_on == ()


def test_C9_an_order_that_closes_a_cycle_is_dropped_and_told(load):
    project = load({**ORDERS, "models/customers.sql": "select customer as id from shop.orders"})

    assert [each.order_after for each in project.models.values()] == [(), ()]
    assert [str(each) for each in project.findings] == [
        (
            'models/orders.yml:3:14: info: check-order-dropped: check "relationships_customer" '
            "reads customers, which is built after orders: it reads what is there"
        )
    ]


def test_C9_a_cycle_of_orders_alone_loses_its_last_edge(load):
    yaml = "models:\n"
    for one, other in (("a", "b"), ("b", "a")):
        yaml += f"  - name: {one}\n    checks: [{{name: c, sql: 'select 1 from shop.{other}'}}]\n"
    files = {"models/a.sql": "select 1 as x", "models/b.sql": "select 1 as x"}

    models = load({**files, "models/any.yml": yaml}).models

    assert {name: each.order_after for name, each in models.items()} == {"a": ("b",), "b": ()}


def test_a_table_that_the_model_reads_anyway_is_no_order_edge(load):
    yaml = "models:\n  - name: n\n    checks: {before: [{type: row_count, min: 1, input: m}]}\n"
    files = {"models/m.sql": "select 1 as a", "models/n.sql": "select a from shop.m"}

    assert load({**files, "models/n.yml": yaml}).models["n"].order_after == ()


def test_C8_checks_are_in_no_fingerprint(apart):
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


def test_C8_checks_of_a_version_change_nothing_but_the_recorded_checksum_of_its_file(apart):
    bare, full = (
        apart(files).models["user_stats"].fingerprint
        for files in (user_stats(), user_stats("{type: row_count, min: 1}"))
    )

    assert replace(full, yaml="") == replace(bare, yaml="")


CHECKS = (
    "{type: row_count, min: 1}",
    "{name: s, sql: checks/s.sql}",
    "{type: unique, column: date}",
)


def write(root, files):
    for name, text in {"penstock.yml": "name: shop\n", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_a_warm_load_gives_the_checks_of_a_cold_one(tmp_path):
    beside = {**ORDERS, "models/customers.sql": "select 1 as id"}
    files = user_stats(*CHECKS, **{"models/checks/s.sql": "select 1 from {destination}"}) | beside
    write(tmp_path, files)

    cold, warm, again = (load_project(tmp_path, environ={}) for _ in range(3))

    assert cold == warm == again
    assert warm.models["orders"].order_after == ("customers",)
    checks = warm.models["user_stats"].checks
    assert pickle.loads(pickle.dumps(checks)) == checks  # noqa: S301  our own value
    assert replace(checks, on_failure=None) == replace(cold.models["user_stats"].checks)
    assert len(warm.findings) == 1  # check-not-partitioned


@pytest.mark.parametrize(
    ("path", "old", "new", "says"),
    [
        ("models/checks/s.sql", "select 1", "delete 1", "not-a-query"),
        ("models/user_stats.v1.sql", "region, ", "", None),
        (PATH, "{name: date, type: DATE}", "{name: date, type: STRING}", "partition-type-mismatch"),
        (PATH, "column: date}", "column: dat}", "unknown-column"),
    ],
)
def test_a_warm_load_sees_what_changed(tmp_path, path, old, new, says):
    files = user_stats(*CHECKS, **{"models/checks/s.sql": "select 1 from {destination}"})
    write(tmp_path, files)
    load_project(tmp_path, environ={})
    write(tmp_path, {path: files[path].replace(old, new)})

    assert says is None or says in said_by(tmp_path)
    assert said_by(tmp_path) == said_by(tmp_path, use_cache=False)


def said_by(root, **how):
    try:
        found = load_project(root, environ={}, **how).findings
    except Exception as error:  # noqa: BLE001  a ProjectError, shown
        found = error.findings
    return " ".join(map(str, found))


def test_a_check_sees_when_a_table_that_it_names_changed(tmp_path):
    write(tmp_path, {**ORDERS, "models/customers.sql": "select 1 as id"})
    load_project(tmp_path, environ={})
    write(tmp_path, {"models/customers.sql": "select 1 as di"})

    assert "no column is called 'id'" in said_by(tmp_path)


def test_values_of_the_environment_are_in_no_file(tmp_path):
    yaml = (
        "models:\n  - name: m\n    checks:\n"
        "      - {name: low, type: column_check, column: a, check: \"a > {{ env_var('LOW') }}\"}\n"
    )
    write(tmp_path, {"models/m.sql": "select 1 as a", "models/m.yml": yaml})

    texts = [
        load_project(tmp_path, environ={"LOW": low}).models["m"].checks.after[0].rule.condition.text
        for low in ("31415", "31415", "27182")
    ]

    cache = (tmp_path / ".penstock/cache/parse.json").read_text()
    assert texts == ["a > 31415", "a > 31415", "a > 27182"]
    assert "31415" not in cache
    assert len(cache) > 100


def test_damage_in_kept_checks_is_thrown_away(tmp_path):
    write(tmp_path, {**ORDERS, "models/customers.sql": "select 1 as id"})
    cold = load_project(tmp_path, environ={})
    path = tmp_path / ".penstock/cache/parse.json"
    whole = path.read_text()
    packed = sorted(set(re.findall(r'"([0-9a-f]{8}eJ[A-Za-z0-9+/]{40,}=*)"', whole)))

    for text in packed:
        path.write_text(whole.replace(text, f"{text[:20]}xyz{text[23:]}"))
        assert load_project(tmp_path, environ={}) == cold

    assert len(packed) == 2
