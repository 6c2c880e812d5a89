"""What a package asks of events that a run has opened, where files do not tell their columns."""

import pytest

from fakes.session_files import EVENTS
from fakes.session_lake import SCROLLED
from fakes.session_sql import a_run
from fakes.session_world import package
from penstock.core.columns.schema import Column, Schema
from penstock.core.sessions.options import CarriedColumn, Passthrough, SessionTable
from penstock.project.sessions.columns import carried_findings, events_findings
from penstock.strategies.sessions.users import columns_of

COLUMNS = tuple(Column(*line.split(" ")) for line in EVENTS.splitlines())


def found(columns=COLUMNS, **keys):
    return [
        each.render().splitlines()[0] for each in events_findings(package(**keys), schema(columns))
    ]


def schema(columns):
    return Schema(tuple(columns))


def without(name):
    return [each for each in COLUMNS if each.name != name]


@pytest.mark.parametrize(
    ("part", "key"), [("page_views", "page_views"), ("sessions", "sessions_agg")]
)
def test_no_column_of_a_module_is_free_for_what_is_carried(part, key):
    made = columns_of(a_run(schema=SCROLLED), SessionTable(part))

    for name in made:
        carried = Passthrough(**{key: (CarriedColumn(name, "x"),)})
        (found,) = carried_findings(package(passthrough=carried))
        assert (found.code, f"'{name}'" in found.sentence) == ("duplicate-column", True)


def test_events_with_all_columns_are_right():
    assert found() == []


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("collector_tstamp", {}),
        ("dvce_sent_tstamp", {}),
        ("derived_tstamp", {}),
        ("domain_sessionid", {}),
        ("user_id", {}),
        ("app_id", {"app_ids": ("a",)}),
        ("collector_date", {"partition_column": "collector_date"}),
        ("useragent", {"bot_pattern": "bot"}),
    ],
)
def test_a_column_that_is_needed_and_not_there_is_said(name, keys):
    sentence = f"sessions/web.yml:2: error: unknown-column: raw.events has no {name!r}"
    assert sentence in found(without(name), **keys)


@pytest.mark.parametrize("name", ["app_id", "etl_tstamp", "page_url", "useragent"])
def test_one_that_nothing_asks_for_may_be_missing(name):
    assert found(without(name)) == []


def test_another_type_and_a_name_that_penstock_takes_are_said():
    other = [*without("collector_tstamp"), Column("collector_tstamp", "string")]

    assert found([*other, Column("session_identifier", "string")]) == [
        (
            "sessions/web.yml:2: error: wrong-column-type: timestamp is collector_tstamp, which is "
            "STRING; it must be TIMESTAMP or TIMESTAMP_NTZ"
        ),
        (
            "sessions/web.yml:2: error: reserved-column: raw.events has a column "
            "'session_identifier', which penstock adds to its events"
        ),
    ]
