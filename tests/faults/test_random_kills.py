"""Kills at any moment of runs over entities, packages, functions and cascades; pauses as well.

Whatever was killed, however often: once the run is through, all is as after an undisturbed one.
"""

import os
import random
import re
import secrets
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from fakes.built_once import built_once
from fakes.command import Command
from fakes.entity_place import T1, T2, EntityPlace
from fakes.history_place import HistoryPlace
from fakes.kill_project import PROJECT
from fakes.session_place import SessionPlace
from faults import test_entity_kills as of_entities
from faults import test_python_kills as of_functions
from faults import test_session_kills as of_packages

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

loaded_package = of_packages.loaded_package
TRIALS = int(os.environ.get("KILLS", "20"))
TWO_LEASES = 8.5
PAUSED = 0.15
"""How many of the blows are a pause that lasts two leases."""
QUERY = "select id, ts, amount from {{{{ {} }}}}"
CASCADE = {
    "log": (QUERY.format("source('raw', 'events')"), {"materialized": "append"}),
    "latest": (QUERY.format("ref('log')"), {"materialized": "merge", "unique_key": "id"}),
    "totals": ("select sum(amount) s from {{ ref('latest') }}", {"materialized": "table"}),
    "again": ("select s + 1 as s from {{ ref('totals') }}", {"materialized": "table"}),
}


@dataclass(frozen=True)
class Story:
    """A project with something to do: the command, doing it in this process, what is left then."""

    folder: Path
    words: tuple[str, ...]
    run: Callable[[Path], bool]
    left: Callable[[Path], object]


def entity(name, spark, factory):
    def place(root):
        made = EntityPlace(root, spark, of_entities.ENTITIES[name])
        made.write("penstock.yml", PROJECT)
        return made

    def build(folder):
        made = place(folder / "loaded")
        made.slice("a", *of_entities.ROWS, entity=name)
        assert made.at(T1, "kind:entity").succeeded
        made.slice("b", *of_entities.NEXT, entity=name)
        made.slice("c", *of_entities.LAST, entity=name)

    def run(root):
        report = place(root).at(T2, "kind:entity")
        assert report.succeeded, report
        return report.plan.is_empty

    folder = built_once(factory, f"random-{name}", build)
    words = ("run", "--select", f"silver_aw.{name}", "--processing-time", T2)
    return Story(folder, words, run, lambda root: of_entities.left(place(root), name))


def package(spark, folder):
    def run(root):
        of_packages.run_until_in_sync(SessionPlace.at_folder(root, spark))
        return True

    def left(root):
        return of_packages.left(SessionPlace.at_folder(root, spark))

    return Story(folder, of_packages.WORDS, run, left)


def tables(name, spark, factory, build):
    """A project whose tables are made by `run` alone."""

    def at(root):
        place = HistoryPlace(root, spark)
        place.write("penstock.yml", PROJECT)
        return place

    def made(folder):
        build(at(folder / "loaded"))

    def run(root):
        report = at(root).run()
        assert report.succeeded, report
        return report.plan.is_empty

    def left(root):
        place = at(root)
        services = place.services()
        store = services.writing
        assert (store.leases.taken(), store.journal.running()) == ((), ())
        records = services.reading.records.models()
        marks = {n: [str(w.value) for w in each.watermarks] for n, each in records.items()}
        services.close()
        tables = [each for each in sorted(records) if (root / "warehouse/m" / each).exists()]
        return {each: place.rows(each) for each in tables}, marks

    return Story(built_once(factory, f"random-{name}", made), ("run",), run, left)


def functions(place):
    place.write("models/m/logs.py", of_functions.MODELS)
    place.source("logs", "id INT, user STRING, ts TIMESTAMP, amount INT")
    place.insert("logs", "(1, 'a', '2024-01-15 10:00', 10), (2, 'b', '2024-01-16 09:00', 20)")
    assert place.run().succeeded
    place.insert("logs", of_functions.DELIVERED)


def cascade(place):
    place.source("events", "id INT, ts TIMESTAMP, amount INT")
    place.insert("events", "(1, '2024-01-01', 1), (2, '2024-01-02', 2)")
    for name, (query, settings) in CASCADE.items():
        windows = {} if settings["materialized"] == "table" else {"time_column": "ts"}
        place.model(name, query, **settings, **windows)
    assert place.run().succeeded
    place.insert("events", "(2, '2024-01-03', 20), (3, '2024-01-04', 3)")


KINDS = ("cascade", "package", "functions", "merge", "historic")


@pytest.fixture(scope="session")
def stories(spark, tmp_path_factory, request):
    """Give the stories by kind, each with what an undisturbed run leaves and how long it took."""
    made = {}

    def of(kind):
        if kind not in made:
            match kind:
                case "package":
                    story = package(spark, request.getfixturevalue("loaded_package"))
                case "functions":
                    story = tables(kind, spark, tmp_path_factory, functions)
                case "cascade":
                    story = tables(kind, spark, tmp_path_factory, cascade)
                case _:
                    story = entity(kind, spark, tmp_path_factory)
            root = tmp_path_factory.mktemp(kind) / "undisturbed"
            shutil.copytree(story.folder / "loaded", root)
            began = time.monotonic()
            story.run(root)
            made[kind] = story, story.left(root), time.monotonic() - began
        return made[kind]

    return of


def pause(command):
    """Stop a process where it does not write to the database: SQLite would wait for it for ever."""
    with suppress(ProcessLookupError):  # it may be at its end
        command.send(signal.SIGSTOP)
        while re.search(rf"POSIX +ADVISORY +WRITE {command.pid} ", Path("/proc/locks").read_text()):
            command.send(signal.SIGCONT)
            time.sleep(0.05)
            command.send(signal.SIGSTOP)


@pytest.mark.parametrize("number", range(TRIALS))
def test_what_is_killed_at_any_moment_ends_as_undisturbed(stories, spark, tmp_path, number) -> None:
    seed = int(os.environ.get("SEED") or secrets.randbits(32))
    print("seed", seed)  # noqa: T201  # shown when the case fails
    chance = random.Random(seed)  # noqa: S311  the seed gives the same moments again
    story, undisturbed, seconds = stories(KINDS[number % len(KINDS)])
    root = tmp_path / "shop"
    shutil.copytree(story.folder / "loaded", root)

    for _ in range(chance.randint(1, 3)):
        command = Command(root, *story.words, spark=spark)
        time.sleep(chance.uniform(0.0, seconds))
        if chance.random() < PAUSED:
            pause(command)
            time.sleep(TWO_LEASES)
            story.run(root)
            code, output = command.ended()
            assert code in (0, 1), output
            assert "Traceback" not in output
        else:
            command.kill()
    for _ in range(4):
        if story.run(root):
            break

    assert story.left(root) == undisturbed
