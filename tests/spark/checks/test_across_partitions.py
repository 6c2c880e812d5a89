"""Checks that look beyond the partition of a step: at other partitions, and at earlier values."""

import json

import pytest

from fakes.check_place import EVENTS, P1, P2, P3, PROJECT, STATS_YAML, CheckPlace, after
from penstock.app.checking.flags import accept

pytestmark = pytest.mark.matrix

SQL = (
    "SELECT DATE(created_at) AS date, user_count AS id, CAST(revenue AS BIGINT) AS parent "
    "FROM raw.events WHERE DATE(created_at) = @partition_date"
)
PARENT = {"type": "relationships", "column": "parent", "to": "user_stats", "field": "id"}


def a_tree(place, on_failure):
    checks = {"on_failure": on_failure, "after": [PARENT]}
    place.write(
        {
            STATS_YAML: "name: user_stats\n"
            "destination: {dataset: analytics, table: user_stats, "
            "partition: {field: date, type: DAY}}\n"
            f"checks: {json.dumps(checks)}\n"
            "versions:\n  - version: 1\n    effective_from: 2024-12-01\n"
            f'    sql: "{SQL}"\n'
            "    schema: [{name: date, type: DATE}, {name: id, type: BIGINT}, "
            "{name: parent, type: BIGINT}]\n"
        }
    )


@pytest.mark.parametrize("on_failure", ["flag", "block", "rollback"])
def test_a_parent_may_be_in_another_partition_of_the_own_table(spark, tmp_path, on_failure):
    place = CheckPlace(tmp_path, spark, PROJECT)
    a_tree(place, on_failure)
    place.events([(P1, "x", 1, None), (P1, "x", 2, 3.0), (P2, "x", 3, 1.0), (P3, "x", 4, 9.0)])

    together = place.backfill("user_stats", P1, P2)
    alone = place.on(P3)
    place.events([(P2, "x", 9, None)])
    mended = place.backfill("user_stats", P2, P3)

    assert after(together) == {"relationships_parent": "passed every row has a partner"}
    assert after(alone)["relationships_parent"].startswith("failed 1 row without a partner")
    assert after(mended) == {"relationships_parent": "passed every row has a partner"}
    assert set(place.statuses().values()) == {"SUCCESS"}


def test_a_level_that_block_holds_back_becomes_usual_when_it_is_published_and_accepted(
    spark, tmp_path
):
    place = CheckPlace(tmp_path, spark, PROJECT)
    usual = {"type": "anomaly", "min_history": 2, "last": 3}
    place.events(EVENTS)
    select = "SELECT * FROM {{ source('raw', 'events') }}"
    place.model("m/copy", select, usual, on_failure="block", materialized="table")

    def run(**asked):
        report = place.run("copy", **asked)
        return after(report, "copy")["anomaly"].partition(",")[0]

    told = [run()]
    for rows in (EVENTS[:1], EVENTS[:1]):
        place.events([*EVENTS, *rows], "overwrite")
        told.append(run())
    place.events([*EVENTS] * 10, "overwrite")
    told += [run(), run()]
    published = place.run("copy", on_failure="flag")
    (flag,) = place.flags()
    place.with_shop(lambda services: accept(services, flag.step, "more shops"))
    for extra in (EVENTS[:1], EVENTS[:2]):
        place.events([*[*EVENTS] * 10, *extra], "overwrite")
        told.append(run(on_failure="flag"))

    assert told == [
        "passed rows 6",
        "passed rows 7",
        "passed rows 7",
        "failed rows 60 > 10.5",
        "failed rows 60 > 10.5",
        "passed rows 61",
        "passed rows 62",
    ]
    assert published["copy"].status == "failed"
