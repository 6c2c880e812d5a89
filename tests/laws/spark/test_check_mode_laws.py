"""Laws 2, 4 and 5: many partitions in a step, what modes leave alone."""

import itertools

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from fakes.check_place import P1, P2, P3, P4, STATS, STATS_SQL, STATS_YAML, CheckPlace

deep = settings.default.max_examples > 100
rigour = settings(
    max_examples=25,
    phases=tuple(Phase) if deep else (Phase.explicit,),
    suppress_health_check=list(HealthCheck),
)
COUNTER = itertools.count()
DAYS = (P1, P2, P3, P4)
PER_DAY = {
    "name": "one_region",
    "sql": "SELECT region FROM {destination} WHERE date = @partition_date AND region = 'xx'",
}
CHECKS = (
    {"type": "row_count", "min": 1},
    {"type": "value_range", "column": "revenue", "min": 0},
    {"type": "unique", "column": "region"},
    {"type": "null_percentage", "column": "user_count", "max_percentage": 50},
    PER_DAY,
)

ROW = st.tuples(
    st.sampled_from(("eu", "us", "xx", None)),
    st.sampled_from((1, 2, None)),
    st.sampled_from((-1.5, 0.0, 7.0, None)),
)
DELIVERY = st.tuples(*(st.lists(ROW, max_size=3) for _ in DAYS)).map(
    lambda days: [(day, *row) for day, rows in zip(DAYS, days, strict=True) for row in rows]
)
MIXED = [
    (P1, "eu", 1, 7.0),
    (P1, "us", None, 0.0),
    (P2, "xx", 1, -1.5),
    (P4, "eu", 2, 7.0),
    (P4, "eu", 2, None),
]
"""A day that passes, one that fails two checks, an empty one, and one with a repeated region."""


@pytest.fixture(scope="module")
def place_of(tmp_path_factory, spark):
    """Make places of fixture S with other events."""
    root = tmp_path_factory.mktemp("modes")

    def make(events):
        place = CheckPlace(root / str(next(COUNTER)), spark)
        place.events(events, "overwrite")
        return place

    return make


def left(place):
    """Give rows and records by day; steps and versions differ by nature."""
    marks = place.stored(lambda store: store.records.fingerprints())
    records = {
        day: (run.status, run.fingerprint and marks[run.fingerprint].label, run.holds_rows)
        for day, run in place.partitions().items()
    }
    rows = place.rows() if place.version(STATS) > 0 else []
    flags = [(flag.partition, flag.checks) for flag in place.flags()]
    return rows, records, flags, place.quarantined()


def values(*reports):
    """Give what was measured, by check and day."""
    return {
        (result.name, value.group): (value.status, value.message, dict(value.values))
        for report in reports
        for result in report["user_stats"].invariant_report.after
        for value in result.values
    }


@pytest.mark.matrix
@rigour
@example(events=MIXED, mode="block")
@given(events=DELIVERY, mode=st.sampled_from(("flag", "block")))
def test_one_step_of_many_partitions_is_many_steps_of_one(place_of, events, mode):
    together, apart = place_of(events), place_of(events)
    for place in (together, apart):
        place.checks(*CHECKS, on_failure=mode)

    one = together.backfill("user_stats", P1, P4)
    many = [apart.on(day) for day in DAYS]

    assert values(one) == values(*many)
    assert left(together) == left(apart)


@rigour
@example(old=[(P2, "eu", 1, 1.0), (P4, "us", 1, 1.0)], new=MIXED)
@given(old=DELIVERY, new=DELIVERY)
def test_a_block_changes_the_partitions_that_passed_and_no_other_row(place_of, old, new):
    place = place_of(old)
    place.backfill("user_stats", P1, P4)
    before = by_day(place.rows())
    place.events(new, "overwrite")
    place.checks(*CHECKS, on_failure="block")

    place.backfill("user_stats", P1, P4)

    staged = by_day([tuple(None if v is None else str(v) for v in row) for row in new])
    statuses = place.statuses()
    wanted = {
        day: staged.get(day, []) if statuses[day] == "SUCCESS" else before.get(day, [])
        for day in DAYS
    }
    assert {day: by_day(place.rows()).get(day, []) for day in DAYS} == wanted
    failed = [row for day in DAYS if statuses[day] == "FAILED" for row in staged.get(day, [])]
    assert place.quarantined() == sorted(failed, key=str)
    assert place.staged() == []


NEVER = {"name": "never", "sql": "SELECT 1 AS always"}
EDITS = {
    "nothing": (),
    "comment": ((STATS_YAML, "name: user_stats\n", "name: user_stats\ndescription: All\n"),),
    "column comment": (
        (
            STATS_YAML,
            "{name: region, type: STRING}",
            "{name: region, type: STRING, description: R}",
        ),
    ),
    "column": (
        (STATS_YAML, "type: DOUBLE}", "type: DOUBLE}\n      - {name: more, type: STRING}"),
        (STATS_SQL, "revenue\n", "revenue, 'm' AS more\n"),
    ),
}


@pytest.mark.matrix
@rigour
@example(old=MIXED, new=[(P1, "eu", 1, 7.0), (P3, "eu", 1, -1.5)], edit="comment")
@given(old=DELIVERY, new=DELIVERY, edit=st.sampled_from(sorted(EDITS)))
def test_a_rollback_leaves_rows_schema_and_properties_as_they_were(place_of, old, new, edit):
    place = place_of(old)
    place.backfill("user_stats", P1, P4)
    before = described(place)
    place.events(new, "overwrite")
    place.checks(NEVER, on_failure="rollback")
    for file, written, instead in EDITS[edit]:
        place.edit(file, written, instead)

    report = place.backfill("user_stats", P1, P4)

    assert not report.succeeded
    assert described(place) == before
    assert set(place.statuses().values()) == {"FAILED"}
    assert place.flags() == ()


def described(place):
    """Give rows, columns, properties and comment of the table."""
    table = place.table(STATS)
    (detail,) = place.sql(f"DESCRIBE DETAIL {table}")
    columns = place.sql(f"DESCRIBE TABLE {table}")
    return place.rows(), columns, place.sql(f"SHOW TBLPROPERTIES {table}"), detail[3]


def by_day(rows):
    found = {}
    for row in sorted(rows, key=str):
        found.setdefault(row[0], []).append(row)
    return found
