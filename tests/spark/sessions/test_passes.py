"""The base tables of a package on real Delta: classes, lifecycle, quarantine, events of a run."""

import pytest

from fakes.session_lake import SessionLake, an_event
from fakes.session_world import at
from penstock.core.sessions.options import SessionUser

pytestmark = [pytest.mark.spark, pytest.mark.matrix]
LONG = pytest.mark.matrix  # a pass is some thirty jobs; the gate runs a few
ID, LIFE, HELD = (
    "session_identifier",
    "base_sessions_lifecycle_manifest",
    "base_quarantined_sessions",
)
THIS_RUN, EVENTS = "base_sessions_this_run", "base_events_this_run"


@pytest.fixture
def lake(spark, tmp_path):
    """Give a lake of some events, written `e1 s1 01-01 10:00` or made by `an_event`."""

    def made(*events, **keys):
        found = SessionLake(spark, tmp_path / str(len([*tmp_path.iterdir()])), keys)
        found.add(*map(event, events))
        return found

    return made


def event(written):
    return an_event(*written.split(" ", 2)) if isinstance(written, str) else written


def add(lake, *events):
    lake.add(*map(event, events))


def kept(lake):
    return lake.read(EVENTS, "event_id")


def quarantine(lake):
    return lake.read(HELD, ID, "reason", "since", "events_dropped", "dropped_to")


def test_a_second_run_reads_the_events_of_the_sessions_that_it_touches(lake):
    web = lake("e1 s1 01-01 10:00", "e2 s2 01-01 20:00", "e3 s2 01-02 01:00")
    first, found = web.run("01-02"), kept(web)
    second = web.run("01-03")

    assert (first, found) == (["1 01-01..01-02"], ["e1", "e2"])
    assert (second, kept(web)) == (["4 01-01 14:00..01-03"], ["e2", "e3"])
    assert web.read(THIS_RUN, ID, "start_tstamp", "end_tstamp") == [
        ("s2", "01-01 20:00", "01-02 01:00")
    ]
    assert web.read("sessions", ID, "total_events") == [("s1", 1), ("s2", 2)]
    assert {row.last_success for row in web.rows.values()} == {at("01-02 01:00")}
    assert web.sums()


@LONG
def test_app_ids_and_the_first_session_id_that_is_there(lake):
    app = [
        an_event(f"e{n}", "s", f"01-01 0{n}:00", app_id=x) for n, x in enumerate(["a", None, "b"])
    ]
    web = lake(*app, app_ids=("a", None), session_id=("nullif(domain_sessionid, 's')", "app_id"))
    web.run("01-02")

    assert kept(web) == ["e0"]
    assert (web.counts["window_filtered"], web.counts["window_null_session"]) == (1, 1)
    assert web.sums()


@LONG
def test_both_ends_of_the_window_belong_to_it(lake):
    web = lake("a s1 01-01", "b s2 01-31", "c s3 01-31 00:00:00.000001", "d s4 2020-12-31 23:59:59")
    web.run("06-01")

    assert (kept(web), web.counts["window_read"]) == (["a", "b"], 2)


@LONG
def test_sessions_that_touch_the_window_at_its_end_are_in_it(lake):
    web = lake("a sa 01-01 04:00", "b sb 01-01 03:59:59", "c sc 01-01 10:00", "z sz 01-02")
    web.run("01-01 12:00")

    assert web.run("01-02") == ["4 01-01 04:00..01-02"]
    assert web.read(THIS_RUN, ID) == ["sa", "sc", "sz"]


S43 = (
    "e1 s1 01-01 10:00",
    "e2 s1 01-02 10:00",
    "e3 s1 01-04 10:00",
    "e4 s1 01-04 10:00:07",
    "e5 s1 01-06 10:00",
    "x s2 01-06 11:00",
)


@LONG
def test_a_session_that_is_too_long_is_cut_and_put_in_quarantine(lake):
    web = lake(*S43)
    web.run("01-03")
    web.run("01-05")

    assert kept(web) == ["e1", "e2", "e3"]
    assert web.read(LIFE, ID, "end_tstamp") == [("s1", "01-04 10:00")]
    assert quarantine(web) == [("s1", "too_long", "01-05", 1, "01-04 10:00:07")]
    assert web.run("01-07") == ["4 01-04 04:00..01-07"]
    assert kept(web) == ["e1", "e2", "e3", "x"]
    counted = [web.counts[f"window_{name}"] for name in ("read", "quarantined", "kept")]
    assert counted == [4, 2, 2]
    assert quarantine(web) == [("s1", "too_long", "01-05", 2, "01-06 10:00")]
    assert web.sums()


@LONG
def test_one_run_leaves_the_same_as_three(lake):
    web = lake(*S43, "q1 sq 01-01 10:00", "q2 sq 01-04 10:00")
    web.run("01-07")

    assert web.read(LIFE, ID, "start_tstamp", "end_tstamp") == [
        ("s1", "01-01 10:00", "01-04 10:00"),
        ("s2", "01-06 11:00", "01-06 11:00"),
        ("sq", "01-01 10:00", "01-04 10:00"),
    ]
    assert web.read(HELD, ID, "events_dropped") == [("s1", 2), ("sq", 0)]
    assert web.read("sessions", ID, "total_events") == [("s1", 3), ("s2", 1), ("sq", 2)]


@LONG
def test_a_released_session_grows_or_is_quarantined_again(lake):
    web = lake(*S43)
    web.run("01-07")
    web.released = ["s1"]
    web.run("01-08")

    assert quarantine(web)[0][:3] == ("s1", "too_long", "01-08")
    assert web.read(LIFE, "end_tstamp")[0] == "01-04 10:00"
    web.released = ["s1"]
    web.keys = {"max_session_days": 7}
    web.__post_init__()
    web.run("01-08")
    assert quarantine(web) == []
    assert kept(web) == ["e1", "e2", "e3", "e4", "e5", "x"]
    assert web.read(LIFE, ID, "end_tstamp")[0] == ("s1", "01-06 10:00")


def reused(lake, **keys):
    web = lake("e1 s1 01-01 10:00", "x1 s2 01-09 10:00", **keys)
    web.run("01-09 11:00")
    add(web, "e3 s1 01-09 12:00", "x2 s2 01-09 13:00")
    web.run("01-10")
    assert web.read(THIS_RUN, ID) == ["s2"]
    assert kept(web) == ["x1", "x2"]
    assert web.read("sessions", ID, "total_events") == [("s1", 1), ("s2", 2)]
    assert web.counts["window_beyond_cap"] == 1
    assert web.sums()
    return web


@LONG
def test_an_id_that_comes_back_after_its_cap_is_put_in_quarantine(lake):
    web = reused(lake)

    assert web.read(LIFE, ID, "end_tstamp")[0] == ("s1", "01-04 10:00")
    assert quarantine(web) == [("s1", "id_reused", "01-10", 1, "01-09 12:00")]


@LONG
@pytest.mark.parametrize("keys", [{"compat": "snowplow"}, {"quarantine": False}])
def test_by_the_rules_of_the_seed_or_without_quarantine_it_is_counted(lake, keys):
    assert quarantine(reused(lake, **keys)) == []


@LONG
def test_a_session_that_begins_earlier_moves_with_its_rows(lake):
    web = lake("e1 s1 01-02 00:10")
    web.run("01-02 01:00")
    add(web, "e0 s1 01-01 23:50")
    web.run("01-02 03:00")

    assert web.read(LIFE, "start_tstamp", "start_date") == [("01-01 23:50", "2021-01-01")]
    (row,) = web.table(LIFE).collect()
    assert [str(day) for day in row["past_start_dates"]] == ["2021-01-02"]
    assert web.read("sessions", ID, "session_start_date") == [("s1", "2021-01-01")]
    assert web.read("page_views", "page_view_id", "session_start_date") == [
        ("pe0", "2021-01-01"),
        ("pe1", "2021-01-01"),
    ]


@LONG
def test_events_that_came_late_are_read_where_their_session_is(lake):
    web = lake("e1 s1 01-01 10:00", "e2 s1 01-01 20:00")
    web.run("01-02")
    add(web, "e0 s1 01-01 09:50", "e9 s1 01-01 10:30", "e3 s1 01-01 21:00", "e8 s8 01-01 11:00")

    assert web.run("01-02 12:00") == ["4 01-01 14:00..01-02 12:00"]
    assert kept(web) == ["e1", "e2", "e3", "e9"]


def by_user(lake, rule):
    said = [("e1", "01-01 20:00", None), ("e2", "01-01 21:00", "b"), ("e3", "01-01 22:00", "a")]
    said.append(("e4", "01-02 10:00", "c"))
    made = [an_event(name, "s1", time, domain_userid=user) for name, time, user in said]
    return lake(*made, user_of_session=SessionUser(rule))


@LONG
@pytest.mark.parametrize(
    ("rule", "two", "one"),
    [
        ("earliest_event", "b", "b"),
        ("latest_event", "c", "c"),
        ("max", "c", "c"),
        ("first_run", "b", "c"),
    ],
)
def test_whose_a_session_is(lake, rule, two, one):
    twice, once = by_user(lake, rule), by_user(lake, rule)
    twice.run("01-02")
    twice.run("01-03")
    once.run("01-03")

    assert (twice.read(LIFE, "user_identifier"), once.read(LIFE, "user_identifier")) == (
        [two],
        [one],
    )


@LONG
def test_a_user_who_is_known_later_is_the_sessions(lake):
    nobody = an_event("e1", "s1", "01-01 10:00", domain_userid=None)
    web = lake(nobody, an_event("e2", "s1", "01-02 09:00", domain_userid="u7"))
    web.run("01-02")
    before = web.read("sessions", "user_identifier"), web.read("users", "user_identifier")
    web.run("01-03")

    assert before == ([None], [])
    assert web.read("sessions", "user_identifier") == ["u7"]
    assert web.read("users", "user_identifier") == ["u7"]


@LONG
def test_events_that_were_sent_too_late_are_left_out(lake):
    late = {"dvce_created_tstamp": "01-02 09:59"}
    events = [
        an_event("l1", "s1", "01-05 10:00", **late, dvce_sent_tstamp="01-05 09:59"),
        an_event("l2", "s2", "01-05 10:00", **late, dvce_sent_tstamp="01-05 09:59:00.000001"),
        an_event("l3", "s3", "01-05 10:00", dvce_created_tstamp=None),
        an_event("l4", "s4", "01-05 10:00", dvce_sent_tstamp=None),
    ]
    web = lake(*events)
    web.run("01-06")

    assert kept(web) == ["l1"]
    assert [web.counts[f"window_{name}"] for name in ("late", "null_device")] == [1, 2]
    forgiving = lake(*events, allow_null_device_timestamps=True)
    forgiving.run("01-06")
    assert kept(forgiving) == ["l1", "l3", "l4"]


S64 = (
    an_event("d", "s1", "01-01 10:00:05", page_url="/late"),
    an_event("d", "s1", "01-01 10:00:00", page_url="/early"),
    an_event("t", "s1", "01-01 11:00", etl_tstamp="01-01 11:05", page_url="/t5"),
    an_event("t", "s1", "01-01 11:00", etl_tstamp="01-01 11:04", page_url="/t4"),
    an_event("x", "s2", "01-01 12:00"),
    an_event("x", "s3", "01-01 12:30"),
    an_event(None, "s4", "01-01 13:00"),
    an_event(None, "s4", "01-01 13:01"),
)


@LONG
@pytest.mark.parametrize(("keys", "count"), [({}, (6, 2)), ({"compat": "snowplow"}, (4, 4))])
def test_of_events_of_one_id_the_first_is_kept(lake, keys, count):
    web = lake(*S64, **keys)
    web.run("01-02")

    assert (web.counts["window_kept"], web.counts["window_duplicate"]) == count
    urls = web.read(EVENTS, "page_url")
    assert "/early" in urls
    assert "/t4" in urls
    assert web.sums()


@LONG
def test_no_event_leaves_without_being_counted(lake):
    web = lake(
        "q1 sQ 01-01 10:00",
        "q2 sQ 01-04 11:00",
        "r1 sR 01-01 12:00",
        "c1 sC 01-04 09:00",
        "a1 sA 01-04 20:00",
        app_ids=("a",),
    )
    web.run("01-05")
    counted = [web.counts[f"window_{name}"] for name in ("read", "kept", "beyond_cap")]
    assert counted == [5, 4, 1]
    assert web.read(HELD, ID, "events_dropped") == [("sQ", 1)]

    add(
        web,
        "c2 sC 01-04 15:00",
        "a0 sA 01-04 10:00",
        "a2 sA 01-05 01:00",
        "a2 sA 01-05 01:00:01",
        an_event("b1", "sB", "01-05 02:00", app_id="zz"),
        an_event("l1", "sL", "01-05 03:00", dvce_sent_tstamp="01-09"),
        an_event("d1", "sD", "01-05 04:00", dvce_created_tstamp=None),
        an_event("n1", None, "01-05 05:00"),
        "q3 sQ 01-05 06:00",
        "r2 sR 01-05 13:00",
    )
    assert web.run("01-06") == ["4 01-04 14:00..01-06"]
    window = {k.removeprefix("window_"): n for k, n in web.counts.items() if k[:6] == "window"}
    assert window == {
        "read": 10,
        "kept": 3,
        "filtered": 1,
        "null_device": 1,
        "late": 1,
        "null_session": 1,
        "quarantined": 1,
        "before_start": 0,
        "beyond_cap": 1,
        "duplicate": 1,
    }
    history = {k: n for k, n in web.counts.items() if k[:7] == "history" and n}
    assert history == {"history_read": 2, "history_kept": 1, "history_before_start": 1}
    assert kept(web) == ["a1", "a2", "c1", "c2"]
    expected = [("sQ", "too_long", 2), ("sR", "id_reused", 1)]
    assert web.read(HELD, ID, "reason", "events_dropped") == expected
    assert {row.last_success for row in web.rows.values()} == {at("01-05 01:00")}
    assert web.sums()

    before = web.read(HELD, ID, "events_dropped"), web.read("sessions", ID, "total_events")
    web.run("01-06")
    assert before == (
        web.read(HELD, ID, "events_dropped"),
        web.read("sessions", ID, "total_events"),
    )


@LONG
def test_an_id_that_comes_back_beyond_the_horizon_is_another_session(lake):
    def told(**keys):
        web = lake("e1 s1 01-01 10:00", **keys)
        web.run("01-02")
        add(web, "x s2 02-28 10:00")
        for _ in range(3):
            web.run("02-28 12:00")
        add(web, "e2 s1 03-01 10:00")
        web.run("03-02")
        return web

    web = told(session_lookback_days=40)
    found = [("s1", "01-01 10:00"), ("s1", "03-01 10:00"), ("s2", "02-28 10:00")]
    assert web.read(LIFE, ID, "start_tstamp") == found
    assert web.read("sessions", ID, "start_tstamp") == found
    other = told()
    assert other.read(LIFE, ID) == ["s1", "s2"]
    assert other.read(HELD, ID, "reason") == [("s1", "id_reused")]


@LONG
@pytest.mark.parametrize(("rule", "user"), [("earliest_event", None), ("first_run", "z")])
def test_an_event_beyond_the_cap_names_no_user(lake, rule, user):
    web = lake(
        an_event("e1", "s1", "01-01 10:00", domain_userid=None),
        an_event("e2", "s1", "01-06 10:00", domain_userid="z"),
        user_of_session=SessionUser(rule),
    )
    web.run("01-07")

    assert web.read(LIFE, "user_identifier") == [user]


@LONG
def test_a_session_may_be_a_day(lake):
    day = "date_format(collector_tstamp, 'yyyy-MM-dd')"
    web = lake("a x 01-01 10:00", "b x 01-01 23:00", "c x 01-02 01:00", session_id=(day,))
    web.run("01-03")

    assert web.read("sessions", ID, "total_events") == [("2021-01-01", 2), ("2021-01-02", 1)]


@LONG
def test_of_events_that_tie_in_every_key_the_same_one_is_kept(spark, lake):
    ties = [an_event("t", "s1", "01-01 10:00", page_url=url) for url in ("/a", "/b")]
    found, usual = set(), spark.conf.get("spark.sql.shuffle.partitions")
    for partitions in ("8", "200"):
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        for order in (ties, ties[::-1]):
            web = lake(*order)
            web.run("01-02")
            found.add(tuple(web.read(EVENTS, "page_url")))
    spark.conf.set("spark.sql.shuffle.partitions", usual)

    assert len(found) == 1


@LONG
def test_a_session_that_was_longer_than_may_be_now_is_quarantined_by_our_rule_alone(lake):
    def told(**keys):
        web = lake("e1 s1 01-01 10:00", "e2 s1 01-03 10:00", **keys)
        web.run("01-03 12:00")
        web.keys = {**keys, "max_session_days": 1}
        web.__post_init__()
        web.add(event("e3 s2 01-03 11:00"))
        web.run("01-03 13:00")
        return web.read(HELD, ID)

    assert told() == ["s1"]
    assert told(compat="snowplow") == []


@LONG
def test_a_session_is_released_however_long_ago_it_began(lake):
    web = lake("e1 s1 01-01 10:00", "e2 s1 01-04 12:00", session_lookback_days=34)
    web.run("01-05")
    add(web, "x s2 02-20 10:00")
    for _ in range(3):
        web.run("02-20 12:00")
    web.released = ["s1"]
    web.run("02-21")

    assert web.read(LIFE, ID, "start_tstamp") == [("s1", "01-01 10:00"), ("s2", "02-20 10:00")]
    assert kept(web) == ["e1", "x"]
    assert web.read("sessions", ID, "total_events") == [("s1", 1), ("s2", 1)]


@LONG
def test_of_two_sessions_of_one_id_a_replay_rebuilds_each_of_its_own_events(lake):
    web = lake(
        "e1 s1 01-01 12:00",
        "f1 s1 01-04 11:00",
        backfill_limit_days=30,
        session_lookback_days=34,
        quarantine=False,
    )
    web.run("01-05")
    add(web, "e2 s1 02-05 00:30", "x s2 02-04 20:00")
    for now in ("02-04 21:00", "02-04 21:00", "02-06", "02-06"):
        web.run(now)
    before = web.read(LIFE, ID, "start_tstamp"), web.read("sessions", ID, "total_events")
    web.tagged = ("m5",)
    for _ in range(4):
        web.run("02-06")

    assert before[0] == [("s1", "01-01 12:00"), ("s1", "02-05 00:30"), ("s2", "02-04 20:00")]
    assert before == (web.read(LIFE, ID, "start_tstamp"), web.read("sessions", ID, "total_events"))
