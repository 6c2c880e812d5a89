"""Hooks and grants of steps and of runs, over a lake in memory."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_source
from fakes.place import statuses
from fakes.workshop import DEAD, Workshop
from penstock.app.execution.hooks import recover_by_hand, results_sql
from penstock.core.beside.hooks import Grant, Hook, HookMoment, Hooks
from penstock.core.errors import QueryError, SparkDiedError
from penstock.core.findings import Location
from penstock.core.names import InputKind, InputName
from penstock.core.query import mention
from penstock.core.records import HookRecord, Status
from penstock.core.steps.step import Outcome

EVENTS = a_source("events")
WHERE = Location("models/top.sql", 1)
BROKEN = QueryError("spark-parse", "syntax error at 'optimise'")
THIS = mention(InputName(InputKind.THIS, "top"))


def hook(text, incremental=None):
    return Hook(text, text if incremental is None else incremental, WHERE)


def with_hooks(name="top", *inputs, before=(), after=(), **changes):
    hooks = Hooks(tuple(map(hook, before)), tuple(map(hook, after)))
    return a_model(name, *(inputs or ("raw.events",)), hooks=hooks, **changes)


def ran(workshop, *words):
    """Give what sessions did, but for looks at rows that the strategy takes."""
    asked = words or ("rows", "commit")
    return [(model, sql) for model, word, sql in workshop.lake.ran if word in asked]


def hooks_of(report):
    return [(each.moment, each.model, each.number, each.status) for each in report.hooks]


def recovered(workshop):
    """Run `penstock recover`."""
    return recover_by_hand(workshop.services(), None, committed=False)


def due(workshop):
    found = workshop.store.hooks.due()
    return [(each.model, each.number, each.status) for each in found]


def test_hooks_run_in_order_around_the_commit_of_each_step():
    before = [f"set a = '{THIS}'", "refresh x"]
    workshop = Workshop(EVENTS, with_hooks(before=before, after=[f"optimize {THIS}"]))

    report = workshop.run()

    assert report.succeeded
    words = [sql.split()[0] for _, sql in ran(workshop)]
    assert words == ["set", "refresh", "CREATE", "optimize"]
    assert ran(workshop)[0] == ("top", "set a = 's.top'")
    assert ran(workshop)[-1] == ("top", "optimize delta.`/w/s/top`")
    assert hooks_of(report) == [
        ("before", "top", 0, "SUCCESS"),
        ("before", "top", 1, "SUCCESS"),
        ("after", "top", 0, "SUCCESS"),
    ]
    assert {*workshop.store.hooks.of_run(report.run_id)} == {*report.hooks}
    assert workshop.store.leases.taken() == ()


def test_a_current_model_runs_no_hook_and_opens_no_session():
    workshop = Workshop(EVENTS, with_hooks(after=["optimize x"]))
    workshop.run()
    workshop.lake.ran.clear()

    assert workshop.run().succeeded
    assert workshop.lake.ran == []


def test_another_hook_is_no_change_of_a_model():
    workshop = Workshop(EVENTS, with_hooks(after=["optimize x"]))
    workshop.run()
    workshop.has(with_hooks(after=["vacuum x"]))

    assert workshop.run().plan.is_empty


def test_a_text_for_existing_tables_is_that_of_the_second_run():
    hooks = Hooks((hook("first", "later"),), (hook("", "again"),))
    workshop = Workshop(EVENTS, a_model("top", "raw.events", hooks=hooks))
    workshop.run()
    first = [sql for _, sql in ran(workshop, "rows")]
    workshop.lake.ran.clear()
    workshop.lake.land(EVENTS.path)
    workshop.run()

    assert first == ["first"]
    assert [sql for _, sql in ran(workshop, "rows")] == ["later", "again"]


def test_a_failing_hook_before_a_step_stops_it_and_what_reads_it():
    workshop = Workshop(EVENTS, with_hooks(before=["optimise x", "never"]), a_model("low", "top"))
    workshop.lake.trouble("top", "rows", BROKEN)

    report = workshop.run()

    assert statuses(report) == {"top": "failed", "low": "skipped"}
    assert report.exit_code == 1
    assert report["top"].error.render() == (
        "models/top.sql:1: hook-failed: the hook before of top failed: optimise x: "
        "syntax error at 'optimise'\n"
        "  hint: correct the hook, and run again; nothing of the step was written"
    )
    assert ran(workshop) == []
    assert workshop.records()["top"].status is Status.FAILED
    assert report.resume == "penstock run --select 'top low'"
    assert workshop.run().succeeded


def test_a_failing_hook_after_a_step_fails_the_run_and_keeps_its_rows():
    workshop = Workshop(EVENTS, with_hooks(after=["optimise x", "more"]), a_model("low", "top"))
    workshop.lake.trouble("top", "rows", BROKEN)

    report = workshop.run()

    assert statuses(report) == {"top": "success", "low": "success"}
    assert (report.succeeded, report.exit_code) == (False, 1)
    assert report.resume == "penstock recover"
    assert report.hooks[0].failure.hint == (
        "the rows are in the table; correct the hook, then: penstock recover"
    )
    assert due(workshop) == [("top", 0, "FAILED"), ("top", 1, "FAILED")]
    assert workshop.store.leases.taken() == ()


def test_a_run_first_repeats_hooks_that_failed_and_says_so():
    workshop = Workshop(EVENTS, with_hooks(after=["optimise x", "more"]))
    workshop.lake.trouble("top", "rows", BROKEN, BROKEN)
    step = workshop.run()["top"].step
    workshop.lake.ran.clear()

    again = workshop.run()
    last = workshop.run()

    assert again.plan.is_empty
    assert (again.exit_code, again.resume) == (1, "penstock recover")
    assert again.recovered == (f"hook after step {step} of top failed again: optimise x",)
    assert last.succeeded
    assert ran(workshop) == [("top", "optimise x"), ("top", "more")]
    assert due(workshop) == []


def test_recover_runs_a_hook_as_the_project_has_it_now():
    workshop = Workshop(EVENTS, with_hooks(after=["optimise x"]))
    workshop.lake.trouble("top", "rows", BROKEN)
    workshop.run()
    workshop.lake.ran.clear()
    workshop.has(with_hooks(after=["optimize x"]))

    recovery = recovered(workshop)

    assert [(each.text, each.status) for each in recovery.hooks] == [("optimize x", "SUCCESS")]
    assert ran(workshop) == [("top", "optimize x")]
    assert recovered(workshop).hooks == ()


def test_a_hook_that_the_project_dropped_is_never_repeated():
    workshop = Workshop(EVENTS, with_hooks(after=["optimise x"]))
    workshop.lake.trouble("top", "rows", BROKEN)
    workshop.run()
    workshop.has(with_hooks())

    report = workshop.run()

    assert (report.exit_code, report.hooks, due(workshop)) == (0, (), [])


def promise(workshop, holder, step):
    """Promise a hook as a run does that was killed before it ran it."""
    record = HookRecord(holder.run, HookMoment.AFTER, 0, "optimize x", NOON, step, "top")
    workshop.store.hooks.note([record])


def test_a_hook_of_a_run_that_was_killed_after_its_step_is_run_by_the_next():
    workshop = Workshop(EVENTS, with_hooks(after=["optimize x"]))
    promise(workshop, DEAD, "step-other")
    begun = workshop.begin(DEAD, "top")
    version = workshop.commit(begun)
    workshop.store.journal.finish("step-other", Outcome(version, "id", version))
    held = [lease.target for lease in workshop.store.leases.taken()]

    workshop.run()

    assert held == ["s.top"]
    assert ran(workshop, "rows") == [("top", "optimize x")]
    assert workshop.store.leases.taken() == ()


def test_a_hook_of_a_run_that_lives_is_left_to_it():
    alive = replace(DEAD, pid=44)
    workshop = Workshop(EVENTS, with_hooks(after=["optimize x"]))
    promise(workshop, alive, "step-other")
    begun = workshop.begin(alive, "top")
    version = workshop.commit(begun)
    workshop.store.journal.finish("step-other", Outcome(version, "id", version))

    assert recovered(workshop).hooks == ()
    assert due(workshop) == [("top", 0, "RUNNING")]


def test_a_hook_during_which_spark_died_stays_due():
    workshop = Workshop(EVENTS, with_hooks(after=["optimize x"]))
    workshop.lake.trouble("top", "rows", SparkDiedError("spark-died", "Spark's JVM ended"))

    report = workshop.run()

    assert statuses(report) == {"top": "failed"}
    assert due(workshop) == [("top", 0, "RUNNING")]
    assert workshop.records()["top"].status is Status.SUCCESS


def test_a_step_that_failed_leaves_no_hook_behind():
    workshop = Workshop(EVENTS, with_hooks(after=["optimize x"]))
    workshop.lake.trouble("top", "commit", BROKEN)

    report = workshop.run()

    assert statuses(report) == {"top": "failed"}
    assert (due(workshop), workshop.store.leases.taken()) == ([], ())


def around(workshop, before=(), after=()):
    hooks = Hooks(tuple(map(hook, before)), tuple(map(hook, after)))
    workshop.project = replace(workshop.project, hooks=hooks)


def test_hooks_of_the_project_run_before_the_first_step_and_after_the_last():
    workshop = Workshop(EVENTS, with_hooks(before=["mine"]))
    around(workshop, ["start"], ["end"])

    report = workshop.run()

    assert [sql.split()[0] for _, sql in ran(workshop)] == ["start", "mine", "CREATE", "end"]
    assert [each.moment for each in report.hooks] == ["run start", "before", "run end"]
    assert any("'top', 'success'" in sql for _, sql in ran(workshop, "define"))


def test_a_failing_hook_before_a_run_skips_every_step_and_the_end_still_runs():
    workshop = Workshop(EVENTS, a_model("top", "raw.events"))
    around(workshop, ["optimise x"], ["end"])
    workshop.lake.trouble("shop", "rows", BROKEN)

    report = workshop.run()

    assert statuses(report) == {"top": "skipped"}
    assert report["top"].reason == "a hook before the run failed"
    assert (report.exit_code, [sql for _, sql in ran(workshop)]) == (1, ["end"])


def test_a_failing_hook_after_a_run_is_reported_and_not_repeated():
    workshop = Workshop(EVENTS, a_model("top", "raw.events"))
    around(workshop, after=["optimise x"])
    workshop.lake.trouble("shop", "rows", BROKEN)

    report = workshop.run()

    assert (statuses(report), report.exit_code) == ({"top": "success"}, 1)
    assert report.resume == ""
    assert workshop.run().succeeded


def test_results_of_a_run_without_steps_are_a_query_without_rows():
    assert results_sql(()) == (
        "SELECT * FROM VALUES ('', '', '', 0L, 0D, '') "
        "AS t(model, status, reason, rows, seconds, error) WHERE false"
    )


def refuse():
    raise QueryError("spark-parse", "SHOW GRANTS is not supported")


@pytest.fixture
def granting():
    """A model with grants, on a target with a catalog."""
    wanted = (Grant("select", "ann"), Grant("select", "bob"))
    workshop = Workshop(EVENTS, a_model("top", "raw.events", grants=wanted))
    target = replace(workshop.project.target, catalog="main")
    workshop.project = replace(workshop.project, target=target)
    return workshop


def test_grants_change_what_differs_from_the_catalog(granting):
    rows = [
        {"Principal": "bob", "ActionType": "SELECT", "ObjectType": "TABLE"},
        {"Principal": "eve", "ActionType": "MODIFY", "ObjectType": "TABLE"},
        {"Principal": "all", "ActionType": "SELECT", "ObjectType": "SCHEMA"},
        {"Principal": "me", "ActionType": "OWN", "ObjectType": "TABLE"},
    ]
    granting.lake.answers("SHOW GRANTS", tuple(rows))

    report = granting.run()

    assert [sql for _, sql in ran(granting, "rows") if "GRANT" in sql or "REVOKE" in sql] == [
        "SHOW GRANTS ON TABLE `main`.`s`.`top`",
        "REVOKE MODIFY ON TABLE `main`.`s`.`top` FROM `eve`",
        "GRANT SELECT ON TABLE `main`.`s`.`top` TO `ann`",
    ]
    assert [each.text for each in report.hooks] == ["grants: select to ann, bob"]


def test_a_catalog_without_rights_is_a_warning_and_no_failure(granting):
    granting.lake.answers("SHOW GRANTS", refuse)

    report = granting.run()

    assert report.succeeded
    assert report.hooks[0].status is Status.SKIPPED
    assert report.hooks[0].failure.message == (
        "the catalog of target dev knows no grants: SHOW GRANTS is not supported"
    )
    assert due(granting) == []


def regrant(workshop, *wanted):
    """Let the project ask for other rights, and forget what sessions did."""
    workshop.has(a_model("top", "raw.events", grants=wanted))
    workshop.lake.ran.clear()
    workshop.clock.advance(seconds=1)


ROWS_OF_BOB = ({"Principal": "bob", "ActionType": "SELECT", "ObjectType": "TABLE"},)


def test_changed_grants_are_in_the_plan_and_applied_without_building_the_table(granting):
    granting.run()
    regrant(granting, Grant("select", "eve"))
    granting.lake.answers("SHOW GRANTS", ROWS_OF_BOB)

    planned = granting.plan()
    report, later = granting.run(), granting.run()

    assert planned.plan.is_empty
    assert planned.said == ("top: its rights change, grants: select to eve",)
    assert [sql for _, sql in ran(granting)] == [
        "SHOW GRANTS ON TABLE `main`.`s`.`top`",
        "REVOKE SELECT ON TABLE `main`.`s`.`top` FROM `bob`",
        "GRANT SELECT ON TABLE `main`.`s`.`top` TO `eve`",
    ]
    assert hooks_of(report) == [("after", "top", 0, "SUCCESS")]
    assert (statuses(report), report.exit_code) == ({"top": "unchanged"}, 0)
    assert (later.hooks, later.said) == ((), ())


def test_changed_grants_of_a_model_with_a_step_are_left_to_the_step(granting):
    granting.run()
    regrant(granting, Grant("select", "eve"))
    granting.lake.land(EVENTS.path)

    planned, report = granting.plan(), granting.run()

    assert planned.said == ()
    assert [each.text for each in report.hooks] == ["grants: select to eve"]
    assert granting.run().hooks == ()


def test_changed_grants_that_fail_are_repeated_by_recover(granting):
    granting.run()
    regrant(granting, Grant("select", "eve"))
    granting.lake.answers("SHOW GRANTS", ROWS_OF_BOB)
    granting.lake.answers("REVOKE", refuse)

    report = granting.run()
    failed = due(granting)
    granting.lake.answers("REVOKE", ())
    recovered(granting)

    assert (report.exit_code, report.resume) == (1, "penstock recover")
    assert failed == [("top", 0, "FAILED")]
    assert (due(granting), granting.run().hooks) == ([], ())


def test_grants_of_a_model_that_is_not_selected_or_not_built_wait(granting):
    granting.run()
    regrant(granting, Grant("select", "eve"))
    granting.has(a_model("other", "raw.events", grants=(Grant("select", "ann"),)))

    report = granting.run("other")

    assert [each.text for each in report.hooks] == ["grants: select to ann"]
    assert granting.plan().said == ("top: its rights change, grants: select to eve",)


def test_a_catalog_without_rights_is_asked_once_for_each_change(granting):
    granting.lake.answers("SHOW GRANTS", refuse)
    granting.run()
    regrant(granting, Grant("select", "eve"))

    report = granting.run()

    assert [each.status for each in report.hooks] == [Status.SKIPPED]
    assert granting.run().hooks == ()
