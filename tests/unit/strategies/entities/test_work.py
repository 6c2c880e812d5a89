"""The statements of a step as values; on real tables they are in tests/spark/entities."""

import json
from dataclasses import replace

import pytest

from fakes.silver_table import KEY, XF, XH, XM, an_entity
from penstock.core.columns.schema import Schema
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import (
    EntityColumn,
    EntityScope,
    FieldRole,
    HashKind,
    LastSeen,
    ProcessType,
)
from penstock.core.history import HardDeletes
from penstock.strategies.entities.statistics import SliceCounts
from penstock.strategies.entities.watermarks import EntityWindow
from penstock.strategies.entities.work import property_of, query_of, settings_of, terms_of, work_of
from unit.strategies.entities.slices import a_step

GIVEN = "ID int, SeqNr int, name string"
PARTITION = frozenset({FieldRole.PARTITION})
TWO = SliceCounts(2, bounds={"ID": (TypedValue("INT", "1"), TypedValue("INT", "2"))})
WINDOW = EntityWindow("SeqNr", TypedValue("INT", "100"), TypedValue("INT", "200"))


REGION = EntityColumn("region", roles=PARTITION)
NOW = "TIMESTAMP '2025-05-05T10:00:00.000000Z'"


def fitted(step):
    """Leave out of the query what an engine adds."""
    query, system = step.rows.stored, ("p_ValidFrom", "p_ValidTo", "p_IsCurrent")
    if step.entity.process is ProcessType.HISTORIC:
        query = Schema(tuple(each for each in query.columns if each.name not in system))
    return replace(step, build=replace(step.build, query=query))


@pytest.mark.parametrize(
    ("entity", "windows", "stages", "feeds"),
    [
        (XF, None, 0, False),
        (XM, None, 0, False),
        (an_entity(delete_missing=True), (WINDOW,), 0, True),
        (XH, None, 1, False),
    ],
)
def test_a_step_reads_rows_as_few_times_as_it_can(entity, windows, stages, feeds):
    """The statistics come before; a stage and the commit read rows once each."""
    work = work_of(fitted(a_step(entity, GIVEN, TWO, windows)))

    assert len([each for each in work.stages if not each.when]) == stages
    if not stages:
        assert (work.decide({}).feed is not None) is feeds


def test_nothing_is_written_for_a_slice_without_rows():
    for entity in (XF, XM, XH):
        work = work_of(fitted(a_step(entity, GIVEN, SliceCounts(0))))
        assert (work.stages, work.decide({})) == ((), None)


def test_a_step_that_must_be_remembered_makes_a_commit_that_changes_nothing():
    for entity in (XF, XM, XH):
        step = replace(fitted(a_step(entity, GIVEN, SliceCounts(0))), commits=True)
        found = work_of(step).decide({})
        assert found.sql.startswith("ALTER TABLE T SET TBLPROPERTIES ('penstock.entity' = ")
        assert (found.once, found.metrics["recordsInSlice"]) == (False, 0)


def test_a_merge_is_pruned_by_keys_and_its_windows():
    plain = work_of(a_step(XM, GIVEN, replace(TWO, flagged=1))).decide({}).sql
    inferring = a_step(an_entity(delete_missing=True), GIVEN, TWO, (WINDOW,))
    bounds = "t.`ID` BETWEEN CAST('1' AS INT) AND CAST('2' AS INT)"
    window = "CAST('100' AS INT) <= t.`SeqNr` AND t.`SeqNr` <= CAST('200' AS INT)"

    assert f" ON t.`ID` = s.`ID` AND {bounds} WHEN" in plain
    assert f"(({bounds}) OR ({window}))" in work_of(inferring).decide({}).sql
    assert "UNION ALL" not in plain
    assert "UNION ALL" in work_of(inferring).decide({}).feed.sql
    assert plain.count("WHEN MATCHED") == 3
    assert "WHEN MATCHED AND s.`__penstock_op` = 'infer'" not in plain


def test_rows_that_are_all_live_are_merged_without_conditions():
    """Then no column of stored rows is read but keys, the hash, and what no hash has in it."""
    sql = work_of(a_step(XM, GIVEN, TWO)).decide({}).sql
    (matched, inserted) = sql.partition(" WHEN MATCHED ")[2].split(" WHEN NOT MATCHED ")
    changed = "(NOT (t.`p_SourceHash` <=> s.`p_SourceHash`) OR coalesce(t.`p_deleted`, false))"

    assert matched.startswith("THEN UPDATE SET `ID` = s.`ID`, `SeqNr` = s.`SeqNr`, ")
    assert f"= CASE WHEN {changed} THEN s.`p_source_filename` ELSE t.`p_source_filename`" in matched
    assert matched.count("CASE WHEN") == 1
    assert inserted.startswith("THEN INSERT (`ID`, ")


def test_keys_that_are_gone_are_marked_beside_rows_that_are_all_live():
    step = a_step(an_entity(delete_missing=True), GIVEN, TWO, (WINDOW,))
    sql = work_of(step).decide({}).sql
    first, second = sql.split(" WHEN NOT MATCHED ")[0].split(" WHEN MATCHED ")[1:]

    assert first.startswith("AND s.`__penstock_op` = 'infer' THEN UPDATE SET t.`p_deleted` = true")
    assert second.startswith("THEN UPDATE SET `ID` = s.`ID`, ")
    assert " WHEN NOT MATCHED AND s.`__penstock_op` = 'slice' THEN INSERT" in sql


def test_few_rows_are_sent_to_every_executor():
    """Keys that are gone are not counted before, so nothing is said of them."""
    many = replace(TWO, rows=50_001)
    changes = an_entity(last_seen=LastSeen.ON_CHANGE)
    gone = work_of(a_step(an_entity(delete_missing=True), GIVEN, TWO, (WINDOW,)))

    assert "BROADCAST(fed)" in work_of(a_step(XM, GIVEN, TWO)).decide({}).sql
    assert "BROADCAST" not in work_of(a_step(XM, GIVEN, many)).decide({}).sql
    assert "BROADCAST" not in gone.decide({}).sql
    for counts, fed, hints in ((TWO, 2, (1, 1)), (many, 2, (0, 1)), (many, 50_001, (0, 0))):
        work = work_of(a_step(changes, GIVEN, counts))
        texts = work.stages[0].sql, work.decide({"fed": fed, "inferred_deleted": 0}).sql
        assert tuple(text.count("BROADCAST") for text in texts) == hints


def test_a_row_that_is_deleted_again_is_only_seen():
    """Every run sees it; a table of changes alone has nothing to do."""
    marked = "THEN UPDATE SET t.`p_deleted` = true, t.`p_lastSeen` = greatest("
    sql = work_of(a_step(XM, GIVEN, replace(TWO, flagged=1))).decide({}).sql
    changes = an_entity(last_seen=LastSeen.ON_CHANGE)
    (stage,) = work_of(a_step(changes, GIVEN, TWO)).stages

    assert f"WHEN MATCHED AND s.`p_deleted` {marked}" in sql
    assert "(coalesce(t.`__penstock_new`, false) AND NOT coalesce(t.`p_deleted`, false))" in (
        stage.sql
    )


def test_rows_that_arrive_deleted_are_no_rows_of_a_first_step():
    step = a_step(XM, GIVEN, SliceCounts(2, flagged=1))
    first = work_of(replace(step, build=replace(step.build, table=None)))
    names = first.rows({}).partition(" FROM ")[2]

    assert names == "`penstock_query` WHERE NOT `p_deleted`"
    assert work_of(step).rows({}).endswith("FROM `penstock_query`")


@pytest.mark.parametrize(
    ("expression", "reads", "more", "known"),
    [
        ("950", (), {}, True),
        ("ID % 10", ("ID",), {}, True),
        ("ID % 10", ("id",), {}, True),
        ("name", ("name",), {}, False),
        ("concat(ID, rand())", ("ID",), {"volatile": ("rand",)}, False),
    ],
)
def test_a_partition_is_known_if_keys_alone_make_it(expression, reads, more, known):
    part = EntityColumn("p", expression=expression, reads=reads, roles=PARTITION, **more)
    given = f"{GIVEN}, p int"

    assert a_step(replace(XM, columns=(KEY, part)), given, TWO).partition_is_known is known


def test_a_partition_of_a_key_that_is_cast_is_not_known():
    """The texts '1' and '01' are one key, and look different to an expression."""
    part = EntityColumn("p", expression="left(ID, 1)", reads=("ID",), roles=PARTITION)
    typed = replace(KEY, type="int")
    by_key = replace(KEY, type="int", roles=KEY.roles | PARTITION)

    assert not a_step(replace(XM, columns=(typed, part)), f"{GIVEN}, p int", TWO).partition_is_known
    assert a_step(replace(XM, columns=(by_key,)), GIVEN, TWO).partition_is_known


def test_partitions_are_typed_literals_null_included():
    part = EntityColumn("region", roles=PARTITION)
    entity = replace(XM, columns=(KEY, part))
    values = (("'it\\'s \"x\"'",), ("CAST(NULL AS string)",))
    counts = replace(TWO, tuples=values)
    many = replace(TWO, tuples=None, ranges=(("'a'", "'z'"),))
    given = "ID int, SeqNr int, region string"

    assert a_step(entity, given, counts).in_partitions("t.") == [
        "(t.`region` IN ('it\\'s \"x\"') OR t.`region` IS NULL)"
    ]
    assert a_step(entity, given, many).in_partitions() == [
        "(`region` BETWEEN 'a' AND 'z' OR `region` IS NULL)"
    ]


@pytest.mark.parametrize(
    ("made", "sql"),
    [
        ({"columns": (KEY, REGION)}, "INSERT OVERWRITE T BY NAME SELECT `ID`, "),
        ({}, "CREATE OR REPLACE TABLE T USING delta TBLPROPERTIES ("),
    ],
)
def test_a_full_entity_replaces_the_partitions_of_a_slice_or_the_whole_table(made, sql):
    step = a_step(replace(XF, **made), f"{GIVEN}, region string", TWO)
    found = work_of(step).decide({})

    assert found.sql.startswith(sql)
    assert ("dynamic" in found.confs.values()) is bool(made)
    grown = work_of(replace(step, build=replace(step.build, evolves=True))).decide({}).sql
    assert ("WITH SCHEMA EVOLUTION OVERWRITE" in grown) is bool(made)
    first = work_of(replace(step, build=replace(step.build, table=None))).decide({}).sql
    assert first.startswith("CREATE OR REPLACE TABLE T ")


@pytest.mark.parametrize(
    ("partitioned", "allowed", "there", "writes"),
    [
        (False, False, True, False),
        (False, True, True, True),
        (True, True, True, False),
        (False, False, False, True),
    ],
)
def test_a_slice_without_rows_empties_a_table_that_may_be_emptied(
    partitioned, allowed, there, writes
):
    entity = an_entity(ProcessType.FULL, allow_empty=allowed)
    entity = replace(entity, columns=(KEY, REGION) if partitioned else (KEY,))
    step = a_step(entity, f"{GIVEN}, region string", SliceCounts(0))
    step = step if there else replace(step, build=replace(step.build, table=None))

    assert (work_of(step).decide({}) is not None) is writes


@pytest.mark.parametrize(
    ("entity", "interval", "live"),
    [
        (XF, [f"CAST(NULL AS {kind})" for kind in ("date", "date", "boolean")], ""),
        (XM, [f"CAST(NULL AS {kind})" for kind in ("date", "date", "boolean")], "NOT `p_deleted`"),
        (XH, [NOW, "CAST(NULL AS TIMESTAMP)", "true"], ""),
    ],
)
def test_the_rows_of_an_entity_are_replaced_in_a_table_that_others_share(entity, interval, live):
    """Columns stand as in the table, with NULL where the slice has none, and new ones last."""
    system = "p_SourceHash string, p_deleted boolean, PK_x string, p_lastSeen date"
    table = f"gone date, ID int, SeqNr int, {system}, p_source_filename string"
    scoped = replace(entity, scope=EntityScope("SeqNr", "5"))
    ends = "p_ValidFrom date, p_ValidTo date, p_IsCurrent boolean"
    step = a_step(scoped, GIVEN, TWO, table=f"{table}, {ends}")
    first, last, current = interval

    assert work_of(replace(fitted(step), anew=True)).decide({}).sql == (
        "INSERT INTO T BY NAME REPLACE WHERE `SeqNr` <=> 5 SELECT CAST(NULL AS date) AS `gone`, "
        "`ID`, `SeqNr`, `p_SourceHash`, `p_deleted`, `PK_x`, `p_lastSeen`, `p_source_filename`, "
        f"{first} AS `p_ValidFrom`, {last} AS `p_ValidTo`, {current} AS `p_IsCurrent`, `name` "
        f"FROM `penstock_query`{' WHERE ' + live if live else ''}"
    )
    grown = replace(fitted(step), anew=True, build=replace(step.build, evolves=True))
    assert work_of(grown).decide({}).sql.startswith("INSERT WITH SCHEMA EVOLUTION INTO T BY NAME")


def test_what_was_counted_goes_with_the_commit_or_is_told_without_one():
    changes = an_entity(last_seen=LastSeen.ON_CHANGE)
    step = a_step(changes, GIVEN, replace(TWO, flagged=1))
    work, counted = work_of(step), {"recordsInSlice": 2, "arrived_deleted": 1}
    counted["inferred_deleted"] = 3
    history = work_of(fitted(a_step(XH, GIVEN, TWO)))

    found = work.decide({"fed": 1, "inferred_deleted": 3})
    assert work.counts({"fed": 1, "inferred_deleted": 3}) == counted
    assert (found.metrics, [*found.breaches({})]) == ({**counted, "inferred_deleted": 3}, [])
    assert work.counts({"fed": 0, "inferred_deleted": 3})["deleted"] == 1
    assert found.confs["spark.sql.codegen.hugeMethodLimit"] == "8000"
    assert all("spark.sql.codegen.hugeMethodLimit" in each.confs for each in history.stages)
    assert (work.fed_by, history.fed_by) == ("penstock_query", "")


def test_a_table_says_how_its_rows_were_made():
    part = EntityColumn("office", expression="950", literal="950", roles=PARTITION)
    shared = replace(XM, columns=(KEY, part), scope=EntityScope("office", "950"))
    other = replace(
        shared,
        columns=(KEY, replace(part, expression="1000", literal="1000")),
        scope=EntityScope("office", "1000"),
    )

    assert json.loads(property_of(XM)) == {
        "strategy": "merge",
        "business_keys": ["ID"],
        "partition_by": [],
        "expressions": {},
        "hash": "sha256",
        "prefix": "p_",
    }
    assert property_of(shared) == property_of(other)
    assert property_of(XM) != property_of(an_entity(hash=HashKind.XXHASH64))
    assert property_of(XM) != property_of(replace(XM, prefix="q_"))


def test_a_history_is_asked_in_terms_of_its_engine():
    step = fitted(a_step(XH, GIVEN, TWO))
    scoped = replace(XH, scope=EntityScope("office", "950"))

    assert "p_ValidFrom" not in query_of(step.entity, step.rows)
    assert settings_of(XH, infers=False).keys == ("ID",)
    assert settings_of(scoped, infers=True).keys == ("ID", "office")
    by_key = replace(XH, scope=EntityScope("id", "5"))
    assert settings_of(by_key, infers=False).keys == ("ID",)
    assert settings_of(XH, infers=True).change.column == "p_SourceHash"


def test_versions_that_are_gone_are_marked_in_the_scope_of_a_slice():
    inferring = an_entity(ProcessType.HISTORIC, delete_missing=True, layout="current")
    inferring = replace(inferring, columns=(KEY, REGION))
    given = f"{GIVEN}, region string"
    few = replace(TWO, tuples=(("'a'",),))
    many = replace(TWO, tuples=None, ranges=(("'a'", "'z'"),))
    empty = replace(many, rows=0)
    plain, *scoped = (
        terms_of(fitted(a_step(inferring, given, counts, windows)))
        for counts, windows in ((few, None), *((each, (WINDOW,)) for each in (few, many, empty)))
    )
    live = "NOT coalesce(`p_deleted`, false)"
    inside = f"CAST('100' AS INT) <= `SeqNr` AND `SeqNr` <= CAST('200' AS INT) AND {live}"
    held = "array_contains((SELECT collect_set(struct(`region`)) FROM `penstock_query`)"

    assert (plain.scope, plain.missing_sets, plain.by_current) == ("", (), True)
    assert [each.scope for each in scoped] == [
        f"{inside} AND `region` IN ('a')",
        (
            f"{inside} AND (`region` BETWEEN 'a' AND 'z' OR `region` IS NULL) "
            f"AND {held}, struct(`region`))"
        ),
        inside,
    ]
    assert scoped[0].missing_sets == (("p_deleted", "true"), ("p_lastSeen", NOW))
    assert (plain.hard_deletes, scoped[0].hard_deletes) == (
        *(HardDeletes.IGNORE, HardDeletes.INVALIDATE),
    )
    assert not terms_of(fitted(a_step(XH, GIVEN, TWO))).by_current


@pytest.mark.parametrize(
    ("windows", "there", "writes"),
    [(None, True, False), ((WINDOW,), True, True), (None, False, True)],
)
def test_a_history_is_not_asked_of_no_rows_unless_they_mean_that_keys_are_gone(
    windows, there, writes
):
    entity = an_entity(ProcessType.HISTORIC, delete_missing=True)
    step = fitted(a_step(entity, GIVEN, SliceCounts(0), windows))
    step = step if there else replace(step, build=replace(step.build, table=None))

    work = work_of(step)

    assert bool(work.stages) is writes or work.decide({}) is not None
