"""Whatever order change events arrive in, the table is that of their own order."""

import datetime as dt
import random
from itertools import chain
from pathlib import Path

import pytest

from fakes import outside_events
from fakes.outside_events import a_story, current, merged_counts, versions
from fakes.silver_table import SilverTable, an_entity
from penstock.core.entities.entity import EntityColumn, LastSeen, ProcessType
from penstock.core.entities.reading import Events

BEGIN = dt.datetime(2025, 5, 5, 10, tzinfo=dt.UTC)
COLUMNS = "ID, at, name, op"
TYPES = {"at": "timestamp", "op": "string"}
OPERATION = EntityColumn("op", newname="sys_op")
STORY = [pytest.param(1), *(pytest.param(n, marks=pytest.mark.matrix) for n in range(2, 9))]


def an_ordered(process, **said):
    events = Events(("at",), delete_when="op = 'D'", **said)
    entity = an_entity(process, watermark=(), events=events)
    return an_entity(process, watermark=(), events=events, columns=(*entity.columns, OPERATION))


def rows_of(events):
    values = (
        (e.key, f"TIMESTAMP '2024-01-{e.at:02} 00:00:00'", f"'{e.name}'", f"'{'UD'[e.deletes]}'")
        for e in events
    )
    return ", ".join(f"({', '.join(map(str, each))})" for each in values)


def day(value):
    return None if value is None else int(value[8:10])


def run(table, slices):
    """Run each slice a minute later than the one before; give what each counted."""
    found = []
    for number, each in enumerate(slices):
        table.run(BEGIN + dt.timedelta(minutes=number), rows_of(each), COLUMNS, types=TYPES)
        found.append(table.counted)
    return found


@pytest.mark.parametrize("seed", STORY)
def test_a_merge_ends_with_the_latest_event_of_each_key(spark, tmp_path, seed):
    slices = a_story(seed)
    often = LastSeen.ON_CHANGE if seed % 2 else LastSeen.EVERY_RUN
    entity = an_ordered(ProcessType.MERGE)
    table = SilverTable(spark, tmp_path, an_entity(**_parts(entity), last_seen=often))

    told = run(table, slices)

    shown = "ID, CAST(at AS STRING), IF(p_deleted, NULL, name), p_deleted"
    found = [(key, day(at), *rest) for key, at, *rest in table.rows(shown)]
    assert found == sorted(current([*chain(*slices)]), key=lambda row: row[0])
    for number, counted in enumerate(told):
        wanted = merged_counts([*chain(*slices[:number])], slices[number])
        assert {name: counted[name] for name in wanted} == wanted


@pytest.mark.matrix
@pytest.mark.parametrize("seed", STORY)
def test_a_history_places_late_events_in_time(spark, tmp_path, seed):
    slices = a_story(seed)
    table = SilverTable(spark, tmp_path, an_ordered(ProcessType.HISTORIC, valid_from="at"))
    other = SilverTable(spark, tmp_path / "other", table.entity)

    told = run(table, slices)
    random.Random(seed).shuffle(slices)  # noqa: S311  a story, no secret
    run(other, slices)

    shown = "ID, CAST(p_ValidFrom AS STRING), CAST(p_ValidTo AS STRING), name, p_deleted"
    for each in (table, other):
        found = [(key, day(low), day(high), *rest) for key, low, high, *rest in each.rows(shown)]
        assert found == versions([*chain(*slices)])
        current_rows = "p_IsCurrent <=> (p_ValidTo IS NULL)"
        assert each.rows("ID", where=f"NOT ({current_rows})") == []
    parts = ("inserted", "updated", "unchanged")
    assert all(sum(c[n] for n in parts) == c["recordsInSlice"] for c in told)


@pytest.mark.matrix
@pytest.mark.parametrize("seed", STORY)
def test_a_history_without_times_ends_with_the_latest_event(spark, tmp_path, seed):
    slices = a_story(seed)
    table = SilverTable(spark, tmp_path, an_ordered(ProcessType.HISTORIC))

    run(table, slices)

    shown = "ID, CAST(at AS STRING), IF(p_deleted, NULL, name), p_deleted"
    found = [(key, day(at), *rest) for key, at, *rest in table.rows(shown, where="p_IsCurrent")]
    assert found == sorted(current([*chain(*slices)]), key=lambda row: row[0])


def _parts(entity):
    return {
        "process": entity.process,
        "watermark": (),
        "columns": entity.columns,
        "events": entity.settings.events,
    }


def test_the_second_opinion_on_events_imports_nothing_of_penstock():
    text = Path(outside_events.__file__).read_text(encoding="utf-8")
    imports = [line for line in text.splitlines() if line.startswith(("import", "from"))]

    assert imports == [
        "from __future__ import annotations",
        "import random",
        "from collections.abc import Iterable, Sequence",
        "from dataclasses import dataclass",
        "from itertools import groupby, pairwise",
    ]
