import pytest

from fakes.python_app import PythonApp


@pytest.fixture
def place(tmp_path, spark):
    return PythonApp(tmp_path, spark)


@pytest.fixture
def events(place):
    """The table `events` of the specification over its source with four rows."""
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts")
    def events(raw_logs):
        return raw_logs.select("id", "ts", "amount")

    place.events = events
    return place
