"""Fixture F built once; every test gets a copy of it, tables and records included."""

import datetime as dt
import shutil

import pytest

from fakes.clock import FixedClock
from fakes.drift_place import MOMENT, DriftPlace
from fakes.fixture_f import EDIT_E, FIXTURE_F


def later(*, minutes: int) -> FixedClock:
    """Give a clock some minutes after the moment of fixture F."""
    return FixedClock(MOMENT + dt.timedelta(minutes=minutes))


@pytest.fixture
def synced(tmp_path, spark, synced_folder):
    """A copy of fixture F after `sync --yes`, a minute later."""
    root = tmp_path / "f"
    shutil.copytree(synced_folder, root)
    return DriftPlace(root, spark, files={}, clock=later(minutes=1))


@pytest.fixture
def fresh(tmp_path, spark, synced_folder):
    """Fixture F with its events, nothing run."""
    root = tmp_path / "f"
    shutil.copytree(synced_folder / "lake", root / "lake")
    return DriftPlace(root, spark, FIXTURE_F)


@pytest.fixture(scope="session")
def cascaded_folder(tmp_path_factory, spark, synced_folder):
    """A folder with synced fixture F after edit E and `sync --cascade --yes`."""
    root = tmp_path_factory.mktemp("e") / "f"
    shutil.copytree(synced_folder, root)
    place = DriftPlace(root, spark, files=EDIT_E, clock=later(minutes=1))
    place.sync(cascade=True)
    return root


@pytest.fixture
def cascaded(tmp_path, spark, cascaded_folder):
    """A copy of fixture F after edit E was cascaded, another minute later."""
    root = tmp_path / "cascaded"
    shutil.copytree(cascaded_folder, root)
    return DriftPlace(root, spark, files={}, clock=later(minutes=2))
