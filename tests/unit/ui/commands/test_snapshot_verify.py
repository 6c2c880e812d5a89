"""What `snapshot verify` and `snapshot migrate` print."""

from penstock.app.commands.migrate import MigrateReport
from penstock.app.commands.verify import VerifyReport
from penstock.strategies.history.verify import Violation
from penstock.ui.commands.snapshot import (
    migrate_document,
    migrate_text,
    verify_document,
    verify_text,
)

OVERLAP = Violation(
    "V5", "overlap", 1, "key", ("user_id=42  [2024-01-01, 2024-03-01) and [2024-02-01, )",)
)
GAPS = Violation("V6", "gap", 1200, "key", ("id=1  [a, b) and [c, )", "id=2  [a, b) and [c, )"))
CHANGE = "change is 'timestamp' in the table and 'check' in the model"


def a_report(*violations, versions=5):
    keys = current = None if versions is None else 3
    gaps = None if versions is None else 0
    return VerifyReport("users", 4, versions, keys, current, gaps, violations)


def test_a_broken_law_is_a_line_with_its_key():
    assert verify_text([a_report(OVERLAP)]) == (
        "users  Delta version 4  5 versions, 3 keys, 3 current, 0 gaps\n"
        "V5 overlap: 1 key   user_id=42  [2024-01-01, 2024-03-01) and [2024-02-01, )\n"
        "1 law broken"
    )


def test_more_samples_stand_below_the_first():
    assert verify_text([a_report(GAPS, OVERLAP)]).splitlines()[1:3] == [
        "V6 gap: 1,200 keys   id=1  [a, b) and [c, )",
        "                     id=2  [a, b) and [c, )",
    ]


def test_a_table_whose_rows_could_not_be_read_has_no_counts():
    assert verify_text([a_report(OVERLAP, versions=None)]).splitlines()[0] == (
        "users  Delta version 4"
    )


def test_the_document_names_law_count_and_samples():
    assert verify_document([a_report(OVERLAP), a_report()]) == {
        "ok": False,
        "models": [
            {
                "model": "users",
                "ok": False,
                "version": 4,
                "versions": 5,
                "keys": 3,
                "current": 3,
                "gaps": 0,
                "violations": [
                    {
                        "law": "V5",
                        "title": "overlap",
                        "count": 1,
                        "of": "key",
                        "samples": OVERLAP.samples,
                    }
                ],
            },
            {
                "model": "users",
                "ok": True,
                "version": 4,
                "versions": 5,
                "keys": 3,
                "current": 3,
                "gaps": 0,
                "violations": [],
            },
        ],
    }


def test_a_migration_says_what_differed_and_what_the_next_run_does():
    report = MigrateReport("users", 5, (CHANGE,), opens=1, closes=2)

    assert migrate_text(report) == (
        f"users: {CHANGE}\nthe next run opens 1 version and closes 2\nmigrated  version 5"
    )


def test_a_dry_migration_says_that_nothing_is_written():
    report = MigrateReport("users", 4, (CHANGE,), rehashed=True, dry_run=True)

    assert migrate_text(report) == (
        f"dry run: nothing is written\nusers: {CHANGE}\n"
        "the row hashes of current versions would be rebuilt\n"
        "the next run opens 0 versions and closes 0"
    )


def test_an_adoption_and_a_table_that_agrees():
    adopted = MigrateReport("users", 1, adopted=True, opens=2)

    assert migrate_text(adopted).splitlines()[0] == (
        "users: a table that penstock did not make keeps all laws"
    )
    uncounted = MigrateReport("users", 1, adopted=True, uncounted="stg has no table at /w/m/stg")
    assert migrate_text(uncounted).splitlines()[1] == (
        "what the next run does could not be counted: stg has no table at /w/m/stg"
    )
    assert migrate_text(MigrateReport("users", 4)) == (
        "users: the table agrees with the model; nothing to migrate"
    )
    assert migrate_document(adopted) == {
        "model": "users",
        "version": 1,
        "dry_run": False,
        "adopted": True,
        "rehashed": False,
        "changes": (),
        "opens": 2,
        "closes": 0,
        "uncounted": "",
        "metrics": {},
    }
