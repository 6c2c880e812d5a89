"""Fixture F built once for the whole suite; tests get copies of it."""

import pytest

from fakes.drift_place import DriftPlace


@pytest.fixture(scope="session")
def synced_folder(tmp_path_factory, spark):
    """A folder with fixture F after `sync --yes`: tables and records."""
    place = DriftPlace(tmp_path_factory.mktemp("f"), spark)
    place.events()
    place.sync()
    return place.root
