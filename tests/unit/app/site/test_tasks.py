"""What takes long is computed alike by one process and by several."""

import sys

import pytest

from penstock.app.site import tasks
from penstock.app.site.tasks import do_on_all_cores
from penstock.core.model import InputMapping
from penstock.core.names import InputKind, InputName
from penstock.core.partitions.mapping import Same
from penstock.core.partitions.partition import Grain, Grid
from penstock.project import processes

DAYS = Grid(Grain.DAY)
TASKS = (
    ("code", "sql", "select"),
    ("markdown", "*a*"),
    ("columns", "select a + 1 as b from s.t", {"s.t": {"a": "int"}}),
    ("mapping", InputMapping(InputName(InputKind.MODEL, "up"), Same()), DAYS, DAYS, ((1, 3),)),
)


@pytest.mark.parametrize("python", [sys.executable, "/nowhere/python"])
def test_several_processes_give_the_results_in_the_order_of_the_tasks(monkeypatch, python):
    monkeypatch.setattr(processes.os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(processes.sys, "executable", python)
    monkeypatch.setattr(tasks, "_WORTH_A_PROCESS", 2)

    code, markdown, columns, mapping = do_on_all_cores(TASKS)

    assert code == ["<i class=k>select</i>"]
    assert markdown == "<p><em>a</em></p>"
    assert columns == {"b": [["s.t", "a"]]}
    assert mapping == [[1, 3, 1, 1, True]]
