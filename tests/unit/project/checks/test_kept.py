from __future__ import annotations

import pickle
import re
from dataclasses import replace

import pytest

from fakes.check_projects import PATH, user_stats
from penstock.project.load import load_project

ORDERS = {
    "models/orders.sql": "select 1 as customer",
    "models/orders.yml": (
        "models:\n  - name: orders\n"
        "    checks: [{type: relationships, column: customer, to: customers, field: id}]\n"
    ),
}


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

    cache = (tmp_path / ".penstock/cache/parse.jsonl").read_text()
    assert texts == ["a > 31415", "a > 31415", "a > 27182"]
    assert "31415" not in cache
    assert len(cache) > 100


def test_damage_in_kept_checks_is_thrown_away(tmp_path):
    write(tmp_path, {**ORDERS, "models/customers.sql": "select 1 as id"})
    cold = load_project(tmp_path, environ={})
    path = tmp_path / ".penstock/cache/parse.jsonl"
    whole = path.read_text()
    packed = sorted(set(re.findall(r'"(eJ[A-Za-z0-9+/]{40,}=*)"', whole)))

    for text in packed:
        path.write_text(whole.replace(text, f"{text[:20]}xyz{text[23:]}"))
        path.with_name("project.bin").unlink()
        assert load_project(tmp_path, environ={}) == cold

    assert len(packed) == 2
