"""Up to which versions models have late rows, and the pass that builds old sessions again."""

import datetime as dt
from dataclasses import replace

import pytest

from fakes.session_world import at, package
from penstock.core.errors import SessionLimitsError
from penstock.core.ports.sessions import SessionPass
from penstock.core.records import Status
from penstock.core.sessions.manifest import (
    Limits,
    LogVersion,
    ManifestRow,
    PassKind,
    PlannedPass,
    RebuildRequest,
    RunState,
    limit_lines,
)
from penstock.plan.kinds.manifest import (
    ModelEnd,
    late_since,
    manifest_status,
    pending_rebuild,
    rebuild_pass,
    row_after,
)

NOW = {"raw.events": LogVersion("t", 9)}
ASKED = RebuildRequest(dt.date(2021, 1, 2), dt.date(2021, 1, 3))
ROWS = [ManifestRow("web_sessions", at("01-05")), ManifestRow("web_users", at("01-04"))]


def row(version, table="t"):
    return ManifestRow("m", at("01-02"), late_to={"raw.events": LogVersion(table, version)})


@pytest.mark.parametrize(
    ("rows", "last", "expected"),
    [
        ([row(4), row(7)], {}, {"raw.events": LogVersion("t", 4)}),
        ([row(4), row(7, "another")], {}, {}),
        ([], {"raw.events": LogVersion("t", 3)}, {}),
        (
            [ManifestRow("m")],
            {"raw.events": LogVersion("t", 3)},
            {"raw.events": LogVersion("t", 3)},
        ),
        ([ManifestRow("m"), row(4)], {}, {"raw.events": LogVersion("t", 4)}),
    ],
)
def test_late_rows_are_those_that_came_since_the_model_that_has_the_least(rows, last, expected):
    assert late_since(rows, NOW, last) == expected


def test_a_model_that_succeeds_has_the_rows_of_the_versions_that_its_pass_read():
    limits = Limits(RunState.STANDARD, at("01-01"), at("01-03"))
    planned = PlannedPass(PassKind.PACKAGE, limits, manifest_status(ROWS, ["m"]), ("m",))
    end = ModelEnd(planned, at("01-03"), None, late_to=NOW)

    assert row_after("m", row(4), end, package().options).late_to == NOW
    strict = package(strict_seed_limits=True).options
    assert row_after("m", row(4), end, strict) == replace(row(4), late_to=NOW)
    assert row_after("m", None, end, strict) is None


def test_a_rebuild_has_no_window_and_all_models():
    web = package()

    found = rebuild_pass(web, ROWS, web.modules, ASKED)

    assert (found.kind, found.models, found.rebuild) == ("rebuild", web.modules, ASKED)
    assert found.limits.is_empty
    assert found.limits.upper_limit == at("01-05")
    days = "sessions that begin from 2021-01-02 to 2021-01-03"
    line = f"web (rebuild): Building {days} again, from all their events"
    assert limit_lines("web", found) == (line,)
    named = RebuildRequest(sessions=tuple("abcdefg"))
    assert str(named) == "sessions a, b, c, d, e, …"


def test_a_package_without_events_has_nothing_to_rebuild():
    with pytest.raises(SessionLimitsError) as caught:
        rebuild_pass(package(), [], ["web_users"], ASKED)

    assert caught.value.code == "nothing-processed"


def test_a_rebuild_that_did_not_succeed_is_pending():
    limits = Limits(RunState.STANDARD, at("01-03"), at("01-02"))
    head = SessionPass("web", 3, PassKind.PACKAGE, "r3", limits, at("01-05"))
    failed = SessionPass(
        "web", 2, PassKind.REBUILD, "r2", limits, at("01-05"), status=Status.FAILED, rebuild=ASKED
    )

    assert pending_rebuild([head, failed]) == ASKED
    assert pending_rebuild([head, replace(failed, status=Status.SUCCESS), failed]) is None
    assert pending_rebuild([head]) is None
