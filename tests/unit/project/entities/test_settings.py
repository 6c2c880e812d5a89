"""Settings: merged, typed, and what is said of those that do nothing."""

import pytest

from fakes.entity_files import entity, files
from penstock.core.entities.entity import EntitySettings, HashKind, LastSeen
from penstock.core.history import Retention
from penstock.core.strategy import OnSchemaChange
from penstock.project.entities.settings import merged


def codes(findings, **said):
    return [line.split(": ")[2] for line in findings(files(entity(**said)))]


def test_maps_merge_and_all_else_is_replaced():
    lower = {"a": 1, "t": [1, 2], "o": {"x": 1, "y": 2}}
    upper = {"t": [3], "o": {"y": 9}, "a": None}

    assert merged(lower, upper) == {"t": [3], "o": {"x": 1, "y": 9}}


def test_settings_are_typed(load):
    said = {
        "allow_empty_delete": True,
        "require_success": True,
        "hash": "XXHASH64",
        "last_seen": "on_change",
        "on_schema_change": "fail",
        "table_properties": {"delta.enableDeletionVectors": False},
        "anything": {"of": ["mine"]},
    }

    found = load(files(entity(settings=said))).entities["silver_aw.x"].settings

    assert found == EntitySettings(
        allow_empty_delete=True,
        require_success=True,
        hash=HashKind.XXHASH64,
        last_seen=LastSeen.ON_CHANGE,
        on_schema_change=OnSchemaChange.FAIL,
        table_properties={"delta.enableDeletionVectors": "false"},
    )


def test_history_has_settings_of_its_own(load):
    said = {"layout": "plain", "retention": {"keep_last": 3}}

    found = load(files(entity(process="historic", settings=said))).entities["silver_aw.x"]

    assert (found.settings.layout, found.settings.retention) == ("plain", Retention(3, None))


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"delete_missing": "false"}, "bad-value"),
        ({"delete_missing": 1}, "bad-value"),
        ({"hash": "md5"}, "bad-value"),
        ({"slice_pattern": 3}, "bad-value"),
        ({"table_properties": []}, "bad-value"),
        ({"retention": {"keep_last": 0}}, "bad-value"),
        ({"retention": {"keep": 1}}, "unknown-key"),
        ({"delete_mising": True}, "unknown-setting"),
        ({"has": "x"}, "unknown-setting"),
        ([], "bad-value"),
    ],
)
def test_a_setting_that_cannot_be_is_a_finding(findings, said, code):
    assert codes(findings, process="historic", settings=said) == [code]


@pytest.mark.parametrize(
    ("process", "said"),
    [
        ("historic", {"last_seen": "on_change"}),
        ("merge", {"layout": "plain"}),
        ("merge", {"allow_empty": True}),
        ("full", {"allow_empty_delete": True}),
        ("merge", {"require_success": True, "bronze_read": "whole"}),
    ],
)
def test_a_setting_that_does_nothing_is_a_warning(findings, process, said):
    assert codes(findings, process=process, settings=said) == ["option-without-effect"]
