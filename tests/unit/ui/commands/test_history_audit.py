"""The text and the document of `audit`."""

import datetime as dt
import json

from penstock.app.documents import printed
from penstock.app.reports import AuditReport, AuditRow, SqlDiff
from penstock.ui.commands.history import audit_document, audit_text

RAN = dt.datetime(2024, 12, 16, 12, tzinfo=dt.UTC)


def a_row(version, status, partitions, revision=0, **changes):
    label = f"v{version}.r{revision}" if revision else f"v{version}"
    ran = RAN if partitions else None
    settings = {"first": ran, "last": ran, "source": f"analytics/daily_user_stats.{label}.sql"}
    return AuditRow(
        "daily_user_stats",
        version,
        revision,
        status=status,
        partitions=partitions,
        **(settings | changes),
    )


def test_every_version_and_revision_has_its_row():
    rows = (a_row(1, "current", 4), a_row(3, "modified", 15), a_row(3, "never_executed", 0, 1))

    assert audit_text(AuditReport(rows)) == (
        "QUERY             VERSION  SOURCE                                STATUS          "
        "  PARTITIONS  EXECUTED\n"
        "daily_user_stats  v1       analytics/daily_user_stats.v1.sql     ✓ current       "
        "  4           2024-12-16 to 2024-12-16\n"
        "daily_user_stats  v3       analytics/daily_user_stats.v3.sql     ⚠ modified      "
        "  15          2024-12-16 to 2024-12-16\n"
        "daily_user_stats  v3.r1    analytics/daily_user_stats.v3.r1.sql  ○ never_executed"
        "  0           -"
    )


def test_cosmetic_and_deleted_versions_have_their_signs():
    rows = (a_row(1, "cosmetic", 4), a_row(2, "deleted", 3, source="-"))

    signs = [line.split()[3:5] for line in audit_text(AuditReport(rows)).splitlines()[1:]]

    assert signs == [["~", "cosmetic"], ["✗", "deleted"]]


def test_inline_sql_is_shown_by_its_beginning():
    rows = (
        a_row(1, "current", 4, source="SELECT  date,\n  COUNT(*) AS n\nFROM raw.events"),
        a_row(2, "current", 4, source="select 1"),
    )

    lines = audit_text(AuditReport(rows)).splitlines()

    assert "SELECT date, COUNT(*) AS n FRO…" in lines[1]
    assert "  select 1  " in lines[2]


def test_the_change_of_a_version_is_shown_once():
    diff = SqlDiff("v3", (("2024-12-02", "2024-12-04"),), 3, "select a", "select b")

    text = audit_text(AuditReport((a_row(3, "modified", 15, diffs=(diff,)),)))

    assert text.split("\n\n", maxsplit=1)[1] == (
        "daily_user_stats v3: 3 partitions\n"
        "\n"
        "SQL changes detected:\n"
        "───────────────────────────────────────\n"
        "- select a\n"
        "+ select b\n"
        "───────────────────────────────────────\n"
        "\n"
        "Schema unchanged."
    )


def test_no_rows_are_said():
    assert audit_text(AuditReport()) == "no versions"
    assert audit_text(AuditReport(), modified_only=True) == "No version is modified."


def test_the_document_has_every_row():
    report = AuditReport((a_row(3, "never_executed", 0, 1),))

    assert json.loads(printed(audit_document(report))) == {
        "command": "audit",
        "versions": [
            {
                "model": "daily_user_stats",
                "version": 3,
                "revision": 1,
                "source": "analytics/daily_user_stats.v3.r1.sql",
                "status": "never_executed",
                "partitions": 0,
                "first": None,
                "last": None,
                "diffs": [],
            }
        ],
    }
