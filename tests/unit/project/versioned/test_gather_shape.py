from __future__ import annotations

import datetime as dt
import hashlib

from fakes.fixture_f import DAILY, FIXTURE_F, WEEKLY
from fakes.versioned_cases import daily, meaning
from penstock.core.partitions.partition import Grain, Grid
from penstock.strategies.partition import Partition

ALIASES = {
    "dataset:": "schema:",
    "table:": "name:",
    "sql:": "source:",
    "INT64": "bigint",
    "sql_revisions:": "revisions:",
}


def test_alias_keys_give_an_equal_project(load):
    aliased = dict(FIXTURE_F)
    for path in (DAILY, WEEKLY):
        for word, alias in ALIASES.items():
            aliased[path] = (
                aliased[path]
                .replace(f"  {word}", f"  {alias}")
                .replace(f" {word}\n", f" {alias}\n")
            )
        aliased[path] = aliased[path].replace("${{ versions.1.source", "${{ versions.1.schema")

    assert aliased[DAILY] != FIXTURE_F[DAILY]
    assert meaning(load(aliased)) == meaning(load(FIXTURE_F))


def test_every_key_of_a_model_arrives(load):
    more = (
        "description: Users by day.\nowner: ann\ntags: [core]\nmeta: {team: web}\n"
        "start: 2024-02-01\nready_after: 90m\nbatch_size: 7\nimmutable: true\n"
    )

    model = load(daily(more=more)).models["daily"]

    assert model.strategy == Partition(
        "date",
        "date",
        Grid(Grain.DAY),
        dt.date(2024, 2, 1),
        dt.timedelta(minutes=90),
        7,
    )
    assert (model.description, model.tags, model.immutable) == ("Users by day.", ("core",), True)
    assert model.config == {
        "materialized": "partition",
        "description": "Users by day.",
        "owner": "ann",
        "tags": "core",
        "meta.team": "web",
    }
    assert [(c.name, c.type) for c in model.columns] == [("date", "date"), ("users", "bigint")]


def test_the_checksum_of_the_yaml_is_that_of_all_its_files(load):
    files = daily(
        "schema:\n      - {name: date, type: DATE}", "schema:\n      - ${{ file: d.yml }}"
    )
    files["models/d.yml"] = "name: date\ntype: DATE\n"

    mark = load(files).models["daily"].fingerprint

    both = files["models/daily.yaml"] + files["models/d.yml"]
    assert mark.yaml == hashlib.sha256(both.encode()).hexdigest()
