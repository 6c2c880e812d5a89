"""`engine status` and `engine stop`, over processes that end as a JVM does."""

import os
import subprocess
import sys
import time

import pytest

from penstock.app.commands.doctor import engine_status, engine_stop
from penstock.engine import keeper, warm
from penstock.engine.jvm import LogCopy
from penstock.engine.keeper import JvmAddress
from penstock.engine.warm import WarmPlace

ADDRESS = JvmAddress("key", 1, "secret")


@pytest.fixture
def waiting(tmp_path, short_folder, monkeypatch):
    """Two JVMs that wait, and the socket of one whose keeper was killed."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_folder))
    monkeypatch.setattr(keeper, "_ANSWER_SECONDS", 60.0)
    home = keeper.folder(os.environ, make=True)
    left = []
    for name in ("a", "b", "gone"):
        reading, writing = os.pipe()
        program = [sys.executable, "-c", "input()"]
        made = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.DEVNULL
        )
        os.close(writing)
        copying = LogCopy(reading, tmp_path / "log")
        copying.start()
        place = WarmPlace(home / f"{name}.sock", "key", str(tmp_path), name, 60.0)
        assert warm.leave(place, ADDRESS, made, copying)
        left.append(made)
    warm._LEFT[-2].kill()
    left.pop().wait(10)
    yield left
    engine_stop()
    while warm._LEFT:
        warm._LEFT.pop().wait(10)


def test_what_waits_is_told_and_stopped(waiting, tmp_path):
    found = engine_status().kept

    assert [(each.root, each.target, each.pid) for each in found] == [
        (str(tmp_path), "a", waiting[0].pid),
        (str(tmp_path), "b", waiting[1].pid),
    ]
    assert all(50 < each.ends.timestamp() - time.time() < 61 for each in found)
    assert engine_stop().kept == found
    assert all(each.wait(10) is not None for each in waiting)
    assert engine_status().kept == engine_stop().kept == ()
