"""Settings for formats and change events: what they mean, and all mistakes in one go."""

import json

import pytest

from fakes.entity_files import CONNECTION, KEY, document, entity, files
from penstock.core.entities.entity import Slices
from penstock.core.entities.reading import BadRecords, BronzeFormat, Events, Reading
from penstock.core.errors import ProjectError

CSV = {"bronze_format": "csv", "options": {"header": True}}
AT = {"name": "Changed At", "newname": "changed", "datatype": "timestamp"}


def one(load, **said):
    (found,) = load(files(entity(**said))).entities.values()
    return found


def findings(load, *entities, **more):
    with pytest.raises(ProjectError) as caught:
        load(files(*entities, **more))
    return [line.partition("error: ")[2] for line in caught.value.render().splitlines()]


def test_a_format_has_options_a_pattern_and_what_happens_to_bad_records(load):
    settings = {**CSV, "rescued": "_rest", "bad_records": "Quarantine"}

    found = one(load, settings=settings)

    assert found.settings.reading == Reading(
        BronzeFormat.CSV,
        {"header": "true"},
        rescued="_rest",
        bad_records=BadRecords.QUARANTINE,
    )
    assert isinstance(found.bronze, Slices)
    assert found.bronze.pattern == "*.csv*"


def test_settings_of_a_connection_hold_for_its_entities(load):
    connection = {**CONNECTION, "settings": {**CSV, "valid_from": "changed"}}
    columns = [KEY, AT]
    both = (
        entity(1, "a", columns=columns, settings={"sequence_by": "Changed At"}),
        entity(2, "b", "historic", columns=columns),
    )

    found = load({"entities/x.json": document(*both, connections=[connection])}).entities

    merge, historic = found
    assert found[merge].settings.events == Events(("changed",))
    assert found[historic].settings.events == Events(("changed",), valid_from="changed")


def test_conditions_and_orders_are_read_with_final_names(load):
    settings = {
        "sequence_by": ["Changed At", "lsn"],
        "delete_when": "op = 'D' -- gone",
        "ignore_when": "op = 'R'",
    }

    found = one(load, columns=[KEY, AT], settings=settings)

    events = Events(("changed", "lsn"), "op = 'D'", "op = 'R'")
    assert found.settings.events == events
    assert str(events) == ("sequence by changed, lsn; delete when op = 'D'; ignore when op = 'R'")


def test_all_mistakes_are_told_in_one_go(load):
    made = {"name": "now", "expression": "rand()"}
    bad = {
        "bronze_format": "cvs",
        "options": {"mode": "FAILFAST", "sep": ["x"]},
        "bad_records": "keep",
        "sequence_by": [7],
        "delete_when": "sum(x) > 1",
        "ignore_when": "rand() > 0.5",
    }
    events = {"sequence_by": "now", "delete_missing": True, "change_feed": True}

    found = findings(
        load,
        entity(1, "a", settings=bad),
        entity(2, "b", columns=[KEY, made], settings=events),
        entity(3, "c", "full", columns=[], settings={"bronze_format": "json"}),
        entity(4, "d", settings={"bronze_format": "xml", "rescued": "id"}),
        entity(5, "e", "full", columns=[], settings={"sequence_by": "x"}),
    )

    assert sorted(line.partition(" (")[0] for line in found if line) == [
        'bad-expression: "rand() > 0.5" uses rand(): it differs on every reading',
        'bad-value: bad_records is the text "keep"',
        'bad-value: bronze_format is the text "cvs"',
        "bad-value: sep is a list",
        "bad-value: sequence_by is the number 7",
        'duplicate-column: "id" is the rescued column and a column, at entities/x.json:99:5',
        "missing-key: json needs columns, and there are none",
        "missing-key: xml needs the option rowTag",
        "no-business-key: events of a key are ordered, and there is no business key",
        'not-a-row-expression: expression "sum(x) > 1" is none of one row: sum(x) reads many rows',
        "option-conflict: change_feed reads a Delta table, and bronze is read slice by slice",
        "option-conflict: delete_missing does not go with events: a slice of changes lacks rows",
        "option-conflict: options has mode, which another setting decides",
        'volatile-key: "now" orders events and differs on every run',
    ]


def test_a_misspelled_option_is_told(load):
    options = {"header": True, "multiline": True, "nullvalue": "-", "sepp": ";"}
    settings = {**CSV, "options": options}

    found = load(files(entity(settings=settings)))

    assert [(each.code, each.hint) for each in found.findings] == [
        ("unknown-setting", "did you mean 'sep'?")
    ]


def test_settings_without_effect_are_told(load):
    settings = {"infer": True, "valid_from": "SeqNr"}

    found = load(files(entity(settings=settings)))

    assert [each.sentence.partition(" (")[0] for each in found.findings] == [
        "infer has no effect: parquet files contain their types",
        "valid_from has no effect on merge: only versions have a time",
    ]


def test_a_native_file_reads_other_formats_too(load):
    text = json.dumps(
        {
            "name": "x",
            "schema": "silver",
            "strategy": "full",
            "entity": {"bronze": {"path": "/in"}, "settings": CSV},
        }
    )

    (found,) = load({"models/x.yml": text}).entities.values()

    assert (found.bronze.pattern, found.settings.reading.format) == ("*.csv*", "csv")
