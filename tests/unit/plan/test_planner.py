from dataclasses import replace

from fakes.builders import NOON, a_model, a_project, a_source, a_success
from penstock.core.errors import TableError
from penstock.core.facts import Touched
from penstock.core.model import Fingerprint
from penstock.core.records import Status
from penstock.core.steps.inputs import DeltaPin, FilesPin, ViewPin
from penstock.core.steps.step import StepFailure
from penstock.core.strategy import WindowSettings
from penstock.plan.planner import plan
from penstock.plan.values import Now, Observed, Options, Plan, State
from penstock.strategies.append import Append
from penstock.strategies.view import View

SOURCE = DeltaPin("id-events", 3)
RAW = a_source("events")
BASE = a_model("base", "raw.events")
MART = a_model("mart", "base")


def seen(version: int = 0) -> Observed:
    return Observed(True)


def world(**targets: Observed) -> Now:
    return Now(NOON, targets, {"raw.events": SOURCE})


def planned(project, records, now, select=(), options=None) -> Plan:  # type: ignore[no-untyped-def]
    names = select or tuple(project.models)
    by_name = {record.model: record for record in records}
    return plan(project, names, by_name, now, options or Options())


def reasons(made: Plan) -> list[tuple[str, str]]:
    return [(step.model, str(step.reason)) for step in made.steps]


def test_a_project_that_never_ran_is_planned_whole_in_topological_order() -> None:
    made = planned(a_project(MART, BASE, RAW), [], world())

    assert reasons(made) == [("base", "never_run"), ("mart", "never_run")]
    assert [step.initial for step in made.steps] == [True, True]
    assert made.steps[1].upstream == ("base",)


def test_nothing_is_planned_when_code_inputs_and_facts_are_as_recorded() -> None:
    records = [
        a_success(BASE, raw__events=SOURCE),
        a_success(MART, 2, base=DeltaPin("id-base", 0)),
    ]

    made = planned(a_project(BASE, MART, RAW), records, world(base=seen(), mart=seen()))

    assert made.is_empty
    assert made.current == ("base", "mart")


def test_a_source_with_a_newer_version_plans_its_reader_and_what_hangs_on_it() -> None:
    records = [
        a_success(BASE, raw__events=DeltaPin("id-events", 2)),
        a_success(MART, 2, base=DeltaPin("id-base", 0)),
    ]

    made = planned(a_project(BASE, MART, RAW), records, world(base=seen(), mart=seen()))

    assert reasons(made) == [
        ("base", "source_changed: raw.events v2 -> v3"),
        ("mart", "upstream_changed: after base"),
    ]
    assert [step.reason.pending for step in made.steps] == [False, True]


def test_a_changed_listing_of_files_is_a_changed_source() -> None:
    records = [a_success(BASE, raw__events=FilesPin("aaaaaaaaaa", 2))]
    now = Now(NOON, {"base": seen()}, {"raw.events": FilesPin("bbbbbbbbbb", 3)})

    made = planned(a_project(BASE, RAW), records, now)

    assert reasons(made) == [
        ("base", "source_changed: raw.events aaaaaaaa (2 files) -> bbbbbbbb (3 files)")
    ]


def test_a_view_that_was_made_anew_changes_its_readers() -> None:
    staging = a_model("staging", "raw.events", strategy=View())
    reader = a_model("reader", "staging")
    records = [
        a_success(staging, 5, raw__events=SOURCE),
        a_success(reader, 4, staging=ViewPin(3), raw__events=SOURCE),
    ]

    made = planned(a_project(staging, reader, RAW), records, world(reader=seen()))

    assert reasons(made) == [("reader", "upstream_changed: staging")]


def test_other_canonical_sql_is_drift_and_other_text_is_only_cosmetic() -> None:
    old = Fingerprint("other-text", BASE.fingerprint.canonical)
    cosmetic = replace(a_success(BASE, raw__events=SOURCE), fingerprint=old)
    changed = replace(cosmetic, fingerprint=Fingerprint("other-text", "other-meaning"))
    project, now = a_project(BASE, RAW), world(base=seen())

    assert planned(project, [cosmetic], now).cosmetic == ("base",)
    assert reasons(planned(project, [changed], now)) == [("base", "sql_changed")]
    assert planned(project, [changed], now).steps[0].executed == "other-text"


def test_a_foreign_commit_is_tampered_and_names_version_operation_and_time() -> None:
    foreign = Touched(4, NOON, "UPDATE", user="ann")
    now = world(base=Observed(True, "id-base", (foreign,)))

    made = planned(a_project(BASE, RAW), [a_success(BASE, raw__events=SOURCE)], now)

    assert reasons(made) == [
        ("base", "tampered: version 4 UPDATE by ann at 2024-03-01 12:00:00 UTC")
    ]


def test_a_table_that_is_gone_is_missing_and_rebuilt_from_all_inputs() -> None:
    made = planned(a_project(BASE, RAW), [a_success(BASE, raw__events=SOURCE)], world())

    assert reasons(made) == [("base", "missing: the table is gone")]
    assert made.steps[0].initial
    assert made.steps[0].notes == ("the table is gone: full rebuild from all inputs",)


def test_a_failed_model_runs_again_and_keeps_its_watermark() -> None:
    failed = replace(
        a_success(BASE, raw__events=SOURCE),
        status=Status.FAILED,
        failure=StepFailure("duplicate-keys", "…"),
    )

    made = planned(a_project(BASE, RAW), [failed], world(base=seen()))

    assert reasons(made) == [("base", "was failed: duplicate-keys")]
    assert not made.steps[0].initial


def test_new_input_of_a_windowed_model_is_planned_and_is_no_drift() -> None:
    log = a_model("log", "raw.events", strategy=Append(WindowSettings("ts")))
    record = a_success(log, raw__events=DeltaPin("id-events", 2))

    made = planned(a_project(log, RAW), [record], world(log=seen()))

    assert made.steps[0].reason.state is State.SOURCE_CHANGED
    assert not made.steps[0].reason.drift


def test_a_foreign_table_is_refused_unless_it_is_adopted() -> None:
    project, now = a_project(BASE, RAW), world(base=Observed(True))

    refused = planned(project, [], now)
    adopted = planned(project, [], now, options=Options(adopt=True))

    assert [(b.model, b.error.code) for b in refused.blocked] == [("base", "foreign-table")]
    assert [(s.model, s.initial) for s in adopted.steps] == [("base", False)]


def test_a_table_of_ours_without_records_asks_for_state_rebuild() -> None:
    now = world(base=Observed(True, ever_ours=True))

    made = planned(a_project(BASE, RAW), [], now)

    assert "penstock state rebuild" in made.blocked[0].error.hint


def test_an_upstream_that_was_never_built_is_named_with_the_plus_selector() -> None:
    made = planned(a_project(BASE, MART, RAW), [], world(), select=("mart",))

    assert made.blocked[0].error.code == "upstream-not-built"
    assert made.blocked[0].error.hint == "run: penstock run --select +mart"


def test_a_source_that_is_gone_blocks_its_readers_only() -> None:
    other = a_model("other")
    gone = TableError("source-missing", "…")
    now = Now(NOON, {}, {}, {"raw.events": gone})

    made = planned(a_project(BASE, other, RAW), [], now)

    assert [(b.model, b.error) for b in made.blocked] == [("base", gone)]
    assert reasons(made) == [("other", "never_run")]


def test_full_refresh_plans_what_is_current_and_replaces_it() -> None:
    record = a_success(BASE, raw__events=SOURCE)

    made = planned(
        a_project(BASE, RAW), [record], world(base=seen()), options=Options(full_refresh=True)
    )

    assert [(s.model, s.initial) for s in made.steps] == [("base", True)]


def test_a_view_is_not_stale_when_its_source_changes_but_what_reads_it_is() -> None:
    staging = a_model("staging", "base", strategy=View())
    reader = a_model("reader", "staging")
    records = [
        a_success(BASE, raw__events=DeltaPin("id-events", 2)),
        a_success(staging, 2, base=DeltaPin("id-base", 0)),
        a_success(reader, 3, staging=ViewPin(2), base=DeltaPin("id-base", 0)),
    ]

    made = planned(
        a_project(BASE, staging, reader, RAW), records, world(base=seen(), reader=seen())
    )

    assert reasons(made) == [
        ("base", "source_changed: raw.events v2 -> v3"),
        ("reader", "upstream_changed: after base"),
    ]
    assert made.current == ("staging",)
