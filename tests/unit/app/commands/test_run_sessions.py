"""A run over session packages: who runs, what a failure means, what is on record after it."""

import pytest

from fakes.package_workshop import EVENTS_OF_RUN, HEAD, WEB, PackageWorkshop
from fakes.session_place import problems
from fakes.session_world import at
from fakes.workshop import DEAD, ELSEWHERE
from penstock.app.commands.rollback import rollback
from penstock.app.commands.sessions import sessions_limits
from penstock.app.commands.status import status
from penstock.app.commands.sync import preview_sync, sync
from penstock.app.execution.recover import rebuild
from penstock.app.read_requests import LimitsRequest
from penstock.app.request import BackfillRequest, RollbackRequest, StatusRequest
from penstock.core.errors import ConcurrentWriterError, QueryError, TableError, UsageError
from penstock.core.ports.sessions import SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import Limits, PassKind, RunState
from penstock.plan.values import State
from penstock.ui.commands.sessions import limits_document, limits_text
from penstock.ui.commands.status import status_text

CORE = ("page_views", "sessions", "user_mapping", "users")
BROKEN = QueryError("spark-divide-by-zero", "divided by zero")
FIRST, SECOND = ("01-01 20:00", "01-02", None), ("01-02 01:00", "01-03", None)


@pytest.fixture
def web(tmp_path):
    """The package after its first run, with new events."""
    made = PackageWorkshop(tmp_path)
    assert problems(made.at("01-02")) == []
    made.append()
    made.greatest = "01-02 01:00"
    return made


def statuses(report):
    found = {}
    for each in report.results:  # the first of a model is its own, stitching comes later
        found.setdefault(each.name.removeprefix("web_"), each.status)
    return found


def another_pass(web, run):
    limits = Limits(RunState.FIRST_RUN, at("01-01"), at("01-02"))
    return SessionPass("web", 0, PassKind.PACKAGE, run, limits, at("01-02"))


def test_who_is_not_selected_is_out_of_sync_afterwards(web):
    web.tagged("m5")
    web.greatest = "01-01 20:00"
    assert problems(web.at("01-02", "m5")) == []
    web.greatest = "01-02 01:00"
    assert web.manifest()["m5"] == FIRST
    assert problems(web.at("01-03", "m5")) == []
    assert web.manifest() == {**dict.fromkeys(CORE, FIRST), "m5": SECOND}

    report = web.at("01-03")

    assert web.windows()[-1] == "package 3 01-01 14:00..01-02 01:00"
    assert statuses(report)["m5"] == "unchanged"
    assert web.manifest() == dict.fromkeys((*CORE, "m5"), SECOND)


def test_what_is_made_of_a_module_brings_it(web):
    """Or it would pass by rows that the module is still to make."""
    assert problems(web.at("01-03", "web_users")) == []

    behind = dict.fromkeys(("page_views", "user_mapping"), FIRST)
    assert web.manifest() == {**behind, **dict.fromkeys(("sessions", "users"), SECOND)}


def test_without_events_every_table_is_made_and_no_row_of_the_manifest(tmp_path):
    web = PackageWorkshop(tmp_path, "strict_seed_limits: true\n")
    web.greatest = ""

    found = web.at("01-02")

    assert problems(found) == []
    assert [each.name for each in found.results if each.status == "unchanged"] == []
    assert web.manifest() == {}


def test_per_model_what_is_made_of_a_module_that_is_behind_waits_for_it(web):
    web.has_files({WEB: HEAD + "backfill: per_model\nbackfill_limit_days: 1\n"})
    assert problems(web.at("01-03")) == []
    before = web.manifest()["users"]
    web.append()
    web.store.sessions.forget("web", ["web_sessions"])
    web.greatest = "01-01 20:00"

    found = web.at("01-05")

    assert web.windows()[-2:] == ["backfill 2 01-01..01-02", "head 4 01-01 19:00..01-03 01:00"]
    assert found["web_users"].reason == (
        "web_sessions comes first, which has not processed these events"
    )
    assert web.manifest()["users"] == before != web.manifest()["page_views"]


def test_a_failed_module_fails_those_made_of_it_and_its_pass(web):
    web.lake.trouble("web_sessions", "commit", BROKEN)

    report = web.at("01-03")

    found = statuses(report)
    assert (found["page_views"], found["sessions"], found["users"]) == (
        "success",
        "failed",
        "skipped",
    )
    assert web.manifest() == {
        **dict.fromkeys(("page_views", "user_mapping"), SECOND),
        **dict.fromkeys(("sessions", "users"), FIRST),
    }
    assert [each.status for each in web.passes] == [Status.FAILED, Status.SUCCESS]
    assert problems(web.at("01-03")) == []
    assert web.windows()[-1] == "package 3 01-01 14:00..01-02 01:00"
    assert web.manifest() == dict.fromkeys(CORE, SECOND)


def test_per_model_the_others_go_on_whatever_becomes_of_those_behind(web):
    web.lake.trouble("web_sessions", "commit", BROKEN)
    web.at("01-03")
    web.has_files({WEB: HEAD + "backfill: per_model\n"})
    web.append()
    web.greatest = "01-03 12:00"
    web.lake.trouble("web_sessions", "commit", BROKEN)

    found = web.at("01-04")

    assert [each.status for each in web.passes[:2]] == [Status.SUCCESS, Status.FAILED]
    assert web.windows()[-2:] == [
        "backfill 3 01-01 14:00..01-02 01:00",
        "head 4 01-01 19:00..01-04",
    ]
    assert web.manifest()["sessions"] == FIRST
    assert web.manifest()["page_views"] == ("01-03 12:00", "01-04", None)
    made = [each.status for each in found.results if each.name == "web_sessions"]
    assert made == ["failed", "skipped", "unchanged", "success"]


def test_a_failed_base_table_fails_all_that_come_after_it(web):
    web.lake.trouble("web", "commit", BROKEN)

    report = web.at("01-03")

    assert {*statuses(report).values()} == {"success", "failed", "skipped"}
    assert web.manifest() == dict.fromkeys(CORE, FIRST)
    assert web.passes[0].status is Status.FAILED
    assert web.store.leases.taken() == ()


def test_a_base_table_that_meets_another_writer_is_made_all_the_same(web):
    conflict = ConcurrentWriterError("concurrent-writer", "somebody committed")
    web.lake.trouble("web", "commit", conflict)

    report = web.at("01-03")

    assert problems(report) == []
    assert statuses(report)["base_sessions_lifecycle_manifest"] == "success"
    assert web.manifest() == dict.fromkeys(CORE, SECOND)


def test_the_lease_of_a_package_is_that_of_one_run(web):
    web.store.sessions.begin_pass(another_pass(web, ELSEWHERE.run), ELSEWHERE)

    report = web.at("01-03")

    assert [each.error.code for each in report.results if each.error] == ["lease-held"]
    assert web.manifest() == dict.fromkeys(CORE, FIRST)


def test_a_run_that_died_leaves_its_package_to_the_next(web):
    web.store.sessions.begin_pass(another_pass(web, DEAD.run), DEAD)

    assert problems(web.at("01-03")) == []
    assert [each.status for each in web.passes] == [Status.SUCCESS, Status.FAILED, Status.SUCCESS]


def test_limits_that_another_run_made_old_are_not_used(web):
    def overtaken():
        store = web.store.sessions
        web.lake.troubles.clear()
        store.forget("web", ["web_users"])

    web.lake.trouble("", "require", overtaken)

    report = web.at("01-03")

    assert [each.error.code for each in report.results if each.error] == ["plan-outdated"]
    assert web.passes[0].status is Status.FAILED
    assert web.store.leases.taken() == ()


def test_a_run_that_lost_its_package_writes_no_more(web):
    def lost():
        web.clock.advance(hours=1)
        web.store.sessions.begin_pass(another_pass(web, ELSEWHERE.run), ELSEWHERE)

    web.lake.trouble("web_page_views", "bind", lost)

    report = web.at("01-03")

    assert {each.error.code for each in report.results if each.error} == {"lease-lost"}
    assert web.manifest()["page_views"] == FIRST


def test_a_state_that_is_rebuilt_knows_the_manifest_and_the_numbers_of_runs(web):
    assert problems(web.at("01-03")) == []
    before, stitched = web.manifest(), web.store.sessions.stitched("web")

    web.forget_state()
    rebuild(web.services())

    assert web.manifest() == before
    assert web.store.sessions.stitched("web") == stitched
    web.append()
    assert problems(web.at("01-04")) == []
    assert web.passes[0].seq == 3


def test_a_stitch_leaves_what_is_to_be_made_anew(web):
    web.store.sessions.forget("web", ["web_sessions"], ["web_sessions"])

    assert problems(web.at("01-03", "web_page_views")) == []

    assert web.store.sessions.overwrites("web") == {"web_sessions"}
    assert problems(web.at("01-03")) == []
    assert web.store.sessions.overwrites("web") == frozenset()
    made = [each.operation for each in web.lake.tables[web.of("web_sessions")].commits]
    assert sum(each.startswith("CREATE") for each in made) == 2


def test_a_table_that_is_to_be_made_anew_is_nothing_to_build_on(web):
    """A pass whose base tables failed leaves them pending, whatever comes after it."""
    web.has_files({WEB: HEAD + "backfill: per_model\n"})
    held = "web_base_quarantined_sessions"
    web.store.sessions.forget("web", ["web_sessions"], ["web_sessions", held])
    web.lake.trouble("web", "commit", BROKEN)

    codes = {each.error.code for each in web.at("01-03").results if each.error}

    assert codes == {"spark-divide-by-zero", "plan-outdated"}
    assert web.store.sessions.overwrites("web") == {"web_sessions", held}
    assert [each.status for each in web.passes[:2]] == [Status.FAILED] * 2
    assert problems(web.at("01-03")) == []
    assert web.store.sessions.overwrites("web") == frozenset()
    assert web.passes[0].status is Status.SUCCESS


def test_tables_that_are_forgotten_before_the_package_is_leased_are_made_anew(tmp_path):
    web = PackageWorkshop(tmp_path)

    def forgotten():
        web.lake.troubles.clear()
        web.store.sessions.forget("web", [], ["web_users"])

    web.lake.trouble("", "require", forgotten)

    report = web.at("01-02")

    assert {each.error.code for each in report.results if each.error} == {"plan-outdated"}
    assert problems(web.at("01-02")) == []
    assert web.store.sessions.overwrites("web") == frozenset()


@pytest.mark.parametrize(
    ("lost", "again"),
    [
        ("web_users", "penstock sessions forget web web_users"),
        ("m5", "penstock sessions forget web m5"),
        ("web_base_sessions_lifecycle_manifest", "penstock run --select web --full-refresh"),
    ],
)
def test_a_table_that_is_gone_is_not_made_of_one_window(web, lost, again):
    web.tagged("m5")
    web.greatest = "01-01 20:00"
    assert problems(web.at("01-02")) == []
    before = web.manifest()
    del web.lake.tables[web.of(lost)]
    web.append()
    web.greatest = "01-03 12:00"

    found = {each.error.hint for each in web.at("01-04").results if each.error}

    assert found == {f"restore it, or replay what it held: {again}"}
    name = lost.removeprefix("web_")
    assert web.manifest().get(name) == before.get(name)
    if name in before:
        web.store.sessions.forget("web", [lost])
        assert problems(web.at("01-04")) == []
        assert web.windows()[-1].startswith("package 2 01-01..")
    else:
        assert web.manifest() == before


def test_what_is_made_of_a_blocked_module_waits_for_it(web):
    """Or its position would pass by rows that the module is still to make."""
    del web.lake.tables[web.of("web_sessions")]

    found = statuses(web.at("01-03"))

    assert (found["sessions"], found["users"], found["page_views"]) == (
        "failed",
        "skipped",
        "success",
    )
    assert web.manifest()["users"] == FIRST


def test_what_all_models_go_on_from_is_not_taken_back(web):
    model = "web_base_sessions_lifecycle_manifest"
    (step,) = web.store.records.steps_of(model)

    with pytest.raises(TableError) as caught:
        rollback(web.services(), RollbackRequest(str(web.root), model, to=step.intent.step))

    assert caught.value.code == "rollback-base-table"


def test_the_limits_alone_have_no_rows(web):
    report = web.at("01-03")

    views = [each.name for each in report.results if each.is_view]
    assert views == ["web_base_new_event_limits"]


def test_what_reads_a_module_is_built_after_it_was_stitched(web):
    config = "{{ config(materialized='table') }}"
    text = f"{config} select session_identifier from {{{{ ref('web_sessions') }}}}"
    web.has_files({"models/report.sql": text})

    report = web.at("01-03")

    assert problems(report) == []
    commits = [model for model, word, _ in web.lake.ran if word == "commit"]
    assert commits.index("report") > max(n for n, m in enumerate(commits) if m == "web_sessions")
    assert web.at("01-03").plan.is_empty


@pytest.mark.parametrize("kind", ["table", "view"])
def test_events_may_be_a_model_of_the_same_run(tmp_path, kind):
    clean = (
        f"{{{{ config(materialized='{kind}') }}}} select * from {{{{ source('raw', 'events') }}}}"
    )
    head = HEAD.replace("raw.events", "clean")
    web = PackageWorkshop(tmp_path, **{WEB: head, "models/clean.sql": clean})

    assert problems(web.at("01-02")) == []
    assert web.manifest() == dict.fromkeys(CORE, FIRST)
    assert web.at("01-03").plan.is_empty

    web.append()
    assert problems(web.at("01-03")) == []
    assert web.windows()[-1] == "package 4 01-01 14:00..01-03"
    assert web.at("01-03").plan.is_empty

    web.append()
    web.lake.trouble("clean", "commit", BROKEN)
    report = web.at("01-04")
    if kind == "table":
        assert statuses(report)["base_events_this_run"] == "skipped"
        assert len(web.passes) == 2


def test_a_tagged_model_whose_sql_changed_has_drifted_and_its_own_run_takes_it(web):
    web.tagged("m5")
    web.greatest = "01-01 20:00"
    assert problems(web.at("01-02")) == []
    web.tagged("m5", EVENTS_OF_RUN + " where event_id > ''")
    web.lake.land(web.of("web_base_events_this_run"))

    assert web.states() == {"m5": [State.SQL_CHANGED]}
    assert web.sync("m5").plan.is_empty
    assert problems(web.at("01-03")) == []
    assert web.states() == {}


def test_a_table_that_was_only_made_ready_has_processed_nothing(web):
    web.tagged("m5")
    web.greatest = "01-01 20:00"
    assert problems(web.at("01-02")) == []
    web.append()
    web.greatest = "01-02 01:00"
    text = (web.root / "models/m5.sql").read_text()
    web.has_files({"models/m5.sql": text.replace("(mat", "(table_properties={'a': 'b'}, mat")})
    web.lake.trouble("m5", "commit", lambda: None, BROKEN)

    report = web.at("01-03")

    made = [each.operation for each in web.lake.tables[web.of("m5")].commits]
    assert (statuses(report)["m5"], made[-1]) == ("failed", "SET TBLPROPERTIES")
    assert web.manifest() == {**dict.fromkeys(CORE, SECOND), "m5": FIRST}


def test_a_package_whose_option_changed_is_named_by_status_and_left_alone_by_sync(web):
    web.has_files({WEB: HEAD + "heartbeat: 20\n"})

    assert status_text(status(web.services(), StatusRequest())).endswith(
        "9 of 9 partitions drifted. Next: penstock run --select web"
    )
    report = web.sync()
    assert report.plan.is_empty
    assert report.notes == ("web is left alone: 9 tables drifted; penstock run --select web",)
    assert problems(web.at("01-03")) == []
    assert web.states() == {}
    assert web.sync().notes == ()


@pytest.mark.parametrize("model", ["web_sessions", "m5"])
def test_what_passes_make_is_not_backfilled(web, model):
    web.tagged("m5")
    asked = BackfillRequest(".", model=model, from_="2021-01-01", to="2021-01-02")

    for backfill in (sync, preview_sync):
        with pytest.raises(UsageError) as told:
            backfill(web.services(), asked)
        assert told.value.code == "not-backfilled"
        assert told.value.hint.endswith("penstock run --select web --full-refresh")


def told_limits(web, now):
    """Give what `sessions limits` says of the next run: lines without the clock, and JSON."""
    report = sessions_limits(web.services(), LimitsRequest(".", package="web", as_of=at(now)))
    return [line[11:] for line in limits_text(report).splitlines()], limits_document(report)


def test_per_model_and_nothing_new_limits_plan_and_run_have_nothing_to_do(web):
    web.has_files({WEB: HEAD + "backfill: per_model\n"})
    web.at("01-03")

    lines, found = told_limits(web, "01-04")

    assert lines[1:] == [
        "web: Processing data between 2021-01-01 19:00:00 and 2021-01-04 00:00:00",
        "web: Nothing to do: raw.events has no new commit since version 1",
    ]
    assert found["nothing_to_do"] is True
    planned = web.plan("web", as_of=at("01-04"))
    assert ([each[11:] for each in planned.said], planned.plan.is_empty) == (lines, True)
    assert web.at("01-04").plan.is_empty


def test_a_head_pass_that_has_nothing_to_do_is_said_so_and_is_not_recorded(web):
    web.has_files({WEB: HEAD + "backfill: per_model\n"})
    web.at("01-03")
    web.tagged("m5")

    lines, found = told_limits(web, "01-04")

    assert [line for line in lines if "Processing" not in line] == [
        "web (backfill): New model introduced: replaying from the start date",
        "web (head): Standard incremental run",
        "web (head): Nothing to do: raw.events has no new commit since version 1",
    ]
    assert [each["pass"] for each in found["passes"]] == ["backfill"]
    assert problems(web.at("01-04")) == []
    assert web.windows()[-1] == "backfill 2 01-01..01-02 01:00"
    limits = [(each["lower_limit"], each["upper_limit"]) for each in found["passes"]]
    assert limits == [("2021-01-01T00:00:00Z", "2021-01-02T01:00:00Z")]


def test_models_that_are_past_the_window_have_nothing_to_do(web):
    web.at("01-03")
    web.append()

    lines, found = told_limits(web, "01-01 12:00")

    assert lines[-1] == "web: Nothing to do: all models are at 2021-01-01 12:00:00 or later"
    assert found["nothing_to_do"] is True
    assert web.at("01-01 12:00").plan.is_empty
