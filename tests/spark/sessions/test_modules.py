"""The modules of a package on real Delta: page views, sessions, users, mapping, stitching."""

import pytest

from fakes.session_lake import SCROLLED, SessionLake, an_event
from penstock.core.sessions.options import CarriedColumn, Passthrough, SessionUser

pytestmark = pytest.mark.spark
LONG = pytest.mark.matrix  # a pass is some thirty jobs; the gate runs a few
ID = "session_identifier"
WAYS = ("horizontal", "vertical")
PING, CLICK = {"event_name": "page_ping"}, {"event_name": "link_click", "page_view_id": None}


@pytest.fixture
def lake(spark, tmp_path):
    def made(*events, **keys):
        found = SessionLake(spark, tmp_path / str(len([*tmp_path.iterdir()])), keys)
        found.add(*events)
        return found

    return made


def view(page, session, time, event_id="", **more):
    name = event_id or f"v{page}{time}"
    return an_event(name, session, f"01-01 {time}", page_view_id=page, **more)


def ping(page, session, time, **more):
    return view(page, session, time, **{**PING, **more})


VISITS = (
    view("p1", "s1", "10:00:00", page_url="/a"),
    ping("p1", "s1", "10:00:10"),
    ping("p1", "s1", "10:00:20"),
    view("p2", "s1", "10:00:30", page_url="/b"),
    ping("p2", "s1", "10:00:41"),
    an_event("click", "s1", "01-01 10:01:00", **CLICK),
    ping("p3", "s2", "11:00:05", page_url="/c"),
    ping("p3", "s2", "11:00:15", page_url="/c"),
    an_event("only", "s3", "01-01 12:00", **CLICK),
)
MEASURED = ("start_tstamp", "end_tstamp", "engaged_time_in_s", "absolute_time_in_s")


def test_views_pings_and_clicks(lake):
    web = lake(*VISITS)
    web.run("01-02")

    index = ("page_view_in_session_index", "page_views_in_session")
    assert web.read("page_views", "page_view_id", *index, *MEASURED) == [
        ("p1", 1, 2, "01-01 10:00", "01-01 10:00:20", 15, 20),
        ("p2", 2, 2, "01-01 10:00:30", "01-01 10:00:41", 5, 11),
    ]
    said = ("page_views", "total_events", "is_engaged", "first_page_url", "last_page_url")
    assert web.read("sessions", ID, *MEASURED, *said) == [
        ("s1", "01-01 10:00", "01-01 10:01", 20, 60, 2, 6, True, "/a", "/b"),
        ("s2", "01-01 11:00", "01-01 11:00:15", 15, 15, 1, 2, False, "/c", "/c"),
    ]
    assert web.read("base_sessions_lifecycle_manifest", ID) == ["s1", "s2", "s3"]
    of_user = ("sessions", "page_views", "engaged_time_in_s", "start_tstamp", "end_tstamp")
    assert web.read("users", "user_identifier", *of_user, "first_page_url", "last_page_url") == [
        ("u", 2, 3, 35, "01-01 10:00", "01-01 11:00:15", "/a", "/c")
    ]


@LONG
def test_ties_of_sessions_go_to_the_greatest_id(lake):
    web = lake(
        view("a1", "sA", "10:00", page_url="/1"),
        view("a2", "sA", "11:00", page_url="/4"),
        view("b1", "sB", "10:00", page_url="/2"),
        view("b2", "sB", "11:00", page_url="/3"),
    )
    web.run("01-02")

    named = ("first_session_identifier", "last_session_identifier")
    assert web.read("users", *named, "first_page_url", "last_page_url") == [
        ("sB", "sB", "/2", "/3")
    ]


@LONG
def test_ties_of_views_go_to_the_least_id(lake):
    def a_view(name, page, time):
        return an_event(name, "s", f"01-01 {time}", page_view_id=page, page_url=f"/{name}")

    web = lake(
        a_view("b", "p1", "10:00"),
        a_view("a", "p2", "10:00"),
        a_view("d", "p3", "11:00"),
        a_view("c", "p4", "11:00"),
    )
    web.run("01-02")

    assert web.read("page_views", "page_view_in_session_index", "page_view_id") == [
        (1, "p2"),
        (2, "p1"),
        (3, "p4"),
        (4, "p3"),
    ]
    assert web.read("sessions", "first_page_url", "last_page_url") == [("/a", "/c")]


@LONG
@pytest.mark.parametrize(
    ("keys", "expected"),
    [({}, ["sA", "sB"]), ({"compat": "snowplow"}, ["sA"])],
    ids=["per session", "S90"],
)
def test_a_view_in_two_sessions_and_a_ping_before_its_view(lake, keys, expected):
    web = lake(
        view("p1", "sA", "10:00:05"),
        ping("p1", "sA", "10:00:00"),
        view("p1", "sB", "12:00"),
        **keys,
    )
    web.run("01-02")

    assert web.read("page_views", ID) == expected
    absolute = web.read("page_views", "absolute_time_in_s")
    assert min(absolute) == (-5 if keys else 0)


@LONG
def test_a_page_view_with_a_shared_id_counts_the_pings_of_its_own_session_alone(lake):
    web = lake(
        view("p1", "sA", "10:00:00"),
        ping("p1", "sA", "10:00:20"),
        ping("p1", "sB", "17:00:20"),
        view("p1", "sC", "18:00:00"),
        ping("p1", "sC", "18:00:30"),
        compat="snowplow",
    )
    web.run("01-02")

    assert web.read("page_views", ID, "page_views_in_session", *MEASURED) == [
        ("sA", 1, "01-01 10:00", "01-01 10:00:20", 5, 20)
    ]


@LONG
def test_without_known_users_there_is_no_mapping_and_no_row_has_one(lake):
    web = lake(view("p1", "s1", "10:00:00", user_id="x"), user_stitching_id=None)
    web.run("01-02")

    assert web.package.modules == ("web_page_views", "web_sessions", "web_users")
    assert web.read("sessions", ID, "user_id", "stitched_user_id") == [("s1", None, "u")]
    assert web.read("users", "user_identifier", "user_id") == [("u", None)]


@LONG
@pytest.mark.parametrize(("compat", "count"), [(None, 2), ("snowplow", 1)])
def test_bots_have_no_session(lake, compat, count):
    agents = {"s1": "Mozilla", "s2": "GoogleBot", "s3": None}
    made = [view(f"p{s}", s, "10:00", useragent=agent) for s, agent in agents.items()]
    web = lake(*made, bot_pattern="bot", compat=compat)
    web.run("01-02")

    assert len(web.read("sessions", ID)) == count


@LONG
def test_what_engages_and_what_is_counted(lake):
    agg = CarriedColumn("n", "count_if(event_name = 'buy')")
    last = CarriedColumn("page_url", "page_url")
    carried = Passthrough(
        sessions_agg=(agg,),
        sessions_last=(last,),
        users_last=(CarriedColumn("last_page_url", "last_page_url"),),
        page_views=(CarriedColumn("twice", "concat(page_url, page_url)"),),
    )
    web = lake(
        view("p1", "s", "10:00", page_url="/a"),
        an_event("b", "s", "01-01 10:05", event_name="buy", page_view_id=None),
        engaged_when="event_name = 'buy'",
        passthrough=Passthrough(sessions_agg=(agg,), page_views=carried.page_views),
    )
    web.run("01-02")

    assert web.read("sessions", "is_engaged", "n") == [(True, 1)]
    assert web.read("page_views", "twice") == ["/a/a"]


@LONG
def test_users_without_a_session_go(lake):
    web = lake(
        an_event("e1", "s1", "01-01 22:00", domain_userid="b"),
        an_event("e4", "s1", "01-02 10:00", domain_userid="a"),
        an_event("e5", "s2", "01-01 23:00", domain_userid="b"),
        an_event("f1", "s9", "01-01 22:00", domain_userid="x"),
        an_event("f2", "s9", "01-02 10:00", domain_userid="y"),
        user_of_session=SessionUser.LATEST_EVENT,
    )
    web.run("01-02")
    first = web.read("users", "user_identifier", "sessions")
    web.run("01-03")

    assert first == [("b", 2), ("x", 1)]
    assert web.read("users", "user_identifier", "sessions") == [("a", 1), ("b", 1), ("y", 1)]


@LONG
def test_the_latest_known_user_is_mapped_and_older_rows_are_stitched(lake):
    web = lake(
        an_event("e1", "sA", "01-01 10:00", domain_userid="u1", user_id="x"),
        an_event("e2", "sM", "01-01 20:00", domain_userid="u2"),
        an_event("e3", "sB", "01-02 10:00", domain_userid="u1", user_id="y"),
    )
    web.run("01-02")
    web.run("01-03")

    assert web.read("base_sessions_this_run", ID) == ["sB", "sM"]
    assert web.read("user_mapping", "user_identifier", "user_id") == [("u1", "y")]
    assert web.read("sessions", ID, "stitched_user_id") == [
        ("sA", "y"),
        ("sB", "y"),
        ("sM", "u2"),
    ]


@LONG
@pytest.mark.parametrize(("compat", "known"), [(None, "y"), ("snowplow", "x")])
def test_an_older_event_does_not_change_the_mapping(lake, compat, known):
    web = lake(
        an_event("a", "sA", "01-01 11:30", domain_userid="u1", user_id="x"),
        an_event("b", "sB", "01-01 12:00", domain_userid="u1", user_id="y"),
        an_event("z", "sZ", "01-02 02:00", domain_userid="u2"),
        compat=compat,
    )
    web.run("01-02 02:30")
    web.add(an_event("c", "sA", "01-02 03:00", domain_userid="u1"))
    web.run("01-02 12:00")

    assert web.read("user_mapping", "user_identifier", "user_id") == [("u1", known)]


PAGE = {"doc_width": 1000, "doc_height": 4000, "br_viewwidth": 800, "br_viewheight": 600}
SCROLL = [f"{way}_{what}_scrolled" for what in ("pixels", "percentage") for way in WAYS]


@LONG
def test_how_far_a_page_was_scrolled(lake):
    web = lake(
        view("p1", "s", "10:00:00", **PAGE),
        ping("p1", "s", "10:00:10", **PAGE, pp_yoffset_max=1000),
        ping("p1", "s", "10:00:20", **PAGE, pp_yoffset_max=400),
        view("p2", "s", "11:00:00", **{**PAGE, "doc_height": 0}),
    )
    web.schema = SCROLLED
    web.run("01-02")

    assert web.read("page_views", "page_view_id", *SCROLL) == [
        ("p1", 0, 1000, 80, 40),
        ("p2", None, None, None, None),
    ]


@LONG
@pytest.mark.parametrize("compat", [None, "snowplow"])
def test_bots_begin_no_page_view_but_scroll_those_that_are_there(lake, compat):
    bot, human = ({**PAGE, "useragent": agent} for agent in ("GoogleBot", "Mozilla"))
    web = lake(
        view("p1", "s", "10:00:00", **human, pp_yoffset_max=400),
        view("p1", "s", "10:00:01", **bot, pp_yoffset_max=1000),
        ping("p1", "s", "10:00:10", **bot, pp_xoffset_max=100),
        view("p2", "s", "11:00:00", **bot, pp_yoffset_max=3000),
        bot_pattern="bot",
        compat=compat,
    )
    web.schema = SCROLLED
    web.run("01-02")

    assert web.read("page_views", "page_view_id", "engaged_time_in_s", *SCROLL) == [
        ("p1", 5, 100, 1000, 90, 40)
    ]


@LONG
def test_a_column_is_carried_from_the_run_on_that_asks_for_it(lake):
    web = lake(view("p1", "s1", "10:00", app_id="a"), view("p2", "s2", "20:00", app_id="b"))
    web.run("01-02")
    web.keys = {"passthrough": Passthrough(page_views=(CarriedColumn("name", "upper(app_id)"),))}
    web.__post_init__()
    web.run("01-02 01:00")

    found = web.read("page_views", "page_view_id", "name", "app_id")
    assert found == [("p1", None, "a"), ("p2", "B", "b")]
    web.keys = {}
    web.__post_init__()
    web.run("01-02 02:00")
    assert web.read("page_views", "page_view_id", "name") == [("p1", None), ("p2", None)]


@LONG
@pytest.mark.parametrize(("compat", "pages"), [(None, ["p0"]), ("snowplow", ["p0", "p1"])])
def test_a_page_view_that_is_no_longer_there_goes_unless_rows_are_upserted(lake, compat, pages):
    web = lake(view("p1", "s", "10:00", event_id="e"), compat=compat)
    web.run("01-01 12:00")
    web.add(view("p0", "s", "09:59", event_id="e"))
    web.run("01-01 13:00")

    assert web.read("page_views", "page_view_id") == pages


@LONG
@pytest.mark.parametrize(("compat", "users"), [(None, ["a"]), ("snowplow", ["a", "b"])])
def test_a_user_without_a_session_goes_unless_rows_are_upserted(lake, compat, users):
    web = lake(
        an_event("e1", "s1", "01-01 22:00", domain_userid="b"),
        an_event("e4", "s1", "01-02 10:00", domain_userid="a"),
        user_of_session=SessionUser.LATEST_EVENT,
        compat=compat,
    )
    web.run("01-02")
    web.run("01-03")

    assert web.read("users", "user_identifier") == users
