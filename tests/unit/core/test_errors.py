"""Errors that are about one thing have a class of their own."""

import pytest

from penstock.core.errors import (
    CircularDependencyError,
    ColumnChange,
    DuplicateModelError,
    ProjectError,
    PythonModelError,
    SchemaChangeError,
    UnknownModelError,
    project_error,
)
from penstock.core.findings import Finding, Location


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


def test_columns_that_change_are_told_by_what_became_of_them():
    changes = (ColumnChange("a", "BIGINT", "STRING"), ColumnChange("b", "INT", None))

    error = SchemaChangeError("t", (*changes, ColumnChange("c", None, "INT")), where=None, hint="")

    assert error.sentence == "t: added=[c INT], removed=[b], type_changes=[a: BIGINT -> STRING]"
    assert error.removed == (ColumnChange("b", "INT", None),)
