"""The silver table as a step meets it."""

import json
from dataclasses import replace

import pytest

from fakes.lake import columns
from fakes.silver_table import KEY, XF, XH, XM, an_entity
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import EntityColumn, EntityScope, FieldRole, ProcessType
from penstock.core.errors import TableError
from penstock.core.facts import TableFacts
from penstock.strategies.entities.statistics import SliceCounts
from penstock.strategies.entities.target import PROPERTY, check_table, property_of
from penstock.strategies.entities.watermarks import EntityWindow
from unit.strategies.entities.slices import a_step

GIVEN = "ID int, SeqNr int, a string, b string"
PARTITION = frozenset({FieldRole.PARTITION})
WINDOW = EntityWindow("SeqNr", TypedValue("INT", "5"))
BOUNDS = {"ID": (TypedValue("INT", "1"), TypedValue("INT", "2"))}
BETWEEN = "t.`ID` BETWEEN CAST('1' AS INT) AND CAST('2' AS INT)"
ABOVE = "CAST('5' AS INT) <= t.`SeqNr`"
NULL = "CAST(NULL AS string)"
SYSTEM = "p_SourceHash string, p_deleted boolean, p_lastSeen timestamp, PK_x string"
INTERVAL = "p_ValidFrom timestamp, p_ValidTo timestamp, p_IsCurrent boolean"


def by(*names, scope=None):
    parts = (EntityColumn(name, roles=PARTITION) for name in names)
    return an_entity(columns=(KEY, *parts), scope=scope)


@pytest.mark.parametrize(
    ("names", "counts", "conditions"),
    [
        ("", SliceCounts(1), []),
        ("a", SliceCounts(0, tuples=(("'x'",),)), []),
        ("a", SliceCounts(1, tuples=(("'x'",), ("'y'",))), ["t.`a` IN ('x', 'y')"]),
        ("a", SliceCounts(1, tuples=(("'x'",), (NULL,))), ["(t.`a` IN ('x') OR t.`a` IS NULL)"]),
        ("a", SliceCounts(1, tuples=((NULL,),)), ["t.`a` IS NULL"]),
        (
            "ab",
            SliceCounts(1, tuples=(("'x'", "'y'"), ("'z'", NULL))),
            [
                (
                    "((t.`a` <=> 'x' AND t.`b` <=> 'y') OR "
                    "(t.`a` <=> 'z' AND t.`b` <=> CAST(NULL AS string)))"
                )
            ],
        ),
        (
            "ab",
            SliceCounts(1, tuples=None, ranges=(("'x'", "'y'"), ("'1'", "'2'"))),
            [
                "(t.`a` BETWEEN 'x' AND 'y' OR t.`a` IS NULL)",
                "(t.`b` BETWEEN '1' AND '2' OR t.`b` IS NULL)",
            ],
        ),
    ],
)
def test_stored_rows_lie_in_the_partitions_that_a_slice_holds(names, counts, conditions):
    assert a_step(by(*names), GIVEN, counts).in_partitions("t.") == conditions


def test_rows_that_may_be_gone_are_live_inside_the_windows_and_of_the_entity():
    entity = by("a", scope=EntityScope("office", "950"))
    counts = SliceCounts(1, tuples=(("'x'",),))
    live = "NOT coalesce(t.`p_deleted`, false)"

    assert a_step(XM, GIVEN, counts).in_scope("t.") == live
    assert a_step(entity, GIVEN, counts, (WINDOW,)).in_scope("t.") == (
        f"{ABOVE} AND {live} AND t.`office` <=> 950 AND t.`a` IN ('x')"
    )


@pytest.mark.parametrize(
    ("part", "counts", "windows", "conditions"),
    [
        (None, SliceCounts(2), None, []),
        (None, SliceCounts(2), (WINDOW,), []),
        (None, SliceCounts(2, bounds=BOUNDS), None, [BETWEEN]),
        (None, SliceCounts(2, bounds=BOUNDS), (WINDOW,), [f"(({BETWEEN}) OR ({ABOVE}))"]),
        ("'x'", SliceCounts(2, tuples=(("'x'",),)), None, ["t.`a` IN ('x')"]),
        ("'x'", SliceCounts(0, tuples=(("'x'",),)), None, []),
        ("SeqNr", SliceCounts(2, tuples=(("'x'",),)), None, []),
    ],
)
def test_stored_rows_that_cannot_match_are_skipped(part, counts, windows, conditions):
    made = EntityColumn("a", expression=part or "", roles=PARTITION, reads=("SeqNr",))
    known = replace(made, reads=() if part == "'x'" else made.reads)
    entity = an_entity(columns=(KEY, known)) if part else XM

    assert a_step(entity, GIVEN, counts, windows).pruning("t.") == conditions


def test_a_key_that_may_have_been_read_otherwise_tells_no_partition():
    part = EntityColumn("a", expression="ID", reads=("ID",), roles=PARTITION)
    entity = an_entity(columns=(KEY, part))

    def is_known(kind):
        given = GIVEN.replace("ID int", f"ID {kind}")
        return a_step(entity, given, SliceCounts(1)).partition_is_known

    assert [is_known(kind) for kind in ("int", "string", "decimal(5,0)")] == [True, True, False]


def test_a_step_may_be_asked_to_write_otherwise_and_says_whether_its_table_grows():
    step = a_step(XM, GIVEN, SliceCounts(1))
    forced = replace(step, forced=ProcessType.FULL)
    rows = step.rows

    assert (step.process, forced.process) == (ProcessType.MERGE, ProcessType.FULL)
    steps = [replace(step, rows=replace(rows, **{word: ("a",)})) for word in ("new", "widened")]
    assert [each.evolves for each in (step, *steps)] == [False, True, True]


def facts(schema, **said):
    return TableFacts("id", 3, columns(schema), properties=said)


def test_a_table_that_was_made_otherwise_is_refused_word_by_word():
    made = {PROPERTY: property_of(replace(XM, prefix="q_"))}

    check_table(XM, facts("ID int", **{PROPERTY: property_of(XM)}), adopts=False)
    with pytest.raises(TableError) as caught:
        check_table(XF, facts("ID int", **made), adopts=True)
    assert str(caught.value) == (
        "silver_aw.x: prefix is 'q_' in the table and 'p_' in the entity; "
        "strategy is 'merge' in the table and 'full' in the entity"
    )
    said = property_of(by("Größe"))
    assert "Größe" in said
    assert [*json.loads(said)] == sorted(json.loads(said))


@pytest.mark.parametrize(
    ("entity", "schema", "lacks"),
    [
        (XM, f"ID int, {SYSTEM}", ""),
        (XM, "ID int, p_SourceHash string, p_deleted boolean, p_lastSeen date", " PK_x"),
        (an_entity(columns=()), "p_SourceHash string, p_deleted boolean, p_lastSeen date", ""),
        (XM, SYSTEM, " ID"),
        (XH, f"ID int, {SYSTEM}", " p_ValidFrom, p_ValidTo, p_IsCurrent"),
        (XH, f"ID int, {SYSTEM}, {INTERVAL}", ""),
    ],
)
def test_a_table_is_taken_over_if_it_has_what_an_entity_writes_and_somebody_asks(
    entity, schema, lacks
):
    with pytest.raises(TableError) as caught:
        check_table(entity, facts(schema), adopts=bool(lacks))

    assert caught.value.sentence == (
        f"silver_aw.x has no column{lacks}" if lacks else "silver_aw.x was made by no entity"
    )
    assert caught.value.hint == "give the entity another silver table" + (
        "" if lacks else ", or: penstock run --select silver_aw.x --adopt"
    )
    if not lacks:
        check_table(entity, facts(schema), adopts=True)
