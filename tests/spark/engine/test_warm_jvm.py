"""One JVM under several commands, each a process of its own."""

import json
import os
import shutil
import signal
import time

import pytest
from deltalake import write_deltalake
from pyarrow import table

from fakes.command import Command, state_of, wait_until_gone
from fakes.kill_project import PROJECT
from penstock.app.commands.doctor import engine_status, engine_stop
from penstock.app.services.wire import Where, open_services

KEPT = PROJECT.replace(
    "      driver_memory: 1g\n", "      driver_memory: 1g\n      keep_warm: 5m\n"
)
SQL = "{{ config(materialized='table') }}\nselect %s as n\n"
LOG = """\
{{ config(materialized='append', window='none') }}
select n from {{ ref('one') }}
"""
FUNCTION = """\
from penstock import table
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

import numbers_of_ours


@table(schema="m")
def added(one):
    add = F.udf(lambda n: n + numbers_of_ours.MORE, LongType())
    return one.select(add("n").alias("n"))
"""


class Shop:
    """A project whose JVM stays."""

    def __init__(self, root):
        self.root = root

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def command(self, *words):
        code, told = Command(self.root, *words).ended()
        assert code == 0, told
        return told

    def rows(self, name):
        told = json.loads(self.command("query", f"select n from {name} order by n", "--json"))
        return [int(n) for (n,) in told["rows"]]

    def running(self):
        """Give the steps that have begun."""
        services = open_services(Where(self.root))
        try:
            return services.reading.journal.running()
        finally:
            services.close()

    def waiting(self):
        """Give the number of the JVM that waits, 0 if none does."""
        kept = engine_status().kept
        assert len(kept) < 2
        return kept[0].pid if kept else 0


@pytest.fixture
def shop(tmp_path, short_folder, monkeypatch):
    made = Shop(tmp_path / "shop")
    made.write("penstock.yml", KEPT)
    for number, name in enumerate(("one", "two"), start=1):
        made.write(f"models/m/{name}.sql", SQL % number)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_folder))
    monkeypatch.delenv("CI", raising=False)  # there no JVM would wait
    yield made
    engine_stop()


@pytest.mark.matrix
def test_a_jvm_waits_for_the_next_command_and_dies_with_one_that_is_killed(shop) -> None:
    shop.command("run", "--select", "one")
    java = shop.waiting()
    assert java

    assert shop.rows("m.one") == [1]
    assert shop.waiting() == java
    shutil.rmtree(shop.root / "warehouse/m/one")
    write_deltalake(shop.root / "warehouse/m/one", table({"n": [7]}))  # the same version of it
    assert shop.rows("m.one") == [7]
    assert shop.waiting() == java

    command = Command(shop.root, "run", "--select", "two", fault="stop:before-commit:1")
    command.wait_until_stopped()
    assert (shop.waiting(), state_of(java)) == (0, "S")
    command.kill()
    wait_until_gone(java)

    assert "marked failed (crashed)" in shop.command("run", "--select", "two")
    another = shop.waiting()
    assert another not in (0, java)
    assert shop.rows("m.two") == [2]
    assert f"ended {another}" in shop.command("engine", "stop")
    assert state_of(another) in ("Z", "")


@pytest.mark.matrix
def test_functions_over_tables_and_their_workers_are_those_of_the_command(shop) -> None:
    shop.write("models/m/added.py", FUNCTION)
    shop.write("numbers_of_ours.py", "MORE = 10\n")
    shop.command("run", "--select", "one added")
    java = shop.waiting()
    assert shop.rows("m.added") == [11]

    shop.write("numbers_of_ours.py", "MORE = 20\n")
    shop.command("run", "--select", "added")

    assert shop.rows("m.added") == [21]
    assert shop.waiting() == java


@pytest.mark.matrix
@pytest.mark.parametrize("times", [1, 2])
def test_a_jvm_whose_work_was_broken_off_does_not_wait(shop, times) -> None:
    shop.command("run", "--select", "one")
    java = shop.waiting()
    sleep = "select reflect('java.lang.Thread', 'sleep', cast(15000 as bigint)) as n"
    shop.write("models/m/slow.sql", f"{{{{ config(materialized='table') }}}}\n{sleep}\n")
    command = Command(shop.root, "run", "--select", "slow")
    command.wait_until(lambda: shop.waiting() == 0)
    command.wait_until(shop.running)
    time.sleep(1)  # into its query

    for _ in range(times):
        command.send(signal.SIGINT)
    code, _ = command.ended()

    assert code == 130
    wait_until_gone(java)
    assert shop.waiting() == 0


@pytest.mark.matrix
def test_two_commands_at_a_time_have_two_jvms_and_one_of_them_waits(shop) -> None:
    shop.command("run", "--select", "one")
    java = shop.waiting()
    first = Command(shop.root, "run", "--select", "two", fault="stop:before-commit:1")
    first.wait_until_stopped()

    assert shop.rows("m.one") == [1]
    another = shop.waiting()
    first.ended()

    assert another not in (0, java)
    assert shop.waiting() == another
    wait_until_gone(java)


@pytest.mark.matrix
def test_what_changes_between_two_commands_is_seen_on_a_jvm_that_waited(shop) -> None:
    shop.write("models/m/log.sql", LOG)
    shop.write("models/m/two.sql", SQL % "{{ var('two', 2) }}")
    shop.command("run")
    java = shop.waiting()

    shop.write("models/m/one.sql", SQL % 11)  # the code
    shop.command("run", "--vars", "two=22")  # a setting of the project
    assert (shop.rows("m.one"), shop.rows("m.two"), shop.waiting()) == ([11], [22], java)
    write_deltalake(shop.root / "warehouse/m/log", table({"n": [7]}), mode="append")
    assert shop.rows("m.log") == [1, 7, 11]  # somebody else's commit
    (shop.root / ".penstock/state.db").unlink()  # the state
    assert "3 models recorded" in shop.command("state", "rebuild", "--yes")
    shop.write("models/m/one.sql", SQL % 12)
    shop.command("run", "--select", "one log")
    assert (shop.rows("m.log"), shop.waiting()) == ([1, 7, 11, 12], java)
    shop.write("penstock.yml", KEPT.replace("local[1]", "local[2]"))
    assert shop.rows("m.log") == [1, 7, 11, 12]  # a setting of Spark
    another = shop.waiting()
    assert another not in (0, java)
    os.kill(another, signal.SIGKILL)  # killed as it waits
    wait_until_gone(another)
    assert shop.rows("m.log") == [1, 7, 11, 12]
    assert shop.waiting() not in (0, another)


@pytest.mark.matrix
def test_each_of_two_projects_has_a_jvm_of_its_own(shop, tmp_path) -> None:
    other = Shop(tmp_path / "other")
    shutil.copytree(shop.root, other.root)
    shop.command("run", "--select", "one")
    other.write("models/m/one.sql", SQL % 5)

    other.command("run", "--select", "one")

    pids = {kept.root: kept.pid for kept in engine_status().kept}
    assert len(set(pids.values())) == 2
    assert (shop.rows("m.one"), other.rows("m.one")) == ([1], [5])
    assert {kept.root: kept.pid for kept in engine_status().kept} == pids


@pytest.mark.matrix
def test_a_jvm_that_is_stopped_is_not_waited_for(shop) -> None:
    shop.command("run", "--select", "one")
    java = shop.waiting()
    assert java  # 0 would stop the tests themselves
    os.kill(java, signal.SIGSTOP)

    assert shop.rows("m.one") == [1]

    wait_until_gone(java)
    assert shop.waiting() not in (0, java)
