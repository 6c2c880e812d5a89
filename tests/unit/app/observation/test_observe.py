"""Looking at targets and sources: the newest entry alone, and more only when it must be."""

from dataclasses import replace
from threading import Barrier
from time import sleep

import pytest

from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.app.observation.observe import observe
from penstock.app.services.workers import in_parallel
from penstock.core.model import Fingerprint
from penstock.core.steps.inputs import DeltaPin, InputPin, NoPin
from penstock.plan.values import Observed, State
from penstock.strategies.view import View

EVENTS = a_source("events")
TOP = a_model("top", "raw.events")


@pytest.fixture
def workshop():
    workshop = Workshop(EVENTS, TOP)
    workshop.run()
    return workshop


def seen(workshop, *models):
    names = models or tuple(workshop.project.models)
    return observe(workshop.services(), names, workshop.records(), workshop.clock.now())


def watched(workshop, monkeypatch):
    """Write down which questions are put to the log of a target."""
    asked = []
    log = type(workshop.lake.log)
    for name in ("head", "facts", "commits"):
        real = getattr(log, name)

        def ask(self, uri, *more, _name=name, _real=real, **named):
            if uri.startswith("/w/"):
                asked.append(_name)
            return _real(self, uri, *more, **named)

        monkeypatch.setattr(log, name, ask)
    return asked


def test_where_nothing_happened_only_the_head_is_read(workshop, monkeypatch):
    asked = watched(workshop, monkeypatch)

    found = seen(workshop).now.targets["top"]

    assert asked == ["head"]
    assert (found.table_id, found.foreign) == ("", ())


def test_commits_of_others_are_found_and_those_without_data_are_not(workshop):
    workshop.lake.write("/w/s/top", "OPTIMIZE", None, "")
    optimized = seen(workshop).now.targets["top"]
    workshop.lake.write("/w/s/top", "DELETE", None, "")

    found = seen(workshop).now.targets["top"]

    assert (optimized.table_id, optimized.foreign) == ("id-2", ())
    assert [(commit.version, commit.operation) for commit in found.foreign] == [(2, "DELETE")]


def test_a_step_of_another_store_is_somebody_elses(workshop):
    workshop.lake.land("/w/s/top", "", '{"penstock": "1", "store": "theirs", "step": "x"}')

    assert len(seen(workshop).now.targets["top"].foreign) == 1


def test_a_table_that_took_the_place_of_ours_in_its_log_is_told_by_its_id(workshop):
    workshop.lake.tables["/w/s/top"].table_id = "id-other"
    workshop.lake.write("/w/s/top", "CREATE OR REPLACE TABLE", None, "")

    reason = workshop.plan().plan.steps[0].reason

    assert (reason.state, reason.detail) == (State.MISSING, "another table took its place")


@pytest.mark.parametrize("commits", [1, 2])
def test_a_table_of_a_stranger_in_the_place_of_ours_is_foreign_whatever_its_version(
    workshop, commits
):
    del workshop.lake.tables["/w/s/top"]
    for _ in range(commits):
        workshop.lake.land("/w/s/top", "id int, n int")

    blocked = workshop.plan().plan.blocked[0]

    assert (blocked.model, blocked.error.code) == ("top", "foreign-table")


def test_a_table_that_another_one_replaced_at_the_same_version_is_not_read_as_the_old_one(
    workshop,
):
    workshop.has(a_model("down", "top"))
    workshop.run()
    table = workshop.lake.tables["/w/s/top"]
    table.commits[0] = replace(table.commits[0], step="theirs", store="theirs")
    table.table_id = "id-other"
    workshop.has(a_model("down", "top", fingerprint=Fingerprint("new", "new")))

    down = workshop.run("down")["down"]

    assert down.inputs == (InputPin("top", DeltaPin("id-other", 0)),)


def test_a_layout_that_differs_from_the_record_is_looked_at(workshop):
    workshop.has(replace(TOP, fingerprint=replace(TOP.fingerprint, layout="new")))

    assert seen(workshop).now.targets["top"].facts.table_id == "id-2"


def test_a_table_that_is_not_there_is_nothing():
    workshop = Workshop(EVENTS, TOP)

    assert seen(workshop).now.targets == {"top": Observed()}


def test_without_a_record_the_log_tells_whether_a_table_was_ever_ours(workshop):
    fresh = Workshop(EVENTS, TOP)
    fresh.lake.tables = workshop.lake.tables

    assert seen(fresh).now.targets["top"].ever_ours


def test_a_foreign_table_with_a_long_history_is_still_foreign():
    workshop = Workshop(EVENTS, TOP)
    for _ in range(3):
        workshop.lake.land("/w/s/top")
    workshop.lake.tables["/w/s/top"].gone.add(0)

    assert workshop.plan().plan.blocked[0].error.code == "foreign-table"


def test_sources_are_pinned_through_views_and_only_for_the_models_asked_for():
    view = a_model("view", "raw.events", strategy=View())
    other = a_source("other", format="csv", path="/landing/csv")
    workshop = Workshop(EVENTS, other, view, a_model("up", "view"), a_model("csv", "raw.other"))
    workshop.lake.files["/landing/csv"] = {"a.csv": (1, 1)}

    one, both = seen(workshop, "up"), seen(workshop)

    assert one.now.sources == {"raw.events": DeltaPin("id-1", 0)}
    assert both.now.sources["raw.other"].files == 1
    assert both.listings["raw.other"].files == ("/landing/csv/a.csv",)


def test_a_table_of_a_foreign_catalog_has_no_pin():
    workshop = Workshop(a_source("events", path=""), TOP)

    assert seen(workshop).now.sources == {"raw.events": NoPin()}


def test_a_source_that_is_gone_is_an_error_of_its_readers_alone():
    workshop = Workshop(EVENTS, TOP)
    workshop.lake.tables.clear()

    found = seen(workshop).now

    assert found.sources == {}
    assert found.broken["raw.events"].sentence == (
        "source raw.events has no Delta table: /landing/events"
    )


def test_changed_sql_needs_no_look_at_the_log(workshop, monkeypatch):
    asked = watched(workshop, monkeypatch)
    workshop.has(replace(TOP, fingerprint=Fingerprint("new", "new")))

    assert workshop.plan().plan.steps[0].reason.state is State.SQL_CHANGED
    assert asked == ["head"]


def test_what_is_in_buckets_is_read_at_the_same_time_and_raises_where_it_is_asked_for():
    names = [f"s3://lake/{number}" for number in range(4)]
    together = Barrier(len(names), timeout=10)  # breaks unless all four wait for each other

    def read(uri):
        if uri in names:
            together.wait()
        if uri.endswith("/2"):
            raise OSError(uri)
        return uri.upper()

    found = in_parallel(read, [*names, names[0], "/w/local"])

    assert [found(uri) for uri in (names[0], "/w/local")] == ["S3://LAKE/0", "/W/LOCAL"]
    with pytest.raises(OSError, match="s3://lake/2"):
        found(names[2])


def test_a_thousand_locations_take_64_requests_at_a_time():
    open_now, most = [], []

    def read(uri):
        open_now.append(uri)
        most.append(len(open_now))
        sleep(0.001)
        open_now.remove(uri)

    in_parallel(read, [f"s3://lake/{number}" for number in range(1000)])

    assert len(most) == 1000
    assert 1 < max(most) <= 64
