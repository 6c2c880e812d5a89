"""The disk under a warehouse gives out in the middle of a commit; the next run repairs it."""

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress

import pytest

from fakes.faulted import UNDISTURBED

PAGE = 4096
"""What a file of one byte takes of a small disk."""
OURS = ("Traceback", "Py4J", "py4j", "\tat ")


def mounts() -> bool:
    """Return whether this user may mount a disk."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", folder]
        with suppress(OSError):
            return subprocess.run(words, capture_output=True, check=False).returncode == 0
    return False


pytestmark = [
    pytest.mark.spark,
    pytest.mark.matrix,
    pytest.mark.skipif(not mounts(), reason="only who may mount has a disk of its own to fill"),
]


class Disk:
    """A small disk of its own below a folder."""

    def __init__(self, folder):
        self.folder, self._filler = folder, folder / "filler"
        kept = folder.with_name("kept")
        folder.rename(kept)
        folder.mkdir()
        self._call("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs")
        shutil.copytree(kept, folder, dirs_exist_ok=True)

    def _call(self, *words):
        subprocess.run([*words, str(self.folder)], check=True, timeout=60)

    def fill(self, left):
        """Leave room for so many pages."""
        found = os.statvfs(self.folder)
        self._filler.write_bytes(b"x" * max(found.f_bavail * found.f_frsize - left * PAGE, 0))

    def lock(self):
        """Refuse every write from now on."""
        self._call("mount", "-o", "remount,ro")

    def mend(self):
        self._call("mount", "-o", "remount,rw")
        self._filler.unlink(missing_ok=True)

    def unmount(self):
        self._call("umount", "--lazy")


@pytest.fixture
def disk(crash):
    made = Disk(crash.place.root / "warehouse")
    yield made
    made.unmount()


@pytest.mark.parametrize("model", ["log", "users"])
@pytest.mark.parametrize(
    "left", [None, *range(9)], ids=lambda n: f"{n} pages" if n is not None else "read-only"
)
def test_a_disk_that_gives_out_in_mid_commit_is_one_sentence_and_the_next_run_repairs_it(
    crash, disk, model, left
) -> None:
    command = crash.start("run", "--select", model, fault="stop:before-commit:1")
    command.wait_until_stopped()
    if left is None:
        disk.lock()
    else:
        disk.fill(left)

    code, told = command.ended()
    disk.mend()
    again = crash.place.run(model)

    assert [word for word in OURS if word in told] == [], told
    assert code == 1 if left in (None, 0) else code in (0, 1), told
    assert again.succeeded, again
    assert crash.place.rows(model) == UNDISTURBED[model]
    assert crash.place.run(model).plan.is_empty
