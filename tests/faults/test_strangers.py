"""Somebody else commits to a table in the midst of a step: it is mended or told, never hidden.

One JVM and one process: the deed is done where a fault point of the step is passed.
"""

import shutil

import pytest

from fakes import delta_tables
from fakes.built_once import built_once
from fakes.entity_files import entity
from fakes.entity_place import EntityPlace
from fakes.history_place import CK, COLUMNS, HistoryPlace
from fakes.kill_project import PROJECT
from fakes.requests import a_run
from fakes.strangers import OF_NONE, OF_ROWS, other_key, same_key
from penstock.app.commands.accept import accept
from penstock.app.commands.run import run
from penstock.app.commands.sync import sync
from penstock.app.request import SnapshotRequest, SyncRequest
from penstock.plan.values import State

POINTS = (
    *("after-begin", "during-staging", "before-commit", "at-statement"),
    *("after-commit", "after-finish"),
)
EVENTS = "{{ source('raw', 'events') }}"
ENTITY = "silver_aw.x"
YEAR = "materialized='partition', partition_by='d', partition_type='YEAR', start='2024'"
AT = {1: "2024-01-01", 2: "2024-01-02", 3: "2025-01-03", 4: "2026-01-04"}
MODELS = ("log", "users", "kept", ENTITY, "yearly")
UNDISTURBED = {
    "log": [(1, 1), (2, 2), (3, 3), (4, 4)],
    "users": [(1, 1), (2, 20), (3, 3), (4, 4)],
    "kept": [(1, 1), (2, 2), (2, 20), (3, 3), (4, 4)],
    ENTITY: [(1, 1), (2, 20), (3, 3), (4, 4)],
    "yearly": [(1, 1), (2, 2), (3, 3), (4, 4)],
}
COLUMNS_OF = {
    "kept": ("id", "value"),
    ENTITY: ("ID", "name"),
}


class Attacked(EntityPlace, HistoryPlace):
    """A project with a model of each kind that keeps rows, and a delivery that waits."""

    fault = None

    def services(self):
        services = super().services()
        services.fault = self.fault
        if self.fault is not None:
            services.engine._fault = self.fault
        return services

    def people(self, *rows):
        values = ", ".join(f"({key}, '{value}', '2024-01-01')" for key, value in rows)
        delta_tables.overwrite(f"{self.root}/landing/people", values)

    def deliver(self, name, *keys):
        events = (f"({key}, '{AT[key]}', {key})" for key in keys)
        self.insert("events", ", ".join(events))
        self.people(*((k, 20 if k == 2 and 4 in keys else k) for k in range(1, keys[-1] + 1)))
        news = {2: 20} if 4 in keys else {}
        rows = [
            (key, number, str(value))
            for number, (key, value) in enumerate(
                ({k: k for k in keys} | news).items(), 10 * keys[0]
            )
        ]
        self.slice(name, *rows)

    def build(self, model):
        services = self.services()
        try:
            if model == "kept":
                return run(services, SnapshotRequest(select=(model,)))
            if model == "yearly":
                return sync(services, SyncRequest(select=(model,)))
            return run(services, a_run((model,)))
        finally:
            services.close()

    def folder(self, model):
        return self.silver() if model == ENTITY else self.root / "warehouse" / "m" / model

    def held(self, model):
        key, column = COLUMNS_OF.get(model, ("id", "amount" if model != "users" else "value"))
        frame = self.spark.read.format("delta").load(str(self.folder(model)))
        return sorted((row[0], int(row[1])) for row in frame.select(key, column).collect())

    def attacked(self, model, point, deed):
        key, column = COLUMNS_OF.get(model, ("id", "amount" if model != "users" else "value"))
        left = [1]

        def fault(passed):
            if passed == point and left[0]:
                left[0] -= 1
                deed(self.spark.newSession(), self.folder(model), key, column)

        self.fault = fault
        report = self.build(model)
        self.fault = None
        return report, not left[0]

    def accepted(self, model):
        services = self.services()
        try:
            return accept(services, model, "seen and agreed")
        finally:
            services.close()


@pytest.fixture(scope="session")
def attacked(tmp_path_factory, spark):
    def build(folder):
        place = Attacked(folder, spark, entity())
        place.write("penstock.yml", PROJECT)
        place.source("events", "id INT, ts TIMESTAMP, amount INT")
        place.source("people", COLUMNS)
        query = f"select id, ts, amount from {EVENTS}"
        place.model("log", query, materialized="append", time_column="ts")
        people = "select id, value from {{ source('raw', 'people') }}"
        place.model("users", people, materialized="merge", unique_key="id")
        place.snapshot("kept", **CK)
        place.write(
            "models/m/yearly.sql",
            f"{{{{ config({YEAR}) }}}}\nselect id, amount, date(trunc(ts, 'YEAR')) as d "
            f"from {EVENTS} where trunc(ts, 'YEAR') = @partition_date\n",
        )
        place.deliver("a", 1, 2)
        assert all(place.build(model).succeeded for model in MODELS)
        place.deliver("b", 3)
        assert all(place.build(model).succeeded for model in MODELS)
        place.deliver("c", 4)

    return built_once(tmp_path_factory, "attacked", build)


@pytest.fixture
def place(attacked, spark, tmp_path):
    shutil.copytree(attacked, tmp_path / "shop")
    place = Attacked(tmp_path / "shop", spark, entity())
    place.write("penstock.yml", PROJECT)
    return place


def is_told(place, model):
    return bool({State.TAMPERED, State.MISSING}.intersection(place.states().get(model, ())))


def hidden(place):
    """Give what is wrong and called current."""
    current = [name for name, states in place.states().items() if not states]
    return {name: held for name in current if (held := place.held(name)) != UNDISTURBED[name]}


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("point", "deed"),
    [
        pytest.param(point, deed, id=f"{point}-{deed.__name__}")
        for point in POINTS
        for deed in OF_ROWS
    ],
)
def test_rows_that_others_changed_in_a_step_are_right_after_sync_or_told_until_accepted(
    place, point, deed
):
    for model in MODELS:
        place.attacked(model, point, deed)

    assert hidden(place) == {}
    for model in MODELS:
        place.build(model)
    assert hidden(place) == {}
    notes = place.sync().notes
    assert hidden(place) == {}
    told = [model for model in MODELS if is_told(place, model)]
    for model in told:
        assert any(model in note and "penstock accept" in note for note in notes), (model, notes)
        place.accepted(model)
    # A history that holds a version twice takes no run until one of the two is gone. What came in
    # with the statement itself is met by the next run that has rows.
    is_met = deed is same_key and point != "at-statement"
    refused = {"kept": [State.FAILED]} if is_met else {}
    assert {name: found for name, found in place.states().items() if found} == refused


@pytest.mark.matrix
@pytest.mark.parametrize("point", POINTS)
def test_commits_that_change_no_row_in_the_midst_of_a_step_are_no_drift(place, point):
    def all_of_none(*table):
        for deed in OF_NONE:
            deed(*table)

    for model in MODELS:
        place.attacked(model, point, all_of_none)

    assert [model for model in MODELS if not place.build(model).succeeded] == []
    assert {name: found for name, found in place.states().items() if found} == {}
    assert {model: place.held(model) for model in MODELS} == UNDISTURBED


@pytest.mark.matrix
def test_an_ordinary_run_says_each_time_that_it_goes_on_over_rows_of_others(place):
    place.attacked("users", "before-commit", other_key)

    first, second = place.build("users"), place.build("users")

    for report in (first, second):
        assert any("rows that others changed stay" in note for note in report.notes), report.notes
    assert place.states()["users"] == [State.TAMPERED]
    assert (99, 1) in place.held("users")
