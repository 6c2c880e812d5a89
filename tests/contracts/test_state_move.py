"""Moving a store between databases: all rows or none, and one of both is in use."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from contracts.store_cases import (
    BROKEN,
    ELSEWHERE,
    HERE,
    LEASE,
    OURS,
    intent,
    run,
    succeed,
    with_mark,
    wrote,
)
from fakes.clock import FixedClock
from penstock.core.errors import LeaseHeldError, PenstockError, StateError, UsageError
from penstock.core.ports.ports import inert
from penstock.state.lease import Identity, StoreContext
from penstock.state.move import move_store
from penstock.state.open import open_in


@pytest.fixture
def clock():
    return FixedClock()


@pytest.fixture
def moves(clock, tmp_path):
    return Moves(clock, tmp_path)


@pytest.fixture
def server_url(postgres):
    """Give the URL of an empty database of a server."""
    return postgres.url(postgres.new())


class Moves:
    """Two files and a context; the moves between databases."""

    def __init__(self, clock, folder):
        self.clock, self.folder = clock, folder
        self.old, self.new = f"sqlite:///{folder}/old.db", f"sqlite:///{folder}/new.db"

    def context(self, fault=inert, identity=OURS):
        return StoreContext(identity, self.clock, LEASE, fault, lambda _: False, False)

    def opened(self, url, identity=OURS):
        return closing(open_in(url, self.context(identity=identity)))

    def fill(self, url):
        """Leave something in the tables of a store: successes, a failure, an open step."""
        with self.opened(url) as store:
            store.journal.start_run(run(HERE))
            store.journal.begin(with_mark(7), {"sql-1": "select 'é'\n"}, HERE, None)
            store.journal.finish("step-1", wrote(0))
            store.journal.reject(intent("step-2", "lines"), BROKEN, HERE)
            store.journal.begin(intent("step-3", "users"), {}, HERE, None)
            self.clock.advance(seconds=61)
            return store.archive.export(), store.archive.epoch()

    def move(self, source, target, **changes):
        return move_store(source, target, self.context(**changes))

    def document(self, url):
        with self.opened(url) as store:
            return store.archive.export()

    def refused(self, url):
        with pytest.raises(StateError) as caught, self.opened(url):
            pass
        return caught.value.code


def test_moved_to_a_server_and_back_the_documents_are_equal(moves, server_url):
    document, epoch = moves.fill(moves.old)

    there = moves.move(moves.old, server_url)
    on_server = moves.document(server_url)
    refused = moves.refused(moves.old)
    back = moves.move(server_url, moves.old)

    assert there.before == there.after == back.before == back.after
    assert there.after.rows["steps"] == 3
    assert on_server == document == moves.document(moves.old)
    assert (refused, moves.refused(server_url)) == ("state-moved", "state-moved")
    with moves.opened(moves.old) as store:
        assert store.archive.epoch() == epoch
        assert [each.intent.step for each in store.journal.running()] == ["step-3"]


def test_a_state_moves_from_one_file_to_another(moves):
    document, _ = moves.fill(moves.old)

    moves.move(moves.old, moves.new)

    assert moves.document(moves.new) == document
    assert (moves.folder / "new.db.good").exists()


def test_no_state_moves_while_a_run_may_write(moves):
    moves.fill(moves.old)
    with moves.opened(moves.old) as store:
        store.journal.begin(intent("step-4", "held"), {}, HERE, None)

    with pytest.raises(LeaseHeldError):
        moves.move(moves.old, moves.new)

    assert not (moves.folder / "new.db").exists()
    moves.document(moves.old)  # it is in use


def test_a_process_that_had_the_old_state_open_writes_nothing_more(moves):
    moves.fill(moves.old)
    with moves.opened(moves.old) as store:
        moves.move(moves.old, moves.new)

        with pytest.raises(StateError) as caught:
            store.journal.begin(intent("step-9", "late", ELSEWHERE), {}, ELSEWHERE, None)

    assert caught.value.code == "state-moved"


class Killed(BaseException):
    """The process ends here."""


def kill_at(point):
    def fault(passed):
        if passed == point:
            raise Killed

    return fault


@pytest.mark.parametrize("to", ["file", "server"])
def test_a_move_that_is_killed_before_its_end_leaves_the_old_state_in_use(moves, request, to):
    target = moves.new if to == "file" else request.getfixturevalue("server_url")
    document, _ = moves.fill(moves.old)

    with pytest.raises(Killed):
        moves.move(moves.old, target, fault=kill_at("during-move"))

    assert moves.document(moves.old) == document
    assert moves.refused(target) == "state-moved"
    with moves.opened(moves.old) as store:
        succeed(store, intent("step-5", "more"))
    later = moves.document(moves.old)
    moves.move(moves.old, target)
    assert moves.document(target) == later


def test_a_move_that_is_killed_once_the_old_state_is_marked_is_completed(moves, server_url):
    document, _ = moves.fill(moves.old)
    with pytest.raises(Killed):
        moves.move(moves.old, server_url, fault=kill_at("after-move"))

    refused = moves.refused(moves.old), moves.refused(server_url)
    moves.move(moves.old, server_url)

    assert refused == ("state-moved", "state-moved")
    assert moves.document(server_url) == document
    with pytest.raises(StateError) as again:
        moves.move(moves.old, server_url)
    assert again.value.code == "state-moved"


def other_records(moves):
    with moves.opened(moves.new) as store:
        succeed(store, intent("step-8", "others"))


def other_project(moves):
    with moves.opened(moves.new, Identity("else", "dev", "0.1.0")):
        pass


@pytest.mark.parametrize(
    ("make", "code"),
    [(other_records, "state-not-empty"), (other_project, "state-of-another-project")],
)
def test_a_database_that_is_in_use_is_never_replaced(moves, make, code):
    document, _ = moves.fill(moves.old)
    make(moves)
    before = (moves.folder / "new.db").read_bytes()

    with pytest.raises(StateError) as caught:
        moves.move(moves.old, moves.new)

    assert caught.value.code == code
    assert (moves.folder / "new.db").read_bytes() == before
    assert moves.document(moves.old) == document


def test_tables_of_others_on_the_server_stay(moves, postgres):
    moves.fill(moves.old)
    name = postgres.new()
    postgres.run(name, "CREATE TABLE runs (id int)")

    with pytest.raises(StateError) as caught:
        moves.move(moves.old, postgres.url(name))

    assert caught.value.code == "state-not-empty"
    postgres.run(name, "SELECT id FROM runs")


def test_an_empty_state_is_replaced(moves):
    document, _ = moves.fill(moves.old)
    with moves.opened(moves.new):
        pass

    moves.move(moves.old, moves.new)

    assert moves.document(moves.new) == document


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("old", "old", "same-state"),
        ("new", "old", "no-state"),
        ("old", "below", "state-unreachable"),
        ("old", "nonsense", "state-unreachable"),
    ],
)
def test_what_cannot_be_moved_is_refused(moves, source, target, code):
    document, _ = moves.fill(moves.old)
    urls = {"old": moves.old, "new": moves.new, "below": f"{moves.old}/x.db"}

    with pytest.raises(PenstockError) as caught:
        moves.move(urls.get(source, source), urls.get(target, target))

    assert caught.value.code == code
    assert isinstance(caught.value, StateError | UsageError)
    assert moves.document(moves.old) == document


def test_a_copy_of_the_old_file_still_names_the_same_store(moves):
    moves.fill(moves.old)
    shutil.copy(moves.folder / "old.db", moves.folder / "copy.db")
    moves.move(moves.old, moves.new)
    with moves.opened(moves.new) as store:
        succeed(store, intent("step-6", "orders"), version=1)

    with moves.opened(f"sqlite:///{moves.folder}/copy.db") as copy, moves.opened(moves.new) as now:
        assert copy.archive.store_id() == now.archive.store_id()
        assert copy.archive.epoch() == now.archive.epoch()
        assert copy.records.unrecorded({"step-1": 0, "step-6": 1}) == {"step-6"}


def penstock(folder, *words, **variables):
    """Run a command in a process of its own, with more variables."""
    return subprocess.run(
        [Path(sys.executable).with_name("penstock"), *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_state_moves_from_the_command_line(tmp_path):
    (tmp_path / "penstock.yml").write_text("name: shop\ntargets: {dev: {}}\n")
    moves = Moves(FixedClock(), tmp_path)
    (tmp_path / ".penstock").mkdir()
    moves.fill(f"sqlite:///{tmp_path}/.penstock/state.db")
    order = ["state", "move", "sqlite", "sqlite:///{{ env_var('PLACE') }}.db", "--yes"]

    unset = penstock(tmp_path, *order)
    killed = penstock(tmp_path, *order, PLACE="records", PENSTOCK_FAULT="during-move")
    done = penstock(tmp_path, *order, PLACE="records")
    late = penstock(tmp_path, "recover")

    ends = [each.returncode for each in (unset, killed, done, late)]
    assert ends == [2, -signal.SIGKILL, 0, 2]
    assert "missing-env-var: the environment variable PLACE is not set" in unset.stderr
    assert done.stdout.splitlines()[0].startswith("moved sqlite:////")
    assert ["steps", "3", "3"] in [line.split() for line in done.stdout.splitlines()]
    assert done.stdout.splitlines()[-1] == (
        "penstock.yml, target dev: state: \"sqlite:///{{ env_var('PLACE') }}.db\""
    )
    assert "state-moved: " in late.stderr
