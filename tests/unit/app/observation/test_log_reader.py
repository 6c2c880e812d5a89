"""Reading a log for several askers: nobody misses a commit that another one did not need."""

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from fakes.drift_place import MOMENT, DriftPlace
from fakes.fixture_f import DAILY, EVENTS_PATH
from fakes.stranger import append_all_events
from penstock.app.observation.log_reader import open_log_reader
from penstock.core.facts import Seen, Touched

EVENTS = "raw.events"


@pytest.fixture
def services(tmp_path):
    append_all_events(tmp_path)
    services = DriftPlace(tmp_path).services()
    yield services
    services.close()


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / EVENTS_PATH)


def versions(tail):
    return [commit.version for commit in tail.commits]


def test_a_later_question_may_go_further_back(services, uri):
    log_reader = open_log_reader(services)

    assert versions(log_reader.tail(EVENTS, uri, 4, ("created_at",))) == [5, 6]
    assert versions(log_reader.tail(EVENTS, uri, 1, ("created_at",))) == [2, 3, 4, 5, 6]


def test_a_later_question_may_be_about_another_column(services, uri):
    log_reader = open_log_reader(services)

    log_reader.tail(EVENTS, uri, 5, ("created_at",))
    (commit,) = log_reader.tail(EVENTS, uri, 5, ("user_id", "created_at")).commits

    assert set(commit.spans) == {"created_at", "user_id"}


def test_what_is_kept_is_told_by_the_next_look(services, uri):
    first = open_log_reader(services)
    first.tail(EVENTS, uri, 1, ("created_at",))
    first.keep()

    second = open_log_reader(services)

    assert second.noted[EVENTS].version == 6
    assert versions(second.tail(EVENTS, uri, 3, ("created_at",))) == [4, 5, 6]


def test_notes_of_a_table_that_another_one_replaced_do_not_count(services, uri):
    noted = Touched(9, MOMENT, "UPDATE")
    services.writing.notes.note(Seen(EVENTS, "gone", 9), (noted,))

    tail = open_log_reader(services).tail(EVENTS, uri, 3, ("created_at",))

    assert versions(tail) == [4, 5, 6]


def test_a_column_of_seconds_that_days_are_compared_with_says_nothing(tmp_path):
    place = DriftPlace(tmp_path)
    entry = "depends_on: [{model: raw.events, partitions: same, column: seconds}]"
    place.edit(DAILY, "name: daily_user_stats\n", f"name: daily_user_stats\n{entry}\n")
    uri = str(tmp_path / EVENTS_PATH)
    for second in (1733184000, 1733270400):
        write_deltalake(uri, pa.table({"seconds": [second]}), mode="append")
    services = place.services()

    (commit,) = open_log_reader(services).tail(EVENTS, uri, 0, ("seconds",)).commits

    assert commit.spans.get("seconds") is None
    services.close()
