"""A table of days that was built, then lost its log, its files or its place: no JVM is needed."""

import datetime as dt
import shutil
from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from fakes import stranger
from fakes.drift_place import DriftPlace
from fakes.services import ME, an_intent
from penstock.app.execution.recover import rebuild
from penstock.app.observation.log_reader import note_written
from penstock.app.planning.make_plan import make_plan
from penstock.app.request import RunRequest
from penstock.core.errors import TableError
from penstock.core.steps.inputs import DeltaPin
from penstock.core.steps.step import Outcome
from penstock.core.steps.token import write_token
from penstock.ui.commands.status import status_text

FILES = {
    "penstock.yml": "name: stats\nmodels: [queries]\n",
    "queries/sources.yml": """\
sources:
  - {name: raw, tables: [{name: events, path: ../lake/raw/events}]}
""",
    "queries/daily.yaml": """\
name: daily
destination: {dataset: s, table: daily, partition: {field: date, type: DAY}}
versions:
  - version: 1
    effective_from: 2024-12-14
    sql: >
      SELECT DATE(created_at) AS date, 1 AS n FROM raw.events
      WHERE DATE(created_at) = @partition_date
    schema: [{name: date, type: DATE}, {name: n, type: INT64}]
""",
    "queries/other.sql": "{{ config(materialized='table', schema='s') }}\nselect 1 as id\n",
}
DAYS = [dt.date(2024, 12, day) for day in (14, 15, 16)]
TABLE = "warehouse/s/daily"


def write_days(uri, token: str) -> None:
    """Make the table of days in one commit with a token."""
    write_deltalake(
        str(uri),
        pa.table({"date": pa.array(DAYS, pa.date32()), "n": pa.array([1, 1, 1], pa.int64())}),
        partition_by=["date"],
        mode="overwrite",
        configuration={"delta.logRetentionDuration": "interval 0 seconds"},
        commit_properties=CommitProperties(custom_metadata={"userMetadata": token}),
    )


@pytest.fixture
def place(tmp_path):
    """Leave what a run of the three days leaves."""
    stranger.append_event(tmp_path, "u1", "2024-12-14 08:00:00")
    place = DriftPlace(tmp_path, files=FILES)
    place.with_shop(build)
    return place


def build(services, step: str = "step-1", after: int | None = None, sql: str = "") -> None:
    """Write the days as a step of the project does, and record it with its SQL."""
    model = services.project.models["daily"]
    pin = DeltaPin(DeltaTable(f"{services.project.root}/lake/raw/events").metadata().id, 0)
    intent = replace(
        an_intent(model, raw__events=pin),
        step=step,
        base_version=after,
        uri=services.project.uri_of(model.table),
        fingerprint=model.versions[0].bodies[0].fingerprint,
        partitions=("2024-12-14..2024-12-16",),
        grid=model.grid,
    )
    journal = services.writing.journal
    begun = journal.begin(intent, {intent.fingerprint.sql: sql} if sql else {}, ME, None)
    store = services.writing.archive.store_id()
    token = write_token(replace(intent, step_seq=begun.step_seq), "0.1.0", store, "stats")
    write_days(intent.uri, token)
    table = DeltaTable(intent.uri)
    journal.finish(intent.step, Outcome(table.version(), table.metadata().id, table.version()))
    services.writing.leases.unlock(str(model.table))
    note_written(services, ["daily"])


def told(place) -> str:
    return status_text(place.status("daily"))


def plan(place):
    return place.with_shop(lambda services: make_plan(services, RunRequest()).plan)


def test_three_days_that_were_built_are_current(place):
    assert told(place) == "All current ✓"


def test_a_log_that_was_cleaned_up_past_the_records_is_told_and_the_days_are_current(place):
    for _ in range(2):
        stranger.set_property(place.root / TABLE, "delta.appendOnly", "false")
    stranger.clean_log(place.root / TABLE)

    notes = place.with_shop(lambda services: make_plan(services, RunRequest()).notes)

    gap = "log-gap: version 1 of the Delta log of s.daily is missing; its changes are unknown"
    assert told(place) == f"daily: current (3 partitions)\n    {gap}\n\nAll current ✓"
    assert f"daily: {gap}" in notes
    assert [step.model for step in plan(place).steps] == ["other"]


def test_a_damaged_log_stops_the_days_and_not_the_other_model(place):
    stranger.set_property(place.root / TABLE, "delta.appendOnly", "false")
    (place.root / TABLE / "_delta_log" / f"{1:020d}.json").write_text("{")

    made = plan(place)

    assert told(place) == (
        "daily: unreadable\n"
        "    log-unreadable: version 1 of the Delta log in "
        f"{place.root / TABLE}/_delta_log is damaged\n"
        "\n"
        "1 of 3 partitions drifted. Next: penstock plan"
    )
    assert [(each.model, each.error.code) for each in made.blocked] == [("daily", "log-unreadable")]
    assert [step.model for step in made.steps] == ["other"]
    assert [(each.model, each.error.code) for each in synced(place).blocked] == [
        ("daily", "log-unreadable")
    ]


def synced(place):
    return place.preview().plan


def test_a_damaged_log_of_a_source_is_told_of_the_days_that_read_it(place):
    log = place.root / "lake/raw/events/_delta_log" / f"{0:020d}.json"
    log.write_text("{")

    made = plan(place)

    assert told(place).startswith(
        "daily: unreadable (3 partitions)\n"
        "    2024-12-14 to 2024-12-16   unreadable   log-unreadable: the Delta log of "
    )
    assert [(each.model, each.error.code) for each in made.blocked] == [("daily", "log-unreadable")]
    assert [step.model for step in made.steps] == ["other"]


def theirs(project: str) -> str:
    return f'{{"penstock":"1","store":"store-2","project":"{project}","step":"x","run":"r"}}'


@pytest.mark.parametrize(
    ("project", "way"),
    [
        ("billing", "or the target another warehouse"),
        ("stats", "or name that store's database as `state` of the target"),
    ],
)
def test_the_table_of_another_store_at_the_same_version_is_tampered(place, project, way):
    shutil.rmtree(place.root / TABLE)
    write_days(place.root / TABLE, theirs(project))

    made = plan(place)

    assert told(place) == (
        "daily: tampered (3 partitions)\n"
        "    2024-12-14 to 2024-12-16   tampered   another table took its place, "
        f"of project '{project}' (state store store-2)\n"
        f"    table-of-another-store: s.daily is written by project '{project}' "
        "(state store store-2), whose records are not those of this one: give it another schema "
        f"or alias, {way}, or take the table from them, if they no longer write it: "
        "penstock run --select daily --full-refresh --adopt\n"
        "\n"
        "3 of 3 partitions drifted. Next: penstock run --select daily --full-refresh --adopt"
    )
    assert [(each.model, each.error.code) for each in made.blocked] == [
        ("daily", "table-of-another-store")
    ]


def test_a_strangers_table_at_the_same_version_is_foreign(place):
    shutil.rmtree(place.root / TABLE)
    write_days(place.root / TABLE, "")

    assert "daily: foreign_table" in told(place)
    assert [(each.model, each.error.code) for each in plan(place).blocked] == [
        ("daily", "foreign-table")
    ]


def test_days_of_another_project_are_refused_by_name_and_stay_refused_after_a_rebuild(place):
    (place.root / ".penstock").rename(place.root / "their.penstock")
    place.edit("penstock.yml", "name: stats", "name: billing")

    before = plan(place).blocked
    found = place.with_shop(rebuild)
    after = plan(place).blocked

    assert [each.error.code for each in before + after] == ["table-of-another-store"] * 2
    assert found.steps == 0


def test_days_of_this_project_are_known_again_after_a_rebuild(place):
    (place.root / ".penstock").rename(place.root / "lost.penstock")
    assert plan(place).blocked[0].error.code == "unrecorded"

    found = place.with_shop(rebuild)

    assert (found.steps, told(place)) == (1, "All current ✓")


def test_rows_of_another_store_in_our_table_are_theirs_until_they_are_taken(place):
    write_days(place.root / TABLE, theirs("stats"))

    asked = {"select": ("daily",), "full_refresh": True}
    refused = place.with_shop(lambda services: make_plan(services, RunRequest(**asked)).plan)
    taken = place.with_shop(
        lambda services: make_plan(services, RunRequest(**asked, adopt=True)).plan
    )

    (error,) = [each.error for each in refused.blocked]
    assert error.code == "table-of-another-store"
    assert error.hint == (
        "give it another schema or alias, or name that store's database as `state` of the target, "
        "or take the table from them, if they no longer write it: "
        "penstock run --select daily --full-refresh --adopt"
    )
    assert [(step.model, step.count) for step in taken.steps] == [("daily", 3)]


def test_a_rollback_takes_nothing_back_that_another_store_wrote(place):
    place.with_shop(lambda services: build(services, "step-2", 0))
    write_days(place.root / TABLE, theirs("billing"))

    with pytest.raises(TableError) as caught:
        place.rollback("daily", "step-2", include_foreign=True)

    assert caught.value.code == "table-of-another-store"
    assert DeltaTable(str(place.root / TABLE)).version() == 2


def test_a_rollback_after_a_rebuild_says_why_steps_of_the_lost_store_stay(place):
    place.with_shop(lambda services: build(services, "step-2", 0))
    (place.root / ".penstock").rename(place.root / "lost.penstock")
    place.with_shop(rebuild)

    with pytest.raises(TableError) as caught:
        place.rollback("daily", "step-2", include_foreign=True)

    assert caught.value.code == "rollback-rebuilt"
    assert "whose records were rebuilt from the log" in caught.value.sentence
    assert "penstock run --select daily --full-refresh" in caught.value.hint
