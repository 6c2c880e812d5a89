"""Somebody else commits to a table while a step of it runs: it is mended or told, never hidden."""

from dataclasses import replace
from itertools import product

import pytest

from fakes.clock import FixedClock
from fakes.entity_files import entity, files
from fakes.package_workshop import PackageWorkshop
from fakes.story_place import NOON, Story, write_story
from fakes.story_tables import RowTables
from penstock.app.commands.accept import accept
from penstock.app.request import SnapshotRequest
from penstock.plan.values import State

MODELS = ("log", "last", "sums", "daily")
POINTS = (
    *("after-begin", "during-staging", "before-commit", "at-statement"),
    *("after-commit", "after-finish"),
)


def deleted(rows):
    return rows[1:]


def doubled(rows):
    return (*rows, rows[0])


def with_another(rows):
    return (*rows, (99, *rows[0][1:]))


def updated(rows):
    key, value, *rest = rows[0]
    return ((key, value + 1, *rest), *rows[1:])


DEEDS = (deleted, doubled, with_another, updated)
GATE = (
    ("log", doubled, "at-statement"),
    ("last", deleted, "after-begin"),
    ("last", with_another, "before-commit"),
    ("daily", updated, "after-commit"),
)
CELLS = [(model, deed, point) for model in MODELS for deed in DEEDS for point in POINTS]


class Meddling:
    """A story in whose next command somebody changes each table at a point of its step."""

    def __init__(self, root):
        write_story(root)
        clock = FixedClock(NOON)
        self.root, self.tables = root, RowTables(root, clock)
        self.story = Story(root, self.tables, clock)
        self.story.deliver((1, 10, 1), (2, 20, 30))
        self.story.sync(everything=True)
        self.story.run()
        self.story.deliver((3, 30, 31))

    def change(self, model, deed):
        uri = f"{self.root}/warehouse/m/{model}"
        table = self.tables.lake.tables[uri]
        operation = "WRITE" if deed in (doubled, with_another) else "UPDATE"
        rows = deed(tuple(table.rows))
        if model in ("sums", "daily") and deed is with_another:
            rows = (*table.rows, table.rows[-1])
        self.tables.lake.write(uri, table.names, rows, operation=operation)

    def attack(self, model, point, deed, command):
        left = [1]

        def fault(passed):
            if passed == point and left[0]:
                left[0] -= 1
                self.change(model, deed)

        self.tables.fault = fault
        report = command(model)
        self.tables.fault = None
        return report


@pytest.mark.parametrize(
    ("model", "deed", "point"),
    [pytest.param(*cell, marks=() if cell in GATE else pytest.mark.matrix) for cell in CELLS],
)
def test_what_others_changed_in_the_midst_of_a_step_is_told_until_sync_mends_it(
    tmp_path, model, deed, point
):
    place = Meddling(tmp_path)
    command = place.story.sync if model == "daily" else place.story.run

    place.attack(model, point, deed, command)

    assert place.story.complaints() == []
    place.story.run()
    assert place.story.complaints() == []
    place.story.end()
    assert (place.story.states(), place.story.complaints()) == ({}, [])


KEPT = (
    "{{ config(materialized='snapshot', strategy='check', check_cols='all', unique_key='id') }}\n"
    "select * from {{ source('raw', 'people') }}\n"
)
SOURCES = (
    "sources: [{name: raw, tables: [{name: events, path: ../landing/events}, "
    "{name: people, path: ../landing/people}]}]\n"
)
KEEPING = (
    *("kept", "silver_aw.x", "silver_aw.y", "web_base_sessions_lifecycle_manifest"),
    *("web_base_quarantined_sessions", "web_page_views", "web_sessions", "web_user_mapping"),
    "web_users",
)
STAGED = (
    "id int, name string, p_SourceHash string, p_source_filename string, PK_y string, "
    "p_deleted boolean, p_lastSeen timestamp"
)
REPLACING = ("silver_aw.full", "web_base_events_this_run")
GATE_OF_KINDS = (
    ("kept", "DELETE", "at-statement"),
    ("silver_aw.x", "WRITE", "after-begin"),
    ("web_sessions", "DELETE", "before-commit"),
    ("silver_aw.full", "WRITE", "after-commit"),
)


def cells_of(models):
    cells = product(models, ("WRITE", "DELETE"), POINTS)
    return [
        pytest.param(*cell, marks=() if cell in GATE_OF_KINDS else pytest.mark.matrix)
        for cell in cells
        if "during-staging" not in cell  # the lake of these has no such point
    ]


class OtherKinds(PackageWorkshop):
    """A history table, entities and a session package, each built once; a delivery waits."""

    fault = None

    def __init__(self, root):
        super().__init__(root)
        key = {"columns": [{"name": "id", "fieldroles": ["businesskey"]}], "watermark": None}
        kinds = {"x": "merge", "y": "historic", "full": "full"}
        entities = [entity(n, name, kind, **key) for n, (name, kind) in enumerate(kinds.items(), 1)]
        self.has_files(
            {
                **files(*entities, environment={"root_folder": str(root)}),
                "models/raw.yml": SOURCES,
                "models/m/kept.sql": KEPT,
            }
        )
        self.lake.gives("penstock_slice", "id int, name string")
        self.lake.gives("p_SourceHash", STAGED)
        self.lake.answers("flagged", {"rows": 1, "flagged": 0})
        self.day = 1
        self.deliver()
        self.build()
        assert self.states() == {}
        self.deliver()

    def services(self):
        return replace(super().services(), fault=self.fault)

    def deliver(self):
        self.day += 1
        self.greatest = f"01-{self.day:02} 01:00"
        self.append()
        self.lake.land(self.project.sources["raw.people"].path, "id int, n int")
        for name in ("x", "y", "full"):
            folder = self.lake.files.setdefault(f"{self.root}/bronze/aw/{name}", {})
            folder[f"{self.day:02}.parquet"] = (9, 1)

    def build(self):
        """Run everything; give what the run says."""
        reports = (
            self.at(f"01-{self.day + 1:02}"),
            self.run("kept", snapshot=SnapshotRequest()),
        )
        results = [result for report in reports for result in report.results]
        assert all(result.ok for result in results)
        notes = [f"{result.name}: {note}" for result in results for note in result.notes]
        return [*notes, *(note for report in reports for note in report.notes)]

    def attack(self, model, point, operation):
        """Build; at a point of the model's step somebody changes its table."""
        running, done = [""], []

        def fault(passed):
            if passed == "after-begin":
                running[0] = self.store.journal.running()[-1].intent.model
            if (passed, running[0], done) == (point, model, []):
                done.append(self.lake.write(self.of(model), operation, None, ""))

        self.fault = fault
        self.build()
        self.fault = None
        assert done


@pytest.mark.parametrize(("model", "operation", "point"), cells_of(KEEPING))
def test_what_others_changed_of_kept_rows_is_told_by_every_run_until_it_is_accepted(
    tmp_path, model, operation, point
):
    place = OtherKinds(tmp_path)

    place.attack(model, point, operation)

    for _ in range(2):
        assert place.states()[model] == [State.TAMPERED]
        place.deliver()
        notes = place.build()
        assert [n for n in notes if f"penstock accept {model} --reason TEXT" in n], notes
    accept(place.services(), model, "seen and agreed")
    assert model not in place.states()


@pytest.mark.parametrize(("model", "operation", "point"), cells_of(REPLACING))
def test_what_others_changed_of_rows_that_each_step_replaces_is_gone_with_the_next(
    tmp_path, model, operation, point
):
    place = OtherKinds(tmp_path)

    place.attack(model, point, operation)
    place.deliver()
    place.build()

    assert model not in place.states()
