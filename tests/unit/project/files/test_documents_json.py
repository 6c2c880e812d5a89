import json

import pytest

from penstock.project.files.documents import read_document, read_json

DOCUMENT = '{\n  "a": [1, {"b": null}],\n\t"c d": "x\\/y \\ud83d\\ude00"\n}\n'


def test_values_are_those_of_json_and_know_their_places():
    file = read_json("a.json", DOCUMENT)

    assert file.tree == {"a": [1, {"b": None}], "c d": "x/y 😀"}
    assert file.places == {
        "": (1, 1),
        "a": (2, 8),
        "a\n0": (2, 9),
        "a\n1": (2, 12),
        "a\n1\nb": (2, 18),
        "c d": (3, 9),
    }
    assert file.keys == {"a": (2, 3), "a\n1\nb": (2, 13), "c d": (3, 2)}
    assert file.findings == ()


def test_places_are_those_that_the_reader_of_yaml_gives():
    text = json.dumps({"a": [{"b": [True, -1.5e3, "é"]}, {}, []]}, indent=2)

    found, other = read_json("a", text), read_document("a", text)

    assert (found.places, found.keys) == (other.places, other.keys)


def test_a_key_that_is_written_twice_is_a_finding_and_the_first_counts():
    file = read_json("a.json", '{"a": 1,\n "a": {"b": [2]},\n "c": 3}')

    assert file.tree == {"a": 1, "c": 3}
    assert [str(each) for each in file.findings] == [
        (
            "a.json:2:2: error: duplicate-key: key 'a' is written twice; the first is on line 1\n"
            "  hint: delete one of the two"
        )
    ]
    assert "a\nb" not in file.places


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "1:1", "a value is expected"),
        ('{"a": 1,}', "1:9", "a key in double quotes is expected"),
        ("{'a': 1}", "1:2", "a key in double quotes is expected"),
        ("[1,\n 2", "2:3", "',' is expected"),
        ('{"a" 1}', "1:6", "':' is expected"),
        ("[01]", "1:3", "',' is expected"),
        ("[NaN]", "1:2", "a value is expected"),
        ("[1] // why", "1:5", "the document goes on after its end"),
        ('["a\nb"]', "1:4", "invalid control character"),
        ('["a', "1:2", "unterminated string starting"),
        ("[" * 200, "1:101", "the document is nested too deep"),
        ("[" + "1" * 5000 + "]", "1:2", "a value is expected"),
    ],
)
def test_what_is_no_json_is_one_finding_at_its_place(text, place, said):
    file = read_json("a.json", text)

    assert file.tree is None
    assert [(str(f.where), f.code, f.sentence) for f in file.findings] == [
        (f"a.json:{place}", "json-syntax", said)
    ]
