"""Runs of a package on real Delta, whatever happens between them, leave what plain Python says."""

import datetime as dt
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.session_history import MODULES, SessionHistory
from fakes.session_rows import CARRIED, DAYS, NOW, START, an_event

pytestmark = [pytest.mark.laws, pytest.mark.spark]
SEEDS = st.integers(0, 2**32)
SMALL = settings(max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])


def keys_of(luck):
    """Draw a package."""
    days, most = luck.choice([2, 9, 30]), luck.choice([1, 3])
    return {
        "backfill_limit_days": days,
        "max_session_days": most,
        "lookback_window_hours": luck.choice([0, 6, 30]),
        "session_lookback_days": luck.choice([None, days + most + 2, 700]),
        "app_ids": luck.choice([(), (), ("a", None)]),
        "filters": luck.choice([(), (), ("user_id <> 'zz'",)]),
        "bot_pattern": luck.choice([None, "bot"]),
        "page_view_stitching": luck.choice([True, False]),
        "allow_null_device_timestamps": luck.choice([True, False]),
        "engaged_when": luck.choice([None, "event_name = 'buy'"]),
        "quarantine": luck.choice([True, True, False]),
        "user_of_session": luck.choice(["earliest_event", "latest_event", "max", "first_run"]),
        "backfill": luck.choice(["package", "per_model"]),
        "passthrough": CARRIED,
        "late_loaded": "count",  # the oracle goes run by run
    }


def event_of(luck, low=0, high=DAYS):
    """Draw an event between two days."""
    place = luck.randrange(low, high), luck.choice([0, 9, 23]), luck.randrange(4), luck.randrange(6)
    return an_event(
        place,
        luck.choice(["e1", "e2", "e3", "e4", "e5", "e6", "e7", None]),
        luck.choice(["s1", "s1", "s2", "s2", "s3", "", None]),
        (luck.choice([None, "a", "b", "b"]), luck.choice([None, None, "x", "y"])),
        (
            luck.choice(["page_view", "page_view", "page_ping", "page_ping", "buy", None]),
            luck.choice(["p1", "p1", "p2", None]),
            luck.choice(["a", "a", "b", None]),
            luck.choice(["Mozilla", "GoogleBot", None]),
        ),
        luck.choice([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
    )


def tell(spark, seed, most=4):
    """Let a few things happen, one run after each."""
    luck = random.Random(seed)  # noqa: S311  it draws tests
    with TemporaryDirectory() as folder:
        web = SessionHistory(Path(folder), spark, keys_of(luck))
        now = START
        try:
            for _ in range(luck.randint(2, most)):
                now = min(NOW, now + dt.timedelta(hours=6 * luck.randrange(40)))
                happens(luck, web, now)
            web.run(NOW)
        except BaseException as error:
            error.add_note("\n".join([repr(web.keys), *web.story]))
            raise


def happens(luck, web, now):
    """Add events of any time, late ones too; then run in one way or another."""
    for _ in range(luck.choice([0, 1, 1, 2])):
        web.add(*(event_of(luck) for _ in range(luck.randint(1, 10))))
    what = luck.choice(
        ["run", "run", "fail", "tag", "select", "release", "forget", "refresh", "set"]
    )
    fails = [f"web_{luck.choice(MODULES)}"] if what == "fail" else []
    if what == "tag" and not web.tagged:
        web.tag()
    if what == "release":
        web.release()
    if what == "forget":
        web.forget(*luck.sample(web.tracked, 2), truncate=luck.choice([True, False]))
    if what == "set":
        web.set(
            backfill=luck.choice(["package", "per_model"]),
            skip_unchanged=luck.choice([True, False]),
        )
    if what == "refresh":
        web.refresh(now, tuple(fails))
    elif what == "select":
        web.run(now, luck.sample(web.tracked, 1))
    else:
        web.run(now, (), fails)


@pytest.mark.matrix
@settings(SMALL, max_examples=4)
@given(SEEDS)
def test_whatever_happens_between_runs_each_leaves_what_plain_python_says(spark, seed):
    tell(spark, seed)
