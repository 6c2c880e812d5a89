"""Which new files may have rows that arrived late: by the log alone."""

from types import SimpleNamespace

import pytest

from fakes.session_world import at, package
from penstock.app.preparing.old_sessions import _appends, _bound, _may_be_late
from penstock.app.preparing.open_pass import PassRun
from penstock.core.facts import AddedFile
from penstock.core.ports.sessions import SessionPass
from penstock.core.sessions.manifest import INSTANT, Limits, PassKind, RunState
from penstock.core.sessions.options import LateRows

LIMITS = Limits(RunState.STANDARD, at("01-10"), at("01-20"))
HEAD = at("01-11")


def a_pass(head=HEAD, **keys):
    begun = SessionPass("web", 2, PassKind.PACKAGE, "r2", LIMITS, at("01-20"))
    run = PassRun(package(late_loaded=LateRows.TAKE, **keys), begun, None, set())
    run.head = head
    return run


def file(low, high):
    low, high = ({"ts": at(each).isoformat()} if each else {} for each in (low, high))
    return AddedFile("f", low, high, rows=1)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("01-09", "01-12", True),
        ("01-10", "01-12", False),
        ("2020-12-01", "2020-12-31", False),
        ("2020-12-01", "01-12", True),
        ("", "", True),
    ],
)
def test_statistics_rule_files_out(low, high, expected):
    bound = LIMITS.lower_limit - INSTANT

    assert _may_be_late(file(low, high), "ts", a_pass(), bound) is expected


def test_rows_out_of_order_matter_up_to_the_position_where_users_are_mapped():
    before = LIMITS.lower_limit - INSTANT

    assert _bound(a_pass()) == at("01-11")
    assert _bound(a_pass(user_stitching_id=None)) == before
    assert _bound(a_pass(head=None)) is None


def test_commits_that_rewrite_cut_the_ranges_of_appends():
    files = {version: (AddedFile(str(version)),) for version in (3, 4, 6)} | {7: ()}
    log = SimpleNamespace(added=lambda _, after, upto: files.get(upto))
    run = a_pass()

    ranges = [*_appends(SimpleNamespace(log=log), run, "u", (2, 7))]

    assert [(after, upto, [f.path for f in each]) for after, upto, each in ranges] == [
        *((2, 4, ["3", "4"]), (5, 7, ["6"])),
    ]
    assert run.rewritten
