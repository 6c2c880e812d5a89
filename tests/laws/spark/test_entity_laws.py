"""Any slices in any order: the silver table and its metrics are those of plain Python."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.silver_model import SilverModel
from fakes.silver_table import T1, T2, T3, T4, SilverTable, an_entity
from penstock.core.columns.schema import Column
from penstock.core.entity import LastSeen
from penstock.strategies.values import row_hash

ROWS = st.tuples(
    st.sampled_from([None, 1, 2, 3, 4]),
    st.sampled_from([None, "", "a", "b"]),
    st.sampled_from([None, False, False, True]),
)
SLICES = st.lists(st.dictionaries(st.integers(1, 5), ROWS, max_size=5), min_size=2, max_size=4)


def values(rows):
    """Write rows as SQL."""

    def word(value):
        return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)

    return ", ".join(f"({key}, {', '.join(map(word, row))})" for key, row in rows.items())


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(slices=SLICES, infers=st.booleans(), on_change=st.booleans())
def test_a_merged_table_is_what_its_slices_say(spark, slices, infers, on_change):
    last_seen = LastSeen.ON_CHANGE if on_change else LastSeen.EVERY_RUN
    entity = an_entity(delete_missing=infers, last_seen=last_seen)
    with TemporaryDirectory() as folder:
        table, model = SilverTable(spark, Path(folder), entity), SilverModel(infers, on_change)
        for number, (at, rows) in enumerate(zip((T1, T2, T3, T4), slices, strict=False), 1):
            found = table.run(
                at, values(rows), "ID, SeqNr, name, p_deleted", types={"p_deleted": "boolean"}
            )
            assert found == model.run(number, rows)
            shown = table.rows("ID, SeqNr, name, p_deleted, p_lastSeen")
            assert sorted(shown, key=lambda row: row[0]) == model.shown()
            hashed = row_hash(
                [Column("ID", "int"), Column("SeqNr", "int"), Column("name", "string")]
            )
            assert table.rows("ID", where=f"p_SourceHash <> {hashed}") == []
            low = table.watermarks.get("SeqNr")
            assert (low and int(low.text)) == model.watermark
