"""A history out of the versions that a source still has, over a lake in memory."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.builders import a_model, a_source
from fakes.clock import NOON
from fakes.lake_session import FakeSession
from fakes.place import statuses
from fakes.workshop import Workshop
from penstock.app.commands.snapshot_backfill import snapshot_backfill
from penstock.app.read_requests import HistoryBackfillRequest
from penstock.app.request import SnapshotRequest
from penstock.core.errors import DataError, UsageError
from penstock.core.history import ColumnsDiffer
from penstock.core.records import Status
from penstock.strategies.history.snapshot import Snapshot

EVENTS = a_source("events")
OTHERS = a_source("others")
CHECK = Snapshot(("id",), ColumnsDiffer(None))
USERS = a_model("users", "raw.events", strategy=CHECK)


def landed(*parts, versions=4):
    """A workshop whose source has some versions, one a second from noon on; it is evening now."""
    workshop = Workshop(*(parts or (EVENTS, USERS)))
    for _ in range(versions - 1):
        workshop.lake.land(EVENTS.path)
    workshop.clock.advance(hours=6)
    return workshop


def filled(workshop, **asked):
    return snapshot_backfill(workshop.services(), HistoryBackfillRequest(".", "users", **asked))


def snapped(workshop, as_of):
    return workshop.run(snapshot=SnapshotRequest(), as_of=as_of)


def taken(workshop, source="raw.events"):
    """Give the version and the second after noon of each run."""
    return [
        (pin.pin.version, (step.intent.run_timestamp - NOON).total_seconds())
        for step in workshop.store.records.steps_of("users")
        for pin in step.intent.inputs
        if step.status is Status.SUCCESS and pin.input == source
    ]


def test_every_version_is_read_in_order_as_of_the_time_of_its_commit():
    workshop = landed()

    report = filled(workshop)

    assert taken(workshop) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert report.notes == ("4 of 4 versions: raw.events v0 to raw.events v3",)
    assert workshop.plan().plan.steps == ()


def test_the_first_one_is_what_the_source_held_at_the_time_that_is_asked_for():
    workshop = landed()

    filled(workshop, from_=NOON + dt.timedelta(seconds=1.5), to="2024-03-01T12:00:02")

    assert taken(workshop) == [(1, 1.5), (2, 2)]


def test_the_same_command_goes_on_after_a_version_that_failed():
    workshop = landed()
    filled(workshop, to=NOON)
    workshop.lake.trouble("users", "commit", DataError("bad-rows", "no"))

    stopped = filled(workshop)
    again = filled(workshop)
    nothing = filled(workshop)

    assert (statuses(stopped), stopped.notes[-1]) == (
        {"users": "failed"},
        "0 of 3 versions: raw.events v1 to raw.events v3",
    )
    assert taken(workshop) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert again.succeeded
    assert nothing.notes[-1] == "1 of 1 versions: raw.events v3 to raw.events v3"
    assert nothing.notes[-2] == "nothing is left to be read after raw.events v3"


def test_versions_after_an_ordinary_run_are_taken_one_by_one():
    workshop = landed(versions=2)
    snapped(workshop, NOON + dt.timedelta(seconds=1))
    workshop.lake.land(EVENTS.path)
    workshop.lake.land(EVENTS.path)

    report = filled(workshop)

    assert taken(workshop) == [(1, 1), (2, 2), (3, 3)]
    assert report.notes[0] == "users goes on after raw.events v1"


def test_of_a_day_only_the_last_version_is_read():
    workshop = landed()
    commits = workshop.lake.tables[EVENTS.path].commits
    commits[3] = replace(commits[3], time=commits[3].time + dt.timedelta(days=1))
    workshop.clock.advance(days=2)

    filled(workshop, every="day")

    assert taken(workshop) == [(2, 2), (3, 86_403)]


def test_two_sources_are_read_as_they_were_at_the_same_time():
    both = a_model("users", "raw.events", "raw.others", strategy=CHECK)
    workshop = landed(EVENTS, OTHERS, both, versions=3)
    commits = workshop.lake.tables[OTHERS.path].commits
    commits[0] = replace(commits[0], time=NOON + dt.timedelta(seconds=1))

    report = filled(workshop)

    assert (taken(workshop), taken(workshop, "raw.others")) == (
        [(1, 1), (2, 2)],
        [(0, 1), (0, 2)],
    )
    assert report.notes[-1].startswith("2 of 2 versions: raw.events v1, raw.others v0 to")


def test_versions_that_the_log_has_lost_are_left_out_and_said():
    workshop = landed()
    workshop.lake.tables[EVENTS.path].gone |= {0, 1}

    report = filled(workshop)

    assert taken(workshop) == [(2, 2), (3, 3)]
    assert report.notes == ("2 of 2 versions: raw.events v2 to raw.events v3",)


def test_versions_whose_files_are_gone_are_left_out_and_said():
    workshop = landed(versions=5)
    workshop.lake.tables[EVENTS.path].vacuumed |= {0, 3}

    report = filled(workshop)

    assert taken(workshop) == [(1, 1), (2, 2), (4, 4)]
    assert report.notes == (
        "begins with raw.events v1: earlier versions are gone",
        "1 of the later versions is left out: its files are gone",
        "3 of 3 versions: raw.events v1 to raw.events v4",
    )


def test_of_a_source_that_was_replaced_all_versions_since_the_last_run_are_read():
    workshop = landed()
    filled(workshop)
    del workshop.lake.tables[EVENTS.path]
    for _ in range(3):
        workshop.lake.land(EVENTS.path)
    commits = workshop.lake.tables[EVENTS.path].commits
    commits[2] = replace(commits[2], time=NOON + dt.timedelta(hours=1))

    report = filled(workshop)

    assert taken(workshop)[4:] == [(1, 3.000001), (2, 3600)]
    assert report.notes[0] == "users goes on after raw.events (replaced)"


def test_versions_from_before_the_newest_run_are_read_as_what_was_there_then():
    workshop = landed(versions=2)
    snapped(workshop, NOON + dt.timedelta(hours=1))
    workshop.lake.land(EVENTS.path)
    workshop.lake.land(EVENTS.path)
    commits = workshop.lake.tables[EVENTS.path].commits
    for version in (2, 3):  # the clock of who wrote them is late
        commits[version] = replace(commits[version], time=NOON + dt.timedelta(minutes=version))

    report = filled(workshop)

    assert taken(workshop) == [(1, 3600), (3, 3600.000001)]
    assert report.succeeded


@pytest.mark.parametrize("place", [EVENTS.path, ""])
def test_a_source_that_only_a_catalog_names_is_located_first(tmp_path, monkeypatch, place):
    workshop = landed(replace(EVENTS, path=""), USERS, versions=1)
    workshop.lake.land(EVENTS.path)
    workshop.project = replace(workshop.project, root=str(tmp_path))
    answer = {"Location": place, "Provider": "delta" if place else "view"}
    rows = tuple({"col_name": name, "data_type": value} for name, value in answer.items())
    monkeypatch.setattr(FakeSession, "rows", lambda _session, _sql: rows, raising=False)

    if place:
        assert filled(workshop).succeeded
        assert taken(workshop) == [(0, 0)]
    else:
        with pytest.raises(UsageError, match=r"reads raw\.events, and only sources"):
            filled(workshop)


@pytest.mark.parametrize(
    ("parts", "code", "part"),
    [
        ((EVENTS, a_model("users", "raw.events")), "not-a-history-model", "'users'"),
        (
            (EVENTS, a_model("base", "raw.events"), a_model("users", "base", strategy=CHECK)),
            "backfill-not-possible",
            "'users' reads base, and only sources that are Delta tables have a past",
        ),
    ],
)
def test_what_has_no_past_is_refused(parts, code, part):
    with pytest.raises(UsageError) as caught:
        filled(landed(*parts))

    assert (caught.value.code, part in caught.value.sentence) == (code, True)


@pytest.mark.parametrize(
    "asked",
    [
        {"to": NOON - dt.timedelta(days=1)},
        {"from_": NOON + dt.timedelta(seconds=2), "to": NOON + dt.timedelta(seconds=1)},
    ],
)
def test_a_range_without_versions_is_said(asked):
    with pytest.raises(UsageError) as caught:
        filled(landed(), **asked)

    assert caught.value.code == "no-versions"
