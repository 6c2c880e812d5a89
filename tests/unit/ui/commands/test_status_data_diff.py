"""`penstock diff --data`: its flags, its text and its document."""

import json

import pytest

from penstock.app.commands.data_diff import ChangedColumn, ChangedValue, DataDiff
from penstock.app.documents import printed
from penstock.app.read_requests import DataDiffRequest
from penstock.ui.commands.status import data_diff_document, data_diff_text

DIFF = DataDiff(
    "users",
    "version 3 in target prod",
    "version 7 in target dev",
    key=("id",),
    same=1_000,
    changed=2,
    added=1,
    removed=3,
    repeated=1,
    columns=(
        ChangedColumn(
            "name", 2, (ChangedValue("17", "Ann", None), ChangedValue("18", "Bob", "Rob"))
        ),
    ),
    added_keys=("21",),
    removed_keys=("4", "5"),
    schema=("+ city STRING",),
    not_compared=("tags MAP<STRING,INT>",),
)


def test_the_text_has_counts_then_examples_then_columns():
    assert data_diff_text(DIFF).splitlines() == [
        "users: version 3 in target prod -> version 7 in target dev",
        "rows: 1,005 -> 1,003; 1 added, 3 removed, 2 changed, compared by id",
        "",
        "1 row with the key of another one",
        "",
        "COLUMN  ROWS  KEY  BEFORE  AFTER",
        "name       2  17   Ann     NULL",
        "              18   Bob     Rob",
        "",
        "added, for example:",
        "  21",
        "",
        "removed, for example:",
        "  4",
        "  5",
        "",
        "Schema changes detected:",
        "+ city STRING",
        "",
        "not compared: tags MAP<STRING,INT>",
    ]


def test_equal_tables_are_two_lines():
    assert data_diff_text(DataDiff("users", "version 0", "version 1", same=5)).splitlines() == [
        "users: version 0 -> version 1",
        "rows: 5 -> 5; no row differs, compared as a whole",
    ]


def test_the_document_has_every_count():
    document = json.loads(printed(data_diff_document(DIFF)))

    assert document["command"] == "diff"
    assert (document["rows_before"], document["rows_after"]) == (1005, 1003)
    assert document["columns"] == [
        {
            "column": "name",
            "rows": 2,
            "samples": [
                {"key": "17", "before": "Ann", "after": None},
                {"key": "18", "before": "Bob", "after": "Rob"},
            ],
        }
    ]


def test_the_flags_reach_the_use_case(use_case, call):
    asked = use_case("commands.data_diff", "data_diff", DIFF)

    code, out, _ = call("diff", "--data", "users", "--from", "prod", "--key", "id", "--key", "day")

    assert code == 0
    assert out.startswith("users: version 3 in target prod")
    assert [words[1:] for words in asked] == [
        (DataDiffRequest(".", "users", from_="prod", key=("id", "day")),)
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--data",), "--data needs a model"),
        (("users", "--from", "prod"), "--from needs --data"),
        (("users", "--key", "id"), "--key needs --data"),
        (("users", "--data", "--partition", "2024-01-01"), "--partition and --data exclude"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(words, sentence, use_case, call):
    use_case("commands.data_diff", "data_diff", DIFF)
    use_case("commands.diff", "diff", None)

    code, _, err = call("diff", *words)

    assert code == 2
    assert sentence in err
