"""`penstock.Metadata`: documents of a folder, of a file or of a text, without a JVM."""

import json
import subprocess
import sys

import pytest

import penstock
from fakes.entity_files import CONNECTION, KEY, document, entity
from penstock import (
    Connection,
    ConnectionNotFoundError,
    EntityConnectionGroup,
    EntityGroup,
    EntityNotFoundError,
    Environment,
    JsonFolderMetadataSettings,
    JsonMetadataSettings,
    Metadata,
    ProjectError,
    StringMetadataSettings,
    WatermarkValue,
)
from penstock.core.errors import PenstockError, UsageError

OFF = {"name": "off", "enabled": False}
DOCUMENT = document(
    entity(1, "a", group="avw"),
    entity(2, "b", connectiongroup="Night"),
    entity(3, "c", process="full", group="AVW"),
    {**entity(4, "d", group="avw"), "connection": "off"},
    connections=[CONNECTION, OFF],
)


@pytest.fixture
def metadata(tmp_path):
    return Metadata(StringMetadataSettings(DOCUMENT), project=tmp_path)


def names(found):
    return [each.name for each in found]


def test_an_entity_is_found_by_its_id(metadata):
    found = metadata.get_entity(2)

    assert (found.id, found.name, found.model) == (2, "b", "silver_aw.b")
    assert found.definition.connection == "aw"
    with pytest.raises(EntityNotFoundError, match="no entity has the id 9999"):
        metadata.get_entity(9999)
    assert penstock.EntityNotFoundException is EntityNotFoundError


def test_entities_are_found_by_ids_and_groups(metadata):
    assert names(metadata.get_entities([1, 2, 9999])) == ["a", "b"]
    assert names(metadata.get_entities((3, 1, 2))) == ["c", "a", "b"]
    assert names(metadata.get_entities(EntityGroup("AVW"))) == ["a", "c"]
    assert names(metadata.get_entities(EntityConnectionGroup("night"))) == ["b"]
    assert names(metadata.get_entities(Connection("aw"))) == ["a", "b", "c"]
    with pytest.raises(ConnectionNotFoundError):
        metadata.get_entities(Connection("aws"))
    assert penstock.ConnectionNotFoundException is ConnectionNotFoundError


def test_a_disabled_entity_is_found_and_takes_part_in_nothing(metadata):
    assert metadata.get_entity(4).definition.enabled is False
    assert "d" not in names(metadata.get_entities(EntityGroup("avw")))


def test_a_document_is_in_a_folder_a_file_or_a_text(tmp_path):
    inner = tmp_path / "lake" / "deep" / "x.json"
    inner.parent.mkdir(parents=True)
    inner.write_text(DOCUMENT)
    (tmp_path / "lake" / ".hidden.json").write_text("{")
    as_yaml = json.loads(DOCUMENT)
    settings = (
        JsonFolderMetadataSettings("lake"),
        JsonFolderMetadataSettings(tmp_path / "lake"),
        JsonMetadataSettings("lake/deep/x.json"),
        StringMetadataSettings("# all of it\n" + json.dumps(as_yaml)),
    )

    found = [Metadata(each, project=tmp_path).get_entity(1).definition for each in settings]

    assert found == [found[0]] * 4
    assert found[0].where.path == "lake/deep/x.json"


@pytest.mark.parametrize(
    "settings", [JsonFolderMetadataSettings("nope"), JsonMetadataSettings("nope.json")]
)
def test_documents_that_are_not_there(settings, tmp_path):
    with pytest.raises(UsageError, match="there is no") as caught:
        Metadata(settings, project=tmp_path)
    assert caught.value.code == "no-documents"


def test_an_environment_wins_key_by_key(tmp_path):
    over = Environment(root_folder="/prod", systemfield_prefix="")

    found = Metadata(StringMetadataSettings(DOCUMENT), over, tmp_path).get_entity(1).definition

    assert (found.path, found.prefix) == ("/prod/silver/aw/a", "")
    assert found.timezone == "Europe/Amsterdam"


def test_documents_join_the_models_of_a_project_in_place_of_its_own(tmp_path):
    (tmp_path / "entities").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    (tmp_path / "entities" / "x.json").write_text(document(entity(9, "z")))
    (tmp_path / "models" / "m.sql").write_text("select ID from silver_aw.a")

    project = Metadata(StringMetadataSettings(DOCUMENT), project=tmp_path).project

    assert project.models["m"].depends_on == ("silver_aw.a",)
    assert "silver_aw.z" not in project.entities


def test_all_findings_are_raised_at_once(tmp_path):
    broken = document(entity(1, "a", process="upsert"), entity(2, "b", columns=[]))

    with pytest.raises(ProjectError) as caught:
        Metadata(StringMetadataSettings(broken), Environment(timezone="Mars"), tmp_path)

    assert [(f.code, f.where.path) for f in caught.value.findings] == [
        ("unknown-timezone", "Environment"),
        ("bad-value", "metadata.json"),
        ("no-business-key", "metadata.json"),
    ]


def test_a_watermark_is_set_forgotten_and_none_before(tmp_path):
    typed = [KEY, {"name": "SeqNr", "datatype": "int"}]
    own = document(entity(1, "a", columns=typed), entity(2, "b"))
    metadata = Metadata(StringMetadataSettings(own), project=tmp_path)
    found = metadata.get_entity(1)

    assert found.watermark("SeqNr") is None
    found.reset_watermark("seqnr", "100")
    assert found.watermark("SeqNr") == WatermarkValue("INT", "100")
    with pytest.raises(PenstockError, match="abc"):
        found.reset_watermark("SeqNr", "abc")
    found.reset_watermark("SeqNr")
    assert found.watermark("SeqNr") is None
    with pytest.raises(PenstockError, match="the type of SeqNr is not known"):
        metadata.get_entity(2).reset_watermark("SeqNr", "100")


def test_loading_imports_no_spark(tmp_path):
    (tmp_path / "x.json").write_text(DOCUMENT)
    code = (
        "import sys; from penstock import Metadata, JsonMetadataSettings as S, Processing, Full\n"
        f"found = Metadata(S('x.json'), project={str(tmp_path)!r}).get_entity(1)\n"
        "print(found.name, Full, 'pyspark' in sys.modules)"
    )

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout == "a full False\n"
