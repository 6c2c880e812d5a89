"""The environment and the connections of documents."""

import pytest

from fakes.entity_files import CONNECTION, PATH, document, entity, files
from penstock.core.entities.entity import EntityEnvironment


def codes(lines):
    return [line.split(": ")[2] for line in lines]


def test_the_environment_is_read(load):
    said = {"root_folder": "lake/", "log_level": "off", "raw_path": "/x"}

    project = load(files(entity(), environment=said))

    assert project.environment == EntityEnvironment(
        name="dev",
        root=f"{project.root}/lake",
        timezone="Europe/Amsterdam",
        prefix="p_",
        log_level="OFF",
    )


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"timezone": "Europe/Amsterdm"}, "unknown-timezone"),
        ({"timezone": "../../etc/passwd"}, "unknown-timezone"),
        ({"timezone": None}, "missing-key"),
        ({"name": 5}, "bad-value"),
        ({"systemfield_prefix": "sys_x"}, "bad-value"),
        ({"systemfield_prefix": "a b"}, "bad-value"),
        ({"output_method": "path"}, "bad-value"),
        ({"log_level": "LOUD"}, "bad-value"),
        ({"log_output": "x"}, "option-without-effect"),
        ({"log_level": "OFF"}, "option-without-effect"),
        ({"rootfolder": "x"}, "unknown-key"),
    ],
)
def test_an_environment_that_cannot_be_is_a_finding(findings, said, code):
    assert codes(findings(files(entity(), environment=said))) == [code]


def test_a_document_needs_what_every_entity_needs(findings):
    found = findings({PATH: '{"connections": [{"name": "aw"}], "entities": []}'})
    needed = findings({PATH: '{"entities": [{}]}'})

    assert found == []
    assert codes(needed) == ["missing-key"] * 7


def test_a_connection_is_there_once_in_whatever_letters(findings):
    twice = [CONNECTION, {"name": "AW"}]

    assert codes(findings(files(entity(), connections=twice))) == ["duplicate-connection"]
    assert codes(findings(files(entity(), connections=[{"name": "AW"}]))) == ["unknown-connection"]
    assert codes(findings(files(connections=[{}]))) == ["missing-key"]


@pytest.mark.parametrize("text", ["[]", "3", '{"entities": {}}', '{"connections": [1]}'])
def test_a_document_of_another_shape_is_a_finding(findings, text):
    assert codes(findings({PATH: text})) == ["bad-value"]


def test_other_keys_of_a_document_are_unknown(findings):
    assert codes(findings({PATH: document(entity(), entitys=[])})) == ["unknown-key"]
