"""The seed's workflow as a user types it. Looking and asking need no Java."""

import os
import pty
import re
import shutil
import subprocess

import pytest

from fakes import attached
from fakes.command import program
from fakes.drift_place import MOMENT, DriftPlace
from fakes.fixture_f import EDIT_E

pytestmark = pytest.mark.spark

NO_JAVA = {"PATH": "/nowhere", "HOME": os.environ.get("HOME", "/")}
AT = ("--as-of", MOMENT.isoformat())
STATUS = """\
daily_user_stats: sql_changed (15 partitions)
    2024-12-02 to 2024-12-16   sql_changed        v3
weekly_summary: upstream_changed (3 partitions, pending)
    2024-12-02, 2024-12-09, 2024-12-16   upstream_changed   pending   after daily_user_stats
monthly_report: upstream_changed (1 partition, pending)
    2024-12   upstream_changed   pending   after weekly_summary

15 of 46 partitions drifted, 4 pending. Next: penstock sync --cascade --as-of 2024-12-16T12:00:00Z
"""
PLAN = """\
Drift detected:
  daily_user_stats: 15 partitions (sql_changed)

Cascade analysis:
  weekly_summary: 3 partitions (upstream_changed, pending)
    └── depends on: daily_user_stats
  monthly_report: 1 partition (upstream_changed, pending)
    └── depends on: weekly_summary

Execution plan (topological order):
  1. daily_user_stats  (15 partitions, 1 step)
  2. weekly_summary    (3 partitions, 3 steps, 3 pending)
  3. monthly_report    (1 partition, 1 step, 1 pending)

daily_user_stats: 15 partitions will be re-run

SQL changes detected:
───────────────────────────────────────
-        COUNT(DISTINCT user_id) AS unique_users,
+        COUNT(DISTINCT COALESCE(user_id, 'anon')) AS unique_users,
───────────────────────────────────────

Schema unchanged.

Total: 19 partitions
"""
PROMPT = """\
WARNING: This will overwrite 15 partitions
  Query: daily_user_stats
  Range: 2024-12-02 to 2024-12-16
  Last successful run: N days ago

WARNING: This will overwrite 3 partitions
  Query: weekly_summary
  Range: 2024-12-02, 2024-12-09, 2024-12-16
  Last successful run: N days ago

WARNING: This will overwrite 1 partition
  Query: monthly_report
  Range: 2024-12
  Last successful run: N days ago

Type 'yes' to confirm: """

SPARSE = """\
queries/analytics/weekly_summary.yaml:7:11: warning: sparse-partitions: only Mondays can hold \
rows; write type: WEEK
  hint: "week_start" is truncated to its week
"""
NOBODY = """\
error: needs-confirmation: this overwrites 19 partitions (daily_user_stats, weekly_summary, \
monthly_report), and there is no terminal to ask at
  hint: add --yes
"""


@pytest.fixture
def place(tmp_path, spark, synced_folder):
    """A copy of fixture F after `sync --yes`."""
    root = tmp_path / "f"
    shutil.copytree(synced_folder, root)
    return DriftPlace(root, spark, files={})


def told(place, *words, spark=None, typed=None):
    """Run a command; give its exit code, what it printed and what it complained of.

    With `typed` there is a terminal at which somebody types it. There is no Java, but for `spark`.
    """
    env = os.environ | attached.address(spark) if spark else NO_JAVA
    terminal, keyboard = pty.openpty()
    if typed is not None:
        os.write(terminal, f"{typed}\n".encode())
    try:
        done = subprocess.run(
            [*program(spark), *words, *AT],
            cwd=place.root,
            env=env,
            stdin=subprocess.DEVNULL if typed is None else keyboard,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(keyboard)
    return done.returncode, done.stdout, re.sub(r"\d+ days ago", "N days ago", done.stderr)


@pytest.mark.matrix
def test_the_workflow_of_an_edit_is_status_plan_sync_status(place):
    fresh = told(place, "status")
    place.write(EDIT_E)

    status = told(place, "status")
    plan = told(place, "sync", "--cascade", "--dry-run")
    unattended = told(place, "sync", "--cascade")
    refused = told(place, "sync", "--cascade", typed="y")
    done = told(place, "sync", "--cascade", spark=place.spark, typed="yes")
    after = told(place, "status")

    assert fresh == (0, "All current ✓\n", "")
    assert status == (0, STATUS, "")
    assert plan == (0, PLAN, SPARSE)
    assert unattended == (2, "", NOBODY)
    assert refused == (1, "Aborted, nothing was done.\n", PROMPT + SPARSE)
    assert (done[0], done[2].startswith(PROMPT)) == (0, True)
    assert done[1].splitlines()[-1] == "Done: 5 steps, 19 partitions."
    assert after == (0, "All current ✓\n", "")
