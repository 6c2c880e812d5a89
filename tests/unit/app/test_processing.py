"""What a script may ask of `penstock.Processing` before anything runs."""

import pytest

import penstock
from fakes.entity_files import CONNECTION, document, entity
from penstock import Metadata, Processing, StringMetadataSettings
from penstock.core.errors import UsageError

OFF = {"name": "off", "enabled": False}
DOCUMENT = document(
    entity(1, "a"), {**entity(2, "b"), "connection": "off"}, connections=[CONNECTION, OFF]
)


@pytest.fixture
def metadata(tmp_path):
    return Metadata(StringMetadataSettings(DOCUMENT), project=tmp_path)


def test_an_option_that_there_is_not_is_an_error(metadata):
    with pytest.raises(UsageError, match="has no option 'processing_time'") as caught:
        Processing(metadata.get_entity(1), "s", {"processing_time": "2025-05-05"})

    assert (caught.value.code, caught.value.hint) == (
        "unknown-key",
        "did you mean 'processing.time'?",
    )


def test_a_disabled_entity_is_not_processed(metadata):
    with pytest.raises(UsageError, match=r"silver_off\.b is disabled") as caught:
        Processing(metadata.get_entity(2)).process()

    assert caught.value.code == "entity-disabled"


def test_a_way_to_write_that_there_is_not(metadata):
    with pytest.raises(penstock.ProcessStrategyNotSupportedError) as caught:
        Processing(metadata.get_entity(1)).process("upsert")

    assert caught.value.hint == "there are: full, merge, historic"
    with pytest.raises(penstock.ProcessStrategyNotSupportedException, match="cannot be written"):
        Processing(metadata.get_entity(1)).process(penstock.Historic)


def test_a_slice_that_is_not_there_starts_no_spark(metadata, tmp_path):
    over = penstock.Environment(root_folder=str(tmp_path))
    found = Metadata(StringMetadataSettings(DOCUMENT), over, tmp_path).get_entity(1)
    (tmp_path / "bronze" / "aw" / "a").mkdir(parents=True)

    with pytest.raises(penstock.PenstockError) as caught:
        Processing(found, "b").process()

    assert caught.value.code == "slice-not-found"
