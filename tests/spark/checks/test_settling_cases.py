"""Tables that are no partitions, killed after their commit: settled as undisturbed (§5.7)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from deltalake import DeltaTable

from fakes.check_place import CheckPlace
from penstock.app.run_report import RunReport

LOG_SQL = "SELECT created_at, region FROM {{ source('raw', 'events') }}\n"
USERS_SQL = "SELECT id, email FROM {{ source('raw', 'users') }}\n"
CONFIG = {
    "log": {"materialized": "append", "time_column": "created_at"},
    "users": {"materialized": "merge", "unique_key": "id"},
    "people": {
        "materialized": "snapshot",
        "strategy": "check",
        "unique_key": "id",
        "check_cols": ["email"],
    },
}
BEFORE = {
    "log": ["old"],
    "users": ["1 a@x", "2 b@x"],
    "people": ["1 a@x", "2 b@x"],
}
AFTER = {
    "log": ["None", "old"],
    "users": ["1 a@x", "2 b2@x", "3 None"],
    "people": ["1 a@x", "2 b2@x", "2 b@x", "3 None"],
}
MADE = {"log": "WRITE", "users": "MERGE", "people": "MERGE"}
IN_GATE = [("log", "rollback", True)]
CASES = [
    (model, mode, dies)
    for model in CONFIG
    for mode in ("flag", "rollback")
    for dies in (True, False)
]


class Killed(BaseException):
    """What a kill is for the process that it kills."""


@dataclass
class Shown:
    """One model of a place and what became of it."""

    place: CheckPlace
    model: str

    def write(self, mode: str) -> None:
        column = "region" if self.model == "log" else "email"
        gate = {"type": "not_null", "column": column}
        sql = LOG_SQL if self.model == "log" else USERS_SQL
        self.place.model(f"m/{self.model}", sql, gate, on_failure=mode, **CONFIG[self.model])

    def run(self) -> RunReport:
        run = self.place.snap if self.model == "people" else self.place.run
        return run(self.model)

    def rows(self) -> list[str]:
        found = self.place.rows(f"m/{self.model}")
        if self.model == "log":
            return sorted(str(row[1]) for row in found)
        return [f"{row[0]} {row[1]}" for row in found]

    def operations(self) -> list[str]:
        history = DeltaTable(f"{self.place.root}/warehouse/m/{self.model}").history()
        return [str(entry["operation"]) for entry in reversed(history)]

    def open(self) -> list[object]:
        """Give what no command may leave: leases, open steps, what is unsettled or staged."""

        def left(store) -> list[object]:
            running, waiting = store.journal.running(), store.checks.unsettled()
            return [*store.leases.taken(), *running, *waiting]

        return [*self.place.stored(left), *self.place.staged()]


@contextmanager
def killing(place: CheckPlace, point: str) -> Iterator[None]:
    """Kill the command at a point of its step."""

    def die(passed: str) -> None:
        if passed == point:
            raise Killed

    place.fault = die
    with pytest.raises(Killed):
        yield
    place.fault = None


@pytest.fixture
def place(tmp_path, spark):
    place = CheckPlace(tmp_path, spark)
    place.events([("2024-12-01", "old", 1, 1.0)])
    place.users([(1, "a@x"), (2, "b@x")])
    return place


@pytest.mark.parametrize(
    ("model", "mode", "dies"),
    [case if case in IN_GATE else pytest.param(*case, marks=pytest.mark.matrix) for case in CASES],
)
def test_a_step_that_failed_its_gate_ends_the_same_if_it_was_killed(
    place, model, mode, dies
) -> None:
    shown = Shown(place, model)
    shown.write(mode)
    assert shown.run().succeeded
    before = place.record(model)
    place.events([("2024-12-02", None, 1, 1.0)])
    place.users([(1, "a@x"), (2, "b2@x"), (3, None)])
    if dies:
        with killing(place, "after-commit"):
            shown.run()
        assert len(shown.open()) == 1

    report = shown.run()

    (result,) = report.results
    record, undone = place.record(model), mode == "rollback"
    assert (result.status, result.error.code) == ("failed", "after-check-failed")
    assert result.consequence == ("restored to version 0" if undone else "rows written and flagged")
    assert shown.rows() == (BEFORE if undone else AFTER)[model]
    assert shown.operations()[1:] == [MADE[model], *(["RESTORE"] if undone else [])]
    assert (str(record.status), record.step == before.step) == ("FAILED", undone)
    assert (record.watermarks == before.watermarks) == (undone or model != "log")
    flags = [(flag.partition, flag.checks, flag.version) for flag in place.flags()]
    column = "region" if model == "log" else "email"
    assert flags == ([] if undone else [("*", (f"not_null_{column}",), 1)])
    assert shown.open() == []
