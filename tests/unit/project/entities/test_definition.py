"""One entity, in a document and as a native file."""

import pytest

from fakes.entity_files import PATH, document, entity, files
from penstock.core.entities.entity import RunText, Slices, WholeFolder, WholeTable

NATIVE = """\
name: x
schema: silver
strategy: table
entity:
  bronze: {path: in/x}
"""


def native(text, **more):
    return {"models/deep/x.yml": text, **more}


def codes(lines):
    return [line.split(": ")[2] for line in lines]


def test_a_native_file_needs_no_document(load):
    found = load(native(NATIVE))

    assert found.entities["silver.x"].bronze == Slices(RunText(f"{found.root}/in/x"))
    entity = found.entities["silver.x"]
    assert (entity.process, entity.prefix, entity.timezone) == ("full", "", "UTC")
    assert (entity.connection, entity.path, entity.destination) == ("", "", "x")


def test_a_native_file_takes_prefix_and_zone_of_the_environment(load):
    own = {PATH: document()}

    usual = load(native(NATIVE, **own)).entities["silver.x"]
    said = NATIVE + "  systemfield_prefix: ''\n  timezone: Asia/Tokyo\n"
    other = load(native(said, **own)).entities["silver.x"]

    assert (usual.prefix, usual.timezone) == ("p_", "Europe/Amsterdam")
    assert (other.prefix, other.timezone) == ("", "Asia/Tokyo")


@pytest.mark.parametrize(
    ("bronze", "expected"),
    [
        ("{table: raw.x}", WholeTable(RunText("raw.x"))),
        ("{path: /in, read: whole}", WholeFolder(RunText("/in"))),
        ("{path: 's3://in/${entity}', pattern: '*.pq'}", Slices(RunText("s3://in/x"), "*.pq")),
    ],
)
def test_a_native_file_says_where_bronze_is(load, bronze, expected):
    found = load(native(NATIVE.replace("{path: in/x}", bronze)))

    assert found.entities["silver.x"].bronze == expected


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("strategy: table", "strategy: append"), "bad-value"),
        (("strategy: table\n", ""), "missing-key"),
        (("strategy: table", "strategy: merge"), "no-business-key"),
        (("name: x", "name: x y"), "bad-table-name"),
        (("name: x", "names: x\nname: x"), "unknown-key"),
        (("{path: in/x}", "{}"), "missing-key"),
        (("{path: in/x}", "{path: a, table: b}"), "option-conflict"),
        (("{path: in/x}", "{table: b, read: whole}"), "option-without-effect"),
        (("  bronze: {path: in/x}", "  secure: true\n  bronze: {path: a}"), "unknown-key"),
        (("  bronze:", "  connection: y\n  bronze:"), "unknown-connection"),
        (("  bronze:", "  settings: {silver_path: /x}\n  bronze:"), "option-without-effect"),
    ],
)
def test_a_native_file_that_cannot_be_is_a_finding(findings, change, code):
    assert codes(findings(native(NATIVE.replace(*change)))) == [code]


def test_a_native_file_and_a_document_share_ids_and_tables(findings):
    with_id = NATIVE.replace("  bronze:", "  id: 1\n  bronze:")
    same = NATIVE.replace("schema: silver", "schema: silver_aw")

    assert codes(findings({**files(entity()), **native(with_id)})) == ["duplicate-entity-id"]
    assert codes(findings({**files(entity()), **native(same)})) == ["duplicate-destination"]


def test_what_an_entity_says_of_itself(load):
    said = {"description": " one \n", "tags": "daily", "meta": {"owner": "me"}, "group": "AVW"}

    found = load(files(entity(enabled=False, **said))).entities["silver_aw.x"]

    assert (found.description, found.tags, found.meta) == ("one", ("daily",), {"owner": "me"})
    assert (found.group, found.enabled, str(found.where)) == ("avw", False, "entities/x.json:18:12")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"id": "2"}, "bad-value"),
        ({"id": True}, "bad-value"),
        ({"id": None}, "missing-key"),
        ({"name": 3}, "bad-value"),
        ({"enabled": "no"}, "bad-value"),
        ({"columns": {}}, "bad-value"),
        ({"meta": []}, "bad-value"),
        ({"owner": "me"}, "unknown-key"),
    ],
)
def test_an_entity_that_cannot_be_is_a_finding(findings, said, code):
    own = {k: v for k, v in {**entity(process="full"), **said}.items() if v is not None}

    assert codes(findings(files(own))) == [code]
