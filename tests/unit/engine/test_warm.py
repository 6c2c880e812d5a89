"""A JVM between commands, by a process that ends as a JVM does: at the end of its input."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.core.project import SparkSettings
from penstock.engine import keeper, warm
from penstock.engine.jvm import LogCopy, StartedJvm
from penstock.engine.keeper import JvmAddress, JvmCard, Keeper
from penstock.engine.warm import TakenJvm, WarmPlace, warm_place

ADDRESS = JvmAddress("the key", 4242, "the secret")
SAYS_HELLO = "import sys; print('hello', flush=True); sys.stdin.read()"
STAYS = "import time; time.sleep(60)"
WARM = SparkSettings("local[2]", keep_warm=timedelta(minutes=10))


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Wait for keepers on machines that are busy, and leave none behind."""
    monkeypatch.setattr(keeper, "_ANSWER_SECONDS", 60.0)
    monkeypatch.delenv("CI")
    yield
    while warm._LEFT:
        warm._LEFT.pop().wait(10)


@pytest.fixture
def home(short_folder):
    return short_folder


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def place(home, project):
    return WarmPlace(home / "one.sock", "the key", str(project), "dev", 60.0)


@pytest.fixture
def processes():
    made = []
    yield made
    for each in made:
        each.kill()
        each.wait()
        each.stdin.close()


@pytest.fixture
def started(processes, tmp_path):
    def start(program=SAYS_HELLO):
        """Start a process, and copy what it says."""
        reading, writing = os.pipe()
        made = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=writing
        )
        os.close(writing)
        processes.append(made)
        copying = LogCopy(reading, tmp_path / "first.log")
        copying.start()
        return made, copying

    return start


@pytest.fixture
def left(started, place):
    """A process that a command left to a keeper."""
    process, copying = started()
    assert warm.leave(place, ADDRESS, process, copying)
    yield process
    keeper.ask(place.path, "stop")


def ended(process):
    return process.wait(10) is not None


def gone(path):
    until = time.monotonic() + 10
    while path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    return not path.exists()


def test_a_command_takes_what_another_one_left(left, place, tmp_path):
    taken = keeper.take(place.path, "the key")

    assert (taken.pid, taken.port, taken.secret) == (left.pid, 4242, "the secret")
    assert left.poll() is None
    assert gone(place.path)
    assert keeper.take(place.path, "the key") is None
    os.close(taken.stdin)
    assert ended(left)
    os.close(taken.output)


def test_what_is_taken_may_be_left_again(left, place, tmp_path):
    for _ in range(3):
        taken = keeper.take(place.path, "the key")
        copying = LogCopy(taken.output, tmp_path / "next.log")
        copying.start()
        assert warm.leave(place, ADDRESS, TakenJvm(taken, copying), copying)

    assert left.poll() is None
    assert keeper.ask(place.path, "status").pid == left.pid


def test_the_end_of_who_took_it_is_its_end(left, place):
    program = (
        "import sys, time; from penstock.engine import keeper; from pathlib import Path\n"
        f"taken = keeper.take(Path({str(place.path)!r}), 'the key')\n"
        "print(taken.pid, flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as command:
        assert int(command.stdout.readline()) == left.pid
        assert left.poll() is None
        command.kill()

    assert ended(left)


def test_a_command_of_another_kind_gets_none_and_ends_what_waits(left, place):
    assert keeper.take(place.path, "another key") is None

    assert ended(left)
    assert gone(place.path)


def test_two_do_not_wait_at_one_place(left, place, started, tmp_path):
    second, copying = started()

    assert not warm.leave(place, ADDRESS, second, copying)
    assert second.poll() is None
    assert copying.is_alive()  # it is still the command's, log and all
    assert keeper.ask(place.path, "status").pid == left.pid


def test_it_ends_when_its_time_is_over(started, place):
    process, copying = started()

    assert warm.leave(replace(place, seconds=0.2), ADDRESS, process, copying)

    assert ended(process)
    assert gone(place.path)


def test_it_ends_when_its_project_is_gone(left, place, project):
    shutil.rmtree(project)

    keeper.ask(place.path, "status")

    assert ended(left)


def test_it_ends_with_its_keeper_and_leaves_the_place_free(left, place, started):
    warm._LEFT[-2].kill()

    assert ended(left)
    assert keeper.take(place.path, "the key") is None
    process, copying = started()
    assert warm.leave(place, ADDRESS, process, copying)
    assert keeper.ask(place.path, "stop").pid == process.pid


def test_a_keeper_goes_when_what_it_holds_has_ended(left, place):
    left.kill()

    assert gone(place.path)


def test_what_is_left_says_whose_it_is_and_no_secret(left, place, project):
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(place.path))
        asking.sendall(b'{"do": "status"}\n')
        told = json.loads(asking.makefile().readline())

    assert 50 < told.pop("until") - time.time() < 61
    assert told == {"root": str(project), "target": "dev", "pid": left.pid}
    assert place.path.stat().st_mode & 0o777 == 0o600


def test_who_says_something_else_is_not_heard(left, place):
    for said in (b"", b"hello\n", b"[]\n", b'{"do": "take"}', b'{"do": "dance"}\n'):
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(place.path))
            asking.sendall(said)

    assert keeper.ask(place.path, "status").pid == left.pid
    assert left.poll() is None


def test_what_is_stopped_has_ended_when_the_answer_comes(left, place):
    assert keeper.ask(place.path, "stop").pid == left.pid

    assert ended(left)
    assert not place.path.exists()
    assert keeper.ask(place.path, "stop") is None


def test_one_that_does_not_end_by_itself_is_killed(started, place, monkeypatch):
    monkeypatch.setattr(keeper, "_END_SECONDS", 0.2)
    process, copying = started(STAYS)
    listener = keeper.listening(place.path)
    assert copying.leave()
    card = JvmCard(place.root, "dev", process.pid, time.time())

    Keeper(card, ADDRESS, listener, os.dup(process.stdin.fileno()), copying.source).keep()

    process.stdin.close()
    os.close(copying.source)
    assert process.wait(10) == -signal.SIGKILL


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701], ids=oct)
def test_a_folder_that_others_may_enter_is_none(home, mode):
    (home / "penstock").mkdir()
    (home / "penstock").chmod(mode)

    assert keeper.folder({"XDG_RUNTIME_DIR": str(home)}, make=True) is None


def test_where_a_socket_would_have_too_long_a_path_it_lies_elsewhere(home):
    far = home / ("long" * 20)
    far.mkdir()

    found = keeper.folder({"XDG_RUNTIME_DIR": str(far)}, make=True)

    assert found == Path("/tmp", f"penstock-{os.getuid()}")  # noqa: S108  it is the user's alone
    assert len(str(keeper.socket_path(found, "0" * 16))) < 104


def test_a_folder_is_made_for_its_user_alone_and_no_link_is_followed(home, tmp_path):
    environ = {"XDG_RUNTIME_DIR": str(home)}

    assert keeper.folder(environ) is None
    assert keeper.folder(environ, make=True) == home / "penstock"
    assert (home / "penstock").stat().st_mode & 0o777 == 0o700
    (home / "penstock").rename(tmp_path / "elsewhere")
    (home / "penstock").symlink_to(tmp_path / "elsewhere")
    assert keeper.folder(environ, make=True) is None


def test_a_socket_of_everybody_is_not_spoken_to(left, place):
    place.path.chmod(0o666)

    assert keeper.take(place.path, "the key") is None
    assert left.poll() is None
    place.path.chmod(0o600)


def test_each_command_has_in_its_log_what_was_said_while_it_ran(tmp_path):
    reading, writing = os.pipe()
    logs = tmp_path / "one.log", tmp_path / "two.log"
    first = LogCopy(reading, logs[0])
    first.start()
    os.write(writing, b"password=hunter2\nof the first")
    assert first.leave()
    os.write(writing, b"of the second\n")
    second = LogCopy(reading, logs[1])
    second.start()
    os.close(writing)
    second.join(10)

    assert [each.read_text() for each in logs] == [
        "password=***\nof the first",
        "of the second\n",
    ]
    assert not second.leave()


@pytest.fixture
def taken(started, tmp_path):
    """A process as a command holds it that took it."""
    process, copying = started()
    assert copying.leave()
    ends = os.dup(process.stdin.fileno()), copying.source
    process.stdin.close()
    copying = LogCopy(ends[1], tmp_path / "run.log")
    copying.start()
    made = TakenJvm(keeper.WarmJvm(process.pid, 1, "", *ends), copying)
    yield made, copying
    made.stdin.close()


def test_of_one_that_was_taken_the_end_is_seen_and_told(taken, tmp_path):
    process, copying = taken
    found = StartedJvm()
    found.started(process, tmp_path / "run.log", copying)
    before = found.has_ended()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)

    found.kill()

    assert (before, found.has_ended()) == (False, True)
    assert found.lost().sentence == f"Spark's JVM ended; its log is {tmp_path}/run.log"


def test_one_that_does_not_answer_is_ended_and_another_is_started(
    started, place, tmp_path, monkeypatch
):
    monkeypatch.setattr(warm, "_GREETING_SECONDS", 0.2)
    monkeypatch.setattr(warm, "JVM", StartedJvm())  # not that of other tests in this process,
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)  # nor what PySpark holds of it
    process, copying = started()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = replace(ADDRESS, port=silent.getsockname()[1])
        assert warm.leave(place, address, process, copying)

        assert warm.attach(place, tmp_path / "next.log") is None

    assert ended(process)
    assert not warm.JVM.has_ended()


def test_a_jvm_waits_where_it_is_asked_to(home, project, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    root = str(project)

    found = warm_place(WARM, root, "dev")

    assert (found.path.parent, found.root, found.seconds) == (home / "penstock", root, 600.0)
    assert warm_place(WARM, root, "dev") == found
    assert warm_place(WARM, root, "prod").path != found.path
    for none in (
        replace(WARM, keep_warm=timedelta()),
        replace(WARM, master="spark://master:7077"),
        replace(WARM, master="local-cluster[2,1,1024]"),
        replace(WARM, conf={"spark.sql.catalogImplementation": "hive"}),
    ):
        assert warm_place(none, root, "dev") is None
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert warm_place(WARM, root, "dev") is None


def test_no_jvm_waits_in_ci(home, project, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    monkeypatch.setenv("CI", "true")

    assert warm_place(WARM, str(project), "dev") is None


@pytest.fixture
def key(home, project, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))

    def of(**changed):
        return warm_place(replace(WARM, **changed), str(project), "dev").key

    return of


def test_what_a_jvm_was_started_with_is_its_key(key, tmp_path, monkeypatch):
    jar = tmp_path / "mine.jar"
    jar.write_text("one")
    before = key(conf={"spark.jars": f"/x.jar,{jar}"})
    found = {before, key(master="local[3]"), key(driver_memory="3g"), key(conf={"a": "b"})}

    jar.write_text("another")
    found.add(key(conf={"spark.jars": f"/x.jar,{jar}"}))
    monkeypatch.setenv("AWS_PROFILE", "other")
    found.add(key(conf={"spark.jars": f"/x.jar,{jar}"}))
    monkeypatch.chdir(tmp_path)
    found.add(key(conf={"spark.jars": f"/x.jar,{jar}"}))

    assert len(found) == 7


@pytest.mark.parametrize("setting", ["spark.driver.extraClassPath", "spark.jars"])
@pytest.mark.parametrize("place", ["lib/*", "lib/*.jar", "lib"])
def test_every_file_that_is_loaded_by_wildcard_or_in_a_folder_is_in_the_key(
    key, tmp_path, setting, place
):
    inside = tmp_path / "lib"
    inside.mkdir()
    first = inside / "one.jar"
    first.write_text("one")
    conf = {setting: f"/x.jar:{tmp_path / place}"}
    found = [key(conf=conf), key(conf=conf)]

    first.write_text("three")
    found.append(key(conf=conf))
    os.utime(first, (1, 1))
    found.append(key(conf=conf))
    (inside / "two.jar").write_text("two")
    found.append(key(conf=conf))
    first.unlink()
    found.append(key(conf=conf))

    assert found[0] == found[1]
    assert len(set(found)) == 5


def test_a_terminal_and_settings_of_one_spark_are_not_in_the_key(key, monkeypatch):
    before = key()
    monkeypatch.setenv("TERM_SESSION_ID", "other")
    monkeypatch.setenv("COLUMNS", "77")

    assert key(conf=warm.PER_CONTEXT) == before
