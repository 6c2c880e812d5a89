"""The visits of the template `sessions`: the same every time, with all that makes sessions hard."""

import datetime as dt
import importlib.util
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from deltalake import DeltaTable

import penstock.app.commands.init
from penstock.core.sessions.options import MODULES
from penstock.project.load import load_project

TEMPLATE = Path(penstock.app.commands.init.__file__).parent / "templates" / "sessions"


@pytest.fixture(scope="module")
def visits():
    spec = importlib.util.spec_from_file_location("visits", TEMPLATE / "visits.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def days(visits):
    """Give what arrives in the first seven days."""
    return visits.deliveries(dt.date(2024, 3, 1), dt.date(2024, 3, 8))


def test_batches_are_what_arrives_at_once(visits, days):
    spans = [visits.period(number) for number in (1, 2, 3)]

    assert [event for span in spans for event in visits.deliveries(*span)] == days
    assert spans[1] == (dt.date(2024, 3, 4), dt.date(2024, 3, 6))


def test_events_come_twice_late_and_over_midnight(days):
    of_session = defaultdict(set)
    for event in days:
        if event["domain_sessionid"] != "window":
            of_session[event["domain_sessionid"]].add(event["dvce_created_tstamp"].date())

    assert sum(number > 1 for number in Counter(e["event_id"] for e in days).values()) > 20
    assert sum(len(dates) > 1 for dates in of_session.values()) > 10
    late = [e for e in days if e["dvce_sent_tstamp"] > e["dvce_created_tstamp"]]
    assert len(late) > 10
    assert {event["app_id"] for event in days} == {"shop", "test"}


def test_one_session_never_ends(days):
    spans = defaultdict(list)
    for event in days:
        spans[event["domain_sessionid"]].append(event["dvce_created_tstamp"])
    long = [name for name, at in spans.items() if max(at) - min(at) > dt.timedelta(days=3)]

    assert long == ["window"]


def test_a_batch_is_delivered_once(visits, tmp_path):
    visits.main(1, tmp_path / "events")
    with pytest.raises(SystemExit, match="batch 1 was delivered before"):
        visits.main(1, tmp_path / "events")

    assert DeltaTable(str(tmp_path / "events")).version() == 0


def test_the_model_that_comes_later_is_tracked(tmp_path):
    shutil.copytree(TEMPLATE, tmp_path / "shop")
    shutil.move(tmp_path / "shop/later/purchases.sql", tmp_path / "shop/models")

    project = load_project(tmp_path / "shop", environ={})

    assert project.findings == ()
    assert {*project.models_of("web")} == {
        "purchases",
        *(each.name for each in project.packages["web"].models),
    }
    assert [f"web_{part}" for part in MODULES if f"web_{part}" not in project.models] == []
