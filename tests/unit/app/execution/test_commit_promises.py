"""What a commit did is held against what was staged for it."""

from dataclasses import replace

import pytest

from fakes.builders import NOON, a_model, a_source
from fakes.workshop import ELSEWHERE, Workshop
from penstock.app.execution.commit import Committer
from penstock.app.observation.observe import ObservedTables
from penstock.app.preparing.run_context import Context
from penstock.app.preparing.statements import DecidedStatement
from penstock.core.records import Status
from penstock.core.statement import ROW_CHANGE, Commit, Feed, Work
from penstock.strategies.history.commit import IdentityError

TOP = a_model("top", "raw.events")
FED = Feed("rows", "select 1", {"seen": "count(*)"})


class Told:
    """A session whose commits land with the counts that a test tells."""

    def __init__(self, workshop, metrics, row_change, observed):
        self.workshop, self.metrics = workshop, metrics
        self.row_change, self.seen = row_change, observed
        self.asked = []

    def commit(self, statement, intent):
        del statement
        self.workshop.commit(intent)
        commits = self.workshop.lake.tables[intent.uri].commits
        commits[-1] = replace(commits[-1], metrics=self.metrics, row_change=self.row_change)

    def observed(self, rows):
        self.asked.append(rows)
        return self.seen


def applied(statement, metrics=None, row_change=None, observed=None):
    """Commit a statement; give what of it is a bug, what was asked for, and the step's record."""
    workshop = Workshop(a_source("events"), TOP)
    services = workshop.services()
    begun = workshop.begin(ELSEWHERE, "top")
    context = Context(ELSEWHERE, NOON, workshop.project, ObservedTables.empty(NOON), {})
    committer = Committer(services, context, None, None)
    committer.session = session = Told(workshop, metrics or {}, row_change, observed)
    try:
        committer.apply(begun, DecidedStatement(Work.just(statement), statement, {}))
    except IdentityError as error:
        return str(error), session.asked, workshop.records()["top"].status
    return "", session.asked, None


def breaches(metrics):
    return [f"seen {metrics.get('seen')} of {metrics.get('numSourceRows')}"] * (
        metrics.get("seen", 7) != 7
    )


@pytest.mark.parametrize(("found", "fails"), [(2, False), (1, True)])
def test_a_count_that_was_known_before_is_the_one_that_delta_tells(found, fails):
    statement = Commit("x", expected={"numOutputRows": ("M1", 2)})

    bug, asked, status = applied(statement, {"numOutputRows": found})

    assert (bug != "", status) == (fails, Status.FAILED if fails else None)
    if fails:
        assert bug == (
            "metrics-mismatch: M1: numOutputRows of version 0 is 1, staged were 2; "
            "penstock snapshot verify top"
        )
    assert asked == []


@pytest.mark.parametrize(("change", "fails"), [(2, False), (1, True), (None, False)])
def test_a_change_of_rows_is_compared_where_the_log_tells_it(change, fails):
    statement = Commit("x", expected={ROW_CHANGE: ("M2", 2)})

    assert (applied(statement, row_change=change)[0] != "") is fails


def test_a_count_that_delta_does_not_tell_is_0():
    assert applied(Commit("x", expected={"gone": ("M3", 0)}))[0] == ""
    assert (
        "gone of version 0 is 0, staged were 1"
        in applied(Commit("x", expected={"gone": ("M3", 1)}))[0]
    )


def test_what_was_observed_of_the_rows_is_held_against_deltas_counts():
    fed = Commit("x", feed=FED, breaches=breaches)

    assert applied(fed, {"numSourceRows": 3}, observed={"seen": "7"}) == ("", [3], None)
    bug, asked, status = applied(fed, {"numSourceRows": 3}, observed={"seen": "6"})
    assert (asked, status) == ([3], Status.FAILED)
    assert bug == (
        "metrics-mismatch: version 0 of s.top: seen 6 of 3; "
        "the rows stay, this is a bug of penstock"
    )
    assert applied(fed, observed=None) == ("", [0], None)
    assert applied(fed, observed={"seen": None})[0] != ""


def test_nothing_is_observed_of_a_statement_that_counts_nothing_or_promises_nothing():
    assert applied(Commit("x", feed=replace(FED, counts={}), breaches=breaches))[1] == []
    assert applied(Commit("x", feed=FED))[1] == []
    assert applied(Commit("x", breaches=breaches))[1] == []
