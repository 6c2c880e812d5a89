"""Whatever happened to a project, `sync --cascade --all` ends it: current, and as from scratch.

Edits, partial syncs, runs, crashes after a commit and changes by others come in any order.
"""

import datetime as dt
import itertools
import shutil
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from fakes.clock import FixedClock
from fakes.drift_place import DAILY_TABLE, MOMENT, MONTHLY_TABLE, WEEKLY_TABLE, DriftPlace
from fakes.fixture_f import DAILY, DAILY_V1, DAILY_V3, EVENTS_PATH, FIXTURE_F, WEEKLY_V1
from penstock.app.commands.sync import sync
from penstock.app.request import SyncRequest

deep = settings.default.max_examples > 100
NAMED = "COUNT(DISTINCT COALESCE(user_id, 'anon'))"
DAYS = ("2024-11-28", "2024-12-01", "2024-12-02", "2024-12-03", "2024-12-09", "2024-12-15")
COUNTER = itertools.count()


class CrashError(BaseException):
    """The process is gone: nobody catches this but the test."""


def crash(place: DriftPlace, nth: int) -> None:
    """Die after the nth commit of a sync, before it is written down."""
    left = [nth]

    def fault(point: str) -> None:
        if point == "after-commit":
            left[0] -= 1
            if left[0] == 0:
                raise CrashError

    def use(services):
        services.fault = fault
        sync(services, SyncRequest(cascade=True, threads=1))

    try:
        place.with_shop(use)
    except CrashError:
        place.clock.advance(seconds=120)  # its lease lapses


def steps() -> dict[str, Callable[[DriftPlace, str, int], object]]:
    """Give what may happen: each takes the project, a day and a small number."""
    edits = {
        DAILY_V3: (
            FIXTURE_F[DAILY_V3],
            FIXTURE_F[DAILY_V3].replace("COUNT(DISTINCT user_id)", NAMED),
        ),
        DAILY_V1: (
            FIXTURE_F[DAILY_V1],
            FIXTURE_F[DAILY_V1].replace("COUNT(DISTINCT user_id)", "2"),
        ),
        WEEKLY_V1: (FIXTURE_F[WEEKLY_V1], FIXTURE_F[WEEKLY_V1].replace("SUM(", "1 + SUM(")),
        DAILY: (FIXTURE_F[DAILY], FIXTURE_F[DAILY].replace("2024-12-02", "2024-12-03")),
    }
    return {
        "edit": lambda p, _, n: p.write({[*edits][n % 4]: edits[[*edits][n % 4]][n // 4 % 2]}),
        "event": lambda p, day, n: p.events(((f"n{n}", f"{day} 0{n}:30:00"),)),
        "others delete": lambda p, day, _: p.sql(
            f"DELETE FROM {p.table(DAILY_TABLE)} WHERE date = '{day}'"
        ),
        "others update": lambda p, day, _: p.sql(
            f"UPDATE {p.table(WEEKLY_TABLE)} SET total_users = 99 WHERE week_start >= '{day}'"
        ),
        "sync": lambda p, _, n: p.sync(("daily_user_stats", "weekly_summary")[n % 2]),
        "run": lambda p, day, _: p.run(first=day, last=day),
        "crash": lambda p, _, n: crash(p, n % 3 + 1),
    }


HAPPENING = st.tuples(st.sampled_from(sorted(steps())), st.sampled_from(DAYS), st.integers(1, 8))


def tables(place: DriftPlace) -> list[object]:
    return [place.rows(path) for path in (DAILY_TABLE, WEEKLY_TABLE, MONTHLY_TABLE)]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("law")


@pytest.mark.timeout(3600)  # a search takes longer than the gate
@settings(
    max_examples=40,
    phases=tuple(Phase) if deep else (Phase.explicit,),
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
@example(
    story=[
        ("edit", "2024-12-02", 4),
        ("event", "2024-12-03", 3),
        ("others delete", "2024-12-09", 1),
        ("crash", "2024-12-02", 1),
    ]
)
@given(story=st.lists(HAPPENING, min_size=2, max_size=8))
def test_a_cascade_over_everything_ends_current_and_as_from_scratch(
    spark, synced_folder, scratch, story
):
    root = scratch / str(next(COUNTER))
    shutil.copytree(synced_folder, root)
    place = DriftPlace(root, spark, {}, FixedClock(MOMENT + dt.timedelta(minutes=1)))
    for name, day, number in story:
        steps()[name](place, day, number)

    report = place.sync(everything=True, cascade=True)

    assert [result.error for result in report.results if not result.ok] == []
    assert not any(place.states().values())
    again = place.preview(everything=True, cascade=True)
    assert again.plan.steps == ()
    new = root.with_name(f"{root.name}-new")
    shutil.copytree(root / "queries", new / "queries")
    shutil.copytree(root / EVENTS_PATH, new / EVENTS_PATH)
    other = DriftPlace(new, spark, {"penstock.yml": FIXTURE_F["penstock.yml"]})
    assert other.sync().succeeded
    assert tables(place) == tables(other)
