"""A package after its first and its second run, made once for the stories that go on from there."""

import pytest

from fakes.built_once import built_once
from fakes.session_place import S21, SessionPlace, problems


@pytest.fixture(scope="session")
def daily(tmp_path_factory, spark):
    """Two runs, with a model of the user that is tracked from the start: `one` and `two`."""

    def build(folder):
        web = SessionPlace(folder / "one", spark)
        web.tagged("m5")
        web.add(*S21)
        assert problems(web.at("01-02", "web m5")) == []
        assert problems(web.copied(folder / "two").at("01-03", "web m5")) == []

    return built_once(tmp_path_factory, "sessions-daily", build)


@pytest.fixture
def place(daily, spark, tmp_path):
    """Give copies of what the package is after a run."""

    def after(folder="two", name=""):
        return SessionPlace.at_folder(daily / folder, spark).copied(tmp_path / (name or folder))

    return after
