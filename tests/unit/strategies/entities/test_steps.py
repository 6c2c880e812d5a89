"""A slice through its twelve steps: which columns it has then, of which values."""

import pytest

from fakes.silver_table import KEY, XH, XM, an_entity
from penstock.core.columns.schema import Column
from penstock.core.entities.entity import EntityColumn, FieldRole, HashKind, WatermarkEntry
from penstock.core.entities.transformations import ColumnTransformation
from penstock.core.errors import SchemaError
from penstock.core.findings import Location
from penstock.strategies.entities.steps import needs_keeping
from penstock.strategies.values import hash_of_values, row_text
from unit.strategies.entities.slices import taken

GIVEN = "ID int, SeqNr int"
HERE, THERE = Location("entities/x.json", 6), Location("entities/x.json", 20)
PARTITION = frozenset({FieldRole.PARTITION})


def declaring(*columns, key=KEY, **changes):
    return an_entity(columns=(key, *columns), **changes)


def added(entity, given):
    """Give what penstock adds, by name."""
    return {column.name: sql for column, sql in taken(entity, given).added}


def hashed(**values):
    """Give the pairs of a hash: whole numbers, but for the delete flag."""
    kinds = {"p_deleted": "boolean"}
    return [(Column(name, kinds.get(name, "int")), sql) for name, sql in values.items()]


@pytest.mark.parametrize(
    ("entity", "given", "message"),
    [
        (XM, "SeqNr int", "missing-column: the slice of silver_aw.x has no column 'ID', which is"),
        (XM, "ID int", "missing-column: the slice of silver_aw.x has no column 'SeqNr', which is"),
        (declaring(EntityColumn("p", roles=PARTITION)), GIVEN, "missing-column: the slice of"),
        (
            declaring(EntityColumn("xs", type="int")),
            f"{GIVEN}, xs array<int>",
            "incompatible-type: column 'xs' of silver_aw.x is ARRAY<INT>, which cannot be cast to",
        ),
        (
            XM,
            f"{GIVEN}, s struct<a b:int,ab:int>",
            "column-name-collision: fields 's.a b' and 's.ab' of silver_aw.x have one name",
        ),
        (
            XM,
            f"{GIVEN}, s struct<=:int>",
            "empty-column-name: of the name of field 's.=' of silver_aw.x nothing is left",
        ),
        (XM, f"{GIVEN}, P_LASTSEEN date", "reserved-column: column 'P_LASTSEEN' of silver_aw.x"),
        (XM, f"{GIVEN}, PK_x string", "reserved-column: column 'PK_x' of silver_aw.x has"),
        (XM, f"{GIVEN}, __penstock_a int", "reserved-column: column '__penstock_a' of"),
        (XH, f"{GIVEN}, p_IsCurrent int", "reserved-column: column 'p_IsCurrent' of silver_aw.x"),
        (XM, f"{GIVEN}, (=) int", "empty-column-name: of the name of column '(=)' of silver_aw.x"),
        (
            XM,
            f"{GIVEN}, a.b int, AB int",
            "column-name-collision: columns 'a.b' and 'AB' of silver_aw.x are both 'AB' in",
        ),
        (
            XM,
            f"{GIVEN}, p_deleted int",
            "deleted-not-boolean: column 'p_deleted' of silver_aw.x is INT, and it is the",
        ),
        (XM, f"{GIVEN}, v variant", "uncomparable-column: column 'v' of silver_aw.x is VARIANT,"),
        (an_entity(watermark=()), "ID float", "key-type: business key 'ID' of silver_aw.x is"),
        (XM, "ID array<double>, SeqNr int", "key-type: business key 'ID' of silver_aw.x is"),
        (XM, "ID map<int,int>, SeqNr int", "key-type: business key 'ID' of silver_aw.x is"),
    ],
)
def test_a_slice_that_does_not_fit_its_entity_is_refused(entity, given, message):
    with pytest.raises(SchemaError) as caught:
        taken(entity, given)

    assert f"{caught.value.code}: {caught.value}".startswith(message)


@pytest.mark.parametrize(
    ("entity", "given"),
    [
        (declaring(key=EntityColumn("ID", roles=KEY.roles, where=THERE)), "SeqNr int"),
        (declaring(key=EntityColumn("ID", roles=KEY.roles, where=THERE)), "ID float, SeqNr int"),
        (declaring(EntityColumn("n", newname="PK_x", where=THERE)), f"{GIVEN}, n int"),
    ],
)
def test_an_error_is_where_its_column_is_declared(entity, given):
    with pytest.raises(SchemaError) as caught:
        taken(entity, given)

    assert caught.value.where == THERE


@pytest.mark.parametrize("given", ["ID int", f"{GIVEN}, PK_x int"])
def test_an_error_of_a_column_that_nobody_declares_is_where_the_entity_is(given):
    with pytest.raises(SchemaError) as caught:
        taken(XM, given)

    assert caught.value.where == HERE


def test_columns_have_the_types_and_names_that_are_declared():
    entity = declaring(
        EntityColumn("N", newname="new n", type="bigint"),
        EntityColumn("day", type="date"),
        EntityColumn("gone"),
    )

    rows = taken(entity, f"{GIVEN}, n int, sys_x int, SYS_y int, a.b struct<c d:int>")

    assert [(c.name, c.final, c.want) for c in rows.columns] == [
        ("ID", "ID", "int"),
        ("SeqNr", "SeqNr", "int"),
        ("n", "newn", "bigint"),
        ("a.b", "ab", "struct<cd:int>"),
        ("", "day", "date"),
        ("", "p_deleted", "boolean"),
    ]
    assert rows.notes == (
        "column-removed: 'day' is not in the slice; NULL of type DATE stands for it",
        "column-removed: 'gone' is not in the slice; it is left out",
    )


def test_a_table_may_keep_names_that_delta_refuses_unless_a_type_is_asked_for():
    given, odd, plain = f"{GIVEN}, s struct<a b:int>", "struct<a b:int>", "struct<ab:int>"
    typed = declaring(EntityColumn("s", type=plain))

    def type_of(entity, known):
        return taken(entity, given, f"{GIVEN}, s {known}").find("s").type

    assert [type_of(XM, known) for known in (odd, plain)] == [odd, plain]
    assert type_of(typed, odd) == "struct<a b:int,ab:int>"


@pytest.mark.parametrize("kind", ["boolean", "void"])
def test_the_delete_flag_stands_among_what_penstock_adds_and_is_never_null(kind):
    rows = taken(XM, f"ID int, P_Deleted {kind}, SeqNr int")

    assert [each.final for each in rows.columns] == ["ID", "SeqNr", "p_deleted"]
    flag = "`P_Deleted`" if kind == "boolean" else "CAST(`P_Deleted` AS boolean)"
    assert rows.find("p_deleted").value() == f"coalesce({flag}, false)"
    assert taken(XM, GIVEN).find("p_deleted").value() == "coalesce(CAST(NULL AS boolean), false)"


def test_rows_have_a_key_an_interval_and_say_when_and_whence_they_came():
    now, row = "TIMESTAMP '2025-05-05T10:00:00.000000Z'", {"ID": "`ID`", "SeqNr": "`SeqNr`"}

    assert added(XH, GIVEN) == {
        "p_SourceHash": hash_of_values(hashed(**row, p_deleted="nullif(`p_deleted`, false)")),
        "p_ValidFrom": now,
        "p_ValidTo": "CAST(NULL AS TIMESTAMP)",
        "p_IsCurrent": "true",
        "p_source_filename": "'s.parquet'",
        "PK_x": hash_of_values(hashed(ID="`ID`")),
        "p_lastSeen": now,
    }
    assert taken(XH, f"{GIVEN}, p_source_filename string").stored.names == (
        *("ID", "SeqNr", "p_SourceHash", "p_ValidFrom", "p_ValidTo", "p_IsCurrent"),
        *("p_source_filename", "PK_x", "p_deleted", "p_lastSeen"),
    )
    assert [*added(an_entity(columns=()), f"{GIVEN}, p_source_filename string")] == [
        *("p_SourceHash", "p_lastSeen")
    ]


def test_a_hash_is_of_what_a_row_says_alone():
    """Not of when and how it came, nor of what differs each time that it is asked for."""
    seen = EntityColumn("Seen", expression="uuid()", volatile=("uuid",))
    given, row = (
        f"{GIVEN}, p_metadata int, p_source_filename string, seen int",
        hashed(ID="`ID`", SeqNr="`SeqNr`"),
    )
    quick = an_entity(hash=HashKind.XXHASH64)

    assert added(declaring(seen), given)["p_SourceHash"] == hash_of_values(row)
    assert added(quick, GIVEN)["p_SourceHash"] == (
        f"lpad(lower(hex(xxhash64({row_text(row)}))), 16, '0')"
    )


@pytest.mark.parametrize(
    ("made", "declared", "kept"),
    [
        ("n", EntityColumn("n"), False),
        ("n", EntityColumn("n", type="tinyint"), True),
        ("other", EntityColumn("n", type="tinyint"), False),
        ("N", EntityColumn("n", roles=PARTITION), True),
        ("id", EntityColumn("n"), True),
        ("seqnr", EntityColumn("n"), True),
        ("p_deleted", EntityColumn("n"), True),
    ],
)
def test_rows_are_kept_if_what_is_counted_or_may_fail_is_made(made, declared, kept):
    given = f"{GIVEN}, n int, other int, p_deleted boolean"
    entity = declaring(
        declared,
        transformations=(ColumnTransformation(made, "1"),),
        watermark=(WatermarkEntry("SeqNr"),),
    )

    assert needs_keeping(taken(entity, given), entity) is kept
