import datetime as dt
from collections import Counter
from dataclasses import replace

import pytest

from fakes.versioned_models import (
    EVENTS,
    MONDAYS,
    RUN_TIMESTAMP,
    a_body,
    a_commit,
    a_daily,
    a_run,
    a_version,
    changed_since,
    daily,
    ords,
    partition_code,
    reading,
    span,
    synced,
    the_table,
    told,
    unchanged,
    weekly,
)
from penstock.core.facts import Touched
from penstock.core.model import Fingerprint, Model
from penstock.core.partitions.mapping import Everything
from penstock.core.records import Status
from penstock.core.steps.inputs import FilesPin, NoPin, Pin
from penstock.plan.changes import Changes, TableNow
from penstock.plan.kinds.partitions import Evidence, detect_drift
from penstock.plan.values import Observed, State
from penstock.plan.verdict import Verdict

NOTHING = Changes({}.get, {}.get)
NEXT_DAY = RUN_TIMESTAMP + dt.timedelta(days=1)


def judged(
    model: Model,
    evidence: Evidence,
    changes: Changes = NOTHING,
    run_timestamp: dt.datetime = RUN_TIMESTAMP,
) -> Verdict:
    return detect_drift(model, *partition_code(model, run_timestamp), evidence, changes)


def edited(**changes: str) -> Model:
    """`daily` with something else in its v3."""
    return daily(a_body("v3", "2024-12-02", EVENTS, **changes))


def test_a_synced_model_has_nothing_to_tell():
    found = judged(daily(), synced(daily()), unchanged())

    known = ords("2024-11-25", "2024-12-16")
    assert found == Verdict("daily", known, partition_code(daily())[1], recorded=known)


def test_without_records_every_due_partition_was_never_run():
    found = judged(daily(), Evidence())

    assert told(daily(), found) == {"never_run": ["2024-11-25..2024-12-16"]}


def test_other_sql_of_a_version_marks_its_partitions_alone():
    found = judged(edited(canonical="other"), synced(daily()), unchanged())

    assert told(daily(), found) == {"sql_changed": ["2024-12-02..2024-12-16"]}


@pytest.mark.parametrize(
    ("changes", "expected", "cosmetic"),
    [
        ({"sql": "with a comment"}, {}, 15),
        (
            {"sql": "USER_ID", "canonical": "USER_ID"},
            {"sql_changed": ["2024-12-02..2024-12-16"]},
            0,
        ),
        ({}, {}, 0),
        ({"schema": "required"}, {"schema_changed": ["2024-12-02..2024-12-16"]}, 0),
    ],
)
def test_the_text_alone_is_cosmetic_and_the_schema_is_not(changes, expected, cosmetic):
    before = daily(a_body("v3", "2024-12-02", EVENTS, schema="nullable"))
    model = edited(**({"schema": "nullable"} | changes))

    found = judged(model, synced(before), unchanged())

    assert (told(model, found), found.cosmetic) == (expected, cosmetic)


def test_a_schema_that_one_side_does_not_declare_is_no_difference():
    found = judged(edited(schema="declared"), synced(daily()), unchanged())

    assert found.pieces == ()


@pytest.mark.parametrize("changes", [{}, {"canonical": "meaning-v3", "schema": ""}])
def test_a_new_version_upgrades_its_partitions_and_hides_what_else_differs(changes):
    v3 = a_body("v3", "2024-12-02", EVENTS)
    model = daily(v3, a_body("v4", "2024-12-10", EVENTS, **({"schema": "s"} | changes)))

    found = judged(model, synced(daily()), unchanged())

    assert told(model, found) == {"version_upgraded": ["2024-12-10..2024-12-16"]}
    assert found.pieces[0].because == ("v3 -> v4",)


def test_a_version_that_begins_later_gives_a_partition_back_to_the_one_before():
    model = daily(v2="2024-11-30")

    found = judged(model, synced(daily()), unchanged())

    assert told(model, found) == {"version_upgraded": ["2024-11-29"]}
    assert found.pieces[0].because == ("v2 -> v1",)


@pytest.mark.parametrize(
    ("run_timestamp", "since", "expected"),
    [
        (RUN_TIMESTAMP, None, {}),
        (
            NEXT_DAY,
            None,
            {"sql_changed": ["2024-12-02..2024-12-16"], "never_run": ["2024-12-17"]},
        ),
        (
            NEXT_DAY,
            dt.date(2024, 12, 10),
            {"sql_changed": ["2024-12-10..2024-12-16"], "never_run": ["2024-12-17"]},
        ),
    ],
)
def test_a_revision_counts_from_its_run_date_on(run_timestamp, since, expected):
    revision = a_body("v3.r1", "2024-12-17", EVENTS, backfill_since=since)
    model = daily(a_version(a_body("v3", "2024-12-02", EVENTS), revision))

    assert told(model, judged(model, synced(daily()), unchanged(), run_timestamp)) == expected


def test_a_revision_of_the_same_meaning_is_no_drift():
    revision = a_body("v3.r1", "2024-12-10", EVENTS, canonical="meaning-v3")
    model = daily(a_version(a_body("v3", "2024-12-02", EVENTS), revision))

    assert told(model, judged(model, synced(daily()), unchanged())) == {}


def test_a_failure_after_a_success_keeps_what_else_is_wrong():
    before, failed = synced(daily()), ords("2024-12-03")
    rows = before.runs[2]
    runs = (
        *before.runs[:2],
        replace(rows, high=failed[0][0] - 1),
        replace(rows, low=failed[0][0], high=failed[0][0], status=Status.FAILED, last_step_seq=9),
        replace(rows, low=failed[0][0] + 1),
    )

    found = judged(edited(canonical="other"), replace(before, runs=runs), unchanged())

    assert told(daily(), found) == {
        "sql_changed": ["2024-12-02", "2024-12-04..2024-12-16"],
        "failed, sql_changed": ["2024-12-03"],
    }


def test_others_change_only_the_partitions_that_their_files_hold():
    update = a_commit(9, span("2024-12-03", "2024-12-03"))
    evidence = synced(daily(), target=the_table(update))

    found = judged(daily(), evidence, unchanged())

    assert told(daily(), found) == {"tampered": ["2024-12-03"]}
    assert found.pieces[0].because == ("version 9 UPDATE at 2024-12-16 12:00:00 UTC",)


def test_a_commit_before_a_partition_was_settled_did_not_change_it():
    update = a_commit(2, span("2024-11-25", "2024-12-16"))
    evidence = synced(daily(), target=the_table(update))

    found = judged(daily(), evidence, unchanged())

    assert told(daily(), found) == {"tampered": ["2024-11-25..2024-11-28"]}


def test_rows_that_others_deleted_are_missing_and_tampered():
    delete = a_commit(9, span("2024-12-03", "2024-12-03"), operation="DELETE")
    lying = (span("2024-11-25", "2024-12-02"), span("2024-12-04", "2024-12-16"))
    evidence = synced(daily(), target=the_table(delete, lying=lying))

    found = judged(daily(), evidence, unchanged())

    assert told(daily(), found) == {"missing, tampered": ["2024-12-03"]}


def test_a_partition_without_rows_that_nobody_touched_is_not_missing():
    update = a_commit(9, span("2024-12-03", "2024-12-03"))
    evidence = synced(daily(), target=the_table(update, lying=(span("2024-12-03", "2024-12-03"),)))

    found = judged(daily(), evidence, unchanged())

    assert told(daily(), found) == {"tampered": ["2024-12-03"]}


def test_where_the_log_lost_commits_rows_may_be_missing_anywhere():
    update = a_commit(9, span("2024-12-03", "2024-12-03"))
    target = replace(the_table(update, lying=(span("2024-11-25", "2024-12-15"),)), gap=(5, 7))

    found = judged(daily(), synced(daily(), target=target), unchanged())

    assert told(daily(), found) == {"tampered": ["2024-12-03"], "missing": ["2024-12-16"]}
    assert found.lines == (
        (
            "log-gap: versions 5 to 7 of the Delta log of s.daily are missing; "
            "their changes are unknown"
        ),
    )


@pytest.mark.parametrize("target", [Observed(), Observed(True, table_id="other", ever_ours=True)])
def test_without_the_table_or_with_another_every_success_is_missing(target):
    found = judged(daily(), synced(daily(), target=target), unchanged())

    assert told(daily(), found) == {"missing": ["2024-11-25..2024-12-16"]}
    assert found.missing == ords("2024-11-25", "2024-12-16")


@pytest.mark.parametrize(
    ("runs", "ever_ours", "expected"),
    [
        ((), True, State.UNRECORDED),
        ((), False, State.FOREIGN_TABLE),
        ((a_run(ords("2024-12-02"), 3),), False, State.FOREIGN_TABLE),
    ],
)
def test_a_table_that_records_do_not_speak_of_is_refused_as_a_whole(runs, ever_ours, expected):
    target = Observed(True, table_id="x", ever_ours=ever_ours)

    found = judged(daily(), synced(daily(), runs=runs, target=target), unchanged())

    known, segments = ords("2024-11-25", "2024-12-16"), partition_code(daily())[1]
    assert found == Verdict("daily", known, segments, whole=expected)


def test_a_source_marks_the_partitions_that_read_where_it_changed():
    append = Touched(
        4, RUN_TIMESTAMP, "WRITE", spans={"created_at": (span("2024-12-03", "2024-12-03"),)}
    )
    later = Touched(
        5, RUN_TIMESTAMP, "WRITE", spans={"created_at": (span("2025-01-05", "2025-01-05"),)}
    )

    found = judged(daily(), synced(daily()), changed_since(append))
    other = judged(daily(), synced(daily()), changed_since(later))

    assert told(daily(), found) == {"source_changed": ["2024-12-03"]}
    assert found.pieces[0].because == ("raw.events",)
    assert other.pieces == ()


def test_an_upstream_marks_the_partitions_that_read_what_was_made_again():
    rerun = a_run(ords("2024-12-02", "2024-12-16"), 3, 9), a_run(ords("2024-11-25"), 1, 2)

    found = judged(weekly(), synced(weekly()), changed_since(daily=rerun))

    assert told(weekly(), found) == {"upstream_changed": ["2024-12-02", "2024-12-09", "2024-12-16"]}


def test_an_upstream_partition_that_ran_first_after_the_reader_changed_for_it():
    first = (a_run(ords("2024-12-12"), 3, 4),)

    found = judged(weekly(), synced(weekly()), changed_since(daily=first))

    assert told(weekly(), found) == {"upstream_changed": ["2024-12-09"]}


def test_a_step_that_changed_no_data_changes_nothing_below():
    idle = (a_run(ords("2024-12-05"), 3, 9, commit_version=None),)

    found = judged(weekly(), synced(weekly()), changed_since(daily=idle))

    assert found.pieces == ()


def test_partitions_before_the_first_version_are_not_effective_and_not_drifted():
    model = daily(start=dt.date(2024, 11, 20))

    found = judged(model, synced(daily()), unchanged())

    assert told(model, found) == {"not_effective": ["2024-11-20..2024-11-24"]}
    assert (found.drifted, found.effective) == ((), ords("2024-11-25", "2024-12-16"))


def test_rows_of_a_version_that_was_deleted_are_named_and_kept():
    model = a_daily("daily", a_body("v3", "2024-12-02", EVENTS))
    evidence = synced(daily())
    known = ords("2024-11-25", "2024-12-16")

    found = detect_drift(model, known, partition_code(model)[1], evidence, unchanged())

    assert [(piece.states, piece.because) for piece in found.pieces] == [
        ((State.NOT_EFFECTIVE,), ("has data of v1",)),
        ((State.NOT_EFFECTIVE,), ("has data of v2",)),
    ]
    assert found.drifted == ()


def test_records_of_another_parser_are_read_again_once_per_text():
    old = {at: replace(mark, canonical="as it was", parser="0") for at, mark in marks().items()}
    asked: Counter[str] = Counter()

    def meaning(mark: Fingerprint) -> str:
        asked[mark.sql] += 1
        return mark.sql.replace("text", "meaning")

    halves = [
        half
        for run in synced(daily()).runs
        for half in (replace(run, high=run.low), replace(run, low=run.low + 1, step_seq=7))
    ]
    evidence = synced(daily(), fingerprints=old, meaning=meaning, runs=tuple(halves))
    evidence = replace(evidence, pins={**evidence.pins, 7: evidence.pins[1]})

    found = judged(daily(), evidence, unchanged())

    assert found.pieces == ()
    assert asked == {"text-v1": 1, "text-v2": 1, "text-v3": 1}


def test_another_parser_alone_asks_nobody_where_the_forms_are_equal():
    old = {at: replace(mark, parser="0") for at, mark in marks().items()}

    found = judged(daily(), synced(daily(), fingerprints=old, meaning=refuse), unchanged())

    assert found.pieces == ()


def refuse(mark: Fingerprint) -> str:
    raise AssertionError(mark)


def marks() -> dict[int, Fingerprint]:
    return dict(synced(daily()).fingerprints)


def test_sql_that_changed_under_its_number_is_told_of_immutable_models_with_all_it_made():
    before = synced(daily())
    halves = (*before.runs, a_run(ords("2024-12-17"), 3, 8))
    model = replace(edited(canonical="other"), immutable=True)

    found = judged(model, replace(before, runs=halves), unchanged())

    body = model.versions[2].body
    assert found.mutated == ((body, ords("2024-12-02", "2024-12-17")),)
    assert judged(edited(canonical="other"), before, unchanged()).mutated == ()


def test_a_new_revision_changes_no_sql():
    revision = a_body("v3.r1", "2024-12-10", EVENTS)
    model = replace(daily(a_version(a_body("v3", "2024-12-02", EVENTS), revision)), immutable=True)

    found = judged(model, synced(daily()), unchanged())

    assert (told(model, found), found.mutated) == (
        {"sql_changed": ["2024-12-02..2024-12-16"]},
        (),
    )


def test_a_failure_freezes_nothing():
    model = replace(edited(canonical="other"), immutable=True)
    tried = a_run(ords("2024-12-02"), 0, 0, status=Status.FAILED, last_step_seq=1)

    found = judged(model, synced(daily(), runs=(tried,)), unchanged())

    assert found.mutated == ()


def test_rows_of_others_outside_every_known_partition_are_a_line():
    insert = a_commit(9, span("2025-06-01", "2025-06-01"), operation="WRITE")

    found = judged(daily(), synced(daily(), target=the_table(insert)), unchanged())

    line = "foreign rows: version 9 WRITE at 2024-12-16 12:00:00 UTC touched no known partition"
    assert (found.pieces, found.lines) == ((), (line,))


def test_an_input_that_a_step_did_not_know_changed_for_it():
    model = a_daily(
        "weekly",
        a_body("v1", "2024-11-25", reading("daily", MONDAYS), reading("late", Everything())),
    )
    runs = (a_run(ords("2024-11-25"), 1, 1),)

    found = judged(model, synced(weekly()), changed_since(daily=runs, late=runs))

    assert told(model, found) == {"upstream_changed": ["2024-11-25..2024-12-16"]}


def looked_back(read: Pin, now: Pin, lookback: int | None = 2) -> dict[str, list[str]]:
    """The states of `daily` if its one source had one pin and has another now."""
    model = daily(lookback=lookback)
    pins = {step: {"raw.events": read} for step in (1, 2, 3)}
    changes = Changes({}.get, {"raw.events": TableNow(now)}.get)
    return told(model, judged(model, synced(model, pins=pins), changes))


def test_an_input_without_versions_makes_the_newest_partitions_run_again():
    assert looked_back(NoPin(), NoPin()) == {"source_changed": ["2024-12-14..2024-12-16"]}
    assert looked_back(NoPin(), NoPin(), 0) == {"source_changed": ["2024-12-16"]}
    assert looked_back(NoPin(), NoPin(), None) == {}


def test_files_that_changed_make_the_newest_partitions_run_again_and_the_same_files_none():
    old, new = FilesPin("a", 1), FilesPin("b", 2)

    assert looked_back(old, new) == {"source_changed": ["2024-12-14..2024-12-16"]}
    assert looked_back(old, old) == {}


def test_a_version_says_itself_which_partitions_changed_so_that_none_is_looked_back_at():
    day = span("2024-11-26", "2024-11-26")
    model = daily(lookback=2)

    found = judged(model, synced(model), changed_since(a_commit(4, day, column="created_at")))

    assert told(model, found) == {"source_changed": ["2024-11-26"]}
