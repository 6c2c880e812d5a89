from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_project, a_success
from fakes.versioned_models import (
    RUN_TIMESTAMP,
    a_body,
    a_daily,
    daily,
    monthly,
    ords,
    partition_code,
    reading,
    reading_itself,
    shown,
    the_project,
    verdict_of,
    weekly,
)
from penstock.core.columns.schema import Column, Schema
from penstock.core.errors import PenstockError, TableError
from penstock.core.facts import TableFacts
from penstock.core.model import Fingerprint, Model, Version
from penstock.core.partitions.calendar import DAY as A_DAY
from penstock.core.partitions.mapping import Computed, Lower, Moved, Same
from penstock.core.partitions.ranges import Ranges
from penstock.core.project import Project
from penstock.core.steps.inputs import DeltaPin
from penstock.core.strategy import Layout
from penstock.plan.kinds.partitions import wanted_partitions
from penstock.plan.obstacles import refusal
from penstock.plan.planner import plan
from penstock.plan.steps import Question, Scope, Wanted
from penstock.plan.values import Now, Observed, Options, Owner, Plan, State
from penstock.plan.verdict import Verdict

EDITED = ords("2024-12-02", "2024-12-16")
MONDAYS_TOO = (*ords("2024-12-02"), *ords("2024-12-09"), *ords("2024-12-16"))
DECEMBER = ords("2024-12", grid=monthly().grid)
AFTER_EDIT = {
    "daily": verdict_of(daily(), sql_changed=EDITED),
    "weekly": verdict_of(weekly()),
    "monthly": verdict_of(monthly()),
}


def known(verdicts: Mapping[str, Verdict]) -> dict[str, Ranges]:
    return {name: verdict.partitions for name, verdict in verdicts.items()}


def sync(verdicts: Mapping[str, Verdict], **changes: object) -> Scope:
    """What `sync` asks of the whole range of all models."""
    settings: dict[str, object] = {
        "trigger": "sync",
        "syncs": True,
        "verdicts": verdicts,
        "limits": known(verdicts),
    }
    return Scope(**(settings | changes))  # type: ignore[arg-type]


def wanted(
    model: Model, scope: Scope, todo: Mapping[str, Ranges] | None = None, **options: bool
) -> Wanted:
    return wanted_partitions(the_project(model), model, scope, todo or {}, Options(**options))


def planned(project: Project, scope: Scope, *selected: str, **options: bool) -> Plan:
    """Plan with every model built before."""
    records = {name: a_success(model) for name, model in project.models.items()}
    seen = Observed(True)
    now = Now(
        RUN_TIMESTAMP,
        dict.fromkeys(project.models, seen),
        {"raw.events": DeltaPin("raw.events", 3)},
    )
    return plan(project, selected or tuple(project.models), records, now, Options(**options), scope)


def steps_of(made: Plan) -> list[tuple[str, str, str, str]]:
    return [
        (step.model, *shown(step.work.grid, step.partitions), step.trigger, str(step.reason))
        for step in made.steps
    ]


def test_a_sync_takes_what_drifted_within_its_range():
    scope = sync(AFTER_EDIT, limits={"daily": ords("2024-12-10", "2024-12-20")})

    found = wanted(daily(), scope)

    days = ords("2024-12-10", "2024-12-16")
    assert found == Wanted(days, days, days)


def test_a_sync_takes_only_the_states_it_is_asked_for():
    verdict = verdict_of(daily(), failed=ords("2024-12-03"), tampered=ords("2024-12-05"))
    scope = sync({"daily": verdict}, states=frozenset({State.TAMPERED}))

    assert wanted(daily(), scope) == Wanted(*[ords("2024-12-05")] * 3)


def test_without_a_cascade_a_sync_leaves_what_would_follow():
    found = wanted(weekly(), sync(AFTER_EDIT), {"daily": EDITED})

    assert found == Wanted((), (), (), ("daily",))


def test_what_a_cascade_adds_is_pending_and_not_the_models_own():
    found = wanted(weekly(), sync(AFTER_EDIT, cascade=True), {"daily": EDITED})

    assert found == Wanted(MONDAYS_TOO, (), (), ("daily",))


def test_what_drifted_and_is_cascaded_to_is_sure_even_outside_the_range():
    drifted = verdict_of(weekly(), failed=(*ords("2024-12-09"), *ords("2024-12-10")))
    scope = sync({"weekly": drifted}, limits={}, cascade=True)

    found = wanted(weekly(), scope, {"daily": EDITED})

    assert found == Wanted(MONDAYS_TOO, (), ords("2024-12-09"), ("daily",))


def test_a_backfill_takes_every_effective_partition_of_its_range_whatever_its_state():
    scope = sync(
        AFTER_EDIT,
        trigger="backfill",
        force=True,
        limits={"daily": ords("2024-11-20", "2024-11-26")},
    )

    assert wanted(daily(), scope) == Wanted(*[ords("2024-11-25", "2024-11-26")] * 3)


def test_a_full_refresh_takes_all_partitions_of_the_selected_models():
    assert wanted(weekly(), sync(AFTER_EDIT), full_refresh=True) == Wanted(
        *[ords("2024-11-25", "2024-12-16")] * 3
    )


def test_a_run_takes_what_drifted_or_follows_within_its_days_and_calls_all_of_it_its_own():
    verdicts = {"weekly": verdict_of(weekly(), never_run=ords("2024-12-10"))}
    scope = Scope(verdicts=verdicts, limits={"weekly": ords("2024-12-09", "2024-12-10")})

    found = wanted(weekly(), scope, {"daily": EDITED})

    days = ords("2024-12-09", "2024-12-10")
    assert found == Wanted(days, days, ords("2024-12-10"), ("daily",))


def test_partitions_without_sql_are_never_taken():
    model = a_daily("weekly", a_body("v1", "2024-12-15", reading("daily", Same())))
    everything = ords("2024-12-01", "2024-12-16")
    scope = sync(
        {"weekly": replace(verdict_of(model), partitions=everything)}, cascade=True, force=True
    )

    assert wanted(model, scope, {"daily": EDITED}).partitions == ords("2024-12-15", "2024-12-16")


def test_a_cascade_is_planned_in_the_order_of_the_models():
    made = planned(the_project(), sync(AFTER_EDIT, cascade=True), "daily")

    assert steps_of(made) == [
        ("daily", "2024-12-02..2024-12-16", "sync", "sql_changed"),
        ("weekly", "2024-12-02", "cascade", "upstream_changed: after daily"),
        ("weekly", "2024-12-09", "cascade", "upstream_changed: after daily"),
        ("weekly", "2024-12-16", "cascade", "upstream_changed: after daily"),
        ("monthly", "2024-12", "cascade", "upstream_changed: after weekly"),
    ]
    assert sum(step.count for step in made.steps) == 19


def test_without_a_cascade_only_what_drifted_is_planned():
    made = planned(the_project(), sync(AFTER_EDIT))

    assert steps_of(made) == [("daily", "2024-12-02..2024-12-16", "sync", "sql_changed")]
    assert made.current == ("weekly", "monthly")


def test_what_is_reached_on_two_ways_is_planned_once_after_both():
    def below(name: str, *above: str) -> Model:
        return a_daily(name, a_body("v1", "2024-12-01", *(reading(each, Same()) for each in above)))

    models = below("a"), below("b", "a"), below("c", "a"), below("d", "b", "c")
    verdicts = {model.name: verdict_of(model) for model in models}
    verdicts["a"] = verdict_of(models[0], source_changed=ords("2024-12-03"))

    made = planned(a_project(*models), sync(verdicts, cascade=True), "a")

    assert [(step.model, step.upstream) for step in made.steps] == [
        ("a", ()),
        ("b", ("a 20060",)),
        ("c", ("a 20060",)),
        ("d", ("b 20060", "c 20060")),
    ]


def chain() -> Model:
    yesterday = Computed("date", ((Moved(Lower(), 0, -A_DAY), Lower()),))
    return a_daily("chain", a_body("v1", "2024-11-25", reading_itself("chain", yesterday)))


def test_a_model_that_reads_its_day_before_is_cascaded_to_the_end_in_order():
    verdicts = {"chain": verdict_of(chain(), upstream_changed=ords("2024-12-04"))}

    made = planned(a_project(chain()), sync(verdicts, cascade=True))

    days = [f"2024-12-{day:02}" for day in range(4, 17)]
    assert steps_of(made) == [
        ("chain", "2024-12-04", "sync", "upstream_changed"),
        *(("chain", day, "cascade", "upstream_changed: after chain") for day in days[1:]),
    ]
    assert [step.reason.pending for step in made.steps] == [False, *[True] * 12]
    assert [step.upstream for step in made.steps[1:]] == [(s.key,) for s in made.steps[:-1]]


def test_without_a_cascade_only_the_next_day_is_made_again():
    verdicts = {"chain": verdict_of(chain(), upstream_changed=ords("2024-12-04"))}

    made = planned(a_project(chain()), sync(verdicts))

    assert steps_of(made) == [("chain", "2024-12-04", "sync", "upstream_changed")]


def test_a_limit_is_kept_over_all_models():
    made = planned(the_project(), sync(AFTER_EDIT, cascade=True, most=10))

    assert steps_of(made) == [("daily", "2024-12-02..2024-12-11", "sync", "sql_changed")]
    assert made.remaining == 9


def test_a_backfill_says_so_and_is_one_step():
    days = {"daily": ords("2024-12-02", "2024-12-04")}
    scope = sync(
        AFTER_EDIT | {"daily": verdict_of(daily())},
        trigger="backfill",
        force=True,
        limits=days,
    )

    assert steps_of(planned(the_project(), scope, "daily")) == [
        ("daily", "2024-12-02..2024-12-04", "backfill", "asked for")
    ]


def refused(
    model: Model, verdict: Verdict, facts: TableFacts | None = None, **options: bool
) -> PenstockError | None:
    scope = sync({model.name: verdict}, facts={model.name: facts} if facts else {})
    project, asked = a_project(model), Options(**options)
    todo = wanted_partitions(project, model, scope, {}, asked)
    question = Question(project, frozenset(), {}, Now(NOON, {}, {}), asked, scope)
    return refusal(question, model, todo)


def mutated() -> tuple[Model, Verdict]:
    """`daily` that may not change, with another v3."""
    model = replace(daily(), immutable=True)
    verdict = verdict_of(model, sql_changed=EDITED)
    return model, replace(verdict, mutated=((model.versions[2].body, EDITED),))


def test_sql_that_changed_in_an_immutable_model_is_refused_with_version_file_and_partitions():
    error = refused(*mutated())

    assert str(error) == ("v3 of daily has built 15 partitions and its SQL changed (v3.sql)")
    assert error.code == "source-mutated"
    assert error.hint == "add a revision, or repeat with --allow-source-mutation"


def test_it_runs_with_the_flag_and_where_no_partition_of_it_would_run():
    model, verdict = mutated()

    assert refused(model, verdict, allow_source_mutation=True) is None
    assert refused(model, replace(verdict, pieces=())) is None


@pytest.mark.parametrize(
    ("whole", "code", "hint"),
    [
        (
            State.UNRECORDED,
            "unrecorded",
            (
                "restore the records from the tables' logs: penstock state rebuild; if another "
                "state store of the project is in use, name it under `state` instead"
            ),
        ),
        (
            State.FOREIGN_TABLE,
            "foreign-table",
            "move it away, or give the model another table",
        ),
    ],
)
def test_a_strange_table_blocks_its_model(whole, code, hint):
    verdicts = AFTER_EDIT | {"daily": replace(verdict_of(daily()), whole=whole)}

    made = planned(the_project(), sync(verdicts))

    assert [(each.model, each.error.code, each.error.hint) for each in made.blocked] == [
        ("daily", code, hint)
    ]
    assert made.steps == ()


@pytest.mark.parametrize(
    ("whole", "takes"),
    [
        (State.FOREIGN_TABLE, ""),
        (
            None,
            (
                ", or take the table from them, if they no longer write it: "
                "penstock run --select daily --full-refresh --adopt"
            ),
        ),
    ],
)
def test_a_table_of_another_store_blocks_its_model_and_only_adopt_takes_it(whole, takes):
    owner = Owner("theirs", "store-2")
    verdict = replace(verdict_of(daily(), never_run=EDITED), whole=whole, owner=owner)

    error = refused(daily(), verdict)

    assert error.code == "table-of-another-store"
    assert str(error) == (
        "s.daily is written by project 'theirs' (state store store-2), whose records are not "
        "those of this one"
    )
    assert error.hint == (
        f"give it another schema or alias, or the target another warehouse{takes}"
    )
    assert (refused(daily(), verdict, adopt=True) is None) == (whole is None)


def test_a_model_whose_log_cannot_be_read_is_blocked_with_that():
    lost = TableError("log-unreadable", "version 3 is damaged")

    verdict = Verdict("daily", *partition_code(daily()), whole=State.UNREADABLE, error=lost)

    assert refused(daily(), verdict) is lost


def test_another_layout_is_refused_without_a_full_refresh():
    verdict = replace(verdict_of(daily(), never_run=EDITED), relaid="DAY and are MONTH now")

    error = refused(daily(), verdict)

    assert error.code == "partition-layout-changed"
    assert str(error) == "the partitions of s.daily were DAY and are MONTH now"
    assert refused(daily(), verdict, full_refresh=True) is None


def with_schema(model: Model, *columns: Column) -> Model:
    """Let every version declare these columns."""
    versions: Sequence[Version] = model.versions
    return replace(model, versions=tuple(replace(v, schema=Schema(columns)) for v in versions))


def test_a_breaking_change_is_refused_unless_it_is_allowed():
    model = with_schema(daily(), Column("date", "date"), Column("events", "double"))
    facts = TableFacts("t", 3, Schema((Column("date", "date"), Column("events", "bigint"))))
    verdict = verdict_of(model, version_upgraded=EDITED)

    error = refused(model, verdict, facts)

    assert (error.code, str(error)) == ("incompatible-type", "s.daily: events BIGINT -> DOUBLE")
    assert refused(model, verdict, facts, allow_breaking=True) is None


def a_dated_table(since: str, **changes: object) -> Model:
    """A table of one partition with a version."""
    body = a_body("v1", since)
    return a_model("table", versions=(Version(1, body),), fingerprint=body.fingerprint, **changes)


@pytest.mark.parametrize(
    ("model", "table", "expected"),
    [
        ("stats", "bigint", ["", "1", "1"]),
        ("stats", "int", ["", "1", "1"]),
        ("stats", "string", ["", "1", "2"]),
        ("chain", "bigint", ["", "1", "2"]),
    ],
)
def test_steps_of_one_model_run_at_once_where_nothing_moves_and_it_does_not_read_itself(
    model, table, expected
):
    inputs = chain().versions[0].body.inputs if model == "chain" else ()
    made = a_daily(model, a_body("v1", "2024-11-25", *inputs), layout=Layout(("date",)))
    made = with_schema(made, Column("date", "date"), Column("n", "bigint"))
    facts = TableFacts("t", 3, Schema((Column("date", "date"), Column("n", table))), ("date",))
    days = ords("2024-12-02", "2024-12-04")
    scope = sync({model: verdict_of(made, failed=days)}, batch_size=1, facts={model: facts})

    found = planned(a_project(made), scope, allow_breaking=True)

    places = {step.key: str(place) for place, step in enumerate(found.steps, 1)}
    assert ["".join(places[key] for key in step.upstream) for step in found.steps] == expected


@pytest.mark.parametrize("trigger", ["run", "sync", "backfill"])
def test_a_table_whose_first_version_is_to_come_is_left_out_and_so_is_its_reader(trigger):
    later = a_dated_table("2024-12-17")
    reader = a_model("reader", "table")
    scope = Scope(trigger=trigger, syncs=trigger != "run", force=trigger == "backfill")

    made = plan(
        a_project(later, reader),
        ("table", "reader"),
        {},
        Now(RUN_TIMESTAMP, {}, {}),
        Options(),
        scope,
    )

    assert (made.steps, made.current) == ((), ())
    assert made.notes == ("table: not_effective: its first version is effective from 2024-12-17",)
    assert [(each.model, each.error.code) for each in made.blocked] == [
        ("reader", "upstream-not-built")
    ]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Fingerprint("x", "other"), ["source-mutated"]),
        (Fingerprint("x", "other", revision=1), []),
        (Fingerprint("x", "meaning-v1"), []),
    ],
)
def test_an_immutable_table_is_held_to_the_sql_of_its_own_version(made, expected):
    table = a_dated_table("2024-12-01", immutable=True)
    record = replace(a_success(table), fingerprint=made)
    now = Now(RUN_TIMESTAMP, {"table": Observed(True)}, {})

    found = plan(a_project(table), ("table",), {"table": record}, now, Options())

    assert [each.error.code for each in found.blocked] == expected
