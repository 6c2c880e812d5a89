import pytest

from fakes.lake import columns
from fakes.silver_table import SEQ, XM, an_entity
from penstock.core.columns.typed import TypedValue
from penstock.core.entities.entity import ProcessType, WatermarkEntry
from penstock.core.errors import IncrementalConfigError
from penstock.strategies.entities.statistics import SliceCounts
from penstock.strategies.entities.watermarks import (
    EntityWindow,
    inferred_windows,
    new_watermark,
    read_filter,
)

M, C, S = WatermarkEntry("M"), WatermarkEntry("C", "or"), WatermarkEntry("S", "and", 1)
FALL = "TIMESTAMP 2024-10-27"


def low(value):
    return TypedValue("INT", str(value))


@pytest.mark.parametrize(
    ("entries", "lows", "expected"),
    [
        ((M,), {0: 1}, "`M` >= {1}"),
        ((M, C), {0: 1, 1: 2}, "(`M` >= {1} OR `C` >= {2})"),
        ((M, C, S), {0: 1, 1: 2, 2: 3}, "(`M` >= {1} OR `C` >= {2}) AND `S` >= {3}"),
        ((M, C, S), {0: 1, 2: 3}, "(`M` >= {1} OR TRUE) AND `S` >= {3}"),
        ((S, M), {0: 3, 1: 1}, "`M` >= {1} AND `S` >= {3}"),
        (
            (M, C, WatermarkEntry("D")),
            {0: 1, 1: 2, 2: 3},
            "((`M` >= {1} OR `C` >= {2}) AND `D` >= {3})",
        ),
        (
            (M, S, WatermarkEntry("D", "or", 2)),
            {0: 1, 1: 2, 2: 3},
            "(`M` >= {1} AND `S` >= {2}) OR `D` >= {3}",
        ),
        ((), {}, ""),
    ],
)
def test_entries_combine_by_group_and_operation(entries, lows, expected):
    values = {n: f"CAST('{n}' AS INT)" for n in range(4)}

    told = read_filter(entries, {place: low(n) for place, n in lows.items()})

    assert told == expected.format(*values.values())


@pytest.mark.parametrize(
    ("stored", "high", "left"),
    [
        (None, None, None),
        (None, "INT 10", "INT 10"),
        ("INT 10", "INT 20", "INT 20"),
        ("INT 20", "INT 15", None),
        ("INT 20", "INT 20", None),
        ("INT 20", None, None),
        ("INT 20", "BIGINT 30", "BIGINT 30"),
        ("DECIMAL(4,1) 2.5", "DECIMAL(9,2) 2.51", "DECIMAL(9,2) 2.51"),
        ("STRING b", "STRING é", "STRING é"),
        # 02:30+02:00 and 02:30+01:00 of the night when clocks go back
        (f"{FALL}T00:30:00Z", f"{FALL}T01:30:00Z", f"{FALL}T01:30:00Z"),
    ],
)
def test_a_watermark_only_grows(stored, high, left):
    def value(text):
        return text and TypedValue(*text.split(" ", 1))

    assert new_watermark(XM, "SeqNr", value(stored), value(high)) == value(left)


@pytest.mark.parametrize("kind", ["STRING", "DATE", "DECIMAL(9,0)"])
@pytest.mark.parametrize("before", ["INT", "TIMESTAMP_NTZ"])
def test_another_type_is_no_series(kind, before):
    high = TypedValue(kind, "2024-01-01" if kind == "DATE" else "7")

    with pytest.raises(IncrementalConfigError) as changed:
        new_watermark(XM, "SeqNr", TypedValue(before, "7"), high)

    assert changed.value.code == "watermark-type-changed"
    assert changed.value.hint == "penstock watermark set silver_aw.x VALUE --column SeqNr"


def windows(entity, lows, counts, table="ID int, SeqNr int"):
    return inferred_windows(entity, lows, counts, columns(table))


def test_ED_windows_are_those_of_the_spec():
    entity = an_entity(delete_missing=True)
    high = SliceCounts(1, highs={"SeqNr": low(200)})

    assert windows(entity, {0: low(100)}, high) == (
        (EntityWindow("SeqNr", low(100), low(200)),),
        (),
    )
    assert windows(entity, {0: low(300)}, high) == (None, ())
    assert not EntityWindow("SeqNr", low(200), low(200)).is_empty
    assert not EntityWindow("SeqNr", low(200)).is_empty
    assert windows(entity, {}, high)[1] != ()
    assert windows(entity, {0: low(100)}, SliceCounts(1))[1] != ()
    assert windows(entity, {0: low(100)}, high, "ID int")[1] != ()


def test_every_watermark_has_its_own_window_and_greatest_value():
    entity = an_entity(delete_missing=True, watermark=(SEQ, WatermarkEntry("id")))
    counts = SliceCounts(1, highs={"id": low(9), "SeqNr": low(200)})

    assert windows(entity, {0: low(100), 1: low(1)}, counts)[0] == (
        EntityWindow("SeqNr", low(100), low(200)),
        EntityWindow("ID", low(1), low(9)),
    )


def test_no_inference_without_rows_or_a_watermark_or_on_full():
    entity = an_entity(delete_missing=True)
    high = SliceCounts(1, highs={"SeqNr": low(200)})
    full = an_entity(ProcessType.FULL, delete_missing=True, watermark=(SEQ,))
    open_ended = an_entity(delete_missing=True, allow_empty_delete=True)

    assert windows(entity, {0: low(100)}, SliceCounts(0)) == (None, ())
    assert windows(full, {0: low(100)}, high) == (None, ())
    assert windows(an_entity(delete_missing=True, watermark=()), {}, high) == (None, ())
    assert windows(XM, {0: low(100)}, high) == (None, ())
    assert windows(open_ended, {0: low(100)}, SliceCounts(0))[0] == (
        EntityWindow("SeqNr", low(100)),
    )


def test_a_window_is_a_condition_with_both_ends():
    one = EntityWindow("SeqNr", low(100), low(200))

    assert one.condition("t.") == (
        "CAST('100' AS INT) <= t.`SeqNr` AND t.`SeqNr` <= CAST('200' AS INT)"
    )
    assert EntityWindow("SeqNr", low(100)).condition() == "CAST('100' AS INT) <= `SeqNr`"
