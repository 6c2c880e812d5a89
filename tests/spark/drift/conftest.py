"""Fixture F built once; every test gets a copy of it, tables and records included."""

import datetime as dt
import shutil

import pytest

from fakes.clock import FixedClock
from fakes.drift_place import MOMENT, DriftPlace
from fakes.fixture_f import FIXTURE_F


@pytest.fixture
def synced(tmp_path, spark, synced_folder):
    """A copy of fixture F after `sync --yes`, a minute later."""
    root = tmp_path / "f"
    shutil.copytree(synced_folder, root)
    return DriftPlace(root, spark, files={}, clock=FixedClock(MOMENT + dt.timedelta(minutes=1)))


@pytest.fixture
def fresh(tmp_path, spark, synced_folder):
    """Fixture F with its events, nothing run."""
    root = tmp_path / "f"
    shutil.copytree(synced_folder / "lake", root / "lake")
    return DriftPlace(root, spark, FIXTURE_F)
