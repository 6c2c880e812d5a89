"""What a decorated function offers beside being called."""

import importlib.util
import inspect

import pytest

from penstock.core.errors import TableError
from penstock.project.files.discovery import PROJECT_FILE


def test_a_decorated_function_is_the_plain_function(place):
    @place.app.incremental_table(time_column="ts")
    def events(raw_logs, factor: int = 2):
        """Say what it is."""
        return raw_logs

    assert events(place.frame(1, 2, 3, 4)).count() == 4
    assert str(inspect.signature(events)) == "(raw_logs, factor: int = 2)"
    assert (events.__name__, events.__doc__) == ("events", "Say what it is.")
    assert not (place.root / ".penstock").exists()


def test_a_table_that_was_never_built_has_no_frame(events):
    with pytest.raises(TableError) as caught:
        events.events.build_lazy()

    assert caught.value.code == "not-built-yet"


@pytest.mark.matrix
def test_build_gives_the_table_and_build_lazy_writes_nothing(events):
    @events.app.model
    def large(events):
        return events.where("amount > 20")

    built = events.events.build()
    lazy = large.build_lazy()

    assert sorted(row.id for row in built.collect()) == [1, 2, 3, 4]
    assert sorted(row.id for row in lazy.collect()) == [3, 4]
    assert events.commits("events") == 1


def test_what_the_package_decorates_builds_itself_in_the_project_in_which_it_lies(place):
    (place.root / PROJECT_FILE).write_text("name: main\n")
    file = place.root / "models" / "main" / "pipeline.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "from penstock import model, table\n\n"
        "@model\ndef one(spark):\n    return spark.range(3)\n\n"
        "@table\ndef two(one):\n    return one.where('id > 0')\n"
    )
    spec = importlib.util.spec_from_file_location("of_a_test", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    built = module.two.build()

    assert sorted(row.id for row in built.collect()) == [1, 2]
    assert sorted(row.id for row in module.one.build_lazy().collect()) == [0, 1, 2]
    assert module.two.get_meta().version == 0


def test_a_table_and_its_partitions_are_known_without_spark(place):
    place.source(1, 2, 3, 4)

    @place.app.table(partition_by="user")
    def users(raw_logs):
        return raw_logs

    before = (users.exists(), users.partitions())
    place.app.run()

    assert before == (False, [])
    assert users.exists()
    assert sorted(each["user"] for each in users.partitions()) == ["a", "b", "c"]


def test_descriptions_are_there_before_the_table(place):
    place.source(1, 2, 3, 4)

    @place.app.incremental_table(time_column="ts", columns={"ts": "when"})
    def events(raw_logs):
        """What happened."""
        return raw_logs.select("id", "ts")

    before = events.get_meta()
    place.app.run()
    after = events.get_meta()

    assert (before.description, before.columns, before.last_run) == ("What happened.", (), None)
    assert [(c.name, c.dtype, c.description) for c in after.columns] == [
        ("id", "bigint", ""),
        ("ts", "timestamp", "when"),
    ]
    assert after.last_max_value == "2025-01-16 12:00:00"
    assert after.last_run is not None
