"""Full refresh, and what a run says of tables that changed."""

import pytest

from penstock.core.errors import PartitionSchemaError


def by_date(place, **options):
    """Declare `events_d`; its `partition_by` may change."""
    from pyspark.sql import functions as F  # noqa: N812  the name that everybody knows

    @place.app.incremental_table(time_column="ts", **options)
    def events(raw_logs):
        return raw_logs.select("id", "ts", "user", "amount", F.to_date("ts").alias("date"))

    return events


@pytest.mark.matrix
def test_a_full_refresh_replaces_and_doubles_nothing(events):
    events.app.run()

    result = events.app.run(full_refresh=True)["events"]

    assert (result.rows.inserted, result.rows.deleted, result.version) == (4, 4, 1)
    assert (result.kind, events.commits("events")) == ("full", 2)
    assert events.ids("events") == [1, 2, 3, 4]


@pytest.mark.matrix
def test_a_full_refresh_may_lower_the_watermark(events):
    before = events.app.run()["events"]
    events.spark.sql(f"DELETE FROM delta.`{events.path}` WHERE id > 2")

    result = events.app.run(full_refresh=True)["events"]

    assert events.ids("events") == [1, 2]
    assert [each.df.count() for each in (before, result)] == [4, 2]
    assert [each.value.text for each in result.watermarks] == ["2025-01-15T18:00:00.000000Z"]


@pytest.mark.matrix
def test_a_partition_that_is_gone_is_gone_after_a_full_refresh(place):
    place.source(1, 2, 3, 4)
    events = by_date(place, partition_by="date", partition_mode="overwrite")
    place.app.run()
    place.spark.sql(f"DELETE FROM delta.`{place.path}` WHERE id > 2")

    place.app.run(full_refresh=True)

    assert events.partitions() == [{"date": "2025-01-15"}]
    assert place.ids("events") == [1, 2]


@pytest.mark.matrix
def test_other_partitions_need_a_full_refresh(place):
    place.source(1, 2, 3, 4)
    events = by_date(place, partition_by="date")
    place.app.run()
    before = place.rows("events")
    events.options["partition_by"] = ["user", "date"]

    with pytest.raises(PartitionSchemaError) as caught:
        place.app.run()
    version = events.get_meta().version
    place.app.run(full_refresh=True)

    assert caught.value.code == "partition-schema"
    assert caught.value.sentence == (
        "'events' is partitioned by [date], the code says [user, date]"
    )
    assert caught.value.hint == "run with full_refresh=True (--full-refresh) to rewrite the table"
    assert (version, place.commits("events")) == (0, 2)
    assert [*events.partitions()[0]] == ["user", "date"]
    assert place.rows("events") == before


def test_a_dry_run_of_a_fresh_project_touches_nothing(place):
    calls = []
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        calls.append("events")
        return raw_logs.select("id", "ts")

    before = sorted(place.root.rglob("*"))
    report = place.app.run(dry_run=True)

    after = [each for each in place.root.rglob("*") if each not in before]
    assert [(r.name, r.status) for r in report.steps] == [
        ("raw_logs", "planned"),
        ("events", "planned"),
    ]
    assert (calls, report.dry_run) == ([], True)
    assert [each for each in after if "cache" not in str(each)] == []
