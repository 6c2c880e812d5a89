"""Passes over random events leave on real Delta what plain Python says, table by table."""

import datetime as dt
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.session_rows import A_EVENT, CARRIED, DAYS, NOW, START
from fakes.session_twin import SessionTwin
from penstock.core.sessions.options import SessionUser

pytestmark = [pytest.mark.laws, pytest.mark.spark]
SEED = {"compat": "snowplow", "strict_seed_limits": True, "user_of_session": SessionUser.FIRST_RUN}
KEYS = st.fixed_dictionaries(
    {
        "backfill_limit_days": st.sampled_from([2, 9, 30]),
        "max_session_days": st.sampled_from([1, 3]),
        "lookback_window_hours": st.sampled_from([0, 6, 30]),
        "app_ids": st.sampled_from([(), ("a", None)]),
        "filters": st.sampled_from([(), ("user_id <> 'zz'",)]),
        "bot_pattern": st.sampled_from([None, "bot"]),
        "page_view_stitching": st.booleans(),
        "allow_null_device_timestamps": st.booleans(),
        "engaged_when": st.sampled_from([None, "event_name = 'buy'"]),
        "quarantine": st.sampled_from([True, True, False]),
        "session_id": st.just(("domain_sessionid", "app_id")) | st.just(("domain_sessionid",)),
    }
)
HORIZONS = st.sampled_from([None, 0, 700])
RULES = st.sampled_from([SEED, *({"user_of_session": rule} for rule in SessionUser)])
BATCH = st.lists(A_EVENT, max_size=12)
RUN = st.tuples(
    BATCH,
    st.integers(0, DAYS * 4).map(lambda quarters: START + dt.timedelta(hours=6 * quarters)),
    st.sampled_from([(), (), (), ("web_sessions",), ("web_page_views", "web_user_mapping")]),
    st.booleans(),
)
RUNS = st.lists(RUN, min_size=1, max_size=3)
SMALL = settings(max_examples=1, suppress_health_check=[HealthCheck.function_scoped_fixture])


def tell(spark, keys, horizon, rule, runs):
    """Load rows in any order, run, fail, release; each pass is compared as it ends."""
    least = keys["backfill_limit_days"] + keys["max_session_days"]
    back = None if horizon is None else least + 2 + horizon
    said = {**keys, **rule, "session_lookback_days": back, "passthrough": CARRIED}
    with TemporaryDirectory() as folder:
        web = SessionTwin(spark, Path(folder), said)
        for events, now, fails, releases in runs:
            web.add(*events)
            web.released = sorted(web.oracle.quarantine) if releases else []
            web.run(now, fails)
        web.run(NOW)


@pytest.mark.matrix
@SMALL
@given(KEYS, HORIZONS, RULES, RUNS)
def test_every_pass_leaves_what_plain_python_says(spark, keys, horizon, rule, runs):
    tell(spark, keys, horizon, rule, runs)


@pytest.mark.matrix
@settings(SMALL, max_examples=8)
@given(KEYS, HORIZONS, RULES, RUNS)
def test_many_passes_leave_what_plain_python_says(spark, keys, horizon, rule, runs):
    tell(spark, keys, horizon, rule, runs)
