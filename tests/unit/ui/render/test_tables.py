"""Tables and lines on terminals of any width."""

import pytest

from penstock.ui.render.tables import WIDTH, aligned, table, table_section, wrapped

HEADER = ["executed_at", "status", "rows", "reason", "by", "why"]
ROWS = [
    [
        "2026-11-28 08:57:27",
        "SUCCESS",
        "2,929",
        "source changed: raw.planes 1 file -> 2 files",
        "run",
        "",
    ],
    ["2026-11-27 08:57:27", "FAILED", "-", "first build", "sync", "-"],
]


@pytest.fixture
def wide():
    """Let texts be laid out for a terminal of so many characters."""
    before = WIDTH.get()
    yield WIDTH.set
    WIDTH.set(before)


def shown(first=()):
    return table(HEADER, ROWS, right=["rows"], first=first).splitlines()


def test_without_a_terminal_nothing_is_cut():
    assert shown()[1] == (
        "2026-11-28 08:57:27  SUCCESS  2,929  source changed: raw.planes 1 file -> 2 files  run"
    )


def test_a_wide_terminal_shows_all_columns(wide):
    wide(100)

    assert len(shown()) == 3


def test_long_texts_are_cut_before_a_column_is_left_out(wide):
    wide(76)

    assert shown() == [
        "EXECUTED_AT          STATUS    ROWS  REASON                        BY    WHY",
        "2026-11-28 08:57:27  SUCCESS  2,929  source changed: raw.planes …  run",
        "2026-11-27 08:57:27  FAILED       -  first build                   sync  -",
    ]


def test_columns_without_a_word_are_left_out_first_and_then_those_on_the_right(wide):
    wide(60)

    assert shown() == [
        "EXECUTED_AT          STATUS    ROWS  REASON",
        "2026-11-28 08:57:27  SUCCESS  2,929  source changed: raw.pl…",
        "2026-11-27 08:57:27  FAILED       -  first build",
        "… 2 more columns: BY, WHY",
    ]


def test_columns_that_matter_most_stay_whole_where_they_fit(wide):
    wide(62)

    assert shown(first=("reason", "status")) == [
        "STATUS    ROWS  REASON",
        "SUCCESS  2,929  source changed: raw.planes 1 file -> 2 files",
        "FAILED       -  first build",
        "… 3 more columns: EXECUTED_AT, BY, WHY",
    ]


def test_no_line_is_longer_than_the_terminal(wide):
    for width in range(20, 100):
        wide(width)
        lines = [*shown(), *table_section("Runs", HEADER, ROWS).splitlines()]

        assert max(map(len, lines)) <= width


def test_ids_are_cut_to_what_tells_them_apart(wide):
    wide(80)
    ids = [
        "0190a3c4-7b2e-7000-8000-000000000001",
        "0190a3c4-7b2e-7001-8000-000000000001",
        "0190a3c5-0000-7000-8000-000000000001",
    ]

    assert aligned([["step"], *[[each] for each in ids]], [False]).splitlines() == [
        "step",
        "0190a3c4-7b2e-7000",
        "0190a3c4-7b2e-7001",
        "0190a3c5-0000-7000",
    ]


def test_the_end_of_a_path_stays(wide):
    wide(20)

    found = aligned([["file"], ["models/staging/users_clean.sql"]], [False])

    assert found.splitlines()[1] == "…ing/users_clean.sql"


def test_wide_characters_take_two_places(wide):
    wide(20)

    assert aligned([["n", "k"], ["漢字", "1"], ["ab", "2"]], [False, False]).splitlines() == [
        "n     k",
        "漢字  1",
        "ab    2",
    ]


@pytest.mark.parametrize(
    ("line", "broken"),
    [
        ("short", ["short"]),
        (
            "  1. users  merge  source changed: raw.events v3 -> v4",
            ["  1. users  merge", "      source changed: raw.events", "      v3 -> v4"],
        ),
        (
            "a sentence that is longer than the terminal",
            ["a sentence that is longer than", "    the terminal"],
        ),
        (
            "3 of 9 partitions drifted. Next: penstock sync",
            ["3 of 9 partitions drifted.", "Next: penstock sync"],
        ),
        ("  hint: penstock run --select staging.users_clean", None),
        ("a-word-without-any-blank-that-is-long", None),
    ],
)
def test_lines_are_broken_between_cells_then_words_and_commands_never(wide, line, broken):
    wide(32)

    assert wrapped(line).split("\n") == (broken or [line])


def test_code_between_rules_stays_as_it_is(wide):
    wide(20)
    text = f"{'─' * 39}\n+ select a,  b from staging.users_clean\n{'─' * 39}"

    assert wrapped(text) == text
