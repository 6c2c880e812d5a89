"""Session packages at the command line: what they have processed, and what is asked of them."""

import hashlib
import json
from contextlib import closing
from dataclasses import replace

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import penstock
from contracts.store_cases import HERE, intent, wrote
from contracts.test_store_sessions import BEGUN, EVENTS
from fakes.session_lake import SCHEMA
from fakes.session_world import CORE, at
from penstock.app.services.wire import Where, open_services
from penstock.core.ports.sessions import PassEnd
from penstock.core.records import Status
from penstock.core.sessions.manifest import Limits, ManifestRow, PassKind, RunState, SessionPromise

SOURCE = "sources: [{name: raw, tables: [{name: events, path: ../landing/events}]}]\n"
PACKAGE = """\
strategy: sessions
name: web
events: raw.events
start_date: 2021-01-01
backfill_limit_days: 2
"""
STOOD = at("01-05 23:59:32")


@pytest.fixture
def web(services):
    """Write a project with the package `web`, whose models stand where they are said to."""

    def made(stood=None, package=PACKAGE):
        files = {"sessions/web.yml": package, "models/raw.yml": SOURCE}
        root = services(**files)
        with closing(open_services(Where(root))) as opened:
            store = opened.writing
            for model, last in (stood or {}).items():
                row = ManifestRow(model, last, last)
                promised = replace(intent(model, model), session=SessionPromise("web", row))
                store.journal.begin(promised, {}, HERE, None)
                store.journal.finish(model, wrote(1))
        return root

    return made


def lands(root, leaving="", **other):
    """Write the events table with one event."""
    times = pa.timestamp("us", "UTC")
    kinds = {**dict.fromkeys(SCHEMA.names, pa.string()), **other}
    kinds |= {n: times for n in kinds if n.endswith("tstamp") and n not in other}
    kinds.pop(leaving, None)
    event = {**dict.fromkeys(kinds), "collector_tstamp": at("01-01 10:00")}
    event |= {n: str(event[n]) for n in other}
    schema = pa.schema([*kinds.items()])
    write_deltalake(root / "landing/events", pa.Table.from_pylist([event], schema))


def digests(root):
    """Give the digest of every file."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def without_clock(text):
    return [line[8:] for line in text.splitlines()]


def test_the_limits_of_the_next_run_are_told_and_nothing_changes(web, call):
    root = web(dict.fromkeys(CORE, STOOD))
    before = digests(root)

    answer = call("sessions", "limits", "web", "--as-of", "2021-06-01")

    assert (answer.code, answer.err) == (0, "")
    assert without_clock(answer.out) == [
        " + web: Standard incremental run",
        " + web: Processing data between 2021-01-05 17:59:32 and 2021-01-07 23:59:32",
    ]
    assert digests(root) == before


def test_the_same_as_a_document_which_runs_begin_with_too(web, call):
    web(dict.fromkeys(CORE, STOOD))

    found = json.loads(call("sessions", "limits", "web", "--as-of", "2021-06-01", "--json").out)
    words = ("run", "--select", "web_base_new_event_limits", "--as-of", "2021-06-01", "--json")
    run = json.loads(call(*words).out)

    assert run["limits"] == [found]
    assert found == {
        "package": "web",
        "passes": [
            {
                "pass": "package",
                "state": 4,
                "lower_limit": "2021-01-05T17:59:32Z",
                "upper_limit": "2021-01-07T23:59:32Z",
                "tracked": 4,
                "matched": 4,
                "min_position": "2021-01-05T23:59:32Z",
                "max_position": "2021-01-05T23:59:32Z",
            }
        ],
        "nothing_to_do": False,
    }


def test_two_passes_are_told_apart_and_the_seeds_packages_have_their_own_name(web, call):
    stood = {"web_page_views": at("01-10"), "web_sessions": at("01-05")}
    modules = "modules: [page_views, sessions]\nsession_stitching: false\n"
    web(stood, f"{PACKAGE}{modules}backfill: per_model\ncompat: snowplow\n")

    assert without_clock(call("sessions", "limits", "web", "--as-of", "2021-06-01").out) == [
        " + Snowplow (backfill): Models out of sync: syncing",
        (
            " + Snowplow (backfill): Processing data between 2021-01-04 18:00:00 and "
            "2021-01-07 00:00:00"
        ),
        " + Snowplow (head): Standard incremental run",
        " + Snowplow (head): Processing data between 2021-01-09 18:00:00 and 2021-01-12 00:00:00",
    ]


def test_a_start_after_what_was_processed_is_an_error_at_its_line(web, call):
    web(dict.fromkeys(CORE, STOOD), PACKAGE.replace("2021-01-01", "2021-02-01"))

    answer = call("sessions", "limits", "web")

    assert answer.code == 1
    assert answer.err == (
        "sessions/web.yml:4:1: start-date-after-progress: start_date 2021-02-01 is after what "
        "web_page_views has processed, 2021-01-05 23:59:32\n"
        "  hint: set it back, or 'penstock sessions forget web --all'\n"
    )


def test_with_seed_limits_it_is_a_warning(web, call):
    said = PACKAGE.replace("2021-01-01", "2021-02-01") + "strict_seed_limits: true\n"
    web(dict.fromkeys(CORE, STOOD), said)

    answer = call("sessions", "limits", "web")

    assert answer.code == 0
    assert "warning: start-date-after-progress" in answer.err


def test_the_manifest_is_a_table(web, call):
    web({"web_page_views": at("06-03"), "web_sessions": at("06-02 10:00:00.5")})

    assert call("sessions", "manifest", "web").out == (
        "model           last_success           covered_to             advanced_to\n"
        "web_page_views  2021-06-03 00:00:00    2021-06-03 00:00:00\n"
        "web_sessions    2021-06-02 10:00:00.5  2021-06-02 10:00:00.5\n"
    )


def test_a_package_that_never_ran_has_no_rows_and_no_state_is_made(services, call):
    root = services(**{"sessions/web.yml": PACKAGE, "models/raw.yml": SOURCE})

    assert call("sessions", "manifest", "web").out == "no model has a row yet\n"
    assert call("sessions", "runs", "web").out == "no run yet\n"
    assert not (root / ".penstock" / "state.db").exists()


def test_another_name_is_an_error_with_the_nearest(web, call):
    web()

    answer = call("sessions", "limits", "wab")

    assert (answer.code, "did you mean 'web'?" in answer.err) == (2, True)


def test_unknown_rows_are_not_forgotten(web, call):
    web(dict.fromkeys(CORE, STOOD))

    answer = call("sessions", "forget", "web", "x", "y")

    assert answer.code == 2
    assert "unknown-model: the manifest of 'web' has no row of 'x', 'y'" in answer.err
    assert call("sessions", "manifest", "web").out.count("web_") == 4


def test_rows_are_forgotten_and_other_names_are_a_warning(web, call):
    web(dict.fromkeys(CORE, STOOD))

    answer = call("sessions", "forget", "web", "web_users", "web_sessions", "x")

    assert (answer.code, answer.out) == (0, "forgotten: web_users, web_sessions\n")
    assert answer.err == "warning: the manifest has no row of x\n"
    assert call("sessions", "manifest", "web").out.count("web_") == 2
    assert call("sessions", "forget", "web", "--all").code == 0
    assert call("sessions", "manifest", "web").out == "no model has a row yet\n"


def test_forgetting_nothing_is_a_mistake(web, call):
    web()

    assert call("sessions", "forget", "web").code == 2


def test_runs_are_told_with_what_became_of_their_events(web, call):
    root = web()
    with closing(open_services(Where(root))) as opened:
        sessions = opened.writing.sessions
        begun = sessions.begin_pass(BEGUN, HERE)
        sessions.note_events(begun, EVENTS)
        sessions.end_pass(begun, PassEnd(Status.SUCCESS, caught_up=True, future_events=False))
        sessions.begin_pass(replace(BEGUN, kind=PassKind.HEAD), HERE)

    assert call("sessions", "runs", "web").out == (
        "seq 1  state 4  2021-01-01 14:00:00 to 2021-01-03 00:00:00  0s  caught up\n"
        "  window  read 10  kept 3  filtered 0  null_device 0  late 7  null_session 0  "
        "quarantined 0  before_start 0  beyond_cap 0  duplicate 0\n"
        "  history  read 2  kept 2\n"
        "  late  late_loaded 1\n"
        "seq 1  head  state 4  2021-01-01 14:00:00 to 2021-01-03 00:00:00  running\n"
    )
    passes = json.loads(call("sessions", "runs", "web", "--limit", "1", "--json").out)["passes"]
    assert [(each["pass"], each["state"], each["window"]["late"]) for each in passes] == [
        ("package", 4, 7)
    ]


@pytest.fixture
def held(web):
    """Write a project with two sessions in quarantine."""
    root = web()
    times = pa.timestamp("us", "UTC")
    kinds = {"since": times, "start_tstamp": times, "dropped_to": times, "events_dropped": "int64"}
    names = ("session_identifier", "since", "reason", "run_id", "start_tstamp", "events_dropped")
    schema = pa.schema([(n, kinds.get(n, "string")) for n in (*names, "dropped_to")])
    rows = [
        ("s1", at("01-05"), "too_long", "r1", at("01-01 10:00"), 2, at("01-06 10:00")),
        ("s2", at("01-07"), "id_reused", "r2", at("01-02"), 0, None),
    ]
    made = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    write_deltalake(root / "warehouse/shop/web_base_quarantined_sessions", made)
    return root


def test_sessions_in_quarantine_come_newest_first(held, call):
    assert call("sessions", "quarantine", "web", "--limit", "1").out == (
        "SESSION  SINCE                REASON     START                DROPPED  DROPPED TO\n"
        "s2       2021-01-07 00:00:00  id_reused  2021-01-02 00:00:00        0\n\n"
        "2 sessions\n"
    )
    found = json.loads(call("sessions", "quarantine", "web", "--json").out)
    assert [each["session"] for each in found["sessions"]] == ["s2", "s1"]


def test_releases_wait_for_the_next_run(held, call):
    assert call("sessions", "release", "web", "s1", "s2", "s1").out == (
        "the next run releases s1, s2\n"
    )
    with closing(open_services(Where(held))) as opened:
        assert [each.session for each in opened.reading.sessions.releases("web")] == ["s1", "s2"]


def test_a_session_that_is_in_no_quarantine_is_not_released(held, call):
    answer = call("sessions", "release", "web", "s1", "nope")

    assert answer.code == 2
    assert "not-quarantined: no session 'nope' in web_base_quarantined_sessions" in answer.err
    with closing(open_services(Where(held))) as opened:
        assert opened.reading.sessions.releases("web") == ()


def test_tables_of_packages_are_models_that_list_and_graph_know(web, call):
    web()

    listed = call("list", "--select", "strategy:sessions").out
    assert [line.split()[0] for line in listed.splitlines()[1:10]][-1:] == ["web_users"]
    assert call("list", "--select", "web").out == listed == call("list", "-s", "kind:sessions").out
    assert "web_sessions" in call("graph").out
    assert call("show", "web_sessions").code == 0
    assert call("validate").code == 0


def test_a_plan_says_the_limits_first(web, call):
    root = web()
    lands(root)

    out = call("plan", "--select", "web", "--as-of", "2021-01-02").out

    assert without_clock(out)[:2] == [
        " + web: First run: no model has processed anything yet",
        " + web: Processing data between 2021-01-01 00:00:00 and 2021-01-02 00:00:00",
    ]
    span = "2021-01-01 00:00:00 to 2021-01-02 00:00:00"
    assert [" ".join(line.split()) for line in numbered(out)[-4:]] == [
        f"6. web_page_views sessions {span}",
        f"7. web_user_mapping sessions {span}",
        f"8. web_sessions sessions {span}, then stitch",
        f"9. web_users sessions {span}",
    ]
    assert out.endswith("Total: 10 steps. Nothing was run.\n")


def test_a_plan_of_two_passes_has_one_line_a_table(web, call):
    stood = {"web_page_views": at("01-10"), "web_sessions": at("01-05")}
    modules = "modules: [page_views, sessions]\nsession_stitching: false\n"
    root = web(stood, f"{PACKAGE}{modules}backfill: per_model\n")
    lands(root)

    out = call("plan", "--select", "web", "--as-of", "2021-06-01").out

    first, second = "2021-01-04 18:00:00 to 2021-01-07", "2021-01-09 18:00:00 to 2021-01-12"
    found = {line.split()[1]: " ".join(line.split()[3:]) for line in numbered(out)}
    assert len(numbered(out)) == len(found) == 5  # the tables of the modules are gone
    assert {*found.values()} == {f"backfill {first} 00:00:00; head {second} 00:00:00"}


def test_variables_of_a_plan_move_its_limits_and_are_reported(web, call):
    web(dict.fromkeys(CORE, STOOD))
    words = ("--as-of", "2021-06-01", "--vars", "snowplow__backfill_limit_days=9")

    answer = call("plan", "--select", "web_users", *words)

    assert answer.err.startswith(
        "sessions/web.yml:5:1: info: set-by-vars: backfill_limit_days is 9: "
        "--vars snowplow__backfill_limit_days wins over 2 of the file\n"
    )
    assert without_clock(answer.out)[1].endswith("17:59:32 and 2021-01-14 23:59:32")
    limits = call("sessions", "limits", "web", *words).out
    assert without_clock(limits)[:2] == without_clock(answer.out)[:2]


def numbered(text):
    return [line for line in text.splitlines() if line[:4].strip().rstrip(".").isdigit()]


def lands_damaged(root):
    lands(root)
    (root / "landing/events/_delta_log/00000000000000000000.json").write_text("{")


DAMAGES = {
    "source-missing": lambda root: None,
    "log-unreadable": lands_damaged,
    "wrong-column-type": lambda root: lands(root, derived_tstamp=pa.string()),
    "unknown-column": lambda root: lands(root, leaving="domain_sessionid"),
}


@pytest.mark.parametrize("code", DAMAGES)
def test_events_that_cannot_be_read_stop_the_whole_package_in_plan_and_run_alike(web, call, code):
    root = web()
    DAMAGES[code](root)

    told = {}
    for command in ("plan", "run"):
        answer = call(command, "--select", "web", "--as-of", "2021-01-02", "--json")
        found = json.loads(answer.out)["models"]
        told[command] = {(each["model"], each["error"]["code"]) for each in found}
        assert (answer.code, "Traceback" in answer.err) == (1, False)

    assert told["plan"] == told["run"]
    assert {each for _, each in told["run"]} == {code}
    assert len(told["run"]) == 9
    assert not (root / "warehouse").exists()
    assert call("sessions", "runs", "web").out == "no run yet\n"


def test_running_the_limits_alone_tells_them_and_does_nothing(web, call):
    root = web(dict.fromkeys(CORE, STOOD))
    before = digests(root)

    answer = call("run", "--select", "web_base_new_event_limits", "--as-of", "2021-06-01")

    assert (answer.code, without_clock(answer.out)) == (
        0,
        [
            " + web: Standard incremental run",
            " + web: Processing data between 2021-01-05 17:59:32 and 2021-01-07 23:59:32",
        ],
    )
    assert digests(root) == before


def test_a_refresh_needs_a_key_and_a_confirmation(web, call):
    root = web(dict.fromkeys(CORE, STOOD))
    before = digests(root)

    refused = call("run", "--select", "web", "--full-refresh")
    plain = call("run", "--select", "web_users", "--full-refresh")

    assert (refused.code, plain.code) == (2, 2)
    assert refused.err == (
        "sessions/web.yml:2:7: refresh-not-allowed: --full-refresh empties the manifests of 'web'\n"
        "  hint: set allow_refresh: true\n"
    )
    assert "penstock sessions forget web web_users --truncate" in plain.err
    assert digests(root) == before


def test_without_a_terminal_a_refresh_needs_yes(web, call):
    root = web(dict.fromkeys(CORE, STOOD), f"{PACKAGE}allow_refresh: true\n")
    before = digests(root)

    answer = call("run", "--select", "web", "--full-refresh")

    assert (answer.code, "needs-confirmation: web: empty all tables" in answer.err) == (2, True)
    assert digests(root) == before


def test_a_plan_of_a_refresh_is_that_of_a_first_run(web, call):
    web(dict.fromkeys(CORE, STOOD), f"{PACKAGE}allow_refresh: true\n")

    named = call("plan", "--select", "web", "--full-refresh", "--as-of", "2021-06-01")
    whole = call("plan", "--select", "kind:sessions", "--full-refresh", "--as-of", "2021-06-01")

    assert " + web: First run: no model has processed anything yet" in named.out
    assert " + web: Standard incremental run" in whole.out
    assert "web is not rebuilt: a full refresh has to name it" in whole.err


def test_catching_up_is_for_packages_and_a_bound_for_catching_up(web, call):
    web()

    assert call("run", "--select", "users_clean", "--catch-up").code == 2
    assert "--max-windows needs --catch-up" in call("run", "--max-windows", "2").err


def test_a_table_that_is_selected_brings_those_that_it_is_made_of(web, call):
    web()

    answer = call("plan", "--select", "web_sessions")

    assert "web_base_new_event_limits" in answer.out
    assert "web_page_views" not in answer.out
    assert call("status").code in (0, 1)


def test_scripts_are_told_the_limits(web):
    root = web(dict.fromkeys(CORE, STOOD))

    found = penstock.sessions_limits(root, "web", as_of="2021-06-01")

    assert found == (Limits(RunState.STANDARD, at("01-05 17:59:32"), at("01-07 23:59:32")),)
