"""What a package is expanded into."""

import pytest

from fakes.session_world import SCHEMAS, options
from penstock.core.sessions.package import SessionTable, session_models

BASE = [
    "web_base_new_event_limits",
    "web_base_sessions_lifecycle_manifest",
    "web_base_quarantined_sessions",
    "web_base_sessions_this_run",
    "web_base_events_this_run",
]


def names(**keys):
    return [each.name for each in session_models("web", SCHEMAS, options(**keys))]


def modules(*words):
    return tuple(map(SessionTable, words))


def model(name, **keys):
    built = session_models("web", SCHEMAS, options(**keys))
    return next(each for each in built if each.name == name)


def test_a_package_is_its_base_tables_and_its_modules_in_the_order_of_their_steps():
    assert names() == [
        *BASE,
        "web_user_mapping",
        "web_page_views",
        "web_sessions",
        "web_users",
    ]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"modules": ()}, []),
        ({"modules": modules("sessions"), "session_stitching": False}, ["web_sessions"]),
        ({"modules": modules("page_views")}, ["web_page_views"]),
        (
            {"modules": modules("page_views"), "page_view_stitching": True},
            ["web_user_mapping", "web_page_views"],
        ),
        ({"modules": modules("user_mapping")}, ["web_user_mapping"]),
    ],
    ids=["none", "sessions", "page views", "stitched page views", "mapping"],
)
def test_a_mapping_is_built_where_it_is_asked_for_or_something_is_stitched(keys, expected):
    assert names(**keys) == [*BASE, *expected]


def test_without_quarantine_there_is_no_such_table():
    assert "web_base_quarantined_sessions" not in names(quarantine=False)


def test_modules_are_tracked_and_tagged():
    built = session_models("web", SCHEMAS, options())

    assert {each.name for each in built if each.is_tracked} == {*names()[5:]}
    assert {each.tags for each in built if each.is_tracked} == {("web_incremental",)}


def test_users_are_made_of_sessions_and_stitching_only_comes_before():
    assert model("web_users").reads == ("web_base_sessions_this_run", "web_sessions")
    assert model("web_sessions").after == ("web_user_mapping",)
    assert model("web_page_views").after == ()


def test_page_views_are_told_apart_by_their_session_or_by_their_id_alone():
    assert model("web_page_views").key == ("session_identifier", "page_view_id")
    assert model("web_page_views", compat="snowplow").key == ("page_view_id",)
