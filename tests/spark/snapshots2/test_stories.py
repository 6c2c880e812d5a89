"""Two sources through four months."""

import datetime as dt

import pytest

from fakes.history_place import CK, COLUMNS, TS, HistoryPlace, counts
from fakes.history_story import T1, T2, T3, T4
from fakes.place import statuses
from penstock.app.commands.query import query
from penstock.app.services.wire import SystemClock
from penstock.core.errors import UsageError

FIRST = ("1 a 01-05", "2 b 01-06")
SECOND = ("1 A 02-01", "2 b 01-06", "3 c 02-02")
AS_OF = "select id, value from {{{{ as_of({}) }}}} h"
THIRD = ("1 z 06-15", "2 b 01-06", "3 c 02-02")


class Then(SystemClock):
    """A clock that says when an extract was made."""

    def __init__(self, at: dt.datetime) -> None:
        super().__init__()
        self._at = at

    def now(self) -> dt.datetime:
        return self._at


@pytest.fixture(scope="module")
def story(tmp_path_factory, spark):
    """What stands at T2, after every step was rehearsed.

    `ts` follows H20 and H21, `inv` H81, `tomb` H83; `live` sees what `ts` sees, at that time.
    """
    place = HistoryPlace(tmp_path_factory.mktemp("story"), spark)
    place.source("people", COLUMNS)
    place.source("staff", COLUMNS)
    place.snapshot("ts", **TS)
    place.snapshot("live", **TS)
    place.snapshot("inv", "staff", **CK, hard_deletes="invalidate")
    place.snapshot("tomb", "staff", **CK, hard_deletes="new_record")
    place.has("people", *FIRST)
    place.has("staff", *FIRST)
    place.trees = [place.tree()]
    place.dry = [place.rehearse(T1, "ts")]
    place.trees.append(place.tree())
    place.real = [place.snap(T1, "ts inv tomb")]
    place.live(Then(T1), "live")
    place.has("people", *SECOND)
    place.has("staff", "1 a 01-05")
    place.trees.append(place.tree())
    place.dry.append(place.rehearse(T2, "ts inv"))
    place.trees.append(place.tree())
    place.real.append(place.snap(T2, "ts inv tomb"))
    place.live(Then(T2), "live")
    place.inv = place.versions("inv")
    place.told = told_as_of(place)
    return place


def told_as_of(place):
    """Give what views on two histories say of earlier times, and one of those with tombstones."""
    place.model("old", AS_OF.format("ref('ts'), '2024-05-15'"), materialized="view")
    place.model("alive", AS_OF.format("ref('tomb'), '2024-06-02'"), materialized="view")
    deleted = AS_OF.format("ref('tomb'), '2024-06-02', include_deleted=true")
    place.model("deleted", deleted, materialized="view")
    services = place.services()
    names = ("old", "alive", "deleted")
    told = [query(services, f"select * from m.{name} order by id", 10).rows for name in names]
    services.close()
    return told


@pytest.fixture(scope="module")
def replayed(story):
    """What T3 made of `ts`, from an extract that was replayed, and of `live`, at that time."""
    story.has("people", *THIRD)
    story.snap(T3, "ts")
    story.live(Then(T3), "live")
    return story.versions("ts"), story.versions("live")


@pytest.fixture(scope="module")
def refused(story, replayed):
    """The runs of `ts` after T3 at times at which none may run, and its version before and after.

    The last one raises.
    """
    story.has("people", "1 y 06-20", "2 b 01-06", "3 c 02-02")
    version = story.version("ts")
    before, on_itself = (story.snap(at, "ts")["ts"].error for at in (T2, T3))
    with pytest.raises(UsageError) as ahead:
        story.snap(dt.datetime.now(dt.UTC) + dt.timedelta(days=1), "ts")
    return before, on_itself, ahead.value, version, story.version("ts")


@pytest.fixture(scope="module")
def emptied(story, refused):
    """Runs at T4 without any row in the sources, and the versions of both tables around them."""
    versions = story.version("ts"), story.version("inv")
    story.has("people")
    story.has("staff")
    report = story.snap(T4, "ts inv")
    untouched = story.version("ts"), story.version("inv")
    return report, versions, untouched, story.snap(T4, "inv", allow_empty=True)


@pytest.mark.matrix
def test_a_dry_run_counts_what_the_real_one_does_and_leaves_every_file_as_it_is(story) -> None:
    before_first, after_first, before_second, after_second = story.trees
    first, second = story.dry
    done, changed = story.real

    assert before_first == after_first == {}
    assert before_second == after_second
    assert statuses(first) == {"ts": "planned"}
    assert statuses(second) == {"ts": "planned", "inv": "planned"}
    assert counts(first["ts"]) == counts(done["ts"]) == {"source_rows": 2, "opened_new": 2}
    assert counts(second["ts"]) == counts(changed["ts"])
    assert counts(second["inv"]) == counts(changed["inv"])
    assert counts(second["inv"]) == {"source_rows": 1, "unchanged": 1, "closed": 1, "deleted": 1}
    assert story.inv == ["1 a 01-05 [T1, )", "2 b 01-06 [T1, T2)"]


@pytest.mark.matrix
def test_as_of_gives_the_rows_of_that_time_and_tombstones_only_if_asked(story) -> None:
    old, alive, both = story.told

    assert old == (("1", "a"), ("2", "b"))
    assert alive == (("1", "a"),)
    assert both == (("1", "a"), ("2", "b"))


@pytest.mark.matrix
def test_extracts_replayed_with_as_of_make_the_table_that_live_runs_made(replayed) -> None:
    ts, live = replayed

    assert ts == [
        "1 a 01-05 [T1, T2)",
        "1 A 02-01 [T2, T3)",
        "1 z 06-15 [T3, )",
        "2 b 01-06 [T1, )",
        "3 c 02-02 [T2, )",
    ]
    assert live == ts


@pytest.mark.matrix
def test_a_run_before_the_last_one_or_after_now_or_on_a_version_of_its_own_time_fails(
    refused,
) -> None:
    before, on_itself, ahead, version, version_after = refused

    assert before.render() == (
        "models/m/ts.sql:1: run-time-before-history: run timestamp 2024-06-01 00:00:00 is before "
        "2024-07-01 00:00:00, the last run of 'ts'\n  hint: give a later --as-of, or none"
    )
    assert on_itself.code == "run-time-not-after-version"
    assert "id=1" in on_itself.sentence
    assert ahead.code == "as-of-in-future"
    assert version_after == version


@pytest.mark.matrix
def test_an_empty_source_closes_keys_only_where_that_is_allowed(story, emptied) -> None:
    report, versions, untouched, allowed = emptied

    assert statuses(report) == {"ts": "unchanged", "inv": "failed"}
    assert report["inv"].error.code == "empty-source"
    assert untouched == versions
    assert counts(allowed["inv"]) == {"closed": 1, "deleted": 1}
    assert story.versions("inv") == ["1 a 01-05 [T1, T4)", "2 b 01-06 [T1, T2)"]


@pytest.mark.matrix
def test_a_full_refresh_starts_over_in_one_commit_and_time_travel_shows_what_was(
    story, emptied
) -> None:
    story.has("people", *FIRST)
    before = story.version("live")
    rows = story.versions("live")

    result = story.snap(T4, "live", full_refresh=True)["live"]

    assert (result.status, result.version) == ("success", before + 1)
    assert story.versions("live") == ["1 a 01-05 [T4, )", "2 b 01-06 [T4, )"]
    old = story.sql(f"SELECT count(*) FROM {story.table('live')} VERSION AS OF {before}")
    assert old == [(len(rows),)]
