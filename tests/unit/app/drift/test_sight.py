"""Reading a log for several askers: nobody misses a commit that another one did not need."""

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.drift_place import MOMENT, DriftPlace
from fakes.fixture_f import DAILY, EVENTS_PATH
from fakes.stranger import append_all_events
from penstock.app.sight import open_sight
from penstock.core.facts import Seen, Touched

EVENTS = "raw.events"


@pytest.fixture
def shop(tmp_path):
    append_all_events(tmp_path)
    shop = DriftPlace(tmp_path).shop()
    yield shop
    shop.close()


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / EVENTS_PATH)


def versions(tail):
    return [commit.version for commit in tail.commits]


def test_a_later_question_may_go_further_back(shop, uri):
    sight = open_sight(shop)

    assert versions(sight.tail(EVENTS, uri, 4, ("created_at",))) == [5, 6]
    assert versions(sight.tail(EVENTS, uri, 1, ("created_at",))) == [2, 3, 4, 5, 6]


def test_a_later_question_may_be_about_another_column(shop, uri):
    sight = open_sight(shop)

    sight.tail(EVENTS, uri, 5, ("created_at",))
    (commit,) = sight.tail(EVENTS, uri, 5, ("user_id", "created_at")).commits

    assert set(commit.spans) == {"created_at", "user_id"}


def test_what_is_kept_is_told_by_the_next_look(shop, uri):
    first = open_sight(shop)
    first.tail(EVENTS, uri, 1, ("created_at",))
    first.keep()

    second = open_sight(shop)

    assert second.seen[EVENTS].version == 6
    assert versions(second.tail(EVENTS, uri, 3, ("created_at",))) == [4, 5, 6]


def test_notes_of_a_table_that_another_one_replaced_do_not_count(shop, uri):
    noted = Touched(9, MOMENT, "UPDATE")
    shop.writing.notes.note(Seen(EVENTS, "gone", 9), (noted,))

    tail = open_sight(shop).tail(EVENTS, uri, 3, ("created_at",))

    assert versions(tail) == [4, 5, 6]


def test_a_column_of_seconds_that_days_are_compared_with_says_nothing(tmp_path):
    place = DriftPlace(tmp_path)
    entry = "depends_on: [{model: raw.events, partitions: same, column: seconds}]"
    place.edit(DAILY, "name: daily_user_stats\n", f"name: daily_user_stats\n{entry}\n")
    uri = str(tmp_path / EVENTS_PATH)
    for second in (1733184000, 1733270400):
        write_deltalake(uri, pa.table({"seconds": [second]}), mode="append")
    shop = place.shop()

    (commit,) = open_sight(shop).tail(EVENTS, uri, 0, ("seconds",)).commits

    assert commit.spans.get("seconds") is None
    shop.close()
