"""What `app.run` raises where steps failed."""

import pytest

from fakes.reports import a_plan, a_report, a_result
from penstock.app.application import raise_first
from penstock.core.errors import ModelFailedError, TableError


def test_the_first_failure_is_raised_with_the_report_and_notes_of_the_others():
    first, other = ModelFailedError("model-failed", "'b' raised"), TableError("gone", "no table")
    report = a_report(
        a_plan(),
        a_result("a"),
        a_result("b", "failed", error=first),
        a_result("c", "skipped", reason="upstream b failed"),
        a_result("d", "failed", error=other),
    )

    with pytest.raises(ModelFailedError) as caught:
        raise_first(report)

    assert caught.value is first
    assert caught.value.report is report
    assert caught.value.__notes__ == ["d failed too: gone: no table"]


def test_a_report_without_a_failure_raises_nothing():
    raise_first(a_report(a_plan(), a_result("a")))
