"""Sections whose keys are declared once: what is read, and what docs and editors know of them."""

from __future__ import annotations

from penstock.project.files.documents import read_document
from penstock.project.files.kinds import FLAG, TEXT, whole
from penstock.project.files.nodes import file_node
from penstock.project.files.sections import (
    TEXT_LIST,
    TEXTS,
    KeyedSection,
    definitions_in,
    described_keys,
    each_of,
    each_under,
    inner_sections,
    key,
    read_section,
    schema_of,
    subsection,
    written_values,
)


class Part(KeyedSection):
    definition = "part"

    size = key(whole(1), 2, needed=True)
    """How much of it there is."""


class Whole(KeyedSection):
    title = key(TEXT, "a", needed=True, aliases=("called",))
    """What it is
    called."""
    is_on = key(FLAG, example=False, default=True)
    """Whether it counts."""
    words = key(TEXTS, ["x"], default=("a", "b"))
    """Some words."""
    others = key(TEXTS, ["x"])
    """Other words."""
    one = key(subsection(Part), {"size": 1}, "no part")
    """A part."""
    parts = key(each_of(Part, "parts"), [{"size": 1}])
    """Several parts."""
    named = key(each_under(Part), {"a": {"size": 1}})
    """Parts by name."""


REFERENCE = {"$ref": "#/$defs/part"}


def test_what_is_said_of_keys_is_known_with_their_defaults_and_other_words():
    said = {name: (each["says"], each.get("unset")) for name, each in described_keys(Whole).items()}

    assert said == {
        "title": ("What it is called.", None),
        "called": ("Same as `title`.", "none"),
        "is_on": ("Whether it counts.", "`true`"),
        "words": ("Some words.", "`[a, b]`"),
        "others": ("Other words.", "none"),
        "one": ("A part.", "no part"),
        "parts": ("Several parts.", "none"),
        "named": ("Parts by name.", "none"),
    }


def test_editors_know_each_key_once_and_sections_by_their_definitions():
    text = {"type": "string"}

    assert schema_of(Whole) == {
        "type": "object",
        "properties": {
            "title": text,
            "called": text,
            "is_on": {"type": "boolean", "default": True},
            "words": {**TEXT_LIST, "default": ("a", "b")},
            "others": TEXT_LIST,
            "one": REFERENCE,
            "parts": {"type": "array", "items": REFERENCE},
            "named": {"type": "object", "additionalProperties": REFERENCE},
        },
        "additionalProperties": False,
        "required": [],
    }
    size = {"type": "integer", "minimum": 1}
    assert definitions_in(Whole)["part"] == {
        "type": "object",
        "properties": {"size": size},
        "additionalProperties": False,
        "required": ["size"],
    }
    assert [name for name, _ in inner_sections(Whole, "whole")] == ["whole", *["part"] * 3]


def test_keys_that_fit_are_read_and_the_others_have_their_defaults():
    text = (
        "called: x\nis_on: maybe\nothers: [a, {}]\none: {size: 3}\n"
        "parts: [1, {size: 0}]\nnamed: {a: {size: 4}, b: {}}\n"
    )
    file, findings = read_document("a.yml", text), []

    found = read_section(Whole, file_node(file, file.tree), "", findings)

    assert (found.title, found.is_on, found.words, found.others) == ("x", True, ("a", "b"), ())
    assert (found.one.size, [each.size for each in found.parts]) == (3, [None])
    assert {name: each.size for name, each in found.named.items()} == {"a": 4, "b": None}
    assert sorted(written_values(found)) == ["named", "one", "parts", "title"]
    assert [(each.code, each.where.line, each.sentence) for each in findings] == [
        ("bad-value", 2, "is_on is 'maybe'; it must be true or false"),
        ("bad-value", 3, "others holds a mapping; it must be a list of texts"),
        ("bad-value", 5, "parts is 1; it must be a mapping"),
        ("bad-value", 5, "parts.size is 0; it must be an integer >= 1"),
        ("missing-key", 6, "'size' is missing"),
    ]
