"""Errors that are about one thing have a class of their own."""

import datetime as dt
from dataclasses import replace

import pytest

from penstock.core.errors import (
    CheckFailedError,
    CircularDependencyError,
    ColumnChange,
    DuplicateModelError,
    LeaseHeldError,
    PenstockError,
    PlanOutdatedError,
    ProjectError,
    ProjectPlaceError,
    PythonModelError,
    SchemaChangeError,
    StateError,
    UnknownModelError,
    UsageError,
    install_hint,
    interruption,
    project_error,
)
from penstock.core.findings import Finding, Location, Severity
from penstock.core.records import Lease

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("code", "path", "kind"),
    [
        ("dependency-cycle", "models/a.sql", CircularDependencyError),
        ("duplicate-model", "models/a.sql", DuplicateModelError),
        ("unknown-reference", "models/a.py", UnknownModelError),
        ("reserved-name", "models/a.py", PythonModelError),
        ("bad-value", "models/a.yml", ProjectError),
    ],
)
def test_the_only_finding_of_a_project_has_its_own_class(code, path, kind):
    only = Finding(Location(path, 3), code, "no", "do")

    error, both = project_error((only,)), project_error((only, only))

    assert isinstance(error, kind)
    assert isinstance(error, ProjectError)
    assert (error.findings, error.exit_code) == ((only,), 1)
    assert type(both) is ProjectError
    if kind is not ProjectError:
        assert (error.code, error.where, error.hint) == (code, only.where, "do")


def test_exit_codes_tell_a_scheduler_what_to_do():
    now = NOON
    lease = Lease("core.users", "run-1", "host", 1, 1, now, now, now)

    assert PenstockError("x", "").exit_code == 1
    assert UsageError("x", "").exit_code == 2
    assert StateError("x", "").exit_code == 2
    assert CheckFailedError("x", "").exit_code == 3
    assert LeaseHeldError(lease, "").exit_code == 75
    assert interruption().exit_code == 130


def test_columns_that_change_are_told_by_what_became_of_them():
    changes = (ColumnChange("a", "BIGINT", "STRING"), ColumnChange("b", "INT", None))

    error = SchemaChangeError("t", (*changes, ColumnChange("c", None, "INT")), where=None, hint="")

    assert error.sentence == "t: added=[c INT], removed=[b], type_changes=[a: BIGINT -> STRING]"
    assert error.removed == (ColumnChange("b", "INT", None),)


def test_an_error_is_printed_with_its_place_and_hint_or_as_an_error():
    placed = PenstockError("no-code", "no", where=Location("a.sql", 3), hint="do")

    assert placed.render() == "a.sql:3: no-code: no\n  hint: do"
    assert PenstockError("no-code", "no").render() == "error: no-code: no"
    assert PenstockError("crashed", "no").hint == "run again; nothing of the step is in the table"


def test_warnings_are_not_counted_among_the_errors_of_a_project():
    error, warning = (
        Finding(Location("a.yml", line), "bad-value", "no", "do", severity)
        for line, severity in ((3, Severity.ERROR), (4, Severity.WARNING))
    )

    one, two = project_error((warning, error)), project_error((error, error, warning))

    assert (one.sentence, two.sentence) == (
        "the project has 1 error",
        "the project has 2 errors",
    )
    assert one.render() == (
        "a.yml:4: warning: bad-value: no\n  hint: do\na.yml:3: error: bad-value: no\n  hint: do"
    )
    cycle = replace(error, code="dependency-cycle")
    assert project_error((warning, cycle)).where == cycle.where


def test_a_place_without_a_project_is_told_as_one_error():
    error = ProjectPlaceError("bad-usage", "no folder", hint="do")

    assert (error.findings, error.exit_code) == ((), 2)
    assert error.render() == "error: bad-usage: no folder\n  hint: do"


def test_a_lease_that_is_held_names_its_holder():
    lease = Lease("main.orders", "run-1", "box", 7, 1, NOON, NOON, NOON)

    error = LeaseHeldError(lease, "wait")

    assert (error.holder, error.exit_code) == (lease, 75)
    assert error.sentence == (
        "main.orders is being written by run run-1 (host box, pid 7) since 2024-03-01 12:00:00 UTC"
    )


def test_other_errors_say_what_happened_and_how_to_end():
    assert PlanOutdatedError("m").sentence == "m was written after it was planned"
    assert (interruption().sentence, interruption().exit_code) == ("the run was interrupted", 130)
    assert install_hint("spark") == "pip install 'penstock-delta[spark]'"
    assert [str(ColumnChange("a", *each)) for each in (("INT", "DATE"), ("INT", None))] == [
        "a: INT -> DATE",
        "a",
    ]


def test_a_change_of_columns_passes_unless_it_says_otherwise():
    changes = (ColumnChange("a", "INT", "DATE"),)
    kept = SchemaChangeError("t", changes, where=None, hint="", passes=False)

    assert SchemaChangeError("t", changes, where=None, hint="").passes
    assert not kept.passes
    assert kept.sentence == "t: type_changes=[a: INT -> DATE]"
    assert (kept.added, kept.removed, kept.type_changes) == ((), (), changes)
