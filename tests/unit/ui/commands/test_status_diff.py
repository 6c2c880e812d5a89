"""The text and the document of `diff`."""

import json

from fakes.builders import NOON
from penstock.app.documents import changed_lines, printed
from penstock.app.reports import DiffReport, ModelDiff, SqlDiff
from penstock.ui.commands.status import differences_document, differences_text

OLD = "select\n    a,\n    b,\n    c\nfrom t"
NEW = "select\n    a,\n    x,\n    c\nfrom t"
DAYS = (("2024-12-02", "2024-12-16"),)
DIFF = SqlDiff("v3", DAYS, 15, OLD, NEW, schema=("- b INT", "+ x INT"))


def a_report(*diffs, model="daily"):
    return DiffReport(NOON, (ModelDiff(model, diffs),))


def test_an_identical_difference_is_shown_once_for_all_that_have_it():
    pairs = (SqlDiff("v1", DAYS, 15, OLD, NEW), SqlDiff("v2", DAYS, 3, OLD, NEW))
    report = DiffReport(NOON, (ModelDiff("a", pairs), ModelDiff("b", pairs[:1])))

    text = differences_text(report)

    assert text.count("changes detected") == 1
    assert [line.split(":")[0] for line in text.splitlines()[:3]] == ["a v1", "a v2", "b v1"]


def test_what_differs_in_secrets_alone_is_told_as_such():
    report = a_report(SqlDiff("v1", DAYS, 1, "select '***'", "select '***'", only_secrets=True))

    assert "SQL changed in values that are never shown." in differences_text(report)


def test_a_diff_has_changed_lines_only_as_written():
    assert differences_text(a_report(DIFF)) == (
        "daily v3: 15 partitions, 2024-12-02 to 2024-12-16\n"
        "\n"
        "SQL changes detected:\n"
        "───────────────────────────────────────\n"
        "-     b,\n"
        "+     x,\n"
        "───────────────────────────────────────\n"
        "\n"
        "Schema changes detected:\n"
        "- b INT\n"
        "+ x INT"
    )


def test_context_adds_equal_lines_behind_two_blanks():
    assert changed_lines(OLD, NEW, context=1) == ("      a,", "-     b,", "+     x,", "      c")


def test_a_change_without_meaning_is_named_so():
    report = a_report(SqlDiff("v3", DAYS, 15, "select 1", "select  1", cosmetic=True))

    assert differences_text(report).splitlines()[2:] == [
        "SQL text changed, meaning unchanged.",
        "───────────────────────────────────────",
        "- select 1",
        "+ select  1",
        "───────────────────────────────────────",
        "",
        "Schema unchanged.",
    ]


def test_other_line_ends_alone_show_no_lines():
    report = a_report(SqlDiff("v3", DAYS, 15, "a\nb", "a\r\nb", cosmetic=True))

    assert differences_text(report).splitlines()[2:] == [
        "SQL text changed, meaning unchanged.",
        "",
        "Schema unchanged.",
    ]


def test_no_differences_are_one_line():
    assert differences_text(DiffReport(NOON)) == "No differences."


def test_each_pair_of_a_model_has_its_partitions():
    other = SqlDiff("v1", (("2024-11-28", "2024-11-28"),), 1, "select 1", "select 2")

    heads = [line for line in differences_text(a_report(other, DIFF)).splitlines() if ": " in line]

    assert heads == [
        "daily v1: 1 partition, 2024-11-28",
        "daily v3: 15 partitions, 2024-12-02 to 2024-12-16",
    ]


def test_no_password_is_in_a_diff():
    report = a_report(SqlDiff("v1", DAYS, 1, "-- password=hunter2", "select 1"))

    assert "hunter2" not in differences_text(report)
    assert "hunter2" not in printed(differences_document(report))


def test_the_document_has_both_texts_and_the_lines_that_differ():
    assert json.loads(printed(differences_document(a_report(DIFF), context=1))) == {
        "command": "diff",
        "run_timestamp": "2024-03-01T12:00:00Z",
        "models": [
            {
                "model": "daily",
                "diffs": [
                    {
                        "version": "v3",
                        "ranges": [["2024-12-02", "2024-12-16"]],
                        "count": 15,
                        "before": OLD,
                        "after": NEW,
                        "diff": ["      a,", "-     b,", "+     x,", "      c"],
                        "cosmetic": False,
                        "schema": ["- b INT", "+ x INT"],
                    }
                ],
            }
        ],
    }
