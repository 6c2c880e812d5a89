"""Values as documents, and what is said of documents that are none."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import pytest

from penstock.core.codec import (
    DocumentCodec,
    DocumentForm,
    MisreadError,
    short_json,
)
from penstock.core.errors import UsageError

CODEC = DocumentCodec({})


class Word(StrEnum):
    YES = "yes"
    NO = "no"


@dataclass(frozen=True)
class Part:
    name: str
    at: dt.date | None = None
    words: tuple[Word, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    made: str = field(default="", init=False)


FULL = Part("n", dt.date(2024, 1, 2), (Word.YES, Word.NO), {"a": 1})
WRITTEN = {"name": "n", "at": "2024-01-02", "words": ["yes", "no"], "counts": {"a": 1}}


def test_a_value_reads_back_as_it_was_written_and_defaults_may_be_left_out():
    form = CODEC.of(Part)

    assert form.write(FULL) == WRITTEN
    assert form.read(WRITTEN) == FULL
    assert form.read({"name": "n"}) == Part("n")
    brief = CODEC.record(Part, always=("name", "words"), keys={"name": "called"})
    assert brief.write(Part("n")) == {"called": "n", "words": []}
    assert brief.read({"called": "n"}) == Part("n")


def test_a_row_may_lack_its_last_fields_and_has_none_more():
    @dataclass(frozen=True)
    class Pair:
        a: int
        b: int = 7

    form = CODEC.row(Pair)

    assert (form.write(Pair(1)), form.read([1]), form.read([1, 2])) == ([1, 7], Pair(1), Pair(1, 2))
    for wrong in ([], [1, 2, 3]):
        with pytest.raises(MisreadError, match="expected a list of 2"):
            form.read(wrong)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([], "is [], expected an object"),
        ({}, "lacks 'name'"),
        ({"name": 7}, ".name: is 7, expected text"),
        ({"name": "n", "at": "soon"}, '.at: is "soon", expected a day, such as 2024-12-31 or null'),
        ({"name": "n", "words": ["yes", "no?"]}, '.words[1]: is "no?", expected one of yes, no'),
        ({"name": "n", "words": [[]]}, ".words[0]: is [], expected one of yes, no"),
        ({"name": "n", "counts": {"a": True}}, ".counts.a: is true, expected a whole number"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(document, expected):
    with pytest.raises(MisreadError) as caught:
        CODEC.of(Part).read(document)

    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("text", "is_time"),
    [
        ("2024-12-31T12:00:00+00:00", True),
        ("2024-12-31T12:00:00", False),
        ("0001-01-01T00:00:00+14:00", False),
        (7, False),
    ],
)
def test_a_time_has_a_zone_and_exists_in_utc(text, is_time):
    if is_time:
        assert CODEC.of(dt.datetime).read(text) == dt.datetime(2024, 12, 31, 12, tzinfo=dt.UTC)
    else:
        with pytest.raises(MisreadError, match="expected a time with its zone"):
            CODEC.of(dt.datetime).read(text)


def test_a_document_is_shown_in_at_most_a_line():
    assert short_json("x" * 58) == '"' + "x" * 58 + '"'
    assert short_json("x" * 59) == '"' + "x" * 59 + "..."
    assert short_json({1, 2}) == "{1, 2}"


class Odd:
    """A value that no codec knows."""


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("too old"), "too old"),
        (KeyError(), "it cannot be read"),
        (UsageError("bad-value", "no day"), "no day"),
        (ValueError("x" * 500), "x" * 294),
    ],
)
def test_what_a_form_of_its_own_cannot_read_is_said_with_its_place(error, sentence):
    def refuse(_):
        raise error

    codec = DocumentCodec({Odd: lambda _: DocumentForm(lambda _: None, refuse)})

    with pytest.raises(MisreadError) as caught:
        codec.of(tuple[Odd, ...]).read([7])

    assert str(caught.value) == f"[0]: is 7: {sentence}"


def test_values_of_other_types_are_written_as_they_are():
    assert (CODEC.of(float).write(0.5), CODEC.of(float).read(0.5)) == (0.5, 0.5)


def test_a_tuple_of_fixed_length_has_exactly_its_parts():
    form = CODEC.of(tuple[int, str])

    assert (form.write((1, "a")), form.read([1, "a"])) == ([1, "a"], (1, "a"))
    for wrong in ([1], [1, "a", 2]):
        with pytest.raises(MisreadError, match="expected a list of 2"):
            form.read(wrong)
