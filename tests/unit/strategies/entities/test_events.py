"""Which events of a slice count, as SQL and as rules."""

from dataclasses import replace

import pytest

from fakes.silver_table import KEY, an_entity
from penstock.core.entities.entity import EntityScope, ProcessType
from penstock.core.entities.reading import Events
from penstock.core.errors import SchemaError
from penstock.strategies.entities.events import event_counts, event_rules, label_counts
from unit.strategies.entities.slices import taken

GIVEN = "ID int, SeqNr int, op string"
TABLE = (
    "ID bigint, SeqNr bigint, op string, p_SourceHash string, p_source_filename string, "
    "PK_x string, p_deleted boolean, p_lastSeen timestamp"
)


def ordered(process=ProcessType.MERGE, **said):
    events = Events(**{"sequence_by": ("SeqNr",), **said})
    return an_entity(process, columns=(KEY,), watermark=(), events=events)


def test_rows_that_are_no_events_are_not_marked():
    assert not taken(an_entity(), GIVEN).is_labelled


def test_ignored_rows_alone_need_no_order():
    rows = taken(ordered(sequence_by=(), ignore_when="op = 'R'"), GIVEN)

    assert rows.made_sql == (
        "SELECT *, CASE WHEN `__penstock_ignored` THEN 'ignored' END AS `__penstock_out`, "
        "false AS `__penstock_known` FROM (SELECT `ID`, `SeqNr`, `op`, (coalesce((op = 'R'), "
        "false)\n) AS `__penstock_ignored` FROM (SELECT * FROM `penstock_slice`))"
    )


def test_without_a_table_nothing_comes_too_late():
    made = taken(ordered(), GIVEN).made_sql

    assert "penstock_target" not in made
    assert "THEN 'superseded'" in made


def test_the_newest_stored_event_is_read_in_the_types_of_the_slice():
    made = taken(ordered(), GIVEN, TABLE).made_sql

    assert (
        "(SELECT `ID` AS `__penstock_t0`, named_struct('s0', CAST(`SeqNr` AS bigint)) AS "
        "`__penstock_seen`, true AS `__penstock_known` FROM `penstock_target` LEFT SEMI JOIN "
        "(SELECT CAST(`ID` AS bigint) AS `__penstock_s0` FROM (SELECT * FROM `penstock_slice`)) "
        "ON `ID` = `__penstock_s0`) t"
    ) in made


def test_of_a_history_the_current_versions_and_of_a_shared_table_the_own_rows_are_compared():
    interval = ", p_ValidFrom timestamp, p_ValidTo timestamp, p_IsCurrent boolean"
    entity = replace(ordered(ProcessType.HISTORIC), scope=EntityScope("SeqNr", "950"))

    made = taken(entity, GIVEN, TABLE + interval).made_sql

    assert "WHERE `p_IsCurrent` = true AND `SeqNr` <=> 950)" in made


def test_an_order_that_no_slice_has_or_that_orders_nothing_is_refused():
    entity = ordered(sequence_by=("gone", "op2"))

    with pytest.raises(SchemaError) as caught:
        taken(entity, f"{GIVEN}, op2 array<int>")

    said = caught.value.sentence
    assert "the slice of silver_aw.x has no column 'gone', which orders events" in said
    assert "sequence-type: column 'op2' of silver_aw.x is ARRAY<INT>" in said


def test_a_delete_of_an_unknown_key_is_counted_apart():
    entity = ordered(delete_when="op = 'D'")
    rows = taken(entity, GIVEN)

    counts = label_counts(rows, entity)

    assert [*counts] == ["superseded", "ignored", "stale", "no_order", "tied", "tombstones"]
    row = {"superseded": 2, "stale": 1, "ignored": 0}
    assert event_counts(row, entity) == {"superseded": 2, "stale": 1}
    assert event_counts(row, ordered(ProcessType.FULL)) == {"superseded": 2}
    codes = [rule.code for rule in event_rules(rows, entity, "a.parquet")]
    assert codes == ["null-sequence", "tied-versions"]
