"""Events in any loading order make the tables that one run over all of them makes."""

import random

import pytest

from fakes.session_history import MODULES, OF_RUNS, at_once, same, written
from fakes.session_place import SessionPlace, problems
from fakes.session_rows import DAYS, NOW
from fakes.session_twin import OF_RUN
from laws.spark.test_session_histories import event_of

pytestmark = [pytest.mark.laws, pytest.mark.spark, pytest.mark.matrix]
STREAMS, LOADS = 500, 5
RUNS = ("01-04", "01-08", "01-12", "01-16", "01-21")
KEYS = {
    "max_session_days": 2,
    "session_lookback_days": None,
    "page_view_stitching": True,
    "quarantine": True,
    "late_loaded": "take",
}


def stream(luck, number):
    """Draw the events of visitors that no other stream has, each with the load that brings it."""
    for _ in range(luck.randint(3, 9)):
        event = event_of(luck)
        for name in ("domain_sessionid", "domain_userid", "page_view_id"):
            event[name] = event[name] and f"{number}.{event[name]}"
        yield event, luck.randrange(LOADS)


def hold(place, oracle):
    """Hold that tables are those of the oracle, but for what says which run it was."""
    skipped = {*OF_RUNS} - {"stitched_user_id"}
    same(place, "base_sessions_lifecycle_manifest", OF_RUN, oracle.lifecycle)
    held = oracle.quarantine.values()
    same(place, "base_quarantined_sessions", ("session_identifier",), held)
    names = ("user_identifier", "user_id", "mapped_tstamp")
    same(place, "user_mapping", names, oracle.user_mapping.values())
    for part in ("page_views", "sessions", "users"):
        rows = getattr(oracle, part)
        rows = [*rows.values()] if isinstance(rows, dict) else rows
        same(place, part, [name for name in rows[0] if name not in skipped], rows)


@pytest.mark.parametrize("seed", [1])
def test_late_rows_of_500_streams_make_the_tables_of_a_full_recomputation(spark, tmp_path, seed):
    luck = random.Random(seed)  # noqa: S311  it draws tests
    whole = [each for number in range(STREAMS) for each in stream(luck, number)]
    # no run is skipped while events are in the future
    drawn = [each for each in whole if each[0]["collector_tstamp"] <= NOW]
    web = SessionPlace(tmp_path, spark, written(KEYS))
    for load, now in enumerate(RUNS):
        web.add(*(event for event, at in drawn if at == load))
        select = "web_page_views" if load == 2 else "web"  # the others get its late rows later
        assert problems(web.at(now, select)) == []
    assert [web.at(RUNS[-1]).plan.is_empty for _ in range(3)][-1]

    late = [each.events.late_loaded for each in web.passes()]
    hold(web, at_once([event for event, _ in drawn], KEYS, NOW))
    assert sum(late) > STREAMS
    assert (DAYS, len(MODULES)) == (20, 4)
