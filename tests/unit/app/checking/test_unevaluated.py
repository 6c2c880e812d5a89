"""Checks that were never evaluated are counted as a command can reach them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.store_cases import HERE, a_result, days, passed_gate, wrote
from fakes.builders import a_project
from fakes.services import a_shop
from fakes.versioned_models import DAY, a_body, a_daily, a_version
from penstock.app.checking.status import check_lines
from penstock.core.check_results import CheckStatus, InvariantReport
from penstock.core.checks import Check, Checks, Phase, RowCount
from penstock.core.findings import Location


def of_version(label, since):
    gate = Check("rows", Phase.AFTER, RowCount(1), Location("m.yml", 3), definition=f"of-{label}")
    return replace(a_version(a_body(label, since)), checks=Checks((), (gate,)))


DAILY = a_daily(
    "daily",
    of_version("v1", "2024-02-01"),
    of_version("v2", "2024-02-20"),
    of_version("v3", "2024-04-01"),
)


@pytest.fixture
def services():
    return a_shop(a_project(DAILY))


def build(services, first, last):
    step = days(f"step-{first}", "daily", (DAY.parse(first), DAY.parse(last)))
    services.writing.journal.begin(step, {}, HERE, None)
    services.writing.journal.finish(step.step, wrote(1))


def look(services, label):
    result = replace(passed_gate("*").report.after[0], definition=f"of-{label}")
    services.writing.journal.note_checks(
        "run-9", "daily", InvariantReport((), (result,)), ("*",), 1
    )


def lines(services):
    return check_lines(services, services.project).get("daily", ())


def test_the_newest_partition_is_looked_at_without_a_word(services):
    build(services, "2024-02-25", "2024-03-01")

    assert lines(services) == ("1 check not yet evaluated (run: penstock check --query daily)",)


def test_versions_that_no_built_partition_is_made_by_do_not_count(services):
    build(services, "2024-02-25", "2024-03-01")
    look(services, "v2")

    assert lines(services) == ()


@pytest.mark.parametrize(
    ("first", "last", "seen", "line"),
    [
        (
            "2024-02-10",
            "2024-03-01",
            (),
            (
                "2 checks not yet evaluated "
                "(run: penstock check --query daily --from 2024-02-19 --to 2024-03-01)"
            ),
        ),
        (
            "2024-02-10",
            "2024-03-01",
            ("v2",),
            "1 check not yet evaluated (run: penstock check --query daily --partition 2024-02-19)",
        ),
        (
            "2024-02-25",
            "2024-02-26",
            (),
            "1 check not yet evaluated (run: penstock check --query daily --partition 2024-02-26)",
        ),
    ],
)
def test_the_command_names_partitions_where_it_must(services, first, last, seen, line):
    build(services, first, last)
    for label in seen:
        look(services, label)

    assert lines(services) == (line,)


def test_what_was_skipped_was_not_evaluated(services):
    build(services, "2024-02-25", "2024-03-01")
    skipped = a_result("rows", CheckStatus.SKIPPED, "*", definition="of-v2")
    services.writing.journal.note_checks(
        "run-9", "daily", InvariantReport((), (skipped,)), ("*",), 1
    )

    assert lines(services) == ("1 check not yet evaluated (run: penstock check --query daily)",)
