"""A merge that looks first which rows would change anything."""

from dataclasses import replace

import pytest

from fakes.lake import columns
from fakes.silver_table import KEY, XM, an_entity
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import EntityColumn, FieldRole, LastSeen
from penstock.core.statement import Commit
from penstock.strategies.entities.merging import merge
from penstock.strategies.entities.statistics import SliceCounts
from penstock.strategies.entities.watermarks import EntityWindow
from unit.strategies.entities.slices import a_step

GIVEN = "ID int, SeqNr int, name string"
NAME = EntityColumn("name", roles=frozenset({FieldRole.PARTITION}))
CHANGES = an_entity(last_seen=LastSeen.ON_CHANGE, delete_missing=True)
TWO = SliceCounts(2, bounds={"ID": (TypedValue("INT", "1"), TypedValue("INT", "2"))})
WINDOW = EntityWindow("SeqNr", TypedValue("INT", "100"), TypedValue("INT", "200"))
INSIDE = "CAST('100' AS INT) <= t.`SeqNr` AND t.`SeqNr` <= CAST('200' AS INT)"
LIVE = "NOT coalesce(t.`p_deleted`, false)"
MATCHED = "coalesce(t.`__penstock_new`, false)"
CHANGED = f"(NOT (t.`p_SourceHash` <=> s.`p_SourceHash`) OR {LIVE.removeprefix('NOT ')})"


def of_step(entity=CHANGES, counts=TWO, windows=None, **changes):
    return merge(replace(a_step(entity, GIVEN, counts, windows), **changes), {})


def of_rows(entity, **changes):
    step = a_step(entity, GIVEN, TWO)
    return of_step(entity, rows=replace(step.rows, **changes))


def test_rows_that_change_anything_are_found_with_the_keys_that_are_gone():
    many = replace(TWO, tuples=None, ranges=(("'a'", "'z'"),))
    entity = replace(CHANGES, columns=(KEY, NAME))

    (stage,) = of_step(entity, many, (WINDOW,)).stages

    slice_rows, gone = stage.sql.split(" UNION ALL ")
    assert slice_rows == (
        "SELECT /*+ BROADCAST(t) */ s.`ID`, s.`SeqNr`, s.`name`, s.`p_SourceHash`, "
        "s.`p_source_filename`, s.`PK_x`, s.`p_deleted`, 'slice' AS `__penstock_op`, "
        f"NOT {MATCHED} AS `__penstock_new` FROM `penstock_query` s LEFT JOIN "
        "(SELECT t.`ID`, t.`p_SourceHash`, t.`p_deleted`, true AS `__penstock_new` "
        "FROM `penstock_target` t JOIN (SELECT `ID` FROM `penstock_query`) s ON t.`ID` = s.`ID` "
        f"WHERE ((t.`ID` BETWEEN CAST('1' AS INT) AND CAST('2' AS INT)) OR ({INSIDE}))) t "
        "ON t.`ID` = s.`ID` WHERE CASE WHEN coalesce(s.`p_deleted`, false) "
        f"THEN ({MATCHED} AND {LIVE}) ELSE (NOT {MATCHED} OR {CHANGED}) END"
    )
    assert gone == (
        "SELECT CAST(t.`ID` AS int) AS `ID`, CAST(NULL AS int) AS `SeqNr`, "
        "CAST(t.`name` AS string) AS `name`, CAST(NULL AS string) AS `p_SourceHash`, "
        "CAST(NULL AS string) AS `p_source_filename`, CAST(NULL AS string) AS `PK_x`, "
        "CAST(NULL AS boolean) AS `p_deleted`, 'infer' AS `__penstock_op`, false "
        f"FROM `penstock_target` t WHERE {INSIDE} AND {LIVE} "
        "AND (t.`name` BETWEEN 'a' AND 'z' OR t.`name` IS NULL) "
        "AND EXISTS (SELECT 1 FROM `penstock_query` s WHERE s.`name` <=> t.`name`) "
        "AND NOT EXISTS (SELECT 1 FROM `penstock_query` s WHERE t.`ID` = s.`ID`)"
    )
    (empty,) = of_step(entity, replace(many, rows=0), (WINDOW,)).stages
    assert " AND EXISTS" not in empty.sql


def test_a_slice_of_deletes_alone_looks_at_every_stored_row_that_it_meets():
    (stage,) = of_step(XM, SliceCounts(2, flagged=2)).stages

    assert "WHERE true) t ON" in stage.sql
    assert stage.sql.endswith(f"THEN {MATCHED} ELSE true END")


def test_what_was_found_is_merged_unless_it_is_nothing():
    work = of_step(windows=(WINDOW,))

    assert "USING (SELECT /*+ BROADCAST(fed) */ * FROM (SELECT * EXCEPT (`__penstock_new`) " in (
        work.decide({"fed": 1}).sql
    )
    assert work.decide({"fed": 0}) is None
    assert work.counts({"inferred_deleted": None}) == {"inferred_deleted": 0}
    assert work.counts({"inferred_deleted": 3}) == {"inferred_deleted": 3}
    assert work.counts({}) == {}


def test_a_column_that_no_row_says_anything_new_of_is_added_alone():
    assert of_rows(CHANGES, new=("NAME",)).decide({"fed": 0}) == Commit(
        "ALTER TABLE T ADD COLUMNS (`name` string)", once=False
    )


@pytest.mark.parametrize(("rows", "few"), [(50_000, True), (50_001, False)])
def test_fifty_thousand_rows_are_few(rows, few):
    look = of_step(counts=SliceCounts(rows))

    assert ("BROADCAST" in of_step(XM, SliceCounts(rows)).decide({}).sql) is few
    assert ("BROADCAST(t)" in look.stages[0].sql) is few
    assert ("BROADCAST(fed)" in look.decide({"fed": rows}).sql) is few


def test_a_partition_that_a_key_tells_is_part_of_the_match_and_a_table_may_grow():
    made = EntityColumn(
        "name", expression="ID", reads=("ID",), roles=frozenset({FieldRole.PARTITION})
    )
    step = a_step(an_entity(columns=(KEY, made)), GIVEN, replace(TWO, tuples=(("'x'",),)))
    grown = replace(step, build=replace(step.build, evolves=True))

    assert "AND t.`name` IN ('x') AND t.`name` <=> s.`name` WHEN" in merge(step, {}).decide({}).sql
    assert merge(step, {}).decide({}).sql.startswith("MERGE INTO T t USING")
    assert merge(grown, {}).decide({}).sql.startswith("MERGE WITH SCHEMA EVOLUTION INTO T t USING")


@pytest.mark.parametrize(
    ("counts", "entity", "clause"),
    [
        (TWO, XM, f"`gone` = CASE WHEN NOT {CHANGED} THEN t.`gone` END, t.`p_lastSeen` = "),
        (TWO, CHANGES, "`gone` = NULL, t.`p_lastSeen` = "),
        (replace(TWO, flagged=1), XM, f"AND NOT s.`p_deleted` AND {CHANGED} THEN UPDATE SET "),
        (replace(TWO, flagged=1), XM, "`gone` = NULL, t.`p_lastSeen` = "),
        (replace(TWO, flagged=1), XM, "WHEN MATCHED THEN UPDATE SET t.`p_lastSeen` = "),
        (replace(TWO, flagged=1), XM, "WHEN NOT MATCHED AND NOT s.`p_deleted` THEN INSERT ("),
        (replace(TWO, flagged=1), CHANGES, f"WHEN MATCHED AND s.`p_deleted` AND {LIVE} THEN"),
    ],
)
def test_rows_are_set_as_far_as_they_say_anything(counts, entity, clause):
    step = a_step(entity, GIVEN, counts)
    step = replace(step, rows=replace(step.rows, lost=columns("gone date").columns))

    assert clause in merge(step, {}).decide({"fed": 1}).sql


def test_a_new_column_that_is_not_hashed_has_no_stored_value_to_keep():
    table = "ID int, SeqNr int, name string, p_SourceHash string"
    step = a_step(XM, GIVEN, TWO, table=table)

    assert f"`p_source_filename` = CASE WHEN {CHANGED} THEN s.`p_source_filename` END, " in (
        merge(step, {}).decide({}).sql
    )
