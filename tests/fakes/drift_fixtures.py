"""Fixture F built once for the whole suite; tests get copies of it."""

import pytest

from fakes.built_once import built_once
from fakes.drift_place import DriftPlace


@pytest.fixture(scope="session")
def synced_folder(tmp_path_factory, spark):
    """A folder with fixture F after `sync --yes`: tables and records."""

    def build(folder):
        place = DriftPlace(folder, spark)
        place.events()
        place.sync()

    return built_once(tmp_path_factory, "fixture-f", build)
