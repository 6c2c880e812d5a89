"""The SQLite file: how it is made, refused, locked, damaged and restored."""

import datetime as dt
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from contracts.store_cases import HERE, LEASE, OURS, intent, run, succeed, with_mark, wrote
from fakes.clock import FixedClock
from penstock.core.errors import EnvironmentMissingError, StateError
from penstock.core.ports.ports import inert
from penstock.core.records import Lease, Status
from penstock.state.lease import Identity, StoreContext, is_gone, process_of
from penstock.state.open import open_existing, open_store
from penstock.state.sql.sqlite import restore

AT = dt.datetime(2024, 3, 1, 12, 30, tzinfo=dt.UTC)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "project" / ".penstock" / "state.db"


@pytest.fixture
def opened(file, clock):
    stores = []

    def open_one(identity=OURS, query=""):
        store = open_store(f"sqlite:///{file}{query}", identity=identity, clock=clock, lease=LEASE)
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.close()


def query(file, sql):
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute(sql).fetchall()
        database.commit()
    return rows


def exists(file):
    """Ask for the store without making it."""
    context = StoreContext(OURS, FixedClock(), LEASE, inert, lambda _: False)
    found = open_existing(f"sqlite:///{file}", context)
    if found is not None:
        found.close()
    return found is not None


def names(file):
    return sorted(path.name for path in file.parent.iterdir())


# Opening


def test_opening_makes_the_folder_and_the_file_and_nothing_else(file, opened):
    opened().close()

    assert names(file) == ["state.db"]
    assert query(file, "PRAGMA journal_mode") == [("wal",)]


def test_asking_whether_a_store_exists_makes_nothing(file, opened):
    before = exists(file)
    made = file.parent.exists()
    opened().close()

    assert (before, made, exists(file)) == (False, False, True)


def test_a_store_that_is_opened_again_remembers(opened):
    first = opened()
    succeed(first, with_mark(7))
    first.close()
    second = opened()

    assert second.archive.store_id() == first.archive.store_id()
    assert second.records.models() == first.records.models()


def test_an_empty_file_becomes_a_store(file, opened):
    file.parent.mkdir(parents=True)
    file.touch()
    missing = not exists(file)
    store = opened()

    assert missing
    assert store.records.models() == {}


def test_opening_a_ready_store_imports_no_alembic(file, opened):
    opened().close()
    code = (
        "import sys, fakes.clock, contracts.store_cases as c, penstock.state.open as o;"
        f"o.open_store('sqlite:///{file}', identity=c.OURS, clock=fakes.clock.FixedClock(),"
        " lease=c.LEASE).close();"
        "print([m for m in ('alembic', 'mako') if m in sys.modules])"
    )
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


def test_a_store_of_another_project_is_refused_by_both_names(file, opened):
    opened()

    with pytest.raises(StateError) as caught:
        opened(Identity("bakery", "prod", "0.1.0"))

    assert caught.value.render() == (
        f"error: state-of-another-project: sqlite:///{file} belongs to target 'dev' of project "
        "'shop', not to target 'prod' of project 'bakery'\n"
        "  hint: give each target of each project a state of its own"
    )


def test_a_store_of_a_newer_penstock_is_refused(file, opened):
    opened().close()
    query(file, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StateError) as caught:
        opened()

    assert caught.value.render() == (
        f"error: state-too-new: sqlite:///{file} was written by a newer penstock (schema 9999)\n"
        "  hint: upgrade penstock: pip install --upgrade penstock-delta"
    )
    assert query(file, "SELECT version_num FROM alembic_version") == [("9999",)]
    assert names(file) == ["state.db"]


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("no url", "state-unreachable"),
        ("oracular://host/db", "state-unreachable"),
        ("sqlite://", "state-unreachable"),
        ("sqlite:////proc/no/state.db", "state-unreachable"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url, code, clock):
    with pytest.raises(StateError) as caught:
        open_store(url, identity=OURS, clock=clock, lease=LEASE)

    assert caught.value.code == code


def test_a_missing_driver_names_the_extra_that_brings_it(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(EnvironmentMissingError) as caught:
        open_store("postgresql+psycopg://host/db", identity=OURS, clock=clock, lease=LEASE)

    assert caught.value.render() == (
        "error: driver-missing: the database driver psycopg is not installed\n"
        "  hint: pip install 'penstock-delta[postgres]'"
    )


def test_the_penstock_that_wrote_last_is_on_record(file, opened):
    opened()
    opened(Identity("shop", "dev", "0.2.0")).journal.start_run(run())

    assert query(file, "SELECT penstock FROM project") == [("0.2.0",)]


# Locks


def test_a_file_that_stays_locked_is_an_error_and_readable(file, opened):
    store = opened(query="?timeout=0.05")
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError) as caught:
            store.journal.begin(intent(), {}, HERE, None)
        seen = store.records.models()

    assert caught.value.code == "state-unreachable"
    assert caught.value.sentence.endswith("is locked by another process")
    assert seen == {}


def test_a_lock_that_is_let_go_is_waited_for(file, opened):
    store = opened()
    with closing(sqlite3.connect(file, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.2, other.rollback)
        release.start()
        begun = store.journal.begin(intent(), {}, HERE, None)
        release.join()

    assert begun.step_seq == 1


def test_threads_share_a_store(opened):
    store = opened()
    threads = [
        threading.Thread(target=succeed, args=(store, intent(f"step-{n}", f"m{n}")))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(record.step_seq for record in store.records.models().values()) == [*range(1, 9)]


# Damage


def damage(file, at=0, text=b"lost"):
    content = bytearray(file.read_bytes())
    content[at : at + 4000] = text * 1000
    file.write_bytes(content)


def test_a_file_that_is_no_database_is_damaged_and_kept(file, opened):
    file.parent.mkdir(parents=True)
    file.write_text("a shopping list\n" * 100)

    with pytest.raises(StateError) as caught:
        opened()

    assert caught.value.render() == (
        f"error: state-damaged: sqlite:///{file} is damaged: file is not a database\n"
        "  hint: penstock state restore puts the last good copy in place and keeps this file"
    )
    assert file.read_text() == "a shopping list\n" * 100


def test_damage_inside_is_found_when_it_is_read(file, opened):
    store = opened()
    succeed(store, intent())
    store.close()
    [(root,)] = query(file, "SELECT rootpage FROM sqlite_master WHERE name = 'partition_state'")
    damage(file, at=(root - 1) * 4096)

    with pytest.raises(StateError) as caught:
        opened().records.models()

    assert caught.value.code == "state-damaged"


def test_restore_puts_the_state_after_the_last_run_in_place_and_keeps_the_damaged_file(
    file, opened
):
    store = opened()
    store.journal.start_run(run())
    succeed(store, with_mark(7))
    store.journal.end_run("run-1", Status.SUCCESS)
    before = store.archive.export()
    store.close()
    damage(file)
    damaged = file.read_bytes()

    aside = restore(f"sqlite:///{file}", AT)

    assert aside == file.with_name("state.db.damaged-20240301T123000.000000Z")
    assert aside.read_bytes() == damaged
    assert names(file) == ["state.db", aside.name, "state.db.good"]
    again = opened()
    assert again.archive.export() == before
    assert again.journal.begin(intent("step-2"), {}, HERE, 1).lease_token == 2


def test_restore_takes_the_log_of_the_damaged_file_away_with_it(file, opened):
    store = opened()
    store.journal.start_run(run())
    succeed(store, intent())
    store.journal.end_run("run-1", Status.SUCCESS)
    store.close()
    file.with_name("state.db-wal").write_bytes(b"half a log")

    aside = restore(f"sqlite:///{file}", AT)

    assert aside.with_name(f"{aside.name}-wal").read_bytes() == b"half a log"
    assert opened().records.models().keys() == {"orders"}


def test_without_a_copy_restore_touches_nothing(file, opened):
    opened().close()
    damage(file)

    with pytest.raises(StateError) as caught:
        restore(f"sqlite:///{file}", AT)

    assert caught.value.code == "state-no-copy"
    assert names(file) == ["state.db"]


def test_a_run_without_steps_makes_no_copy(file, opened):
    store = opened()
    store.journal.start_run(run())
    store.journal.end_run("run-1", Status.SUCCESS)
    store.close()

    assert names(file) == ["state.db"]


def test_a_damaged_file_never_replaces_the_good_copy(file, opened):
    store = opened()
    succeed(store, intent())
    store.journal.end_run("run-1", Status.SUCCESS)
    store.close()
    good = file.with_name("state.db.good").read_bytes()
    [(root,)] = query(file, "SELECT rootpage FROM sqlite_master WHERE name = 'contents'")
    damage(file, at=(root - 1) * 4096)
    again = opened()
    again.journal.end_run("run-1", Status.SUCCESS)

    assert file.with_name("state.db.good").read_bytes() == good


# What people read


def test_the_views_show_records_and_history_by_name(file, opened):
    store = opened()
    store.journal.begin(intent(), {}, HERE, None)
    store.journal.finish("step-1", wrote(4))
    store.close()

    assert query(
        file, "SELECT model, partition, sql_checksum, commit_version FROM partition_state_full"
    ) == [("orders", "*", "sql-1", 4)]
    assert query(
        file, "SELECT model, partition, status, triggered_by FROM execution_history_full"
    ) == [("orders", "*", "SUCCESS", "run")]


def test_times_are_stored_in_an_order_that_text_keeps(file, opened, clock):
    store = opened()
    succeed(store, intent("step-1"))
    clock.advance(seconds=0.5)
    succeed(store, intent("step-2"))
    store.close()

    assert query(file, "SELECT executed_at FROM execution_history ORDER BY executed_at") == [
        ("2024-03-01 12:00:00.000000",),
        ("2024-03-01 12:00:00.500000",),
    ]


def a_lease(pid, process):
    now = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
    return Lease("mart.users", "run-1", "host-a", pid, 1, now, now, now, process)


def test_a_process_is_told_from_another_with_its_number():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    lease = a_lease(child.pid, process_of(child.pid))
    other = a_lease(child.pid, f"{lease.process}0")
    lives = is_gone(lease)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    unreaped = is_gone(lease)
    child.wait()

    assert (lives, unreaped, is_gone(lease), is_gone(other)) == (False, True, True, True)


def test_a_process_of_another_boot_or_pid_namespace_is_not_known_to_be_gone():
    boot, space, start = process_of(os.getpid()).split("/")

    for process in ("", f"other/{space}/{start}", f"{boot}/4026531000/{start}"):
        assert not is_gone(a_lease(2**22 + 1, process))


# journals that were left, and disks that are full


def die_with_a_journal(file):
    """Write in a process that is killed, so that the journal stays beside the file."""
    code = (
        "import os, signal, fakes.clock, contracts.store_cases as c, penstock.state.open as o;"
        f"s = o.open_store('sqlite:///{file}', identity=c.OURS, clock=fakes.clock.FixedClock(),"
        " lease=c.LEASE); c.succeed(s, c.with_mark(7)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    return file.with_name("state.db-wal")


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_new_database_does_not_take_over_the_journal_of_one_that_was_moved_away(
    file, opened, left
):
    journal = die_with_a_journal(file)
    before = journal.read_bytes()
    file.rename(file.with_name("moved.db"))
    if left == "an empty file":
        file.touch()

    with pytest.raises(StateError) as caught:
        opened()

    assert caught.value.render() == (
        f"error: state-journal-left: {file} is gone, and its journal {journal} is left: it holds "
        "what was written last\n"
        "  hint: put the file back; or move state.db-wal away as well, and penstock state rebuild "
        "reads the state back from the tables"
    )
    assert before == journal.read_bytes() != b""


def test_either_way_out_of_a_journal_that_was_left_works(file, opened):
    journal = die_with_a_journal(file)
    moved = file.rename(file.with_name("moved.db"))
    moved.rename(file)
    back = opened()
    known = back.records.models().keys()
    back.close()
    die_with_a_journal(file.with_name("other.db"))
    file.unlink()
    journal.unlink(missing_ok=True)

    assert known == {"orders"}
    assert opened().records.models() == {}


def test_a_restore_on_a_full_disk_touches_nothing_and_says_so(file, opened):
    store = opened()
    succeed(store, intent())
    store.journal.end_run("run-1", Status.SUCCESS)
    store.close()
    damage(file)
    before = {path.name: path.read_bytes() for path in file.parent.iterdir()}
    code = (
        "import resource, signal, datetime, penstock.state.sql.sqlite as r;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));"
        f"r.restore('sqlite:///{file}', datetime.datetime.now(datetime.UTC))"
    )
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )

    assert done.stderr.splitlines()[-1] == (
        f"penstock.core.errors.StateError: {file} cannot be used: File too large"
    )
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == before


def test_a_good_copy_that_is_damaged_itself_is_not_put_in_place(file, opened):
    store = opened()
    succeed(store, intent())
    store.journal.end_run("run-1", Status.SUCCESS)
    store.close()
    damage(file.with_name("state.db.good"), at=3 * 4096)
    before = {path.name: path.read_bytes() for path in file.parent.iterdir()}

    with pytest.raises(StateError) as caught:
        restore(f"sqlite:///{file}", AT)

    assert caught.value.code == "state-no-copy"
    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == before


def test_a_state_that_lost_a_table_never_replaces_the_good_copy(file, opened):
    store = opened()
    succeed(store, intent())
    store.journal.end_run("run-1", Status.SUCCESS)
    store.close()
    good = file.with_name("state.db.good").read_bytes()
    query(file, "DROP TABLE watermarks")
    opened().journal.end_run("run-1", Status.SUCCESS)

    assert file.with_name("state.db.good").read_bytes() == good
