"""What may stand under a key: which values fit, and what is said of those that do not."""

from __future__ import annotations

import datetime as dt

import pytest

from penstock.project.files.kinds import DATE, FLAG, TEXT, exact_word, or_null, whole, word


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (whole(), "-5", -5),
        (whole(), "5 ", None),
        (whole(), True, None),
        (whole(), 1.0, None),
        (whole(1), 1, 1),
        (whole(1), "0", None),
        (whole(1, 3), 3, 3),
        (whole(1, 3), 4, None),
        (TEXT, 1.5, "1.5"),
        (TEXT, True, None),
        (FLAG, "TRUE", True),
        (FLAG, False, False),
        (FLAG, "yes", None),
        (DATE, "2024-02-29", dt.date(2024, 2, 29)),
        (DATE, "2023-02-29", None),
        (DATE, "20240229", None),
        (word(("DAY", "Week")), "week", "Week"),
        (exact_word("a", "b"), "b", "b"),
        (exact_word("a", "b"), "B", None),
    ],
)
def test_a_value_is_of_its_kind_or_none(kind, written, value):
    assert kind.parse(written) == value


@pytest.mark.parametrize(
    ("kind", "written", "hint"),
    [
        (whole(2), 1, "write 2 or more"),
        (whole(2), "-7", "write -7 without quotes"),
        (whole(2), "7a", "write a whole number"),
        (whole(2), True, "write a whole number"),
        (TEXT, 7, "put it in quotes"),
        (TEXT, [], "write a text"),
        (FLAG, "Yes", "write true without quotes"),
        (FLAG, "perhaps", "write true or false"),
        (exact_word("merge", "full"), "mergee", "did you mean 'merge'?"),
        (exact_word("merge", "full"), 7, "one of merge, full"),
    ],
)
def test_a_value_that_does_not_fit_is_told_what_would(kind, written, hint):
    assert kind.hint(written) == hint


@pytest.mark.parametrize(
    ("kind", "expected", "schema"),
    [
        (whole(), "an integer", {"type": "integer"}),
        (whole(0), "an integer >= 0", {"type": "integer", "minimum": 0}),
        (whole(0, 9), "an integer from 0 to 9", {"type": "integer", "minimum": 0}),
        (exact_word("a"), "a", {"enum": ["a"]}),
        (or_null(exact_word("a", "b")), "one of a, b", {"enum": ["a", "b", None]}),
        (or_null(whole()), "an integer", {"type": ["integer", "null"]}),
    ],
)
def test_sentences_and_editors_know_what_fits(kind, expected, schema):
    assert (kind.expected, kind.schema) == (expected, schema)
