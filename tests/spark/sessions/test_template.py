"""The template `sessions`, run three times as it says."""

import importlib.util
import shutil
from contextlib import closing

import pytest

from fakes.requests import a_run
from fakes.session_place import problems
from fakes.session_world import shown
from penstock.app.commands.init import init
from penstock.app.commands.query import query
from penstock.app.commands.run import run
from penstock.app.services.wire import Where, open_services

pytestmark = [pytest.mark.spark, pytest.mark.matrix]


def test_three_runs_of_the_template(spark, tmp_path):
    root = tmp_path / "shop"
    init(root, "sessions")
    spec = importlib.util.spec_from_file_location("visits", root / "visits.py")
    visits = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(visits)

    def built(batch, as_of):
        visits.main(batch)
        with closing(open_services(Where(root), spark)) as services:
            assert problems(run(services, a_run(as_of=as_of))) == []
            return services.reading.sessions.passes("web")

    def rows(sql):
        with closing(open_services(Where(root), spark)) as services:
            return query(services, sql, 99).rows

    (first,) = built(1, "2024-03-04")
    assert first.events.window.is_sound
    assert rows("select count(*) from web.web_base_quarantined_sessions") == (("0",),)

    shutil.move(root / "later/purchases.sql", root / "models")
    head, backfill, _ = built(2, "2024-03-06")
    assert (str(backfill.kind), int(backfill.limits.state)) == ("backfill", 2)
    assert (str(head.kind), shown(head.limits.upper_limit)[-5:]) == ("head", "03-06")
    held = rows("select session_identifier, reason from web.web_base_quarantined_sessions")
    assert held == (("window", "too_long"),)

    third = built(3, "2024-03-08")[0]
    assert (third.kind.value, third.caught_up) == ("package", True)
    assert min(third.events.window.duplicate, third.events.window.late) > 0
    over_midnight = "date(start_tstamp) < date(end_tstamp) and session_identifier <> 'window'"
    ((found,),) = rows(f"select count(*) from web.web_sessions where {over_midnight}")
    assert int(found) > 10
    raw = "select count(distinct event_id) from raw.events where event_name = 'purchase' and app_id"
    kept = f"{raw} = 'shop' and dvce_sent_tstamp <= dvce_created_tstamp + interval '3' day"
    assert rows("select count(*) from web.purchases") == rows(kept)
    assert rows("select sum(sessions) from web.web_users") == rows(
        "select count(*) from web.web_sessions"
    )
