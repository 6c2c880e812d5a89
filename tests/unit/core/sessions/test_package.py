"""What a package is expanded into."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.session_world import SCHEMAS, options, package
from penstock.core.findings import Location
from penstock.core.sessions.options import CarriedColumn, SessionTable, prefixed_name
from penstock.core.sessions.package import (
    SessionSchemas,
    package_fingerprint,
    same_base,
    session_models,
)

BASE = [
    "web_base_new_event_limits",
    "web_base_sessions_lifecycle_manifest",
    "web_base_quarantined_sessions",
    "web_base_sessions_this_run",
    "web_base_events_this_run",
]
SESSION = ("session_identifier",)


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


def test_each_table_lies_in_its_schema_with_its_key_and_partitions():
    schemas = SessionSchemas("d", "m", "s")
    built = session_models("web", schemas, options(modules=modules("page_views", "users")))

    assert [(str(each.table), each.kind, each.key) for each in built] == [
        ("s.web_base_new_event_limits", "view", ()),
        ("m.web_base_sessions_lifecycle_manifest", "kept", SESSION),
        ("m.web_base_quarantined_sessions", "kept", SESSION),
        ("s.web_base_sessions_this_run", "scratch", SESSION),
        ("s.web_base_events_this_run", "scratch", ()),
        ("d.web_page_views", "module", (*SESSION, "page_view_id")),
        ("d.web_users", "module", ("user_identifier",)),
    ]
    assert [each.name for each in built if each.reads_events] == [BASE[1], BASE[2], BASE[4]]
    assert {each.name: each.partition_by for each in built if each.partition_by} == {
        BASE[1]: "start_date",
        "web_page_views": "session_start_date",
    }


def test_a_table_reads_and_comes_after_those_that_are_built():
    assert model("web_users", modules=modules("users")).reads == ("web_base_sessions_this_run",)
    this_run = "web_base_sessions_this_run"
    assert model(this_run).after == ("web_base_quarantined_sessions",)
    assert model(this_run, quarantine=False).after == ()
    assert model("web_page_views", page_view_stitching=True).after == ("web_user_mapping",)


def test_nothing_is_stitched_without_known_users_or_where_it_is_not_built():
    on = {"page_view_stitching": True}

    assert options(**on).stitched == modules("page_views", "sessions")
    assert options(**on, modules=modules("users")).stitched == ()
    assert options(**on, user_stitching_id=None).stitched == ()


def test_options_are_lengths_of_time_and_rules():
    plain = options(backfill_limit_days=2, lookback_window_hours=5)

    assert (plain.backfill_limit, plain.lookback) == (dt.timedelta(days=2), dt.timedelta(hours=5))
    assert [options(compat=each).is_snowplow for each in (None, "snowplow")] == [False, True]


@pytest.mark.parametrize(
    ("created", "sent", "tests"),
    [("a", "b", True), (None, "b", False), ("a", None, False), (None, None, False)],
)
def test_lateness_is_tested_with_both_clocks_of_a_device(created, sent, tests):
    assert options(created_tstamp=created, sent_tstamp=sent).tests_lateness is tests


def test_a_package_finds_its_tables_and_names_its_manifest():
    web = package(modules=modules("sessions"), session_stitching=False)
    found = web.model(SessionTable.SESSIONS)

    assert (found, web.model(SessionTable.USERS)) == (web.models[-1], None)
    assert (web.modules, web.tag) == (("web_sessions",), "web_incremental")
    assert str(web.manifest_table) == "derived.web_incremental_manifest"


def test_packages_have_one_base_where_the_options_of_its_tables_are_the_same():
    one = package_fingerprint("a" * 20, "b" * 20)

    assert one == "aaaaaaaaaaaaaaaa/bbbbbbbbbbbbbbbb"
    assert same_base(one, package_fingerprint("a" * 20, "c"))
    assert not same_base(one, package_fingerprint("b" * 20, "b" * 20))


def test_a_column_that_users_carry_has_a_prefix_once():
    assert [prefixed_name("first", each) for each in ("page", "first_page", "firstly")] == [
        "first_page",
        "first_page",
        "first_firstly",
    ]


def test_a_package_is_the_same_wherever_its_keys_stand():
    there, web = Location("sessions/other.yml", 7), package()

    assert replace(web, where=there, places={"events": there}) == web
    assert CarriedColumn("a", "b", there) == CarriedColumn("a", "b")
